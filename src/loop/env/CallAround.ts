/**
 * The tool call that code runs for, according to the code's context: a drive that is started there works for that call.
 *
 * Does not own what follows for a run that works for a call (`Budget`), nor what logs say of the call (`CallAbove`).
 */
import * as Context from "effect/Context"
import type * as Pointer from "../../run/Pointer.ts"
import { ToolCall } from "../../services/ToolCall.ts"
import type * as Budget from "./Budget.ts"

export interface CallAround {
  readonly call: Pointer.Parent
  /** of the call's run, where this process drives it */
  readonly budget: Budget.Budget | undefined
}

/** The budget of the drive that code runs in; each drive provides its own to all that it runs. */
export const DriveBudget = Context.Reference<Budget.Budget | undefined>("fiberloop/loop/DriveBudget", {
  defaultValue: () => undefined
})

export const of = (context: Context.Context<never>): CallAround | undefined => {
  const known = Context.getOrUndefined(context, ToolCall)
  if (known === undefined) return undefined
  const { callId, runId, sessionId } = known
  const call = { sessionId, runId, callId }
  // code that an agent below the call runs besides its tools works for that call too
  return { call, budget: Context.get(context, DriveBudget)?.find(call) }
}

/** Ties a run that began for a call to that call again, where it is asked for from there: it counts towards the call. */
export const tieAgain = (around: CallAround | undefined, run: Budget.Budget): void => {
  if (around !== undefined && run.isOf(around.call)) run.workFor(around.call, around.budget)
}
