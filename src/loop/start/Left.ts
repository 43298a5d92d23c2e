/**
 * Whether an agent is to take up, unasked, the last run of a session that nobody has, according to the logs.
 *
 * Does not own how it is found and taken up (`Recovering`).
 */
import * as Effect from "effect/Effect"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunDrive from "../../run/state/RunDrive.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as CallAbove from "../log/CallAbove.ts"
import * as Fold from "../log/Fold.ts"
import * as Answers from "./Answers.ts"

type Store = SessionStore.SessionStore["Service"]

/** Take it up; look again later; or never look again, unless its log grows. */
type Verdict = "takeUp" | "later" | "never"

export interface Judged {
  readonly verdict: Verdict
  /** of the last event that the verdict is about; so is `at`, in milliseconds since the epoch */
  readonly seq: number
  readonly at: number
  /** how often in a row its process has died, with no turn finished between */
  readonly deaths: number
}

export const judge = Effect.fnUntraced(function*(
  store: Store,
  sessionId: string,
  agent: string
): Effect.fn.Return<Judged, SessionStore.StoreError> {
  const { state } = yield* Fold.lastRun(store, sessionId)
  const { at, end, parent, seq } = state
  const of = { seq, at, deaths: RunDrive.deaths(state) }
  if (state.agent !== agent || (end !== undefined && RunEvent.isOver(end))) return { ...of, verdict: "never" }
  const verdict = parent === undefined ? "takeUp" : byCall[yield* CallAbove.standing(store, parent)]
  if (verdict !== "takeUp" || end?._tag !== "RunSuspended") return { ...of, verdict }
  return { ...of, verdict: (yield* Answers.areThere(store, sessionId, state)) ? "takeUp" : "later" }
})

/**
 * A run that works for a call is asked for again by the run that made the call. Once the call's handler has returned, it is on its
 * own and goes on by itself; below a call that was cut off, or is not there, it is nobody's.
 */
const byCall: Record<CallAbove.Standing, Verdict> = {
  open: "later",
  returned: "takeUp",
  cutOff: "never",
  unknown: "never"
}
