/**
 * Where a session's log may be cut for a copy, and how a run that the cut interrupts ends in the copy.
 *
 * Pure; does not own the copying, a store does.
 */
import * as RunEvent from "../RunEvent.ts"
import * as RunState from "../RunState.ts"
import * as OpenCall from "../state/OpenCall.ts"

const isPlace: Record<RunEvent.End["_tag"] | "TurnFinished", true> = {
  TurnFinished: true,
  RunCompleted: true,
  RunLimited: true,
  RunSuspended: true,
  RunFailed: true,
  RunAborted: true
}

/** The types of events after which a log may be cut: no call is running at such a place, unless its process died. */
export const placeTypes: ReadonlyArray<string> = Object.keys(isPlace)

/** `seq` of the events after which a log may be cut, in order. */
export const places = (events: ReadonlyArray<RunEvent.Durable>): ReadonlyArray<number> =>
  events.flatMap((event) => placeTypes.includes(event._tag) ? [event.seq] : [])

/** Whether nothing is added to a copy that ends with `last`, whatever came before. */
export const isWhole = (last: RunEvent.Durable): boolean => RunEvent.isEnd(last) && RunEvent.isOver(last)

/**
 * Calls that the run may still carry out by itself, including one that a person has allowed, or that have started: a copy shares
 * none of them with its original.
 */
export const underWay = ({ openCalls, status }: RunState.RunState): ReadonlyArray<OpenCall.OpenCall> =>
  openCalls.filter((call) => status !== "suspended" || OpenCall.hasStarted(call) || call.decision?.approved === true)

/**
 * What is added at `at` to a copy that ends with `last` and folds to `state`. If a run was cut in its middle: its end. After the
 * end of a drive that died or is suspended: outcomes of the calls that the original is to carry out, or to ask about by their
 * idempotency keys. If the run ended with its process or its store, or none of the copy's calls waits for a person any more, also:
 * a drive that ends as a copy's, so that nobody takes it for a run that is to go on; where a suspended one keeps inputs: a drive that
 * keeps none.
 */
export const closing = (
  state: RunState.RunState,
  last: RunEvent.Durable,
  at: number
): ReadonlyArray<RunEvent.Durable> => {
  const end = endOf(state, last, at)
  if (end !== undefined) return [end]
  const { runId } = last
  const placed = (i: number) => ({ seq: last.seq + 1 + i, at, runId, version: RunEvent.version })
  const calls = underWay(state)
  const isLeft = RunEvent.isEnd(last) && (RunEvent.isLeft(last) || (calls.length > 0 && !isAsking(state)))
  const settled: ReadonlyArray<RunEvent.Durable> = (isLeft ? state.openCalls : calls).map((call, i) => ({
    _tag: "ToolSettled",
    ...placed(i),
    turn: call.turn,
    callId: call.callId,
    tool: call.tool,
    outcome: OpenCall.hasStarted(call) ? { _tag: "OutcomeUnknown" } : { _tag: "NotExecuted", reason: "stopped" },
    duration: 0
  }))
  const { length } = settled
  const resumed = { _tag: "RunResumed", ...placed(length), drive: state.drive + 1, cause: "resume" } as const
  if (!isLeft) {
    if (last._tag !== "RunSuspended" || RunEvent.keptBy(last).length === 0) return settled
    // what waits in the original is not said in the copy
    const { reason, totals } = last
    return [...settled, resumed, { _tag: "RunSuspended", ...placed(length + 1), reason, totals }]
  }
  const { totals } = last
  // the answer that was cut off is not asked for anew here
  const unfinished = RunEvent.unfinishedOf(last)
  const rest = unfinished.length === 0 ? { totals } : { totals, unfinished }
  return [
    ...settled,
    resumed,
    { _tag: "RunAborted", ...placed(length + 1), reason: "forked", ...rest }
  ]
}

/** A person is asked about a call of the run itself. */
const isAsking = ({ openCalls }: RunState.RunState): boolean => openCalls.some(({ phase }) => phase === "awaiting")

/** The end of a run that is cut after `last`. The time in between is not the run's, so its totals count up to `last`. */
export const endOf = (state: RunState.RunState, last: RunEvent.Durable, at: number): RunEvent.End | undefined =>
  RunEvent.isEnd(last) ? undefined : {
    _tag: "RunAborted",
    seq: last.seq + 1,
    at,
    runId: last.runId,
    version: RunEvent.version,
    reason: "forked",
    totals: RunState.totalsAt(state, last.at)
  }
