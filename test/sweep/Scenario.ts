/** A kind of run that the sweeps kill: what its model says, and what is said to it. Does not own any of the kinds. */
import type * as Layer from "effect/Layer"
import type * as RunInput from "../../src/run/RunInput.ts"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import type { ContextManager } from "../../src/services/ContextManager.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import type * as Plays from "./Plays.ts"

/** A call of one of the tools of `Subjects`. */
export const call = (name: "pay" | "refund" | "settle" | "look" | "put", n = 1) => ScriptedModel.call(name, { n })

export interface Scenario {
  /** by turn; after the last one the model says "done" */
  readonly turns: ReadonlyArray<ScriptedModel.Turn>
  readonly policy?: RunPolicy.ToolPolicy
  readonly hooks?: ReadonlyArray<Hook>
  /** the first try at every answer fails midway */
  readonly isBusy?: boolean
  /** the first model fails for good, and another one answers */
  readonly isDown?: boolean
  /** the process aborts the run when it sees this event */
  readonly abortsAt?: "ToolStarted" | "TextDelta" | "AssistantMessage"
  /** what is said about calls that ask, one by one, each time before the run is resumed */
  readonly answers?: ReadonlyArray<Plays.Answer>
  /** the run has the first limits, and once those are reached it is resumed with the others */
  readonly limits?: readonly [RunPolicy.LimitsInput, RunPolicy.LimitsInput]
  /** the process says this to the run when it sees the first of these events */
  readonly says?: Plays.Says
  readonly cut?: Plays.Cut
  /** what the run begins with instead of "go" */
  readonly input?: string
  readonly instructions?: string
  /** messages before the first one */
  readonly history?: RunInput.RunInput["history"]
  /** how the context is made smaller */
  readonly context?: Layer.Layer<ContextManager>
  /** tokens of the model's window, if it states them */
  readonly contextWindow?: number
  /** the longest request that the model takes, in characters */
  readonly takes?: number
  /** the session is compacted by hand after its run */
  readonly compacts?: true
  readonly fails?: "ContextOverflow"
}
