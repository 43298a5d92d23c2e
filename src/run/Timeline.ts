/**
 * A session as spans of time: model calls, attempts that do not count, waits, tool calls and compactions, drive by
 * drive. A fold of durable events; every step returns what is known by then, a turn's spans once the turn is over.
 *
 *     DriveStarted  Span Span ...  DriveEnded  Span (an answer to a question that waited)  DriveStarted ...
 *
 * Total and pure, even on logs with holes. Does not own how a timeline is shown.
 */
import type * as DurableEvent from "./DurableEvent.ts"
import * as RunEvent from "./RunEvent.ts"
import * as Spans from "./timeline/Spans.ts"
import type * as Usage from "./Usage.ts"

/**
 * `model`: the call that counted, `attempt`: one that does not, `retry`: the wait after it, `tool`: one call,
 * `approval`: a question to a person, `compaction`: the context made smaller.
 */
export type Kind = "model" | "attempt" | "retry" | "tool" | "approval" | "compaction"

/** Times are in milliseconds since the epoch. */
export interface Span {
  readonly _tag: "Span"
  readonly kind: Kind
  readonly runId: string
  readonly drive: number
  readonly turn: number
  /** `seq` of the event that it begins with */
  readonly seq: number
  /** the model's or the tool's name, or the strategy's; empty where a compaction failed */
  readonly name: string
  readonly from: number
  /** `null`: it had no end by the end of its drive */
  readonly to: number | null
  /**
   * finish reason, reason of the error, outcome, answer; for a compaction what it left: `12 of 40 messages`, or
   * `failed`; empty if there is none
   */
  readonly outcome: string
  /** of a model call, milliseconds to its first part of content */
  readonly firstPart?: number
  readonly usage?: Usage.Usage
  /** of a tool call, and of a question about one */
  readonly callId?: string
  /** of a compaction: why it was made, if that is known */
  readonly cause?: RunEvent.CompactionCause
}

/** A drive begins; the `cause` of a run's first one is `start`. */
export interface DriveStarted {
  readonly _tag: "DriveStarted"
  readonly runId: string
  /** counts the runs of the session from 1 */
  readonly run: number
  readonly drive: number
  readonly at: number
  readonly cause: "start" | DurableEvent.Of<"RunResumed">["cause"]
}

/** A drive is over, or the log is. */
export interface DriveEnded {
  readonly _tag: "DriveEnded"
  readonly runId: string
  readonly run: number
  readonly drive: number
  /** of a drive that died or was aborted, or that a copy was cut in: when it was last at work, as far as the log tells */
  readonly at: number
  /** `null`: it goes on, or its process died */
  readonly end: RunEvent.End | null
}

/** The entries of a timeline, in the order in which they become known. */
export type Entry = DriveStarted | Span | DriveEnded

/** The drive under way. */
interface Drive extends Pick<DriveStarted, "runId" | "run" | "drive"> {}

/** What `step` has to remember between two events. */
export interface Timeline extends Spans.Spans {
  readonly runs: number
  readonly drive: Drive | undefined
  /** when the drive under way began */
  readonly startedAt: number
  /** how long the run's drives before it took, in milliseconds, without time spent waiting for people */
  readonly spent: number
  /** an abort was accepted in it */
  readonly isAborting: boolean
  /** when something was last recorded */
  readonly at: number
  /** the same, but for outcomes of calls that did not run: those of a drive that died may have been recorded by whoever found it */
  readonly heardAt: number
}

/** Where a session's timeline begins. */
export const empty: Timeline = {
  ...Spans.empty,
  runs: 0,
  drive: undefined,
  startedAt: 0,
  spent: 0,
  isAborting: false,
  at: 0,
  heardAt: 0
}

/** The timeline with an event added, and the entries that are known through it. */
export const step = (self: Timeline, event: RunEvent.Durable): readonly [Timeline, ReadonlyArray<Entry>] => {
  if (event._tag === "RunStarted") {
    const [before, entries] = finish(self)
    const run = before.runs + 1
    return startDrive(
      { ...before, ...Spans.empty, runs: run, spent: 0 },
      { run, drive: 1, runId: event.runId },
      event,
      entries
    )
  }
  if (event._tag === "RunResumed") {
    const [before, entries] = finish(self)
    return startDrive(before, { run: before.runs, drive: event.drive, runId: event.runId }, event, entries)
  }
  if (RunEvent.isEnd(event)) return endDrive(self, event)
  const { drive } = self
  // what is recorded outside a drive took no time that the log knows of
  const [stepped, before] = Spans.step(drive === undefined ? { ...self, at: event.at } : self, event)
  // without a drive, no turn is under way either
  const [spans, after] = drive === undefined ? Spans.flush(stepped) : [stepped, []]
  const at = Spans.isPassedOver(event) ? self.at : event.at
  const heardAt = event._tag === "ToolSettled" && event.duration === 0 ? self.heardAt : at
  const isAborting = self.isAborting || event._tag === "AbortRequested"
  return [
    { ...self, ...spans, at, heardAt, isAborting },
    [...before, ...after].map(placed(event.runId, drive?.drive ?? 0))
  ]
}

/** The entries that are known when the log ends: calls and questions without an end, and a drive without one. */
export const finish = (self: Timeline): readonly [Timeline, ReadonlyArray<Entry>] => endDrive(self, undefined)

const placed = (runId: string, drive: number) => (span: Spans.Found): Span => ({ _tag: "Span", runId, drive, ...span })

const startDrive = (
  self: Timeline,
  drive: Drive,
  event: DurableEvent.Of<"RunStarted" | "RunResumed">,
  before: ReadonlyArray<Entry>
): readonly [Timeline, ReadonlyArray<Entry>] => {
  const { at } = event
  const cause = event._tag === "RunStarted" ? "start" : event.cause
  const begun = { ...self, drive, startedAt: at, isAborting: false, at, heardAt: at }
  return [begun, [...before, { _tag: "DriveStarted", ...drive, at, cause }]]
}

const endDrive = (self: Timeline, end: RunEvent.End | undefined): readonly [Timeline, ReadonlyArray<Entry>] => {
  const { drive } = self
  if (drive === undefined) return [self, []]
  const at = end === undefined ? self.at : workedUntil(self, end)
  const [spans, found] = Spans.end(self, at, end && RunEvent.cutOffOf(end)?.usage)
  const held = end !== undefined && at < end.at ? found.map((span) => until(span, at)) : found
  const { spent } = self
  return [
    { ...self, ...spans, drive: undefined, spent: end?.totals.duration ?? spent, at: end?.at ?? self.at },
    [...held.map(placed(drive.runId, drive.drive)), { _tag: "DriveEnded", ...drive, at, end: end ?? null }]
  ]
}

/**
 * When the drive was last at work. The end of one that died was written by whoever found that, and a copy's by whoever made it. Where
 * calls may have been settled just before that, the totals say how long the drive took, but without its waits for people.
 */
const workedUntil = ({ at, heardAt, isAborting, spent, startedAt }: Timeline, end: RunEvent.End): number => {
  const isAborted = end._tag === "RunAborted"
  if (isAborted && (end.reason === "crashed" || end.reason === "forked")) return at
  const maySettle = (isAborted && isAborting) || RunEvent.isOfDead(end)
  return maySettle ? Math.max(heardAt, Math.min(end.at, startedAt + end.totals.duration - spent)) : end.at
}

/** The span without what comes after `at`: a call that was settled later is a moment then. */
const until = (span: Spans.Found, at: number): Spans.Found => ({
  ...span,
  from: Math.min(span.from, at),
  to: span.to === null ? null : Math.min(span.to, at)
})
