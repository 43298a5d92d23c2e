/**
 * Where a session's log may be cut for a copy of it, and how a run ends that such a copy leaves in its middle.
 *
 * Pure; does not own the copying, that is a store's.
 */
import * as RunEvent from "./RunEvent.ts"
import * as RunState from "./RunState.ts"

const isPlace: Record<RunEvent.End["_tag"] | "TurnFinished", true> = {
  TurnFinished: true,
  RunCompleted: true,
  RunLimited: true,
  RunSuspended: true,
  RunFailed: true,
  RunAborted: true
}

/** The types of events behind which a log may be cut: no call before them is under way, at most it waits for a person. */
export const placeTypes: ReadonlyArray<string> = Object.keys(isPlace)

/** `seq` of the events behind which a log may be cut, in order. */
export const places = (events: ReadonlyArray<RunEvent.Durable>): ReadonlyArray<number> =>
  events.flatMap((event) => placeTypes.includes(event._tag) ? [event.seq] : [])

/**
 * What goes behind a copy that ends with `last`, `state` being its fold; nothing where the run had ended. Written at `at`;
 * the time between is not the run's, so its totals count up to `last`.
 */
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
