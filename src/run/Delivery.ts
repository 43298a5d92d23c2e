/** What becomes of a message to a run under way. */
import type * as RunEvent from "./RunEvent.ts"
import * as RunStatus from "./RunStatus.ts"

/**
 * - `Delivered`: it is in the log as the user's message before `turn`, once.
 * - `NotDelivered`: it never will be. The run ended first, as `reason` says, or was suspended already, where nothing was stored;
 *   `ended`: the run was over before, or another had followed it, and nothing was stored; `left`: no process drives it now, and nothing
 *   was stored.
 * - `Kept`: it is stored, and the run was shut down with its process, or its store did not answer, first. It reaches the
 *   model once, when the run goes on or before the session's next message, unless the run is aborted, or has an end other than a
 *   suspension, before that.
 */
export type Delivery =
  | { readonly _tag: "Delivered"; readonly turn: number }
  | { readonly _tag: "NotDelivered"; readonly reason: Reason; readonly explain: string }
  | { readonly _tag: "Kept"; readonly explain: string }

/** How the run ended without the message; `ended`: before the message was sent; `left`: nobody drives it, though it has not ended. */
export type Reason = "completed" | "limited" | "suspended" | "failed" | "aborted" | "ended" | "left"

const why: Record<Reason, string> = {
  completed: "the run completed first. Send it to the session as a new message.",
  limited: "a limit stopped the run first. Send it to the session as a new message.",
  suspended:
    "the run waits for people, or to be resumed after their answers. Send it again when the run is resumed: a new message " +
    "denies what it still asks.",
  failed: "the run failed first. Send it to the session as a new message.",
  aborted: "the run was aborted first. Send it to the session as a new message.",
  ended: "the run was over already. Send it to the session as a new message.",
  left:
    "no process drives the run now. Send it to the session as a new message, or again when somebody goes on with the run."
}

/** It goes to the model with this turn. */
export const delivered = (turn: number): Delivery => ({ _tag: "Delivered", turn })

/** `explain` says in one sentence why, and what to do. */
export const notDelivered = (reason: Reason): Delivery => ({
  _tag: "NotDelivered",
  reason,
  explain: `The message was not delivered: ${why[reason]}`
})

/** The message was not delivered before the run ended with this event, given by its tag. */
export const notDeliveredBefore = (end: RunEvent.End["_tag"]): Delivery => notDelivered(RunStatus.ofEnd(end))

/** What a run was left by that goes on without being asked to. */
export type Left = "process" | "store"

const by: Record<Left, string> = {
  process: "The process shut down",
  store: "The store did not answer"
}

/** The message waits on after such an end; `explain` says until when. */
export const kept = (left: Left): Delivery => ({
  _tag: "Kept",
  explain: `${by[left]} before the message was delivered: it is stored, and waits until the run goes on or the ` +
    `session gets its next message. Do not send it again.`
})
