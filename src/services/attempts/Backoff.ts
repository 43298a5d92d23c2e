/**
 * The wait before the next try of a model call, or why there is none: decided by the policy, by what the provider asks for, and by
 * what the run has already lost to failures.
 *
 * Does not own the policy (`RetryPolicy`), nor the tries (`Tries`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import type * as Lost from "../../run/Lost.ts"
import type * as RunError from "../../run/RunError.ts"
import type * as RetryPolicy from "../RetryPolicy.ts"

/** `source` says what decided its length: the policy's schedule, or the provider. */
export interface Delay {
  readonly _tag: "Delay"
  readonly duration: Duration.Duration
  readonly source: "backoff" | "retryAfter"
}

/** No next try; `why` continues a sentence, and is empty where the tries are used up. */
interface None {
  readonly _tag: "None"
  readonly why: string
}

/**
 * One step for each failure, `now` in milliseconds since the epoch. `lost` is what the run lost before the failed attempt, which
 * took `duration` milliseconds. A wait is never shorter than the schedule says.
 */
export type Backoff = (
  reason: RunError.ProviderReason,
  now: number,
  lost: Lost.Lost,
  duration: number
) => Effect.Effect<Delay | None>

const usedUp: None = { _tag: "None", why: "" }
const tooLong: None = {
  _tag: "None",
  why: ", and the provider asks for a longer wait than maxRetryAfter of the retry policy allows"
}
const tooOften: None = {
  _tag: "None",
  why: ", and the run has used up the retries that maxRunRetries of its retry policy allows"
}
const tooLate: None = {
  _tag: "None",
  why: ", and the run has lost all the time to failures that maxRunTime of its retry policy allows"
}

type Step = Effect.Success<ReturnType<typeof Schedule.toStep<unknown, RunError.ProviderReason, never, never>>>

/** `whole`, the policy of all the run's models, says how much the run may lose in all. */
export const make = (
  { maxRetryAfter, schedule }: RetryPolicy.RetryPolicy,
  whole: RetryPolicy.RetryPolicy
): Backoff => {
  let step: Step | undefined
  return Effect.fnUntraced(function*(reason, now, { lostTime, retries }, duration): Effect.fn.Return<Delay | None> {
    step ??= yield* Schedule.toStep(schedule)
    const stepped = yield* step(now, reason).pipe(Pull.catchDone(() => Effect.succeed(undefined)))
    if (stepped === undefined) return usedUp
    const asked = Duration.millis(reason.retryAfter ?? 0)
    if (Duration.isGreaterThan(asked, maxRetryAfter)) return tooLong
    if (retries >= whole.maxRunRetries) return tooOften
    // in whole milliseconds, as the log keeps it
    const backoff = Duration.millis(Math.ceil(Duration.toMillis(stepped[1])))
    const delay: Delay = Duration.isGreaterThan(asked, backoff)
      ? { _tag: "Delay", duration: asked, source: "retryAfter" }
      : { _tag: "Delay", duration: backoff, source: "backoff" }
    const all = Duration.millis(lostTime + duration + Duration.toMillis(delay.duration))
    return Duration.isGreaterThan(all, whole.maxRunTime) ? tooLate : delay
  })
}
