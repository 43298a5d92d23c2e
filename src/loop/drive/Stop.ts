/**
 * How a run is cut off from outside, and by what, as the end that it comes to.
 *
 * Does not own how a part of its drive is cut off (`Stoppable`), nor the end where several reasons came together (`CutShort`).
 */
import * as Context from "effect/Context"
import type * as RunError from "../../run/RunError.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as Live from "./Live.ts"

/** Why a run was cut off. */
export type Stop =
  | { readonly _tag: "RunAborted"; readonly reason: RunEvent.AbortedReason }
  | { readonly _tag: "RunLimited"; readonly reason: "duration" }
  | { readonly _tag: "RunFailed"; readonly error: RunError.RunError }

/** What a cut-off sets and calls. */
export type Interruptible = Pick<Live.Live, "stopped" | "interrupt">

/** The drive that code runs in, as what may be cut off; each drive provides its own to all that it runs. */
export const DriveAround = Context.Reference<Pick<Interruptible, "stopped"> | undefined>("fiberloop/loop/DriveAround", {
  defaultValue: () => undefined
})

export const requested: Stop = { _tag: "RunAborted", reason: "requested" }

export const shutdown: Stop = { _tag: "RunAborted", reason: "shutdown" }

export const timeIsOver: Stop = { _tag: "RunLimited", reason: "duration" }

/** Why somebody who wanted the run to end has cut it off. */
export const wanted = (stop: Stop | undefined): RunEvent.AbortedReason | undefined =>
  stop?._tag === "RunAborted" && RunEvent.leftBy(stop) === undefined ? stop.reason : undefined

/** Cuts the run off, whatever it is doing, and takes no more answers; the first reason counts. */
export const cutOff = (live: Interruptible & Partial<Pick<Live.Live, "env">>, stop: Stop): void => {
  live.stopped ??= stop
  live.env?.waitingCalls.close()
  live.interrupt?.()
}
