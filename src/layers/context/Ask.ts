/**
 * One question to a model on behalf of a strategy, and its whole answer as text. Retried as the `RetryPolicy` says, then put to
 * the model's fallbacks, as in a run.
 *
 * Does not own what is asked, nor a single call (`Call`).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as AttemptResult from "../../run/AttemptResult.ts"
import * as Message from "../../run/Message.ts"
import * as RunError from "../../run/RunError.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import * as RetryStep from "../../services/fibers/RetryStep.ts"
import * as Model from "../../services/Model.ts"
import * as RetryPolicy from "../../services/RetryPolicy.ts"
import * as Call from "./Call.ts"

type Service = Model.Model["Service"]

export interface Answer {
  readonly text: string
  /** whether it was cut at the output limit */
  readonly isCut: boolean
}

/** The whole answer of `model`, or of the one that took over. Notes what each call spends, also when it fails. */
export const ask = (
  model: Service,
  question: Call.Question,
  ledger: ContextManager.Ledger
): Effect.Effect<Answer, RunError.ModelError> =>
  Effect.flatMap(RetryPolicy.RetryPolicy, (whole) => {
    const policy = RetryPolicy.of(whole, model.info)
    const once = Effect.mapError(
      attempt(model, question, ledger),
      (error) => error === noneLeft ? error : policy.classify(error, model.info)
    )
    return Effect.catch(again(once, policy), (error) => {
      const to = error === noneLeft ? undefined : Model.fallbackOf(model, error)
      return to === undefined ? Effect.fail(error) : ask(to, question, ledger)
    })
  })

/** Tries again while the failure is retryable, the schedule goes on, and the wait that was asked for is not too long. */
const again = Effect.fnUntraced(function*(
  once: Effect.Effect<Answer, RunError.ModelError>,
  policy: RetryPolicy.RetryPolicy
): Effect.fn.Return<Answer, RunError.ModelError> {
  const step = RetryStep.make(policy)
  while (true) {
    const result = yield* Effect.result(once)
    if (result._tag === "Success") return result.success
    const error = result.failure
    if (error._tag !== "RetryableError") return yield* error
    const next = yield* step(yield* Clock.currentTimeMillis, error.reason)
    if (next._tag !== "Delay") return yield* error
    yield* Effect.sleep(next.duration)
  }
})

const attempt = Effect.fnUntraced(function*(
  model: Service,
  question: Call.Question,
  ledger: ContextManager.Ledger
): Effect.fn.Return<Answer, RunError.ModelError> {
  if (!ledger.mayAsk()) return yield* noneLeft
  const called = yield* Call.make(model, question, ledger)
  if (called._tag === "Failed") return yield* (called.error as RunError.ModelError)
  // neither half an answer nor the reason why the rest is missing is a memory of a conversation
  if (called.finishReason === "content-filter") return yield* filtered
  const text = Message.textOf(called.content)
  if (text.trim() === "") return yield* AttemptResult.empty
  return { text, isCut: called.finishReason === "length" }
})

const refusal = (reason: RunError.ProviderRefusal) => new RunError.NonRetryableError<RunError.ProviderRefusal>(reason)

/** No failure of a provider: no policy has a say in it, and no other model is asked. */
const noneLeft = refusal({
  _tag: "Unknown",
  message: "the run's limits allow no further call; resume the run with higher ones"
})
const filtered = refusal({ _tag: "ContentPolicy", message: "the model's answer was filtered, or refused" })
