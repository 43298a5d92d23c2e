/**
 * What an answer used and cost; and the warning where it does not say, although a limit counts it: for answers of turns, and for those
 * that strategies ask for.
 *
 * Does not own prices (`Prices`), nor the limits (`Budget`).
 */
import * as Effect from "effect/Effect"
import * as Message from "../../run/Message.ts"
import * as Usage from "../../run/Usage.ts"
import type * as Model from "../../services/Model.ts"
import type * as ObserveCall from "../../services/ObserveCall.ts"
import * as Prices from "../../services/Prices.ts"
import * as Warning from "../../services/Warning.ts"
import type * as Env from "../env/Env.ts"
import * as CurrentModel from "./CurrentModel.ts"

/** `usage` with what the answer cost. Without any tokens it came without usage: its cost is not known, unless its model is free. */
export const costed = (prices: Prices.Prices, model: Message.ModelRef, usage: Usage.Usage): Usage.Usage => {
  if (Usage.total(usage) > 0) return Prices.costed(prices, model, usage)
  const { input, output } = Prices.find(prices, model) ?? {}
  return input === 0 && output === 0 ? Prices.costed(prices, model, usage) : usage
}

/** Models for which the warning was given in this process, and what they say that they are. */
const warned = new WeakSet<Model.Model["Service"] | Message.ModelRef>()

/** The first time that a model answers without usage in a run that has a limit on it, by itself or by a run around it. */
export const warning = (env: Env.Env, usage: Usage.Usage): Effect.Effect<void> | undefined => {
  const model = CurrentModel.of(env)
  return warnOf(env, model, model.info, usage)
}

/** Likewise for the calls that a strategy makes, each of which `observe` sees: the run's limits count these too. */
export const watching =
  (env: Env.Env, observe: ObserveCall.ObserveCall): ObserveCall.ObserveCall => (info, request, call) =>
    Effect.tap(observe(info, request, call), (result) =>
      result._tag === "Settled"
        ? warnOf(env, info, info, costed(env.prices, info, result.usage)) ?? Effect.void
        : Effect.void)

const warnOf = (
  env: Env.Env,
  model: Model.Model["Service"] | Message.ModelRef,
  info: Message.ModelRef,
  usage: Usage.Usage
): Effect.Effect<void> | undefined => {
  if (Usage.total(usage) > 0) return undefined
  const limits = env.budget.usageLimits().filter((limit) => limit === "maxTokens" || usage.cost === undefined)
  if (limits.length === 0 || warned.has(model)) return undefined
  warned.add(model).add(info)
  return Warning.warn(
    `an answer of the model "${Message.modelName(info)}" came without usage, and does not count towards `
      + `limits.${
        limits.join(" and limits.")
      }; use a server that reports usage, or set limits.maxTurns and limits.maxDuration`
  )
}
