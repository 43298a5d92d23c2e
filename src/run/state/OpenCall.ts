/**
 * Tool calls without an outcome: their ids, their phases, what they run with, and when a round of them waits for a
 * person.
 *
 * Does not own what events do to them (`RunRound`), nor what a call needs next; the loop decides.
 */
import type * as DurableEvent from "../DurableEvent.ts"
import * as Message from "../Message.ts"
import type * as Pointer from "../Pointer.ts"
import type * as ToolOutcome from "../ToolOutcome.ts"
import * as Fingerprint from "./Fingerprint.ts"

/** A call without an outcome. `started`: its intent is stored; `paused`: its handler waits for other runs, and has ended. */
export interface OpenCall {
  readonly turn: number
  readonly callId: string
  readonly tool: string
  readonly params: Message.ToolCallPart["params"]
  readonly phase: "pending" | "awaiting" | "started" | "paused"
  /**
   * set once a person was asked: the question's id, when it was asked and when it expires, in milliseconds since the
   * epoch
   */
  readonly approvalId?: string
  readonly requestedAt?: number
  readonly expiresAt?: number
  /** only a yes with a result counts as a yes */
  readonly needsResult?: boolean
  /** when its intent was last stored, in milliseconds since the epoch */
  readonly startedAt?: number
  /** the drive that last stored its intent */
  readonly drive?: number
  /** how often its intent was stored: more than once if a drive ended without its outcome, or if it paused */
  readonly tries?: number
  /** what the person said */
  readonly decision?: Decision
  /** the runs that it paused for, the last time it did */
  readonly waitsFor?: ReadonlyArray<Pointer.Run>
  /** the other runs that had worked for it by then */
  readonly beside?: ReadonlyArray<Pointer.Run>
}

/** `params` are the person's arguments, used instead of the model's; `result` and `content` are what the call is settled with. */
export interface Decision {
  readonly approved: boolean
  readonly reason?: string
  readonly params?: Message.ToolCallPart["params"]
  readonly result?: Message.ToolCallPart["params"]
  readonly content?: ToolOutcome.Content
  /** characters of `result` before truncation, if it was truncated */
  readonly originalSize?: number
}

/** The arguments that a person is asked about. */
export const asked = ({ params }: OpenCall): OpenCall["params"] => params

/** The arguments that the call runs with. */
export const final = ({ decision, params }: OpenCall): OpenCall["params"] => decision?.params ?? params

/** Its handler was called: what it did up to now is done. */
export const hasStarted = ({ phase }: Pick<OpenCall, "phase">): boolean => phase === "started" || phase === "paused"

/** A person gave its result: there is nothing to run. */
export const isAnswered = ({ decision, phase }: OpenCall): boolean =>
  !hasStarted({ phase }) && decision?.approved === true && decision.result !== undefined

/** Its intent is stored, or a person has been asked about it. */
export const hasGoneOn = ({ approvalId, phase }: OpenCall): boolean => phase !== "pending" || approvalId !== undefined

/** Nobody can say yes any more. */
export const isExpired = ({ expiresAt }: Pick<OpenCall, "expiresAt">, at: number): boolean =>
  expiresAt !== undefined && at >= expiresAt

/** The id of the n-th call (from 0) of a turn's message: unique in the run. */
export const callId = (turn: number, index: number): string => `${turn}.${index}`

/** The place (from 0) of a call in the message of `turn`; NaN for an id that is not one of that turn's calls. */
export const placeOf = (id: string, turn: number): number => {
  const place = Number(id.slice(id.indexOf(".") + 1))
  return `${turn}.${place}` === id ? place : NaN
}

/** The calls of a turn's message that are ours to execute, in order. */
export const ofMessage = (content: ReadonlyArray<Message.AssistantPart>, turn: number): Array<OpenCall> =>
  Message.toolCalls(content).map(({ name: tool, params }, place) => ({
    turn,
    callId: callId(turn, place),
    tool,
    params,
    phase: "pending"
  }))

/** The id of the first question about a call: unique in the session. */
export const approvalId = (runId: string, id: string): string => `${runId}/${id}`

/** The index of a call among those that are open; -1 if it is not open. */
export const indexOf = (openCalls: ReadonlyArray<OpenCall>, id: string): number => {
  for (let at = 0; at < openCalls.length; at++) if (openCalls[at]!.callId === id) return at
  return -1
}

/** The call, if it is open. */
export const find = (openCalls: ReadonlyArray<OpenCall>, id: string): OpenCall | undefined => {
  const at = indexOf(openCalls, id)
  return at < 0 ? undefined : openCalls[at]
}

/** The call that a question is about, while the question waits for its answer. */
export const waitingFor = (openCalls: ReadonlyArray<OpenCall>, approvalId: string): OpenCall | undefined =>
  openCalls.find((call) => call.approvalId === approvalId && call.phase === "awaiting")

/**
 * The same on every try at a call, and unique among the sessions of a store, whatever the ids hold. For a run that works for a call,
 * whose session id and run id are the key of that call, the key comes first unchanged: so a key many calls deep is short enough for
 * an id. A key that is too long ends with a digest of all of it.
 */
export const idempotencyKey = (sessionId: string, runId: string, id: string): string => {
  const key = sessionId === runId && isPlain.test(sessionId)
    ? `${sessionId}//${encoded(id)}`
    : `${encoded(sessionId)}/${encoded(runId)}/${encoded(id)}`
  return key.length <= longestKey ? key : `${key.slice(0, 150)}~${Fingerprint.long(key)}`
}

/** An id has at most 200 characters, and ids of runs that work for a call add a number to its key. */
const longestKey = 195

const isPlain = /^[\w.~%/-]+$/

/** As in a URL; ids that fiberloop makes are that already. */
const encoded = (id: string): string => isEncoded.test(id) ? id : encodeURIComponent(id)

const isEncoded = /^[\w.~-]*$/

/** A call without the question and answer about it. */
export const unasked = (
  { approvalId: _1, decision: _2, expiresAt: _3, needsResult: _4, requestedAt: _5, ...call }: OpenCall
): OpenCall => call

/** A call that is asked about once more, with the arguments that it would run with. */
export const anew = (call: OpenCall, params: OpenCall["params"] = final(call)): OpenCall => ({
  ...unasked(call),
  params,
  phase: "awaiting"
})

/** A question, as its call keeps it. */
export const questionOf = (
  { approvalId, at, expiresAt, needsResult, params }: DurableEvent.Of<"ApprovalRequested">
): Pick<OpenCall, "params" | "phase" | "approvalId" | "requestedAt" | "expiresAt" | "needsResult"> => ({
  params,
  phase: "awaiting",
  approvalId,
  requestedAt: at,
  ...(expiresAt === undefined ? {} : { expiresAt }),
  ...(needsResult === undefined ? {} : { needsResult })
})

export const decisionOf = (
  { approved, content, originalSize, params, reason, result }: DurableEvent.Of<"ApprovalResolved">
): Decision => ({
  approved,
  ...(reason === undefined ? {} : { reason }),
  ...(params === undefined ? {} : { params }),
  ...(result === undefined ? {} : { result }),
  ...(content === undefined ? {} : { content }),
  ...(originalSize === undefined ? {} : { originalSize })
})

/** An answer in one word: a yes with a result settles the call, and does not approve running its handler. */
export const wordOf = (
  { approved, result }: Pick<DurableEvent.Of<"ApprovalResolved">, "approved" | "result">
): "approved" | "answered" | "denied" => !approved ? "denied" : result === undefined ? "approved" : "answered"

/** A round waits for people while a call is asked about, here or below a call, and none runs. */
export const waits = (openCalls: ReadonlyArray<OpenCall>): boolean => {
  let isAsked = false
  for (let at = 0; at < openCalls.length; at++) {
    const { phase } = openCalls[at]!
    if (phase === "started") return false
    isAsked ||= phase === "awaiting" || phase === "paused"
  }
  return isAsked
}
