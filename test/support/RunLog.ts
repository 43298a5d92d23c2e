/**
 * Short forms of events for comparison.
 */
import * as RunEvent from "../../src/run/RunEvent.ts"

export const tags = (events: ReadonlyArray<RunEvent.RunEvent>): Array<string> => events.map((event) => event._tag)

export const durable = (events: ReadonlyArray<RunEvent.RunEvent>): Array<RunEvent.Durable> =>
  events.filter(RunEvent.isDurable)

export const only = <T extends RunEvent.RunEvent["_tag"]>(events: ReadonlyArray<RunEvent.RunEvent>, tag: T) =>
  events.filter((event): event is Extract<RunEvent.RunEvent, { _tag: T }> => event._tag === tag)

/** `callId outcome` of every settled call, with the reason for those that did not run. */
export const outcomes = (events: ReadonlyArray<RunEvent.RunEvent>): Array<string> =>
  only(events, "ToolSettled").map(({ callId, outcome }) =>
    `${callId} ${outcome._tag}${outcome._tag === "NotExecuted" ? `(${outcome.reason})` : ""}`
  )

/** The moves between statuses as `from>to`. */
export const moves = (events: ReadonlyArray<RunEvent.RunEvent>): Array<string> =>
  only(events, "StatusChanged").map(({ from, to }) => `${from}>${to}`)

/** `RunLimited(turns)`: the end of a log, or its last event if that is not an end. */
export const endOf = (events: ReadonlyArray<RunEvent.RunEvent>): string => {
  const last = events[events.length - 1]
  if (last === undefined) return "nothing"
  if (!RunEvent.isEnd(last)) return last._tag
  return `${last._tag}(${last._tag === "RunFailed" ? last.error.reason._tag : last.reason})`
}

export { violations } from "../../src/testing/LogRules.ts"
