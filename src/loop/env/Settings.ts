/**
 * What all of an agent's drives take from the context that they are started in. It never changes, so all drives started in one
 * context may share what was looked up and checked once. What few drives need is looked up where it is needed.
 *
 * Does not own which context that is (`AgentContext`), nor what an input says besides (`InputCheck`).
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as InputCheck from "../../run/InputCheck.ts"
import type * as RunError from "../../run/RunError.ts"
import * as RunPolicy from "../../run/RunPolicy.ts"
import * as RetryCheck from "../../services/attempts/RetryCheck.ts"
import * as Hooks from "../../services/Hooks.ts"
import * as Ids from "../../services/Ids.ts"
import * as Limits from "../../services/Limits.ts"
import * as Observers from "../../services/Observers.ts"
import * as Prices from "../../services/Prices.ts"
import { ResultLimit } from "../../services/ResultLimit.ts"
import * as RetryPolicy from "../../services/RetryPolicy.ts"
import * as Timeouts from "../../services/Timeouts.ts"
import * as Tokenizer from "../../services/Tokenizer.ts"
import * as Telemetry from "../observe/Telemetry.ts"
import * as CallAround from "./CallAround.ts"
import type * as Definition from "./Definition.ts"
import * as HookCheck from "./HookCheck.ts"
import * as HookRun from "./HookRun.ts"
import * as SettingCheck from "./SettingCheck.ts"

export interface Settings {
  readonly clock: Clock.Clock
  readonly ids: typeof Ids.Ids.Service
  /** of a run whose input sets none */
  readonly limits: InputCheck.Checked<RunPolicy.Limits>
  readonly timeouts: InputCheck.Checked<RunPolicy.Timeouts>
  readonly prices: Prices.Prices
  readonly tokenizer: Tokenizer.Tokenizer
  readonly hooks: HookRun.ByPoint
  readonly observers: ReadonlyArray<Observers.Observer>
  readonly telemetry: Telemetry.Telemetry
  /** the call that the code which starts a drive runs for */
  readonly callAround: CallAround.CallAround | undefined
}

type Own = Pick<Definition.Definition, "limits" | "name" | "timeouts">

/**
 * The settings of an agent in the context of the fiber that asks, looked up and checked once for each context. Fails with
 * `InvalidInput` for one that is none of its kind; wrong limits and timeouts are for who uses them to refuse.
 */
export const shared = (own: Own): Effect.Effect<Settings, RunError.RunError> => {
  const known = new WeakMap<Context.Context<never>, Settings>()
  return Effect.withFiber(({ context }) => {
    const made = known.get(context)
    return made !== undefined ? Effect.succeed(made) : Effect.map(make(own), (settings) => {
      known.set(context, settings)
      return settings
    })
  })
}

/** What the agent sets itself comes first. */
const make = ({ limits, name, timeouts }: Own): Effect.Effect<Settings, RunError.RunError> =>
  Effect.withFiber((fiber) => {
    const hooks = HookCheck.hooks(fiber.getRef(Hooks.Hooks))
    const observers = SettingCheck.observers(fiber.getRef(Observers.Observers))
    const retry = RetryCheck.retry(fiber.getRef(RetryPolicy.RetryPolicy))
    const resultLimit = InputCheck.resultLimit(fiber.getRef(ResultLimit))
    if (Result.isFailure(hooks)) return Effect.fail(hooks.failure)
    if (Result.isFailure(observers)) return Effect.fail(observers.failure)
    if (Result.isFailure(retry)) return Effect.fail(retry.failure)
    if (Result.isFailure(resultLimit)) return Effect.fail(resultLimit.failure)
    const others = SettingCheck.others(fiber)
    if (Result.isFailure(others)) return Effect.fail(others.failure)
    return Effect.map(Telemetry.make(name), (telemetry): Settings => ({
      clock: fiber.getRef(Clock.Clock),
      ids: fiber.getRef(Ids.Ids),
      limits: Result.map(
        InputCheck.limits(fiber.getRef(Limits.Limits)),
        (around) => RunPolicy.merge({ ...RunPolicy.defaultLimits, ...around }, limits)
      ),
      timeouts: Result.map(
        InputCheck.timeouts(fiber.getRef(Timeouts.Timeouts)),
        (around) => RunPolicy.within(RunPolicy.within(RunPolicy.defaultTimeouts, around), timeouts)
      ),
      prices: fiber.getRef(Prices.Prices),
      tokenizer: fiber.getRef(Tokenizer.Tokenizer),
      hooks: HookRun.byPoint(hooks.success),
      observers: observers.success,
      telemetry,
      callAround: CallAround.of(fiber.context)
    }))
  })
