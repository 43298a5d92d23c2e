/**
 * What the tool calls of a turn do to the state of a run: parts of `RunState.evolve`, total like it, which write only
 * to the state that it is making.
 */
import * as DoomLoop from "../DoomLoop.ts"
import type * as DurableEvent from "../DurableEvent.ts"
import * as Message from "../Message.ts"
import type * as RunState from "../RunState.ts"
import * as RunStatus from "../RunStatus.ts"
import * as ToolOutcome from "../ToolOutcome.ts"
import * as Usage from "../Usage.ts"
import * as CallQuota from "./CallQuota.ts"
import * as OpenCall from "./OpenCall.ts"
import type * as RunTurn from "./RunTurn.ts"

/** A call of the turn under way that has its outcome. */
export interface SettledCall extends Pick<OpenCall.OpenCall, "callId" | "tool" | "params"> {
  readonly outcome: ToolOutcome.ToolOutcome
}

/** A question about a call with these arguments; answers about other arguments do not count. */
export const askCall = (
  next: RunState.Next,
  event: DurableEvent.Of<"ApprovalRequested">
): void => {
  const at = OpenCall.indexOf(next.openCalls, event.callId)
  const call = next.openCalls[at]
  putCall(next, at, call && { ...OpenCall.unasked(call), ...OpenCall.questionOf(event) })
}

/** An answer. One to a question that is not waiting, such as about other arguments, changes nothing. */
export const answerCall = (
  next: RunState.Next,
  event: DurableEvent.Of<"ApprovalResolved">
): void => {
  if (OpenCall.waitingFor(next.openCalls, event.approvalId) === undefined) return
  const at = OpenCall.indexOf(next.openCalls, event.callId)
  const call = next.openCalls[at]
  putCall(next, at, call && { ...call, phase: "pending", decision: OpenCall.decisionOf(event) })
}

/**
 * Puts back an open call that went a step further. After an end, when people decide without a drive, the status stays.
 */
const putCall = (next: RunState.Next, at: number, call: OpenCall.OpenCall | undefined): void => {
  if (call !== undefined) {
    // V8 has no fast path for `with` here
    const calls = [...next.openCalls]
    calls[at] = call
    next.openCalls = calls
  }
  if (!RunStatus.isEnd(next.status)) next.status = statusOfRound(next)
}

/** The status of a round with the calls that are left; time spent waiting for a person does not count for the drive. */
const statusOfRound = (next: RunState.Next): "awaiting_human" | "tool_running" => {
  if (OpenCall.waits(next.openCalls)) {
    next.waitingSince ??= next.at
    return "awaiting_human"
  }
  if (next.waitingSince !== undefined) next.waited += Math.max(0, next.at - next.waitingSince)
  next.waitingSince = undefined
  return "tool_running"
}

/** An intent: the first one of its call, or another try. */
export const startCall = (
  next: RunState.Next,
  { at: startedAt, callId, params }: DurableEvent.Of<"ToolStarted">
): void => {
  const at = OpenCall.indexOf(next.openCalls, callId)
  const call = next.openCalls[at]
  if (call === undefined) return
  const { tool, tries = 0 } = call
  if (tries === 0) next.started = CallQuota.start(next.started, tool)
  putCall(next, at, { ...call, phase: "started", params, startedAt, tries: tries + 1, drive: next.drive })
}

/** A handler waits for other runs. */
export const pauseCall = (
  next: RunState.Next,
  { beside = [], callId, waitsFor }: DurableEvent.Of<"ToolPaused">
): void => {
  const at = OpenCall.indexOf(next.openCalls, callId)
  if (next.openCalls[at] === undefined) return
  const { beside: _, ...call } = next.openCalls[at]
  putCall(next, at, { ...call, phase: "paused", waitsFor, ...(beside.length === 0 ? {} : { beside }) })
}

/** An outcome. One of a call that is not open changes nothing. */
export const settleCall = (next: RunState.Next, event: DurableEvent.Of<"ToolSettled">): void => {
  const { answer, totals } = next
  const at = OpenCall.indexOf(next.openCalls, event.callId)
  const call = next.openCalls[at]
  if (call === undefined) return
  const { callId, params, tool, turn } = call
  const hasStarted = OpenCall.hasStarted(call)
  const isAnswered = OpenCall.isAnswered(call) && event.outcome._tag !== "NotExecuted"
  const isMade = hasStarted || isAnswered
  next.hasRun ||= isMade
  if (isAnswered) next.started = CallQuota.start(next.started, tool)
  next.trail = DoomLoop.add(next.trail, { turn, callId, tool, params: givenBy(answer, call) }, event)
  // V8 copies long arrays much faster by `concat` and `splice` here than by a spread with one more, and `toSpliced`
  if (answer !== undefined) {
    next.answer = { ...answer, settled: answer.settled.concat([{ callId, tool, params, outcome: event.outcome }]) }
  }
  const calls = [...next.openCalls]
  calls.splice(at, 1)
  next.openCalls = calls
  const status = statusOfRound(next)
  // what is settled after an end begins nothing, but a wait is over there too: stored snapshots have it so
  if (!RunStatus.isEnd(next.status)) next.status = status
  next.totals = {
    ...totals,
    toolCalls: totals.toolCalls + (isMade ? 1 : 0),
    toolRounds: totals.toolRounds + (next.openCalls.length === 0 && next.hasRun ? 1 : 0),
    errors: totals.errors + (ToolOutcome.isError(event.outcome) ? 1 : 0),
    usage: event.usage === undefined ? totals.usage : Usage.add(totals.usage, event.usage)
  }
}

/** The arguments that the model gave: hooks and people may have changed them since. */
const givenBy = (
  answer: RunTurn.Answer | undefined,
  { callId, params, turn }: OpenCall.OpenCall
): OpenCall.OpenCall["params"] =>
  (answer && Message.toolCallAt(answer.message.content, OpenCall.placeOf(callId, turn)))?.params ?? params

/** Whether the round of a settled answer has begun: a call has its outcome, has started, or was asked about. */
export const hasBegun = (openCalls: ReadonlyArray<OpenCall.OpenCall>, { calls }: RunTurn.Answer): boolean =>
  openCalls.length < calls || openCalls.some(OpenCall.hasGoneOn)

/** The first failed call of an answer. */
export const firstFailed = ({ settled }: RunTurn.Answer): SettledCall | undefined =>
  settled.find(({ outcome }) => ToolOutcome.isError(outcome))
