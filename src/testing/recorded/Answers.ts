/**
 * What the models of a recorded session said at each of their calls, and what they were sent.
 *
 * Does not own what a replayed model is asked (`Asked`), nor which of these answers it gives (`RecordedModel`).
 */
import type * as DurableEvent from "../../run/DurableEvent.ts"
import type * as Message from "../../run/Message.ts"
import * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as Model from "../../services/Model.ts"
import * as ScriptedModel from "../ScriptedModel.ts"

type Said = DurableEvent.Of<"AssistantMessage">
type Failure = DurableEvent.Of<"AttemptDiscarded">

/** What came of one try at a call, as a model gives it again. */
export interface Answer {
  /** of its event in the log */
  readonly seq: number
  readonly turn: ScriptedModel.Turn
  /** what was sent, without instructions, and before hooks changed it */
  readonly sent: Transcript.Transcript
}

/** A run by its turns. The last answer of a turn is the one that counts, if the turn has one. */
export interface Run {
  readonly turns: ReadonlyMap<number, ReadonlyArray<Answer>>
  /** of its last drive, if that has an end */
  readonly end: RunEvent.End | undefined
}

/**
 * The runs of a log, by id, with all that their models said as said by `model`. Attempts that a retry or another model made up for are
 * left out. A call that failed for good fails as often as it did where it was tried again, else once.
 */
export const of = (events: ReadonlyArray<RunEvent.Durable>, model: Message.ModelRef): ReadonlyMap<string, Run> => {
  const runs = new Map<string, { turns: Map<number, Array<Answer>>; end: RunEvent.End | undefined }>()
  let transcript = Transcript.empty
  let sent = transcript
  let failures: Array<Failure> = []
  const runOf = (runId: string) => {
    const run = runs.get(runId) ?? { turns: new Map(), end: undefined }
    runs.set(runId, run)
    return run
  }
  const add = (event: Said | Failure, turn: ScriptedModel.Turn) => {
    const { turns } = runOf(event.runId)
    turns.set(event.turn, [...turns.get(event.turn) ?? [], { seq: event.seq, turn, sent }])
  }
  const endCall = () => {
    for (const failure of forGood(failures)) add(failure, failing(failure))
    failures = []
  }
  for (const event of events) {
    transcript = Transcript.append(transcript, event._tag === "AssistantMessage" ? { ...event, model } : event)
    if (event._tag === "TurnStarted") {
      endCall()
      sent = transcript
    } else if (event._tag === "AttemptDiscarded") failures.push(event)
    else if (event._tag === "ModelSwitched") failures = []
    else if (event._tag === "AssistantMessage") {
      failures = []
      add(event, saying(event))
    } else if (event._tag === "RunStarted" || event._tag === "RunResumed") runOf(event.runId).end = undefined
    else if (RunEvent.isEnd(event)) {
      endCall()
      runOf(event.runId).end = event
    }
  }
  return runs
}

/**
 * Of the attempts at a call without an answer, those that fail again: none where another one was to follow, or where the log could not
 * hold the answer.
 */
const forGood = (failures: ReadonlyArray<Failure>): ReadonlyArray<Failure> => {
  const last = failures.at(-1)
  if (last === undefined || last.delay !== undefined || last.error._tag === "EventTooLarge") return []
  return isRetryable(last.error) ? failures : [last]
}

const retryable: ReadonlySet<string> = new Set(
  RunError.ProviderReason.members.map(({ fields }) => fields._tag.schema.literal)
)

const isRetryable = (reason: Failure["error"]): reason is RunError.ProviderReason => retryable.has(reason._tag)

const failing = ({ error, usage }: Failure): ScriptedModel.Turn => [
  ScriptedModel.parts({ type: "response", usage }),
  ScriptedModel.fail(
    isRetryable(error)
      ? new RunError.RetryableError<RunError.ProviderReason>(error)
      : new RunError.NonRetryableError<RunError.ProviderRefusal>(error as RunError.ProviderRefusal)
  )
]

const saying = ({ finishReason, message, sources, usage }: Said): ScriptedModel.Turn =>
  ScriptedModel.parts(
    ...message.content.map(partOf),
    ...(sources ?? []).map((source) => ({ type: "source", source } as const)),
    { type: "finish", reason: finishReason, usage }
  )

const partOf = (part: Message.AssistantPart, at: number): Model.ModelPart => {
  switch (part.type) {
    case "text":
    case "reasoning": {
      const { text, type, ...rest } = part
      return { ...rest, type: `${type}-delta`, block: `${at}`, delta: text }
    }
    case "tool-result": {
      const { providerExecuted: _, ...result } = part
      return result
    }
    default:
      return part
  }
}
