/**
 * The state of a session's current run: a fold of its durable events, and the decisions that follow from it.
 *
 * `evolve` is total, also on logs with holes, and pure; a live run and a replayed one cannot differ. The moves between
 * statuses are in `RunStatus`; does not own messages, that is `Transcript`.
 */
import * as Message from "./Message.ts"
import * as RunError from "./RunError.ts"
import type * as RunEvent from "./RunEvent.ts"
import type * as RunInput from "./RunInput.ts"
import type * as RunPolicy from "./RunPolicy.ts"
import * as RunStatus from "./RunStatus.ts"
import * as ToolOutcome from "./ToolOutcome.ts"
import * as Usage from "./Usage.ts"

/** A call that has no outcome yet. `started`: its intent is stored. */
export interface OpenCall {
  readonly turn: number
  readonly callId: string
  readonly tool: string
  readonly params: Message.ToolCallPart["params"]
  readonly phase: "pending" | "awaiting" | "started"
  /** set once a person was asked */
  readonly approvalId?: string
  /** what the person said */
  readonly decision?: { readonly approved: boolean; readonly reason?: string }
}

export interface RunState {
  readonly status: RunEvent.Status
  /** `seq` of the last event folded in; 0 in an empty session */
  readonly seq: number
  /** undefined before the session's first run */
  readonly runId: string | undefined
  readonly agent: string
  readonly input: RunInput.Effective | undefined
  readonly limits: RunPolicy.Limits
  /** counts this run's drives from 1 */
  readonly drive: number
  readonly driveStartedAt: number
  /** since when the drive has been waiting for a person, and how long it has in all, in milliseconds */
  readonly waitingSince: number | undefined
  readonly waited: number
  /** the turn under way or just finished, from 1; 0 before the first */
  readonly turn: number
  /** attempts at the turn's model call so far, also by earlier drives */
  readonly attempts: number
  readonly totals: RunEvent.Totals
  readonly compactionsInARow: number
  readonly corrections: number
  readonly openCalls: ReadonlyArray<OpenCall>
  /** the settled answer of the turn under way, until the turn is finished */
  readonly answer: Pick<Answer, "attempt" | "finishReason" | "usage"> | undefined
  /** text of the last assistant message of this run */
  readonly text: string
  readonly end: RunEvent.End | undefined
}

const noTotals: RunEvent.Totals = {
  turns: 0,
  toolRounds: 0,
  toolCalls: 0,
  errors: 0,
  compactions: 0,
  duration: 0,
  usage: Usage.zero
}

export const empty: RunState = {
  status: "idle",
  seq: 0,
  runId: undefined,
  agent: "",
  input: undefined,
  limits: {},
  drive: 0,
  driveStartedAt: 0,
  waitingSince: undefined,
  waited: 0,
  turn: 0,
  attempts: 0,
  totals: noTotals,
  compactionsInARow: 0,
  corrections: 0,
  openCalls: [],
  answer: undefined,
  text: "",
  end: undefined
}

/** The id of the n-th call (from 0) of a turn's message: unique in the run. */
export const callId = (turn: number, index: number): string => `${turn}.${index}`

/** The place from 0 of a call of `turn` in its message; NaN for an id that is no call's of that turn. */
export const placeOf = (id: string, turn: number): number => {
  const place = Number(id.slice(id.indexOf(".") + 1))
  return callId(turn, place) === id ? place : NaN
}

/** Folds one durable event in. Events of a type this version does not know change nothing but `seq`. */
export const evolve = (state: RunState, event: RunEvent.Durable): RunState => {
  switch (event._tag) {
    case "RunStarted":
      return {
        ...empty,
        status: "preparing",
        seq: event.seq,
        runId: event.runId,
        agent: event.agent,
        input: event.input,
        limits: event.input.limits,
        drive: 1,
        driveStartedAt: event.at
      }
    case "RunResumed":
      return {
        ...state,
        status: state.openCalls.length > 0 ? "tool_running" : "preparing",
        seq: event.seq,
        drive: event.drive,
        driveStartedAt: event.at,
        waitingSince: undefined,
        waited: 0,
        // an attempt that was cut off left no trace but its deltas: the next one has a number of its own
        attempts: state.attempts + (isTraced(state.end) ? 0 : 1),
        limits: event.limits ?? state.limits,
        input: event.data === undefined || state.input === undefined
          ? state.input
          : { ...state.input, data: event.data },
        end: undefined
      }
    case "TurnStarted":
      return {
        ...state,
        status: "preparing",
        seq: event.seq,
        turn: event.turn,
        attempts: event.turn === state.turn ? state.attempts : 0,
        answer: undefined
      }
    case "AttemptDiscarded":
      return {
        ...state,
        seq: event.seq,
        attempts: event.attempt,
        totals: {
          ...state.totals,
          errors: state.totals.errors + 1,
          usage: Usage.add(state.totals.usage, event.usage)
        }
      }
    case "AssistantMessage":
      return settleMessage(state, event)
    case "ApprovalRequested":
      return withCall(state, event, { phase: "awaiting", approvalId: event.approvalId })
    case "ApprovalResolved":
      return withCall(state, event, { phase: "pending", decision: decisionOf(event) })
    case "ToolStarted":
      return withCall(state, event, { phase: "started", params: event.params })
    case "ToolSettled":
      return settleCall(state, event)
    case "TurnFinished":
      return { ...state, status: "preparing", seq: event.seq, answer: undefined }
    case "NoticeAdded":
      return {
        ...state,
        seq: event.seq,
        corrections: state.corrections + (event.kind === "invalidOutput" ? 1 : 0)
      }
    case "ContextCompacted":
      return {
        ...state,
        seq: event.seq,
        compactionsInARow: state.compactionsInARow + 1,
        totals: {
          ...state.totals,
          compactions: state.totals.compactions + 1,
          usage: Usage.add(state.totals.usage, event.usage)
        }
      }
    case "RunCompleted":
      return ended(state, event, "completed")
    case "RunLimited":
      return ended(state, event, "limited")
    case "RunSuspended":
      return ended(state, event, "suspended")
    case "RunFailed":
      return ended(state, event, "failed")
    case "RunAborted":
      return ended(state, event, "aborted")
    case "ModelSwitched":
    case "InputReceived":
    case "AbortRequested":
      return { ...state, seq: event.seq }
    default:
      return { ...state, seq: (event as RunEvent.Durable).seq }
  }
}

/** A provider's refusal is in the log as the attempt's end; anything else may have cut an attempt off. */
const isTraced = (end: RunEvent.End | undefined): boolean =>
  end?._tag === "RunFailed" && end.error.reason._tag !== "Unknown" && end.error.reason._tag !== "StoreUnavailable"

type Answer = Extract<RunEvent.Durable, { _tag: "AssistantMessage" }>

const settleMessage = (
  state: RunState,
  event: Answer
): RunState => {
  const calls = Message.toolCalls(event.message.content)
  return {
    ...state,
    status: calls.length > 0 ? "tool_running" : "preparing",
    seq: event.seq,
    turn: event.turn,
    attempts: event.attempt,
    compactionsInARow: 0,
    text: Message.textOf(event.message.content),
    answer: { attempt: event.attempt, finishReason: event.finishReason, usage: event.usage },
    openCalls: calls.map((call, index) => ({
      turn: event.turn,
      callId: callId(event.turn, index),
      tool: call.name,
      params: call.params,
      phase: "pending"
    })),
    totals: {
      ...state.totals,
      turns: state.totals.turns + 1,
      usage: Usage.add(state.totals.usage, event.usage)
    }
  }
}

const withCall = (
  state: RunState,
  event: { readonly seq: number; readonly at: number; readonly callId: string },
  change: Partial<OpenCall>
): RunState => {
  const openCalls = state.openCalls.map((call) => call.callId === event.callId ? { ...call, ...change } : call)
  return { ...state, seq: event.seq, ...inRound(state, openCalls, event.at) }
}

const decisionOf = (
  { approved, reason }: Extract<RunEvent.Durable, { _tag: "ApprovalResolved" }>
): NonNullable<OpenCall["decision"]> => ({ approved, ...(reason === undefined ? {} : { reason }) })

/** A round waits for a person while one is asked and nothing runs; that time is not the drive's. */
const inRound = (
  state: RunState,
  openCalls: ReadonlyArray<OpenCall>,
  at: number
): Pick<RunState, "openCalls" | "status" | "waitingSince" | "waited"> => {
  const waits = openCalls.some((call) => call.phase === "awaiting") &&
    !openCalls.some((call) => call.phase === "started")
  const { waited, waitingSince } = state
  return {
    openCalls,
    status: waits ? "awaiting_human" : "tool_running",
    waitingSince: waits ? waitingSince ?? at : undefined,
    waited: waits || waitingSince === undefined ? waited : waited + Math.max(0, at - waitingSince)
  }
}

const settleCall = (state: RunState, event: Extract<RunEvent.Durable, { _tag: "ToolSettled" }>): RunState => {
  const call = state.openCalls.find((open) => open.callId === event.callId)
  if (call === undefined) return { ...state, seq: event.seq }
  const openCalls = state.openCalls.filter((open) => open !== call)
  return {
    ...state,
    seq: event.seq,
    ...inRound(state, openCalls, event.at),
    totals: {
      ...state.totals,
      toolCalls: state.totals.toolCalls + (call.phase === "started" ? 1 : 0),
      toolRounds: state.totals.toolRounds + (openCalls.length === 0 ? 1 : 0),
      errors: state.totals.errors + (ToolOutcome.isError(event.outcome) ? 1 : 0),
      usage: event.usage === undefined ? state.totals.usage : Usage.add(state.totals.usage, event.usage)
    }
  }
}

const ended = (state: RunState, event: RunEvent.End, status: RunEvent.Status): RunState => ({
  ...state,
  status,
  seq: event.seq,
  totals: event.totals,
  end: event
})

/** True when a drive began and never wrote its end: its process died, or its store did. */
export const isOpen = (state: RunState): boolean => state.status !== "idle" && !RunStatus.isEnd(state.status)

/** The totals as of now: drive time is added up to `at`, without what was spent waiting for people. */
export const totalsAt = (state: RunState, at: number): RunEvent.Totals => ({
  ...state.totals,
  duration: state.totals.duration + Math.max(0, (state.waitingSince ?? at) - state.driveStartedAt - state.waited)
})

/**
 * The limit that forbids the next model call, if any: checked before the spending, against what is settled. Turns come
 * first, so that a run at several limits names the one a user knows best.
 */
export const limitReached = (state: RunState, at: number): RunEvent.LimitedReason | undefined =>
  state.limits.maxTurns !== undefined && state.totals.turns >= state.limits.maxTurns ? "turns" : budgetSpent(state, at)

/** The limit that forbids the next tool call of a round, if any: what is spent besides turns. */
export const budgetSpent = (state: RunState, at: number): RunEvent.LimitedReason | undefined => {
  const { limits, totals } = state
  if (limits.maxDuration !== undefined && totalsAt(state, at).duration >= limits.maxDuration) return "duration"
  if (limits.maxTokens !== undefined && Usage.total(totals.usage) >= limits.maxTokens) return "tokens"
  if (limits.maxErrors !== undefined && totals.errors > limits.maxErrors) return "errors"
  return undefined
}

/** How many of a message's calls the limits still allow to run; the rest settle `NotExecuted(limit)`. */
export const callsLeft = (state: RunState): { readonly count: number; readonly reason: RunEvent.LimitedReason } => {
  const { limits, totals } = state
  if (limits.maxTurns !== undefined && totals.turns >= limits.maxTurns) return { count: 0, reason: "turns" }
  if (limits.maxToolRounds !== undefined && totals.toolRounds >= limits.maxToolRounds) {
    return { count: 0, reason: "toolRounds" }
  }
  const count = limits.maxToolCalls === undefined ? Infinity : Math.max(0, limits.maxToolCalls - totals.toolCalls)
  return { count, reason: "toolCalls" }
}

/** What the settled turn was, for `decide`. */
export interface Settled {
  readonly finishReason: RunEvent.FinishReason
  readonly hasCalls: boolean
  readonly isEmpty: boolean
  /** a limit cut the message's calls short */
  readonly cutBy: RunEvent.LimitedReason | undefined
  /** the answer does not fit the agent's output schema */
  readonly invalidOutput: string | undefined
  readonly toolError: RunError.Stored | undefined
}

/**
 * What happens after a turn, in `observing`. Parsed calls decide, not the finish reason; `length` compacts by force,
 * and goes on with a notice where nothing can shrink but something was said.
 */
export const decide = (state: RunState, turn: Settled): RunEvent.Decision => {
  if (turn.toolError !== undefined) return { _tag: "Fail", error: turn.toolError }
  if (turn.finishReason === "length") return { _tag: "Compact", reason: "length" }
  if (turn.cutBy !== undefined && turn.finishReason !== "content-filter") return { _tag: "Limit", reason: turn.cutBy }
  if (turn.hasCalls && turn.finishReason !== "content-filter") return { _tag: "Continue", reason: "toolCalls" }
  if (turn.invalidOutput !== undefined) {
    if (turn.finishReason === "content-filter") return { _tag: "Fail", error: RunError.toStored(filtered) }
    return state.corrections === 0
      ? { _tag: "Continue", reason: "correction" }
      : { _tag: "Fail", error: RunError.toStored(RunError.invalidOutput(turn.invalidOutput)) }
  }
  return { _tag: "Complete", reason: completion(state, turn) }
}

const filtered = new RunError.NonRetryableError({
  _tag: "ContentPolicy",
  message: "the provider's content filter ended the answer before it fitted the agent's output schema"
})

const completion = (state: RunState, turn: Settled): Extract<RunEvent.Decision, { _tag: "Complete" }>["reason"] => {
  if (turn.finishReason === "content-filter") return "contentFilter"
  if (turn.isEmpty && state.totals.toolRounds > 0) return "emptyAfterTools"
  return turn.finishReason === "stop" ? "stop" : "other"
}
