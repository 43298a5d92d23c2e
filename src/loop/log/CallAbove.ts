/**
 * The call that a run works for, and those above it, as their logs have them.
 *
 * Does not own what a run that is left below a call may still do (`start/TakingUp`, `Questions`).
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type * as Pointer from "../../run/Pointer.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Fold from "./Fold.ts"

/**
 * `open`: it has no outcome yet. `returned`: its handler has, so what works for it is on its own. `cutOff`: it was settled in
 * another way, and what works for it is nobody's. `unknown`: its run is not in this store.
 */
export type Standing = "open" | "returned" | "cutOff" | "unknown"

export interface Found {
  readonly standing: Standing
  /** when it was settled, by the clock of who did that; 0 where it was not */
  readonly at: number
  /** its model was told that it failed */
  readonly hasFailed: boolean
}

const unsettled = (standing: "open" | "unknown"): Found => ({ standing, at: 0, hasFailed: false })

export const find = (store: SessionStore.Store, call: Pointer.Parent): Effect.Effect<Found, SessionStore.StoreError> =>
  Fold.ifThere(inLog(store, call), unsettled("unknown"))

const inLog = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  { callId, runId, sessionId }: Pointer.Parent
): Effect.fn.Return<Found, SessionStore.StoreError> {
  const from = yield* store.lastOf(sessionId, "RunStarted", runId)
  if (from === undefined) return unsettled("unknown")
  const settled = yield* store.read(sessionId, { from }).pipe(
    Stream.filter((event) => event._tag === "ToolSettled" && event.runId === runId && event.callId === callId),
    Stream.runHead
  )
  const event = Option.getOrUndefined(settled)
  if (event?._tag !== "ToolSettled") return unsettled("open")
  const { _tag } = event.outcome
  const hasReturned = _tag === "Succeeded" || _tag === "Failed" || _tag === "NotEncodable"
  return { standing: hasReturned ? "returned" : "cutOff", at: event.at, hasFailed: _tag === "Failed" }
})

/**
 * Whether the call that this run works for was cut off, or one further up: the call that the calling run works for, and so on. Where
 * this run, or one between it and that call, was resumed after that, it is not cut off: somebody wants it, or another call does. What
 * cannot be read cuts nothing off.
 */
export const isCutOff = (
  store: SessionStore.Store,
  state: RunState.RunState
): Effect.Effect<boolean, SessionStore.StoreError> => Fold.ifReadable(isCutOffAbove(store, state), false)

const isCutOffAbove = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  state: RunState.RunState
): Effect.fn.Return<boolean, SessionStore.StoreError> {
  const seen = new Set<string>()
  const chain = [state]
  let run = state
  // somebody else's log may say that a run works for itself
  while (run.parent !== undefined && !seen.has(run.parent.sessionId)) {
    const { parent } = run
    seen.add(parent.sessionId)
    const { at, standing } = yield* find(store, parent)
    if (standing !== "open") return standing === "cutOff" && !chain.some((below) => isResumedAfter(below, at))
    run = (yield* Fold.lastRun(store, parent.sessionId)).state
    chain.push(run)
  }
  return false
})

const isResumedAfter = ({ drive, driveStartedAt }: RunState.RunState, at: number): boolean =>
  drive > 1 && driveStartedAt >= at
