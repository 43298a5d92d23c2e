/**
 * The wait before the next try of a model call, or that there is none: the policy's schedule, what the provider asks for, and
 * what the run has lost already.
 *
 * Does not own the tries (`Tries`), nor the policy's values (`RetryPolicy`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Schedule from "effect/Schedule"
import type * as RunError from "../../run/RunError.ts"
import type * as RetryPolicy from "../../services/RetryPolicy.ts"
import type * as Journal from "../log/Journal.ts"

export interface Delay {
  readonly _tag: "Delay"
  readonly duration: Duration.Duration
  readonly source: "backoff" | "retryAfter"
}

/** No next try; `why` goes on a sentence, where it is not that the tries are used up. */
interface None {
  readonly _tag: "None"
  readonly why: string
}

/** One step for each failure; `duration` is what the failed attempt took, in milliseconds. */
export type Backoff = (
  reason: RunError.ProviderReason,
  journal: Pick<Journal.Journal, "state" | "now">,
  duration: number
) => Effect.Effect<Delay | None>

const usedUp: None = { _tag: "None", why: "" }
const tooLong: None = { _tag: "None", why: ", and is to wait longer than the retry policy does" }
const tooOften: None = { _tag: "None", why: ", and the run has tried again as often as its retry policy allows" }
const tooLate: None = {
  _tag: "None",
  why: ", and the run has lost as much time to failures as its retry policy allows"
}

/** A wait is never shorter than the backoff. What a run may lose in all is said by `whole`, the policy of all its models. */
export const make = (policy: RetryPolicy.RetryPolicy, whole: RetryPolicy.RetryPolicy): Backoff => {
  let step:
    | ((now: number, reason: RunError.ProviderReason) => Pull.Pull<[unknown, Duration.Duration], never, unknown>)
    | undefined
  return Effect.fnUntraced(function*(reason, journal, duration): Effect.fn.Return<Delay | None> {
    step ??= yield* Schedule.toStep(policy.schedule)
    const stepped = yield* step(journal.now(), reason).pipe(Pull.catchDone(() => Effect.succeed(undefined)))
    if (stepped === undefined) return usedUp
    const asked = Duration.millis(reason.retryAfter ?? 0)
    if (Duration.isGreaterThan(asked, policy.maxRetryAfter)) return tooLong
    // in whole milliseconds, as the log keeps it
    const backoff = Duration.millis(Math.ceil(Duration.toMillis(stepped[1])))
    const delay: Delay = Duration.isGreaterThan(asked, backoff)
      ? { _tag: "Delay", duration: asked, source: "retryAfter" }
      : { _tag: "Delay", duration: backoff, source: "backoff" }
    const { lostTime, retries } = journal.state
    if (retries >= whole.maxRunRetries) return tooOften
    const lost = Duration.millis(lostTime + duration + Duration.toMillis(delay.duration))
    return Duration.isGreaterThan(lost, whole.maxRunTime) ? tooLate : delay
  })
}
