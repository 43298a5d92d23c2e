/**
 * Checks that the cost of model calls can be known before a run with a cost limit goes on.
 *
 * Does not own prices and what a call costs by them (`Prices`), nor when a limit is reached (`RunDecision`).
 */
import * as Effect from "effect/Effect"
import * as Message from "../../run/Message.ts"
import * as RunError from "../../run/RunError.ts"
import * as RunPolicy from "../../run/RunPolicy.ts"
import * as Model from "../../services/Model.ts"
import * as Prices from "../../services/Prices.ts"
import type * as Budget from "../env/Budget.ts"
import type * as Env from "../env/Env.ts"
import type * as Opening from "./Opening.ts"

/**
 * Refuses a run whose cost is limited, by itself or by a run around it, where a model that it may use has no price: its own, one
 * that may take over, or one that condenses its context. Nothing is written.
 */
export const check = (
  { context, model }: Pick<Env.Services, "context" | "model">,
  prices: Prices.Prices,
  opened: Opening.Opened,
  budget: Budget.Budget
): Effect.Effect<void, RunError.NonRetryableError<RunError.RunRefusal>> => {
  if (opened._tag === "Replay") return Effect.void
  const { begin, state } = opened
  const limits = begin._tag === "Start" ? begin.input.limits : RunPolicy.merge(state.limits, begin.limits ?? {})
  const around = limits.maxCost === undefined ? budget.costLimitAround() : undefined
  if (limits.maxCost === undefined && around === undefined) return Effect.void
  const asked = [...Model.chainOf(model).map(({ info }) => info), ...(context.models ?? [])]
  const unpriced = asked.find((model) => Prices.find(prices, model) === undefined)
  if (unpriced === undefined) return Effect.void
  const whose = around === undefined ? "" : ` of run "${around}", which this run is part of,`
  return Effect.fail(RunError.invalidInput(
    "limits.maxCost",
    `limits.maxCost${whose} needs the price of the model "${Message.modelName(unpriced)}"; ` +
      "add it to Prices, or remove the limit"
  ))
}
