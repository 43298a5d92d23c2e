/**
 * The answer to a question about a call: how the log keeps it, and whether it may still be given. Pure.
 *
 * Does not own who is asked (`services/Approver`), nor how an answer reaches the log; the loop does.
 */
import type * as DurableEvent from "./DurableEvent.ts"
import * as RunError from "./RunError.ts"
import type * as RunEvent from "./RunEvent.ts"
import type * as RunInput from "./RunInput.ts"
import type * as RunState from "./RunState.ts"
import * as OpenCall from "./state/OpenCall.ts"
import type * as ToolOutcome from "./ToolOutcome.ts"

/**
 * An answer that may be recorded: with the `content` that its `result` is shown by, the `originalSize` of one that was truncated, and the
 * `id` that another process sent it under.
 */
export interface Answer extends Omit<RunInput.DecideInput, "sessionId"> {
  readonly content?: ToolOutcome.Content | undefined
  readonly originalSize?: number | undefined
  readonly id?: string | undefined
}

/** An answer as the log keeps it. */
export const resolved = (
  { callId }: OpenCall.OpenCall,
  { approvalId, approved, by, content, id, originalSize, params, reason, result }: Answer
): RunEvent.Draft => {
  const isYes = approved === true
  return {
    _tag: "ApprovalResolved",
    callId,
    approvalId,
    approved: isYes,
    ...(by === undefined ? {} : { by }),
    ...(reason === undefined ? {} : { reason }),
    ...(isYes && params !== undefined ? { params } : {}),
    ...(isYes && result !== undefined ? { result } : {}),
    ...(isYes && content !== undefined ? { content } : {}),
    ...(isYes && originalSize !== undefined ? { originalSize } : {}),
    ...(id === undefined ? {} : { id })
  }
}

/** The call that waits under this id; `undefined` where the state has none. */
export const waiting = ({ openCalls }: RunState.RunState, approvalId: string): OpenCall.OpenCall | undefined =>
  OpenCall.waitingFor(openCalls, approvalId)

/** What the log of a run says about a question; a fold of its events by `evolve`. */
export interface Past {
  readonly asked?: DurableEvent.Of<"ApprovalRequested">
  readonly answered?: DurableEvent.Of<"ApprovalResolved">
  /** its call was asked about again, with other arguments */
  readonly isReplaced?: boolean
}

export const evolve = (approvalId: string) => (past: Past, event: RunEvent.Durable): Past => {
  if (event._tag === "ApprovalRequested" && event.approvalId === approvalId) return { ...past, asked: event }
  if (event._tag === "ApprovalRequested" && event.callId === past.asked?.callId) return { ...past, isReplaced: true }
  if (event._tag === "ApprovalResolved" && event.approvalId === approvalId) return { ...past, answered: event }
  return past
}

type NotOpen = Extract<RunError.RunRefusal, { _tag: "ApprovalNotOpen" }>

const words: Record<NotOpen["because"], string> = {
  unknown: "was never asked; approvals lists the open questions, each with its sessionId",
  answered: "has already been answered, and the first answer counts; if its run still waits, resume that run",
  settled: "is closed: its call was settled without an answer; give the session a new message to have it done",
  replaced: "was replaced by another one about the same call, with other arguments; approvals lists the open questions",
  expired: "expired, so its call is denied; resume the run, and it may ask again",
  cutOff:
    "is closed: its run works for a call that was cut off, and nobody waits for it any more; give the session of " +
    "that call a new message to have it done"
}

/** The refusal of an answer to a question that is not waiting for one. */
export const notOpen = (
  sessionId: string,
  approvalId: string,
  because: NotOpen["because"]
): RunError.NonRetryableError<NotOpen> =>
  new RunError.NonRetryableError({
    _tag: "ApprovalNotOpen",
    approvalId,
    because,
    message: `question "${approvalId}" of session "${sessionId}" ${words[because]}`
  })

/** Why a question that is not waiting takes no answer. */
export const refusal = (
  sessionId: string,
  approvalId: string,
  { answered, asked, isReplaced }: Past
): RunError.NonRetryableError => {
  if (asked === undefined) return notOpen(sessionId, approvalId, "unknown")
  if (answered === undefined) return notOpen(sessionId, approvalId, isReplaced === true ? "replaced" : "settled")
  return notOpen(
    sessionId,
    approvalId,
    OpenCall.isExpired(asked, answered.at) ? "expired" : "answered"
  )
}
