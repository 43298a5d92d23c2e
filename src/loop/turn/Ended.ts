/**
 * How the turns of a drive end when nothing breaks.
 *
 * Does not own when they do (`RunDecision`, `Concluding`), nor the end that is then written (`drive/Ending`).
 */
import type * as DoomLoop from "../../run/DoomLoop.ts"
import type * as DurableEvent from "../../run/DurableEvent.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as Budget from "../env/Budget.ts"

export type Ended =
  | { readonly _tag: "RunCompleted"; readonly reason: DurableEvent.Of<"RunCompleted">["reason"] }
  | Limited
  | { readonly _tag: "RunSuspended"; readonly reason: "approval" }

export interface Limited {
  readonly _tag: "RunLimited"
  readonly reason: RunEvent.LimitedReason
  readonly loop?: DoomLoop.Loop
  /** whose limit it was, where it is not the run's own */
  readonly around?: Budget.Reached["around"] & {}
}

/** A limit was reached. */
export const limited = (reached: Budget.Reached): Limited => ({ _tag: "RunLimited", ...reached })
