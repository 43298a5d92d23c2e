/**
 * The wait before the next try of a model call, as its policy says and its provider asks; or that there is no next try.
 *
 * Does not own the policy (`RetryPolicy`), what a run may lose in all, nor the tries.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import type * as RunError from "../../run/RunError.ts"
import type * as RetryPolicy from "../RetryPolicy.ts"

/** `source` says what decided its length: the policy's schedule, or the provider. */
export interface Delay {
  readonly _tag: "Delay"
  readonly duration: Duration.Duration
  readonly source: "backoff" | "retryAfter"
}

/** No next try: the schedule is done, or the provider asks for a longer wait than the policy allows. */
interface None {
  readonly _tag: "UsedUp" | "TooLong"
}

/** What follows a failure; `now` in milliseconds since the epoch. */
type Step = (now: number, reason: RunError.ProviderReason) => Effect.Effect<Delay | None>

/** The steps of one call, one for each failure. A wait is never shorter than the backoff. */
export const make = ({ maxRetryAfter, schedule }: RetryPolicy.RetryPolicy): Step => {
  let step:
    | ((now: number, reason: RunError.ProviderReason) => Pull.Pull<[unknown, Duration.Duration], never, unknown>)
    | undefined
  return Effect.fnUntraced(function*(now, reason): Effect.fn.Return<Delay | None> {
    step ??= yield* Schedule.toStep(schedule)
    const stepped = yield* step(now, reason).pipe(Pull.catchDone(() => Effect.succeed(undefined)))
    if (stepped === undefined) return usedUp
    const asked = Duration.millis(reason.retryAfter ?? 0)
    if (Duration.isGreaterThan(asked, maxRetryAfter)) return tooLong
    // in whole milliseconds, as the log keeps it
    const backoff = Duration.millis(Math.ceil(Duration.toMillis(stepped[1])))
    return Duration.isGreaterThan(asked, backoff)
      ? { _tag: "Delay", duration: asked, source: "retryAfter" }
      : { _tag: "Delay", duration: backoff, source: "backoff" }
  })
}

const usedUp: None = { _tag: "UsedUp" }
const tooLong: None = { _tag: "TooLong" }
