/**
 * The state of a session's current run: a fold of its durable events. `evolve` is total, also on logs with holes, and
 * pure; a live run and a replayed one cannot differ.
 *
 * Does not own what follows from a state (`RunDecision`), the moves between statuses (`RunStatus`), or messages
 * (`Transcript`).
 */
import * as Message from "./Message.ts"
import * as OpenCall from "./OpenCall.ts"
import type * as RunEvent from "./RunEvent.ts"
import type * as RunInput from "./RunInput.ts"
import type * as RunPolicy from "./RunPolicy.ts"
import * as RunStatus from "./RunStatus.ts"
import * as ToolOutcome from "./ToolOutcome.ts"
import * as Usage from "./Usage.ts"

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
  readonly openCalls: ReadonlyArray<OpenCall.OpenCall>
  /** a call of the round under way has run */
  readonly hasRun: boolean
  /** the limit that ended the drive before, where no new limits were given since */
  readonly limitedBy: RunEvent.LimitedReason | undefined
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
  hasRun: false,
  limitedBy: undefined,
  answer: undefined,
  text: "",
  end: undefined
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
        status: state.openCalls.length === 0
          ? "preparing"
          : OpenCall.waits(state.openCalls)
          ? "awaiting_human"
          : "tool_running",
        seq: event.seq,
        drive: event.drive,
        driveStartedAt: event.at,
        waited: 0,
        waitingSince: OpenCall.waits(state.openCalls) ? event.at : undefined,
        // an attempt that was cut off left no trace but its deltas: the next one has a number of its own
        attempts: state.attempts + (isTraced(state.end) ? 0 : 1),
        limits: event.limits ?? state.limits,
        limitedBy: event.limits === undefined && state.end?._tag === "RunLimited" ? state.end.reason : undefined,
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
      return withCall(state, event, { phase: "pending", decision: OpenCall.decisionOf(event) })
    case "ToolStarted":
      return withCall(state, event, { phase: "started", params: event.params, startedAt: event.at })
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
  end?._tag === "RunFailed" && !untraced.has(end.error.reason._tag)

const untraced: ReadonlySet<string> = new Set(["Unknown", "StoreUnavailable", "EventTooLarge"])

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
    hasRun: false,
    text: Message.textOf(event.message.content),
    answer: { attempt: event.attempt, finishReason: event.finishReason, usage: event.usage },
    openCalls: calls.map((call, index) => ({
      turn: event.turn,
      callId: OpenCall.callId(event.turn, index),
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
  change: Partial<OpenCall.OpenCall>
): RunState => {
  const openCalls = state.openCalls.map((call) => call.callId === event.callId ? { ...call, ...change } : call)
  return { ...state, seq: event.seq, ...OpenCall.inRound(state, openCalls, event.at) }
}

const settleCall = (state: RunState, event: Extract<RunEvent.Durable, { _tag: "ToolSettled" }>): RunState => {
  const call = state.openCalls.find((open) => open.callId === event.callId)
  if (call === undefined) return { ...state, seq: event.seq }
  const openCalls = state.openCalls.filter((open) => open !== call)
  const hasRun = state.hasRun || call.phase === "started"
  return {
    ...state,
    seq: event.seq,
    hasRun,
    ...OpenCall.inRound(state, openCalls, event.at),
    totals: {
      ...state.totals,
      toolCalls: state.totals.toolCalls + (call.phase === "started" ? 1 : 0),
      toolRounds: state.totals.toolRounds + (openCalls.length === 0 && hasRun ? 1 : 0),
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
