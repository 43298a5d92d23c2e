/**
 * Which run works for which call, according to the logs: a run that is continued or replayed, and the runs that worked for calls
 * of a drive that died.
 *
 * Does not own what follows from it (`Budget`, `Deaths`).
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Pointer from "../../run/Pointer.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as Usage from "../../run/Usage.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as Budget from "../env/Budget.ts"
import * as CallAround from "../env/CallAround.ts"
import type * as DriveRequest from "../env/DriveRequest.ts"
import * as Fold from "../log/Fold.ts"
import * as Listing from "../log/Listing.ts"
import type * as Opening from "./Opening.ts"

/** Ties a run to the call that it works for, and to the runs that work for its own. Where no open call has started, nothing is read. */
export const tie = (
  store: SessionStore.Store,
  { runId, sessionId, settings: { callAround } }: Pick<DriveRequest.DriveRequest, "runId" | "sessionId" | "settings">,
  budget: Budget.Budget,
  opened: Opening.Opened
): Effect.Effect<void, SessionStore.StoreError> => {
  if (opened._tag === "Replay") {
    const { parent, totals } = opened.past.state
    if (callAround !== undefined && parent !== undefined && Pointer.isSameCall(parent, callAround.call)) {
      callAround.budget?.tell(parent, { sessionId, runId }, totals.usage)
    }
    return Effect.void
  }
  const { begin, state } = opened
  budget.follow(opened)
  // a run counts towards the call that began it: another call that continues it spends nothing by that, and does not limit it
  if (begin._tag === "Resume") {
    budget.parent = state.parent
    CallAround.tieAgain(callAround, budget)
  } else if (callAround !== undefined) budget.workFor(callAround.call, callAround.budget)
  return state.openCalls.some(OpenCall.hasStarted) ? recall(store, sessionId, budget, state) : Effect.void
}

/**
 * Tells the budget what the runs spent that worked for calls which began and have no outcome: runs that are known since a call
 * paused, and runs in the same store whose ids are the calls' keys, or a key with a slash and more, as `runAgents` names them.
 */
export const recall = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string,
  budget: Budget.Budget,
  { openCalls, runId }: RunState.RunState
): Effect.fn.Return<void, SessionStore.StoreError> {
  if (runId === undefined) return
  for (const { call, run } of yield* runsBelow(store, { sessionId, runId }, openCalls)) {
    const usage = yield* spentFor(store, call, run)
    if (usage !== undefined) budget.tell(call, run, usage)
  }
})

/** What a run that works for the call spent, including the runs below it that were cut off with it, or wait with it. */
const spentFor = (
  store: SessionStore.Store,
  call: Pointer.Parent,
  run: Pointer.Run,
  seen = new Set<string>()
): Effect.Effect<Usage.Usage | undefined, SessionStore.StoreError> => {
  const key = Pointer.keyOf(run)
  // somebody else's log may say that a run works for itself
  if (seen.has(key)) return Effect.undefined
  seen.add(key)
  // a session below that cannot be read, or is removed, does not keep the runs around it from going on
  return Fold.ifReadable(spentOf(store, call, run, seen), undefined)
}

const spentOf = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  call: Pointer.Parent,
  self: Pointer.Run,
  seen: Set<string>
): Effect.fn.Return<Usage.Usage | undefined, SessionStore.StoreError> {
  const state = yield* Fold.run(store, self.sessionId, self.runId)
  if (state?.parent === undefined || !Pointer.isSameCall(state.parent, call)) return undefined
  let { usage } = state.totals
  for (const { call, run } of yield* runsBelow(store, self, state.openCalls)) {
    const more = yield* spentFor(store, call, run, seen)
    if (more !== undefined) usage = Usage.add(usage, more)
  }
  return usage
})

/** Runs that may work for calls which have started and have no outcome; one that is listed twice counts once. */
export const runsBelow = (store: SessionStore.Store, self: Pointer.Run, openCalls: ReadonlyArray<OpenCall.OpenCall>) =>
  Effect.map(
    Effect.forEach(openCalls.filter(OpenCall.hasStarted), (call) => runsOf(store, self, call)),
    (found) => found.flat()
  )

const runsOf = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  { runId, sessionId }: Pointer.Run,
  { beside = [], callId, phase, waitsFor = [] }: OpenCall.OpenCall
): Effect.fn.Return<
  ReadonlyArray<{ readonly call: Pointer.Parent; readonly run: Pointer.Run }>,
  SessionStore.StoreError
> {
  const call: Pointer.Parent = { sessionId, runId, callId }
  const key = OpenCall.idempotencyKey(sessionId, runId, callId)
  // a call that paused has named them all
  const several = phase === "paused"
    ? []
    : yield* Stream.runCollect(Listing.all(store, { parents: [sessionId], prefix: `${key}/` }))
  const own = [key, ...several.map((info) => info.sessionId)].map((id): Pointer.Run => ({ sessionId: id, runId: id }))
  return [...waitsFor, ...beside, ...own].map((run) => ({ call, run }))
})
