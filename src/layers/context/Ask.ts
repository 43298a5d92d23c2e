/**
 * One question to a model on behalf of a strategy: its whole answer as text. Retried as the `RetryPolicy` says, put to the
 * models behind it as a run does, and given the time that `Timeouts` give a call.
 *
 * Does not own what is asked.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as RunError from "../../run/RunError.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunPolicy from "../../run/RunPolicy.ts"
import * as Rewrite from "../../run/transcript/Rewrite.ts"
import * as Usage from "../../run/Usage.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import * as Leavable from "../../services/fibers/Leavable.ts"
import * as LeaveBehind from "../../services/LeaveBehind.ts"
import type * as Model from "../../services/Model.ts"
import * as RetryPolicy from "../../services/RetryPolicy.ts"
import * as Timeouts from "../../services/Timeouts.ts"

type Service = Model.Model["Service"]
export type Question = Pick<Model.ModelRequest, "messages" | "metadata" | "output">

export interface Answer {
  readonly text: string
  /** it was cut at the output limit */
  readonly isCut: boolean
}

/** The whole answer of `model`, or of the one that took over. What each call spends is noted, also where it fails. */
export const ask = (
  model: Service,
  question: Question,
  ledger: ContextManager.Ledger
): Effect.Effect<Answer, RunError.ModelError> =>
  Effect.flatMap(RetryPolicy.RetryPolicy, (whole) => {
    const policy = RetryPolicy.of(whole, model.info)
    const once = Effect.mapError(attempt(model, question, ledger), (error) => policy.classify(error, model.info))
    return Effect.catch(again(once, policy), (error) => {
      const { fallback } = model
      return fallback !== undefined && fallback.when(error) ? ask(fallback.to, question, ledger) : Effect.fail(error)
    })
  })

/** Tried again while the failure is retryable, the schedule goes on, and the wait that was asked for is not too long. */
const again = Effect.fnUntraced(function*(
  once: Effect.Effect<Answer, RunError.ModelError>,
  policy: RetryPolicy.RetryPolicy
): Effect.fn.Return<Answer, RunError.ModelError> {
  const step = yield* Schedule.toStep(policy.schedule)
  while (true) {
    const result = yield* Effect.result(once)
    if (result._tag === "Success") return result.success
    const error = result.failure
    if (error._tag !== "RetryableError") return yield* error
    const asked = Duration.millis(error.reason.retryAfter ?? 0)
    const now = yield* Clock.currentTimeMillis
    const next = yield* step(now, error.reason).pipe(Pull.catchDone(() => Effect.succeed(undefined)))
    if (next === undefined || Duration.isGreaterThan(asked, policy.maxRetryAfter)) return yield* error
    yield* Effect.sleep(Duration.max(asked, next[1]))
  }
})

const attempt = Effect.fnUntraced(function*(
  model: Service,
  { messages, metadata, output }: Question,
  ledger: ContextManager.Ledger
): Effect.fn.Return<Answer, RunError.ModelError> {
  if (!ledger.mayAsk()) return yield* noneLeft
  const timeouts = yield* Timeouts.Timeouts
  const call = Duration.fromInputUnsafe(timeouts.call ?? RunPolicy.defaultTimeouts.call)
  let text = ""
  let finish: RunEvent.FinishReason | undefined
  /** what counts where no finish comes */
  let usedSoFar = Usage.zero
  const note = (usage: Usage.Usage) => ledger.note(usage, { provider: model.info.provider, name: model.info.name })
  const request: Model.ModelRequest = {
    // what was said may hold anything, and what models answered too
    messages: Rewrite.legal(messages, []),
    tools: [],
    toolChoice: "none",
    ...(output === undefined ? {} : { output }),
    metadata
  }
  const reading = model.stream(request).pipe(
    Stream.takeUntil((part) => part.type === "finish"),
    Stream.runForEachArray((parts) =>
      Effect.sync(() => {
        for (const part of parts) {
          if (part.type === "text-delta") text += part.delta
          if (part.type === "response") usedSoFar = part.usage ?? usedSoFar
          if (part.type !== "finish") continue
          finish = part.reason
          note(part.usage)
        }
      })
    )
  )
  const leave = Effect.flatMap(LeaveBehind.LeaveBehind, (leave) => leave(`model ${model.info.name}`))
  // an answer that is there counts, although its stream does not let itself be closed
  const late = () => finish === undefined ? Effect.fail(timedOut(call)) : Effect.void
  yield* Effect.ensuring(
    Leavable.run(reading, leave, () => ({ millis: Duration.toMillis(call), over: () => late })),
    Effect.sync(() => finish === undefined && note(usedSoFar))
  )
  if (finish === undefined) return yield* cut
  // half of an answer, and why there is no other half, are no memory of a conversation
  if (finish === "error") return yield* gaveUp
  if (finish === "content-filter") return yield* filtered
  if (text.trim() === "") return yield* empty
  return { text, isCut: finish === "length" }
})

const refusal = (reason: RunError.ProviderRefusal) => new RunError.NonRetryableError<RunError.ProviderRefusal>(reason)

const noneLeft = refusal({ _tag: "Unknown", message: "the run's limits leave no further call" })
const gaveUp = refusal({ _tag: "Unknown", message: "the provider ended the answer with an error" })
const filtered = refusal({ _tag: "ContentPolicy", message: "the model's answer was filtered, or refused" })

const retryable = (reason: RunError.ProviderReason) => new RunError.RetryableError<RunError.ProviderReason>(reason)

const timedOut = (call: Duration.Duration) =>
  retryable({ _tag: "TimedOut", scope: "call", message: `the model took longer than ${Duration.format(call)}` })
const cut = retryable({ _tag: "StreamTruncated", message: "the model's answer ended without a finish" })
const empty = retryable({ _tag: "EmptyResponse", message: "the model's answer was empty" })
