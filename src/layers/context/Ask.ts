/**
 * One question to a model on behalf of a strategy, and its whole answer as text. Tried again, and put to the model's fallbacks, as
 * the call of a turn is, within what the run may still lose to failures.
 *
 * Does not own what is asked, a single call (`Call`), nor what follows one (`Tries`).
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as AttemptResult from "../../run/AttemptResult.ts"
import * as Lost from "../../run/Lost.ts"
import * as Message from "../../run/Message.ts"
import * as RunError from "../../run/RunError.ts"
import * as Losses from "../../services/attempts/Losses.ts"
import * as Tries from "../../services/attempts/Tries.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import type * as Model from "../../services/Model.ts"
import * as RetryPolicy from "../../services/RetryPolicy.ts"
import * as Call from "./Call.ts"

export interface Answer {
  readonly text: string
  /** whether it was cut at the output limit */
  readonly isCut: boolean
}

/**
 * The whole answer of `model`, or of the one that took over. Notes what each call spends, also when it fails, and what is lost to
 * those that fail. An answer without text is asked for once more, as one of a turn, but never counts.
 */
export const ask = Effect.fnUntraced(function*(
  model: Model.Model["Service"],
  question: Call.Question,
  ledger: ContextManager.Ledger
): Effect.fn.Return<Answer, RunError.RunError> {
  const policies = yield* RetryPolicy.RetryPolicy
  const losses = yield* Losses.Losses
  let tries = Tries.make(policies, model, 0)
  let mayBeEmpty = false
  for (let attempt = 1;; attempt++) {
    if (!ledger.mayAsk()) return yield* noneLeft
    const result = whole(yield* Call.make(tries.model, question, ledger))
    const now = yield* Clock.currentTimeMillis
    const verdict = yield* Tries.judge(tries, attempt, result, mayBeEmpty, now, losses.soFar())
    mayBeEmpty ||= result._tag === "Settled"
    if (verdict._tag === "Retry") {
      losses.note(Lost.attempt(result.duration, Duration.toMillis(verdict.delay.duration)))
      yield* Effect.sleep(verdict.delay.duration)
      continue
    }
    const answer = verdict._tag === "Counts" ? answerOf(verdict.answer) : undefined
    if (answer !== undefined) return answer
    losses.note(Lost.attempt(result.duration, undefined))
    const { error, final } = verdict._tag === "Failed" ? verdict : saidNothing
    const to = Tries.fallbackOf(tries.model, error)
    if (to === undefined) return yield* final
    tries = Tries.make(policies, to, attempt)
  }
})

/** Neither half an answer nor the reason why the rest is missing is a memory of a conversation. */
const whole = (result: AttemptResult.AttemptResult): AttemptResult.AttemptResult =>
  result._tag === "Settled" && result.finishReason === "content-filter"
    ? { _tag: "Failed", error: filtered, usage: result.usage, duration: result.duration }
    : result

/** `undefined` where it has no text. */
const answerOf = ({ content, finishReason }: AttemptResult.Settled): Answer | undefined => {
  const text = Message.textOf(content)
  return text.trim() === "" ? undefined : { text, isCut: finishReason === "length" }
}

const refusal = (reason: RunError.ProviderRefusal) => new RunError.NonRetryableError<RunError.ProviderRefusal>(reason)

/** No failure of a provider: no policy has a say in it, and no other model is asked. */
const noneLeft = refusal({
  _tag: "Unknown",
  message: "the run's limits allow no further call; resume the run with higher ones"
})
const filtered = refusal({ _tag: "ContentPolicy", message: "the model's answer was filtered, or refused" })
const saidNothing = {
  error: AttemptResult.empty,
  final: refusal({ _tag: "Unknown", message: AttemptResult.empty.message })
}
