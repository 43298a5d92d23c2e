/**
 * What the beginning of a drive, a run's first or a later one, and its end do to the run's state: parts of
 * `RunState.evolve`, total like it, which write only to the state that it is making.
 */
import type * as DurableEvent from "../DurableEvent.ts"
import * as RunEvent from "../RunEvent.ts"
import type * as RunPolicy from "../RunPolicy.ts"
import type * as RunState from "../RunState.ts"
import * as RunStatus from "../RunStatus.ts"
import * as OpenCall from "./OpenCall.ts"

/** The first drive of a run, in an empty state. */
export const start = (
  next: RunState.Next,
  { agent, at, input, parent, runId, seq }: DurableEvent.Of<"RunStarted">
): void => {
  next.status = "preparing"
  next.runId = runId
  next.startSeq = seq
  next.input = input
  next.parent = parent
  next.agent = agent
  next.limits = input.limits
  next.drive = 1
  next.driveStartedAt = at
}

/** A later drive; if `isTurnOpen`, it takes up the turn that the one before it left. */
export const resume = (
  next: RunState.Next,
  event: DurableEvent.Of<"RunResumed">,
  isTurnOpen: boolean
): void => {
  const { end, input } = next
  const isWaiting = OpenCall.waits(next.openCalls)
  next.status = !isTurnOpen ? "preparing" : isWaiting ? "awaiting_human" : "tool_running"
  next.drive = event.drive
  next.driveStartedAt = event.at
  next.waited = 0
  next.waitingSince = isWaiting ? event.at : undefined
  // an attempt that was cut off left no trace except its deltas: the next one needs a number of its own
  next.attempts += isTraced(end) ? 0 : 1
  // a failed run has no model left after the last one: it begins with the first again
  if (end?._tag === "RunFailed") {
    next.switchedTo = undefined
    next.switches = 0
  }
  next.limitedBy = leftOf(limitOf(next), event.limits, next)
  next.limits = event.limits ?? next.limits
  if (event.data !== undefined && input !== undefined) next.input = { ...input, data: event.data }
  next.end = undefined
  next.abortRequested = undefined
}

/** The limit that ended the drive before, or that it still had when it was aborted. */
const limitOf = ({ end, limitedBy }: RunState.Next): RunEvent.LimitedReason | undefined => {
  if (end?._tag === "RunLimited") return end.reason
  return end?._tag === "RunAborted" ? limitedBy : undefined
}

/** The limit that still forbids a model call, unless the limits given now leave room. */
const leftOf = (
  limit: RunEvent.LimitedReason | undefined,
  given: RunPolicy.Limits | undefined,
  { compactionsInARow, totals: { toolCalls, toolRounds } }: RunState.Next
): RunEvent.LimitedReason | undefined => {
  if (limit === undefined || given === undefined) return limit
  const { maxCompactions = Infinity, maxToolCalls = Infinity, maxToolRounds = Infinity } = given
  const isUsedUp = (limit === "toolCalls" && toolCalls >= maxToolCalls) ||
    (limit === "toolRounds" && toolRounds >= maxToolRounds) ||
    (limit === "compactions" && compactionsInARow >= maxCompactions)
  return isUsedUp ? limit : undefined
}

/** A provider's refusal is in the log as the end of the attempt; anything else may have cut an attempt off. */
const isTraced = (end: RunEvent.End | undefined): boolean =>
  end?._tag === "RunFailed" && !untraced.includes(end.error.reason._tag)

/** Defects, and failures of a store that may still have stored the end after them. */
const untraced: ReadonlyArray<string> = ["Unknown", "StoreUnavailable", "StoreRefused", "EventTooLarge"]

export const end = (next: RunState.Next, event: RunEvent.End): void => {
  next.status = RunStatus.ofEnd(event._tag)
  next.totals = event.totals
  next.end = event
  next.abortRequested = undefined
  next.crashes = RunEvent.isDeath(event) ? next.crashes + 1 : 0
}

/** From how many deaths in a row on, as `deaths` counts them, a run is suspected of being what its process or its store dies of. */
export const suspicious = {
  /** it waits before it is taken up, and nobody is asked about its calls */
  waits: 2,
  /** it is taken up while no other such run goes on */
  alone: 3,
  /** it ends */
  ends: 5
} as const

/**
 * How often in a row the process of a run has died, or its store did not answer, with no turn of its own finished between; also where
 * nobody wrote its last end.
 */
export const deaths = ({ crashes, end }: Pick<RunState.RunState, "crashes" | "end">): number =>
  crashes + (end === undefined ? 1 : 0)

/**
 * A run whose last drive has its end has lost its process or its store so often that nobody takes it up any more, unless runs below its
 * calls finished turns meanwhile.
 */
export const isCrashLoop = (state: Pick<RunState.RunState, "crashes" | "end">): boolean =>
  state.end !== undefined && RunEvent.isDeath(state.end) && deaths(state) >= suspicious.ends
