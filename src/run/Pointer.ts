/** What a log refers to outside itself: another run, the call that a run works for, and the span of a drive. */
import * as Schema from "effect/Schema"

/** A run, of any session. */
export const Run = Schema.Struct({ sessionId: Schema.String, runId: Schema.String })
export type Run = typeof Run.Type

export const isSameRun = (a: Run, b: Run): boolean => a.sessionId === b.sessionId && a.runId === b.runId

/** A run as a key of maps and sets. */
export const keyOf = ({ runId, sessionId }: Run): string => JSON.stringify([sessionId, runId])

/** A call of a run, which other runs may work for. */
export const Parent = Schema.Struct({ sessionId: Schema.String, runId: Schema.String, callId: Schema.String })
export type Parent = typeof Parent.Type

export const isSameCall = (a: Parent, b: Parent): boolean => isSameRun(a, b) && a.callId === b.callId

/** Which call of a run an event is about. */
export const call = { turn: Schema.Finite, callId: Schema.String, tool: Schema.String }

/** The runs that work for a call that pauses, or had worked for it by then. */
export const belowCall = {
  /** those that wait for people to answer */
  waitsFor: Schema.Array(Run),
  /** the others: their logs say what they spent */
  beside: Schema.optionalKey(Schema.Array(Run))
}

/** The span of a drive, by its ids: no secrets, and the way from a log to its traces. */
export const Trace = Schema.Struct({ traceId: Schema.String, spanId: Schema.String })
export type Trace = typeof Trace.Type
