/**
 * What the message of a turn and its tool calls do to the state of a run. Total and pure, as `RunState.evolve`, of which
 * this is a part.
 */
import * as DoomLoop from "../DoomLoop.ts"
import * as Message from "../Message.ts"
import type * as RunEvent from "../RunEvent.ts"
import type { RunState } from "../RunState.ts"
import * as RunStatus from "../RunStatus.ts"
import * as ToolOutcome from "../ToolOutcome.ts"
import * as Usage from "../Usage.ts"
import * as CallQuota from "./CallQuota.ts"
import * as OpenCall from "./OpenCall.ts"

type Settled = Extract<RunEvent.Durable, { _tag: "AssistantMessage" }>

/** A call of the turn under way that has its outcome. */
export interface SettledCall extends Pick<OpenCall.OpenCall, "callId" | "tool" | "params"> {
  readonly outcome: ToolOutcome.ToolOutcome
}

/** What a turn still needs to know of its settled answer. */
export interface Answer extends Pick<Settled, "attempt" | "finishReason" | "usage" | "message"> {
  readonly calls: number
  /** nothing a reader or a tool could use */
  readonly isBlank: boolean
  /** in the order in which they were settled */
  readonly settled: ReadonlyArray<SettledCall>
}

export const settleMessage = (state: RunState, event: Settled): RunState => {
  const calls = Message.toolCalls(event.message.content)
  return {
    ...state,
    status: calls.length > 0 ? "tool_running" : "preparing",
    turn: event.turn,
    attempts: event.attempt,
    // a cut answer is none yet
    compactionsInARow: event.finishReason === "length" ? state.compactionsInARow : 0,
    hasRun: false,
    text: Message.textOf(event.message.content),
    answer: {
      attempt: event.attempt,
      finishReason: event.finishReason,
      usage: event.usage,
      message: event.message,
      calls: calls.length,
      isBlank: Message.isBlank(event.message.content),
      settled: []
    },
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

/** A question about a call with these arguments; what was answered about others does not count. */
export const askCall = (
  state: RunState,
  event: Extract<RunEvent.Durable, { _tag: "ApprovalRequested" }>
): RunState => {
  const openCalls = state.openCalls.map((call) =>
    call.callId === event.callId ? { ...OpenCall.unasked(call), ...OpenCall.questionOf(event) } : call
  )
  return withCalls(state, openCalls, event.at)
}

/** An answer; one to a question that does not wait, such as about other arguments, changes nothing. */
export const answerCall = (
  state: RunState,
  event: Extract<RunEvent.Durable, { _tag: "ApprovalResolved" }>
): RunState =>
  state.openCalls.some(({ approvalId, phase }) => approvalId === event.approvalId && phase === "awaiting")
    ? withCall(state, event, { phase: "pending", decision: OpenCall.decisionOf(event) })
    : state

/** An open call that went a step further. */
const withCall = (
  state: RunState,
  event: { readonly at: number; readonly callId: string },
  change: Partial<OpenCall.OpenCall>
): RunState => {
  const openCalls = state.openCalls.map((call) => call.callId === event.callId ? { ...call, ...change } : call)
  return withCalls(state, openCalls, event.at)
}

/** Behind an end, where people decide while no drive is there, the status stays. */
const withCalls = (state: RunState, openCalls: ReadonlyArray<OpenCall.OpenCall>, at: number): RunState =>
  RunStatus.isEnd(state.status) ? { ...state, openCalls } : { ...state, ...OpenCall.inRound(state, openCalls, at) }

/** An intent, the first one of its call or another try. */
export const startCall = (state: RunState, event: Extract<RunEvent.Durable, { _tag: "ToolStarted" }>): RunState => {
  const { at, callId, params } = event
  const call = state.openCalls.find((open) => open.callId === callId)
  if (call === undefined) return state
  const { tries = 0 } = call
  const started = tries === 0 ? CallQuota.start(state.started, call.tool) : state.started
  const change = { phase: "started", params, startedAt: at, tries: tries + 1, drive: state.drive } as const
  return withCall({ ...state, started }, event, change)
}

/** An outcome; one of a call that is not open changes nothing. */
export const settleCall = (state: RunState, event: Extract<RunEvent.Durable, { _tag: "ToolSettled" }>): RunState => {
  const call = state.openCalls.find((open) => open.callId === event.callId)
  if (call === undefined) return state
  const openCalls = state.openCalls.filter((open) => open !== call)
  const { callId, params, tool } = call
  const hasRun = state.hasRun || call.phase === "started"
  return {
    ...state,
    hasRun,
    trail: DoomLoop.add(state.trail, { ...call, params: givenBy(state.answer, call) }, event),
    answer: state.answer === undefined ? undefined : {
      ...state.answer,
      settled: [...state.answer.settled, { callId, tool, params, outcome: event.outcome }]
    },
    ...OpenCall.inRound(state, openCalls, event.at),
    // what is settled behind an end begins nothing
    ...(RunStatus.isEnd(state.status) ? { status: state.status } : {}),
    totals: {
      ...state.totals,
      toolCalls: state.totals.toolCalls + (call.phase === "started" ? 1 : 0),
      toolRounds: state.totals.toolRounds + (openCalls.length === 0 && hasRun ? 1 : 0),
      errors: state.totals.errors + (ToolOutcome.isError(event.outcome) ? 1 : 0),
      usage: event.usage === undefined ? state.totals.usage : Usage.add(state.totals.usage, event.usage)
    }
  }
}

/** The arguments that the model gave: hooks and people may have changed them since. */
const givenBy = (
  answer: Answer | undefined,
  { callId, params, turn }: OpenCall.OpenCall
): OpenCall.OpenCall["params"] =>
  (answer && Message.toolCalls(answer.message.content)[OpenCall.placeOf(callId, turn)])?.params ?? params

/** An outcome of its calls is unknown. */
export const hasUnknown = ({ settled }: Answer): boolean =>
  settled.some(({ outcome }) => outcome._tag === "OutcomeUnknown")

/** The first of its calls that failed. */
export const firstFailed = ({ settled }: Answer): SettledCall | undefined =>
  settled.find(({ outcome }) => ToolOutcome.isError(outcome))
