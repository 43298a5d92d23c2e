/**
 * What the beginning of another drive, and the end of one, do to the state of a run. Total and pure, as `RunState.evolve`, of
 * which this is a part.
 */
import type * as RunEvent from "../RunEvent.ts"
import type { RunState } from "../RunState.ts"
import * as OpenCall from "./OpenCall.ts"
import * as Queue from "./Queue.ts"

/** `isTurnOpen`: the drive takes up the turn that the one before it left. */
export const resume = (
  state: RunState,
  event: Extract<RunEvent.Durable, { _tag: "RunResumed" }>,
  isTurnOpen: boolean
): RunState => ({
  ...state,
  status: !isTurnOpen ? "preparing" : OpenCall.waits(state.openCalls) ? "awaiting_human" : "tool_running",
  drive: event.drive,
  driveStartedAt: event.at,
  waited: 0,
  waitingSince: OpenCall.waits(state.openCalls) ? event.at : undefined,
  // an attempt that was cut off left no trace but its deltas: the next one has a number of its own
  attempts: state.attempts + (isTraced(state.end) ? 0 : 1),
  // a run that failed has no model left behind the last one: it begins with the first again
  ...(state.end?._tag === "RunFailed" ? { switchedTo: undefined, switches: 0 } : {}),
  limits: event.limits ?? state.limits,
  limitedBy: event.limits === undefined && state.end?._tag === "RunLimited" ? state.end.reason : undefined,
  input: event.data === undefined || state.input === undefined
    ? state.input
    : { ...state.input, data: event.data },
  end: undefined,
  abortRequested: undefined
})

/** A provider's refusal is in the log as the attempt's end; anything else may have cut an attempt off. */
const isTraced = (end: RunEvent.End | undefined): boolean =>
  end?._tag === "RunFailed" && !["Unknown", "StoreUnavailable", "EventTooLarge"].includes(end.error.reason._tag)

export const end = (state: RunState, event: RunEvent.End, status: RunEvent.Status): RunState => ({
  ...state,
  status,
  totals: event.totals,
  end: event,
  queued: Queue.end(state.queued, event),
  abortRequested: undefined,
  crashes: event._tag === "RunAborted" && event.reason === "crashed" ? state.crashes + 1 : 0
})
