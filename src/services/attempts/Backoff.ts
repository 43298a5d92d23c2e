/**
 * The wait before the next try of a model call, or why there is none: decided by what the policy says of the failure, and by what
 * the run has already lost to failures.
 *
 * Does not own the tries (`Tries`), nor what the policy says (`RetryStep`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Lost from "../../run/Lost.ts"
import type * as RunError from "../../run/RunError.ts"
import type * as RetryPolicy from "../RetryPolicy.ts"
import * as RetryStep from "./RetryStep.ts"

/** No next try; `why` continues a sentence, and is empty where the tries are used up. */
interface None {
  readonly _tag: "None"
  readonly why: string
}

/**
 * One step for each failure, `now` in milliseconds since the epoch. `lost` is what the run lost before the failed attempt, which
 * took `duration` milliseconds.
 */
export type Backoff = (
  reason: RunError.ProviderReason,
  now: number,
  lost: Lost.Lost,
  duration: number
) => Effect.Effect<RetryStep.Delay | None>

const none = {
  UsedUp: { _tag: "None", why: "" },
  TooLong: {
    _tag: "None",
    why: ", and the provider asks for a longer wait than maxRetryAfter of the retry policy allows"
  }
} as const
const tooOften: None = {
  _tag: "None",
  why: ", and the run has used up the retries that maxRunRetries of its retry policy allows"
}
const tooLate: None = {
  _tag: "None",
  why: ", and the run has lost all the time to failures that maxRunTime of its retry policy allows"
}

/** `whole`, the policy of all the run's models, says how much the run may lose in all. */
export const make = (policy: RetryPolicy.RetryPolicy, whole: RetryPolicy.RetryPolicy): Backoff => {
  const step = RetryStep.make(policy)
  return (reason, now, { lostTime, retries }, duration) =>
    Effect.map(step(now, reason), (next) => {
      if (next._tag !== "Delay") return none[next._tag]
      if (retries >= whole.maxRunRetries) return tooOften
      const all = Duration.millis(lostTime + duration + Duration.toMillis(next.duration))
      return Duration.isGreaterThan(all, whole.maxRunTime) ? tooLate : next
    })
}
