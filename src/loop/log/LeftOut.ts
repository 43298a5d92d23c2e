/**
 * What is left of recorded events when one of them is too large for the store: that one is left out, with what follows from it. Pure.
 *
 * Does not own the write that failed, nor when what is left is written (`Journal`).
 */
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import * as Bounds from "../../run/log/Bounds.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Fold from "./Fold.ts"

/** The failure, where it was that an event is larger than the store holds. */
export const tooLargeIn = (cause: Cause.Cause<SessionStore.StoreError>): SessionStore.StoreError | undefined => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  return error?.reason._tag === "EventTooLarge" ? error : undefined
}

/** The largest event that the store holds, in bytes, where the failure was that one is larger. */
export const limitOf = (cause: Cause.Cause<SessionStore.StoreError>): number | undefined => {
  const reason = tooLargeIn(cause)?.reason
  return reason?._tag === "EventTooLarge" ? reason.limit : undefined
}

interface Rest extends Fold.Folded {
  readonly recorded: Array<RunEvent.RunEvent>
  /** the live status before what was left out; `undefined` where it is the same */
  readonly status: RunEvent.Status | undefined
}

/**
 * `stored` and `events` without the event that has more than `limit` bytes of JSON and what comes after it, except for what stands
 * by itself: outcomes of other calls, and what was said from outside, which the log promises to keep. Without any of `events` where
 * none is found to be too large.
 */
export const rest = (stored: Fold.Folded, events: ReadonlyArray<RunEvent.RunEvent>, limit: number): Rest => {
  const isTooLarge = (event: RunEvent.RunEvent) => RunEvent.isDurable(event) && Bounds.above(event, limit) !== undefined
  const at = events.findIndex(isTooLarge)
  const recorded = events.slice(0, Math.max(0, at))
  const left = new Fold.Folding(stored)
  for (const event of recorded) if (RunEvent.isDurable(event)) left.take(event)
  const following = events.slice(recorded.length)
  for (const event of at < 0 ? [] : following) {
    if (!RunEvent.isDurable(event) || isTooLarge(event) || !standsByItself(left.state, event)) continue
    const placed = { ...event, seq: left.state.seq + 1 }
    left.take(placed)
    recorded.push(placed)
  }
  const { state, transcript } = left
  return { state, transcript, recorded, status: following.find((event) => event._tag === "StatusChanged")?.from }
}

const standsByItself = ({ openCalls }: RunState.RunState, event: RunEvent.Durable): boolean => {
  switch (event._tag) {
    case "InputQueued":
    case "AbortRequested":
      return true
    case "ToolSettled":
      return OpenCall.find(openCalls, event.callId) !== undefined
    case "ApprovalResolved":
      return OpenCall.waitingFor(openCalls, event.approvalId) !== undefined
    default:
      return false
  }
}
