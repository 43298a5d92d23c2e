/**
 * What cuts a run off from outside, as the end that it comes to.
 *
 * Does not own the cut (`Live`), nor the end where several reasons came together (`CutShort`).
 */
import type * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"

export type Stop =
  | { readonly _tag: "RunAborted"; readonly reason: RunEvent.AbortedReason }
  | { readonly _tag: "RunLimited"; readonly reason: "duration" }
  | { readonly _tag: "RunFailed"; readonly error: RunError.RunError }

export const requested: Stop = { _tag: "RunAborted", reason: "requested" }

export const shutdown: Stop = { _tag: "RunAborted", reason: "shutdown" }

export const timeIsOver: Stop = { _tag: "RunLimited", reason: "duration" }

/** Why somebody who wanted the run to end has cut it off. */
export const wanted = (stop: Stop | undefined): RunEvent.AbortedReason | undefined =>
  stop?._tag === "RunAborted" && RunEvent.leftBy(stop) === undefined ? stop.reason : undefined
