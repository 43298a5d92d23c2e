/**
 * What an answer used and cost; and the warning where it does not say, although a limit counts it.
 *
 * Does not own prices (`Prices`), nor the limits (`Budget`).
 */
import type * as Effect from "effect/Effect"
import * as Message from "../../run/Message.ts"
import * as Usage from "../../run/Usage.ts"
import type * as Model from "../../services/Model.ts"
import * as Prices from "../../services/Prices.ts"
import * as Warning from "../../services/Warning.ts"
import type * as Env from "../env/Env.ts"
import * as CurrentModel from "./CurrentModel.ts"

/** `usage` with what the answer cost. Without any tokens it came without usage: its cost is not known, unless its model is free. */
export const costed = (prices: Prices.Prices, model: Model.ModelInfo, usage: Usage.Usage): Usage.Usage => {
  if (Usage.total(usage) > 0) return Prices.costed(prices, model, usage)
  const { input, output } = Prices.find(prices, model) ?? {}
  return input === 0 && output === 0 ? Prices.costed(prices, model, usage) : usage
}

/** Models for which the warning was given in this process. */
const warned = new WeakSet<Model.Model["Service"]>()

/** The first time that a model answers without usage in a run that has a limit on it, by itself or by a run around it. */
export const warning = (env: Env.Env, usage: Usage.Usage): Effect.Effect<void> | undefined => {
  if (Usage.total(usage) > 0) return undefined
  const model = CurrentModel.of(env)
  const limits = env.budget.usageLimits().filter((limit) => limit === "maxTokens" || usage.cost === undefined)
  if (limits.length === 0 || warned.has(model)) return undefined
  warned.add(model)
  return Warning.warn(
    `an answer of the model "${Message.modelName(model.info)}" came without usage, and does not count towards `
      + `limits.${
        limits.join(" and limits.")
      }; use a server that reports usage, or set limits.maxTurns and limits.maxDuration`
  )
}
