/**
 * What one run has come to so far: the numbers that it will add to those of other runs. Total and pure, even on logs
 * with holes.
 *
 * Does not own which of them are summed up over runs; that is `RunStats`.
 */
import type * as DurableEvent from "../DurableEvent.ts"
import type * as RunEvent from "../RunEvent.ts"
import * as CallBegin from "../timeline/CallBegin.ts"

export interface RunTally {
  readonly turns: number
  readonly retries: number
  readonly compactions: number
  /** the model call of the turn under way was settled in this drive */
  readonly isAnswered: boolean
  /** when the model call under way began; `undefined` where none is, or its drive is over */
  readonly calling: number | undefined
  /** milliseconds from there to the answer of the turn under way, whichever drive had it */
  readonly modelTime: number | undefined
  /** the calls of the turn under way that this drive has started, by id */
  readonly started: ReadonlySet<string>
  /** when a person was asked about a call without having answered, in milliseconds since the epoch, by the call's id */
  readonly asked: ReadonlyMap<string, number>
  /** how its last drive ended; `undefined` while one is under way, or if its process died */
  readonly end: RunEvent.End | undefined
}

export const empty: RunTally = {
  turns: 0,
  retries: 0,
  compactions: 0,
  isAnswered: false,
  calling: undefined,
  modelTime: undefined,
  started: new Set(),
  asked: new Map(),
  end: undefined
}

export const evolve = (self: RunTally, event: RunEvent.Durable): RunTally => {
  const next = count(self, event)
  const calling = CallBegin.after(self.calling, event)
  return next.calling === calling ? next : { ...next, calling }
}

const count = (self: RunTally, event: RunEvent.Durable): RunTally => {
  switch (event._tag) {
    case "RunResumed":
      return { ...self, end: undefined, isAnswered: false, started: empty.started }
    case "TurnStarted":
      return { ...self, isAnswered: false, modelTime: undefined, started: empty.started }
    case "AttemptDiscarded":
      return isRetried(event) ? { ...self, retries: self.retries + 1 } : self
    case "AssistantMessage":
      return { ...self, turns: self.turns + 1, isAnswered: true, modelTime: since(self.calling, event.at) }
    case "ApprovalRequested":
      return { ...self, asked: new Map(self.asked).set(event.callId, event.at) }
    case "ApprovalResolved":
      return { ...self, asked: new Map([...self.asked].filter(([callId]) => callId !== event.callId)) }
    case "ToolStarted":
      return { ...self, started: new Set(self.started).add(event.callId) }
    case "ContextCompacted":
      return event.isOfRun === false ? self : { ...lose(self, event), compactions: self.compactions + 1 }
    case "CompactionDiscarded":
      return event.isOfRun === false ? self : lose(self, event)
    case "RunCompleted":
    case "RunLimited":
    case "RunSuspended":
    case "RunFailed":
    case "RunAborted":
      return { ...self, end: event }
    default:
      return self
  }
}

/** With the retries of a strategy's calls. */
const lose = (self: RunTally, { lost }: DurableEvent.Of<"ContextCompacted" | "CompactionDiscarded">): RunTally =>
  lost === undefined ? self : { ...self, retries: self.retries + lost.retries }

/** Clocks may be set back. */
const since = (from: number | undefined, to: number): number | undefined =>
  from === undefined ? undefined : Math.max(0, to - from)

/** The same model is tried again. */
const isRetried = ({ delay }: DurableEvent.Of<"AttemptDiscarded">): boolean => delay !== undefined

/**
 * How long the model call of a turn that is over took, in milliseconds. A drive that took up the turn of an earlier one timed none: the
 * log says how long it took, but not its first part; `undefined` where it does not say it either.
 */
export const modelTimeOf = (
  { isAnswered, modelTime }: RunTally,
  { latency }: DurableEvent.Of<"TurnFinished">
): number | undefined => isAnswered ? latency.model : modelTime

/**
 * How long a call took, in milliseconds; `undefined` if its handler did not run to its end in this drive, so that the
 * time says nothing about the tool.
 */
export const timeOf = (
  { started }: RunTally,
  { callId, duration, outcome }: DurableEvent.Of<"ToolSettled">
): number | undefined => started.has(callId) && ran.has(outcome._tag) ? duration : undefined

const ran: ReadonlySet<string> = new Set(["Succeeded", "Failed", "TimedOut", "NotEncodable"])
