/**
 * Whether the last run of a session that nobody has is one for its agent to take up by itself, as logs tell.
 *
 * Does not own how it is found and taken up (`Recovering`).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type * as Pointer from "../../run/Pointer.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Fold from "../log/Fold.ts"
import * as Questions from "../log/Questions.ts"

type Store = SessionStore.SessionStore["Service"]

/**
 * What becomes of a run: it is taken up; so it is, but with no other one that it may have died of, or that may die of it; not now; or
 * not as long as nothing is added to its log.
 */
export type Verdict = "takeUp" | "takeUpAlone" | "later" | "never"

/** The verdict, and the `seq` of the last event that it is about. */
export interface Judged {
  readonly verdict: Verdict
  readonly seq: number
}

/** Milliseconds from a second death in a row to the next try; four times as long with each further one. */
const firstWait = 60_000

export const judge = Effect.fnUntraced(function*(
  store: Store,
  sessionId: string,
  agent: string
): Effect.fn.Return<Judged, SessionStore.StoreError> {
  const { state } = yield* Fold.lastRun(store, sessionId)
  const { seq } = state
  if (state.agent !== agent) return { verdict: "never", seq }
  if (state.end?._tag === "RunSuspended") return { verdict: yield* ofSuspended(store, sessionId, state), seq }
  if (state.end !== undefined && !RunEvent.isOfProcess(state.end)) return { verdict: "never", seq }
  const verdict = state.parent === undefined ? "takeUp" : yield* ofBelow(store, state.parent)
  return { verdict: verdict === "takeUp" ? yield* afterDeaths(state) : verdict, seq }
})

/** A run that waits for people is asked for by the call that it works for, where it works for one. */
const ofSuspended = (
  store: Store,
  sessionId: string,
  state: RunState.RunState
): Effect.Effect<Verdict, SessionStore.StoreError> =>
  state.parent === undefined
    ? Effect.map(Questions.isAnswered(store, sessionId, state), (isAnswered) => isAnswered ? "takeUp" : "later")
    : Effect.succeed("never")

/**
 * A run that works for a call goes on with the run that made it. One that the handler left to itself, and returned, goes on by itself;
 * one below a call that was cut off is nobody's.
 */
const ofBelow = (store: Store, { callId, runId, sessionId }: Pointer.Parent) =>
  Effect.gen(function*() {
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
  }).pipe(
    Effect.catchReason("NonRetryableError", "SessionNotFound", () => Effect.succeed("never" as const))
  ) as Effect.Effect<Verdict, SessionStore.StoreError>

/**
 * A run may be what its process dies of, again and again, and with it all that the process has: it waits longer each time, and
 * from the third death on it is taken up alone.
 */
const afterDeaths = (
  { at, crashes, end }: RunState.RunState
): Effect.Effect<Verdict> => {
  const deaths = crashes + (end === undefined ? 1 : 0)
  if (deaths < 2) return Effect.succeed("takeUp")
  const next = at + firstWait * 4 ** (deaths - 2)
  return Effect.map(Clock.currentTimeMillis, (now) => now < next ? "later" : deaths === 2 ? "takeUp" : "takeUpAlone")
}
