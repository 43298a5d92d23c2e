/**
 * Which run works for which call, as the logs say it: a run that is gone on with, or told again, and those that worked for calls
 * of a drive that died.
 *
 * Does not own what follows from it (`Budget`).
 */
import * as Effect from "effect/Effect"
import type * as DurableEvent from "../../run/DurableEvent.ts"
import type * as Pointer from "../../run/Pointer.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as Usage from "../../run/Usage.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Budget from "../env/Budget.ts"
import type * as DriveRequest from "../env/DriveRequest.ts"
import * as Fold from "../log/Fold.ts"
import type * as Opening from "./Opening.ts"

type Store = SessionStore.SessionStore["Service"]
type Found = Effect.Effect<void, SessionStore.StoreError>

/** Ties a run to the call that it works for, and to the runs that work for its own. Nothing is read of one that has neither. */
export const tie = (
  store: Store,
  { sessionId, settings: { place } }: Pick<DriveRequest.DriveRequest, "sessionId" | "settings">,
  budget: Budget.Budget,
  opened: Opening.Opened
): Found => {
  if (opened._tag === "Ready") budget.follow(opened)
  const placed = place === undefined ? Effect.void : putIn(store, sessionId, place, budget, opened)
  return opened._tag === "Ready" && opened.state.openCalls.some(isStarted)
    ? Effect.andThen(placed, recall(store, sessionId, budget, opened.state))
    : placed
}

/** A run that another call began, or none, is not this call's, whoever goes on with it. */
const putIn = (
  store: Store,
  sessionId: string,
  place: Budget.Place,
  budget: Budget.Budget,
  opened: Opening.Opened
): Found => {
  if (opened._tag === "Ready" && opened.begin._tag === "Start") return Effect.sync(() => budget.workFor(place))
  const { state } = opened._tag === "Ready" ? opened : opened.past
  return Effect.map(Fold.startOf(store, sessionId, state), (started) => {
    if (started?.parent === undefined || !isSame(started.parent, place.call)) return
    if (opened._tag === "Ready") budget.workFor(place)
    else place.budget?.add(told(sessionId, started, state.totals.usage))
  })
}

/**
 * The runs that worked for calls which a drive that died left without an outcome: those that have the calls' keys for their ids,
 * in the same store.
 */
export const recall = Effect.fnUntraced(function*(
  store: Store,
  sessionId: string,
  budget: Budget.Budget,
  { openCalls, runId }: RunState.RunState
): Effect.fn.Return<void, SessionStore.StoreError> {
  if (runId === undefined) return
  for (const { callId } of openCalls.filter(isStarted)) {
    const found = yield* workerOf(store, { sessionId, runId, callId })
    if (found !== undefined) budget.add(found)
  }
})

/** It, with what it spent and those below it that were cut off with it. */
const workerOf = Effect.fnUntraced(function*(
  store: Store,
  call: Pointer.Parent
): Effect.fn.Return<Budget.Spender | undefined, SessionStore.StoreError> {
  const key = OpenCall.idempotencyKey(call.sessionId, call.runId, call.callId)
  const run = yield* Fold.run(store, key, key)
  if (run?.started.parent === undefined || !isSame(run.started.parent, call)) return undefined
  let usage = run.state.totals.usage
  for (const { callId } of run.state.openCalls.filter(isStarted)) {
    const below: Budget.Spender | undefined = yield* workerOf(store, { sessionId: key, runId: key, callId })
    usage = Usage.add(usage, below?.spent() ?? Usage.zero)
  }
  return told(key, run.started, usage)
})

const told = (
  sessionId: string,
  { parent, runId }: DurableEvent.Of<"RunStarted">,
  usage: Usage.Usage
): Budget.Spender => ({ sessionId, runId, parent, spent: () => usage })

const isStarted = ({ phase }: OpenCall.OpenCall): boolean => phase === "started"

const isSame = (a: Pointer.Parent, b: Pointer.Parent): boolean =>
  a.sessionId === b.sessionId && a.runId === b.runId && a.callId === b.callId
