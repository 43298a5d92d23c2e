/**
 * The call that a run works for, and those above it, as their logs have them.
 *
 * Does not own what a run that is left below a call may still do (`start/Left`, `Questions`).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type * as Pointer from "../../run/Pointer.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Fold from "./Fold.ts"

type Store = SessionStore.SessionStore["Service"]

/**
 * `open`: it has no outcome yet. `returned`: its handler has, so what works for it is on its own. `cutOff`: it was settled in
 * another way, and what works for it is nobody's. `unknown`: its run is not in this store.
 */
export type Standing = "open" | "returned" | "cutOff" | "unknown"

export const standing = (store: Store, call: Pointer.Parent): Effect.Effect<Standing, SessionStore.StoreError> =>
  Effect.catchReason(
    inLog(store, call),
    "NonRetryableError",
    "SessionNotFound",
    () => Effect.succeed("unknown" as const)
  )

const inLog = Effect.fnUntraced(function*(
  store: Store,
  { callId, runId, sessionId }: Pointer.Parent
): Effect.fn.Return<Standing, SessionStore.StoreError> {
  const from = yield* store.lastOf(sessionId, "RunStarted", runId)
  if (from === undefined) return "unknown"
  const settled = yield* store.read(sessionId, { from }).pipe(
    Stream.filter((event) => event._tag === "ToolSettled" && event.runId === runId && event.callId === callId),
    Stream.runHead
  )
  const event = Option.getOrUndefined(settled)
  if (event?._tag !== "ToolSettled") return "open"
  const { _tag } = event.outcome
  return _tag === "Succeeded" || _tag === "Failed" || _tag === "NotEncodable" ? "returned" : "cutOff"
})

/** Whether the last run of a session works for a call that was cut off, or that a run makes which does. */
export const isCutOff = Effect.fnUntraced(function*(
  store: Store,
  state: RunState.RunState
): Effect.fn.Return<boolean, SessionStore.StoreError> {
  const seen = new Set<string>()
  let { parent } = state
  // somebody else's log may say that a run works for itself
  while (parent !== undefined && !seen.has(parent.sessionId)) {
    seen.add(parent.sessionId)
    const found = yield* standing(store, parent)
    if (found !== "open") return found === "cutOff"
    parent = (yield* Fold.lastRun(store, parent.sessionId)).state.parent
  }
  return false
})
