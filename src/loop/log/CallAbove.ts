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
 * The call that the last run of a session works for. None in a fork of a session that an agent began, whose log still names the call: that
 * one waits for the original.
 */
export const parentOf = (
  store: SessionStore.Store,
  sessionId: string,
  { parent, startSeq }: RunState.RunState
): Effect.Effect<Pointer.Parent | undefined, SessionStore.StoreError> =>
  // only what its first run works for is known of a session
  parent === undefined || startSeq > 1
    ? Effect.succeed(parent)
    : Effect.map(store.info(sessionId), (info) => info?.parent === parent.sessionId ? parent : undefined)

/**
 * Whether the call that the last run of a session works for was cut off, or one further up: the call that the calling run works for,
 * and so on. Where this run, or one between it and that call, was resumed after that, it is not cut off: somebody wants it, or another
 * call does. What cannot be read cuts nothing off.
 */
export const isCutOff = (
  store: SessionStore.Store,
  sessionId: string,
  state: RunState.RunState
): Effect.Effect<boolean, SessionStore.StoreError> => Fold.ifReadable(isCutOffAbove(store, sessionId, state), false)

const isCutOffAbove = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string,
  state: RunState.RunState
): Effect.fn.Return<boolean, SessionStore.StoreError> {
  const seen = new Set<string>()
  const chain = [state]
  let parent = yield* parentOf(store, sessionId, state)
  // somebody else's log may say that a run works for itself
  while (parent !== undefined && !seen.has(parent.sessionId)) {
    seen.add(parent.sessionId)
    const { at, standing } = yield* find(store, parent)
    if (standing !== "open") return standing === "cutOff" && !chain.some((run) => isResumedAfter(run, at))
    const around = (yield* Fold.lastRun(store, parent.sessionId)).state
    chain.push(around)
    parent = yield* parentOf(store, parent.sessionId, around)
  }
  return false
})

const isResumedAfter = ({ drive, driveStartedAt }: RunState.RunState, at: number): boolean =>
  drive > 1 && driveStartedAt >= at
