/**
 * Where code runs, according to its context: the call that it works for, and the budget that the call's run spends from.
 *
 * Does not own what follows for a run that works for a call (`Budget`).
 */
import * as Context from "effect/Context"
import type * as Pointer from "../../run/Pointer.ts"
import { ToolCall } from "../../services/ToolCall.ts"
import type * as Budget from "./Budget.ts"

/** The call that code there works for; `budget` is that of the call's run, where this process drives it. */
export interface Place {
  readonly call: Pointer.Parent
  readonly budget: Budget.Budget | undefined
}

/** The budget of the drive around; each drive provides its own to all that it runs. */
export const Around = Context.Reference<Budget.Budget | undefined>("fiberloop/loop/Budget", {
  defaultValue: () => undefined
})

export const of = (context: Context.Context<never>): Place | undefined => {
  const known = Context.getOrUndefined(context, ToolCall)
  if (known === undefined) return undefined
  const { callId, runId, sessionId } = known
  const call = { sessionId, runId, callId }
  // code that an agent below the call runs besides its tools works for that call too
  return { call, budget: Context.get(context, Around)?.find(call) }
}

/** Ties a run that began for a call to that call again, where it is asked for from there: it counts towards the call. */
export const tieAgain = (place: Place | undefined, run: Budget.Budget): void => {
  if (place !== undefined && run.isOf(place.call)) run.workFor(place.call, place.budget)
}
