/** When and how a failed model call is tried again: a setting, read by the loop at every drive. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Schedule from "effect/Schedule"
import type * as RunError from "../run/RunError.ts"

export interface RetryPolicy {
  /** delays between tries; when it is done, the run fails with `RetriesExhausted` */
  readonly schedule: Schedule.Schedule<unknown, RunError.ProviderReason>
  /** a provider that asks for a longer wait than this is not waited for */
  readonly maxRetryAfter: Duration.Duration
}

/** `base` doubles up to `cap`, give or take 20 percent, `maxRetries` times. */
export const make = (options: {
  readonly base?: Duration.Input
  readonly cap?: Duration.Input
  readonly maxRetries?: number
  readonly maxRetryAfter?: Duration.Input
} = {}): RetryPolicy => ({
  schedule: Schedule.min([
    Schedule.exponential(options.base ?? "1 second"),
    Schedule.spaced(options.cap ?? "10 seconds")
  ]).pipe(Schedule.jittered, Schedule.upTo({ times: options.maxRetries ?? 3 })),
  maxRetryAfter: Duration.fromInputUnsafe(options.maxRetryAfter ?? "60 seconds")
})

/** Default: 1 s doubling to 10 s, jittered, 3 retries; `Retry-After` is honoured up to 60 s. */
export const RetryPolicy = Context.Reference<RetryPolicy>("fiberloop/services/RetryPolicy", {
  defaultValue: () => make()
})
