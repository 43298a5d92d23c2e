/**
 * The tries at one model, by its policy, and what follows each: it counts, another one is made, or the failure is final, and
 * another model may be asked: for the calls of turns and of strategies.
 *
 * Does not own the waits between them (`Backoff`), nor what is then done (`ModelCall`, `Ask`).
 */
import * as Effect from "effect/Effect"
import * as AttemptResult from "../../run/AttemptResult.ts"
import type * as Lost from "../../run/Lost.ts"
import * as RunError from "../../run/RunError.ts"
import type * as Model from "../Model.ts"
import * as RetryPolicy from "../RetryPolicy.ts"
import * as Backoff from "./Backoff.ts"

export interface Tries {
  readonly model: Model.Model["Service"]
  readonly policy: RetryPolicy.RetryPolicy
  readonly backoff: Backoff.Backoff
  /** the number of the attempt before the first of them */
  readonly after: number
}

/** What follows an attempt; `error` is why it does not count. */
export type Verdict =
  | { readonly _tag: "Counts"; readonly answer: AttemptResult.Settled }
  | Retry
  | Failed

export interface Retry {
  readonly _tag: "Retry"
  readonly error: RunError.RetryableError<RunError.ProviderReason>
  readonly delay: Backoff.Delay
}

export interface Failed {
  readonly _tag: "Failed"
  readonly error: Failure
  /** what the run fails with if no other model is asked */
  readonly final: RunError.RunError
}

type Failure = AttemptResult.Failed["error"]

/** `whole` is the policy of all models of the run. */
export const make = (whole: RetryPolicy.RetryPolicy, model: Model.Model["Service"], after: number): Tries => {
  const policy = RetryPolicy.of(whole, model.info)
  return { model, policy, backoff: Backoff.make(policy, whole), after }
}

/**
 * An answer that says nothing counts where it `mayBeEmpty`, or where the policy allows no other try. `now` is in milliseconds since
 * the epoch, `lost` what the run lost before this attempt.
 */
export const judge = Effect.fnUntraced(function*(
  tries: Tries,
  attempt: number,
  result: AttemptResult.AttemptResult,
  mayBeEmpty: boolean,
  now: number,
  lost: Lost.Lost
): Effect.fn.Return<Verdict> {
  const isAnswer = result._tag === "Settled"
  if (isAnswer && (mayBeEmpty || !AttemptResult.saysNothing(result))) return { _tag: "Counts", answer: result }
  const error = isAnswer ? AttemptResult.empty : classified(tries, result.error)
  let why = ""
  if (error._tag === "RetryableError") {
    const next = yield* tries.backoff(error.reason, now, lost, result.duration)
    if (next._tag === "Delay") return { _tag: "Retry", error, delay: next }
    why = next.why
  }
  return isAnswer
    ? { _tag: "Counts", answer: result }
    : { _tag: "Failed", error, final: finalOf(error, attempt - tries.after, why) }
})

/** What is wrong with an attempt that does not count, before anybody classifies it. */
export const failureOf = (result: AttemptResult.AttemptResult): Failure =>
  result._tag === "Settled" ? AttemptResult.empty : result.error

const isOfModel = (error: Failure): error is RunError.ModelError => error.reason._tag !== "EventTooLarge"

const classified = ({ model, policy }: Tries, error: Failure): Failure =>
  isOfModel(error) ? policy.classify(error, model.info) : error

/** The model that is asked instead after a final failure, if any. A context that is too large is made smaller instead. */
export const fallbackOf = ({ fallback }: Model.Model["Service"], error: Failure): Model.Model["Service"] | undefined =>
  fallback !== undefined && isOfModel(error) && error.reason._tag !== "ContextOverflow" && fallback.when(error)
    ? fallback.to
    : undefined

/** What a run fails with: a provider's reason has been retried, and is no longer retryable. */
const finalOf = (error: Failure, attempts: number, why: string): RunError.RunError =>
  error._tag === "RetryableError"
    ? new RunError.RetryableError<RunError.RunReason>({
      _tag: "RetriesExhausted",
      last: error.reason,
      attempts,
      message: `the model call failed ${
        attempts === 1 ? "once" : `${attempts} times`
      }${why}; last: ${error.reason.message}`
    })
    : error
