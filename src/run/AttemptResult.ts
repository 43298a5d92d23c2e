/**
 * What came of one try at a model call, as data: an answer, or why there is none, and what it cost.
 *
 * Does not own whether it counts, nor whether there is another try; the loop decides.
 */
import * as Message from "./Message.ts"
import * as RunError from "./RunError.ts"
import * as RunEvent from "./RunEvent.ts"
import type * as Source from "./Source.ts"
import type * as Usage from "./Usage.ts"

export type AttemptResult = Settled | Failed

export interface Settled {
  readonly _tag: "Settled"
  readonly content: ReadonlyArray<Message.AssistantPart>
  /** absent where it names none */
  readonly sources?: Source.Sources
  readonly finishReason: RunEvent.FinishReason
  readonly usage: Usage.Usage
  readonly response: Response | undefined
  /** milliseconds from the request to the first part, and to the end */
  readonly firstPart: number
  readonly duration: number
}

/** What the provider said about its answer, if it did. */
export interface Response {
  readonly id?: string
  readonly model?: string
}

export interface Failed {
  readonly _tag: "Failed"
  readonly error: RunError.ModelError | RunError.NonRetryableError<typeof RunError.EventTooLarge.Type>
  readonly usage: Usage.Usage
  /** milliseconds */
  readonly duration: number
}

const finishReasons: ReadonlySet<unknown> = new Set(RunEvent.FinishReason.literals)

/** Why a model's answer ended, in the log's words: the model may have said it in a word of its provider, or in none. */
export const finishReason = (given: unknown): RunEvent.FinishReason => {
  if (finishReasons.has(given)) return given as RunEvent.FinishReason
  return typeof given === "string" ? "other" : "unknown"
}

/** It has nothing that a reader or a tool could use, and gives no reason for that. */
export const saysNothing = ({ content, finishReason }: Settled): boolean =>
  !mayBeBlank.has(finishReason) && Message.isBlank(content)

/** It was cut off, or goes on. */
const mayBeBlank: ReadonlySet<RunEvent.FinishReason> = new Set(["length", "content-filter", "pause"])

/** An answer that says nothing. */
export const empty = new RunError.RetryableError<RunError.ProviderReason>({
  _tag: "EmptyResponse",
  message: "the model's answer was empty"
})

/** An answer whose stream ended without a finish. */
export const truncated = new RunError.RetryableError<RunError.ProviderReason>({
  _tag: "StreamTruncated",
  message: "the model's answer ended before it was finished"
})

/** An answer with the finish `error`. */
export const gaveUp = new RunError.NonRetryableError<RunError.ProviderRefusal>({
  _tag: "Unknown",
  message: "the provider ended the answer with an error"
})

/** An answer that has something in it that is not as the contract of a `Model` says. */
export const invalid = (wrong: string) =>
  new RunError.RetryableError<RunError.ProviderReason>({
    _tag: "InvalidResponse",
    message: `the model's answer has ${wrong}`
  })
