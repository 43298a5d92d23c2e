/** When and how a failed model call is tried again: a setting, read by the loop when one fails. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as InputCheck from "../run/InputCheck.ts"
import type * as RunError from "../run/RunError.ts"
import * as RetryCheck from "./attempts/RetryCheck.ts"
import type * as Model from "./Model.ts"

/** How often, and for how long, failed model calls are tried again: at one call, over a whole run, and by provider. */
export interface RetryPolicy {
  /** delays between tries; when it is done, the run fails with `RetriesExhausted` */
  readonly schedule: Schedule.Schedule<unknown, RunError.ProviderReason>
  /** how often `schedule` tries again, for people to read; absent if not known */
  readonly maxRetries?: number
  /** the longest wait that a provider may ask for; a longer one is not waited for */
  readonly maxRetryAfter: Duration.Duration
  /** how often a run tries again, over all its turns, compactions and drives */
  readonly maxRunRetries: number
  /**
   * how much time a run may lose to attempts that do not count and to the waits after them, over all its turns, compactions and
   * drives
   */
  readonly maxRunTime: Duration.Duration
  /** What a failure means, if the application knows better: a retryable error is tried again, any other is final. */
  readonly classify: (error: RunError.ModelError, model: Model.ModelInfo) => RunError.ModelError
  /** policies for single providers, by `ModelInfo.provider` */
  readonly providers: Readonly<Record<string, RetryPolicy>>
}

/** The policy for a model. */
export const of = (policy: RetryPolicy, { provider }: Model.ModelInfo): RetryPolicy =>
  Object.hasOwn(policy.providers, provider) ? policy.providers[provider]! : policy

/** What `make` takes. Durations are at least 0. */
export interface Options {
  /** how long to wait before the first try after a failure; doubles with each further one. Default: 1 second */
  readonly base?: Duration.Input | undefined
  /** the longest of these waits. Default: 10 seconds */
  readonly cap?: Duration.Input | undefined
  /** of one model call; default: 3 */
  readonly maxRetries?: number | undefined
  /** the longest wait that a provider may ask for; a longer one is not waited for. Default: 1 minute */
  readonly maxRetryAfter?: Duration.Input | undefined
  /** over all turns, compactions and drives of a run; default: any number */
  readonly maxRunRetries?: number | undefined
  /** the time that a run may lose to attempts that do not count and to the waits after them. Default: 15 minutes */
  readonly maxRunTime?: Duration.Input | undefined
  /** what a failure means, if the application knows better. Default: what the model's adapter says */
  readonly classify?: RetryPolicy["classify"] | undefined
  /** policies for single providers, by `ModelInfo.provider`, each made by `make`. Default: none */
  readonly providers?: RetryPolicy["providers"] | undefined
}

/**
 * Waits `base`, doubling up to `cap`, give or take 20 percent, `maxRetries` times. Throws a `RangeError` on a wrong option, and on
 * one that it does not have.
 *
 * A run is also bounded by `maxRunTime`, and by `maxErrors` of its limits, which counts failed attempts too; so
 * `maxRunRetries` sets none by default. All three count from the log: resuming neither resets nor doubles them.
 */
export const make = (options: Options = {}): RetryPolicy => {
  const others = InputCheck.options("RetryPolicy.make", options, optionNames)
  if (Result.isFailure(others)) throw new RangeError(others.failure.message)
  taken(InputCheck.callable("classify", options.classify))
  const maxRetries = count("maxRetries", options.maxRetries ?? 3)
  return {
    schedule: Schedule.min([
      Schedule.exponential(time("base", options.base ?? Duration.seconds(1))),
      Schedule.spaced(time("cap", options.cap ?? Duration.seconds(10)))
    ]).pipe(Schedule.jittered, Schedule.upTo({ times: maxRetries })),
    maxRetries,
    maxRetryAfter: time("maxRetryAfter", options.maxRetryAfter ?? Duration.minutes(1)),
    maxRunRetries: count("maxRunRetries", options.maxRunRetries ?? Infinity),
    maxRunTime: time("maxRunTime", options.maxRunTime ?? Duration.minutes(15)),
    classify: options.classify ?? ((error) => error),
    providers: taken(RetryCheck.providers("providers", options.providers ?? {}))
  }
}

const optionNames: Record<keyof Options, true> = {
  base: true,
  cap: true,
  maxRetries: true,
  maxRetryAfter: true,
  maxRunRetries: true,
  maxRunTime: true,
  classify: true,
  providers: true
}

const time = (name: string, value: Duration.Input): Duration.Duration =>
  taken(InputCheck.duration(
    name,
    value,
    (millis) => millis >= 0,
    (quoted) => `${name} must be a duration of at least 0, not ${quoted}`
  ))

const count = (name: string, value: number): number => {
  if (value === Infinity || (Number.isInteger(value) && value >= 0)) return value
  throw new RangeError(`RetryPolicy: ${name} must be a whole number of at least 0, or Infinity, not ${value}`)
}

/** Wrong options are for the programmer to fix. */
const taken = <A>(checked: InputCheck.Checked<A>): A => InputCheck.taken("RetryPolicy", checked)

/**
 * Default: 1 s doubling to 10 s, jittered, 3 retries; `Retry-After` is honoured up to 60 s; a run may lose 15 minutes
 * to failed attempts. Anything but a policy, such as the options of one, is `InvalidInput`.
 */
export const RetryPolicy = Context.Reference<RetryPolicy>("fiberloop/services/RetryPolicy", {
  defaultValue: () => make()
})
