/**
 * Which run works for which call, as the logs say it: a run that is gone on with, or told again, and those that worked for calls
 * of a drive that died.
 *
 * Does not own what follows from it (`Budget`).
 */
import * as Effect from "effect/Effect"
import * as Pointer from "../../run/Pointer.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as Usage from "../../run/Usage.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Budget from "../env/Budget.ts"
import type * as DriveRequest from "../env/DriveRequest.ts"
import * as Place from "../env/Place.ts"
import * as Fold from "../log/Fold.ts"
import type * as Opening from "./Opening.ts"

type Store = SessionStore.SessionStore["Service"]
type Found = Effect.Effect<void, SessionStore.StoreError>

/** Ties a run to the call that it works for, and to the runs that work for its own. Nothing is read of one without calls. */
export const tie = (
  store: Store,
  { runId, sessionId, settings: { place } }: Pick<DriveRequest.DriveRequest, "runId" | "sessionId" | "settings">,
  budget: Budget.Budget,
  opened: Opening.Opened
): Found => {
  if (opened._tag === "Replay") {
    const { parent, totals } = opened.past.state
    if (place !== undefined && parent !== undefined && Pointer.isSameCall(parent, place.call)) {
      place.budget?.tell(parent, { sessionId, runId }, totals.usage)
    }
    return Effect.void
  }
  const { begin, state } = opened
  budget.follow(opened)
  // a run that another call began, or none, is not this call's, whoever goes on with it
  if (begin._tag === "Resume") {
    budget.parent = state.parent
    Place.goOn(place, budget)
  } else if (place !== undefined) budget.workFor(place.call, place.budget)
  return state.openCalls.some(isStarted) ? recall(store, sessionId, budget, state) : Effect.void
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
    const call = { sessionId, runId, callId }
    const usage = yield* spentFor(store, call)
    const key = keyOf(call)
    if (usage !== undefined) budget.tell(call, { sessionId: key, runId: key }, usage)
  }
})

/** What the run spent that has the call's key for its id, with those below it that were cut off with it. */
const spentFor = Effect.fnUntraced(function*(
  store: Store,
  call: Pointer.Parent
): Effect.fn.Return<Usage.Usage | undefined, SessionStore.StoreError> {
  const key = keyOf(call)
  const state = yield* Fold.run(store, key, key)
  if (state?.parent === undefined || !Pointer.isSameCall(state.parent, call)) return undefined
  let { usage } = state.totals
  for (const { callId } of state.openCalls.filter(isStarted)) {
    const below: Usage.Usage | undefined = yield* spentFor(store, { sessionId: key, runId: key, callId })
    if (below !== undefined) usage = Usage.add(usage, below)
  }
  return usage
})

const keyOf = ({ callId, runId, sessionId }: Pointer.Parent): string =>
  OpenCall.idempotencyKey(sessionId, runId, callId)

const isStarted = ({ phase }: OpenCall.OpenCall): boolean => phase === "started"
