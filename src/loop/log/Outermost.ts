/**
 * The session to go on with once people have answered in one below it.
 *
 * Does not own which questions wait below a call (`Questions`).
 */
import * as Effect from "effect/Effect"
import type * as Pointer from "../../run/Pointer.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as CallAbove from "./CallAbove.ts"
import * as Fold from "./Fold.ts"

/**
 * If the last run of the session works for an open call of another session's last run, that session, and so on. Where logs claim
 * that runs work for each other in a circle, the session itself.
 */
export const of = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string
): Effect.fn.Return<string, SessionStore.StoreError> {
  const seen = new Set<string>()
  let outer = sessionId
  const { state } = yield* Fold.lastRun(store, sessionId)
  let parent = yield* CallAbove.parentOf(store, sessionId, state)
  while (parent !== undefined && !seen.has(outer)) {
    seen.add(outer)
    const around = yield* lastRun(store, parent)
    if (around === undefined) return outer
    outer = parent.sessionId
    parent = yield* CallAbove.parentOf(store, outer, around)
  }
  return parent === undefined ? outer : sessionId
})

/** The last run of the call's session, if it made the call and that is open. */
const lastRun = (
  store: SessionStore.Store,
  { callId, runId, sessionId }: Pointer.Parent
): Effect.Effect<RunState.RunState | undefined, SessionStore.StoreError> =>
  Effect.map(
    Fold.ifThere(Fold.lastRun(store, sessionId), undefined),
    (folded) =>
      folded?.state.runId === runId && OpenCall.find(folded.state.openCalls, callId) !== undefined
        ? folded.state
        : undefined
  )
