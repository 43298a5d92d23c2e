/**
 * Whether an agent is to take up, unasked, the last run of a session that nobody has, according to the logs.
 *
 * Does not own how it is found and taken up (`Recovering`).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type * as Pointer from "../../run/Pointer.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunDrive from "../../run/state/RunDrive.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
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
  const verdict = parent === undefined ? "takeUp" : yield* ofBelow(store, parent)
  if (verdict !== "takeUp" || end?._tag !== "RunSuspended") return { ...of, verdict }
  return { ...of, verdict: (yield* Answers.areThere(store, sessionId, state)) ? "takeUp" : "later" }
})

/**
 * A run that works for a call is asked for again by the run that made the call. Once the call's handler has returned, it is on its
 * own and goes on by itself; below a call that was cut off, it is nobody's.
 */
const ofBelow = (store: Store, call: Pointer.Parent): Effect.Effect<Verdict, SessionStore.StoreError> =>
  Effect.catchReason(
    ofCall(store, call),
    "NonRetryableError",
    "SessionNotFound",
    () => Effect.succeed("never" as const)
  )

const ofCall = Effect.fnUntraced(function*(
  store: Store,
  { callId, runId, sessionId }: Pointer.Parent
): Effect.fn.Return<Verdict, SessionStore.StoreError> {
  const from = yield* store.lastOf(sessionId, "RunStarted", runId)
  if (from === undefined) return "never"
  const settled = yield* store.read(sessionId, { from }).pipe(
    Stream.filter((event) => event._tag === "ToolSettled" && event.runId === runId && event.callId === callId),
    Stream.runHead
  )
  const event = Option.getOrUndefined(settled)
  if (event?._tag !== "ToolSettled") return "later"
  const { _tag } = event.outcome
  return _tag === "Succeeded" || _tag === "Failed" || _tag === "NotEncodable" ? "takeUp" : "never"
})
