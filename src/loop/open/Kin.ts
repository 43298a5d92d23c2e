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
  const working = yield* below(store, { sessionId, runId }, openCalls, {
    read: (run) => spentBy(store, run),
    add: Usage.add
  })
  for (const { all, call, run } of working) budget.tell(call, run, all)
})

/** What a run spent, according to its own log. */
const spentBy = (store: SessionStore.Store, { runId, sessionId }: Pointer.Run) =>
  Effect.map(
    Fold.run(store, sessionId, runId),
    (state): Read<Usage.Usage> => ({ state, own: state?.totals.usage ?? Usage.zero })
  )

/** What the log of a run says: its last state, undefined where the run is not there, and what is looked for. */
export interface Read<A> {
  readonly state: RunState.RunState | undefined
  readonly own: A
}

/** How the log of a run is read, and how what is found in two logs becomes one. */
interface Look<A> {
  readonly read: (run: Pointer.Run) => Effect.Effect<Read<A>, SessionStore.StoreError>
  readonly add: (one: A, other: A) => A
}

/** A run that works for a call. `all`: what is found in its log and in those of the runs below it. */
interface Working<A> {
  readonly call: Pointer.Parent
  readonly run: Pointer.Run
  readonly all: A
}

/**
 * The runs that work for calls which have started and have no outcome: each once, under the call that began it, whichever others wait
 * for it too. What is below them was cut off with them, or waits with them. `parents`: the call that a run works for, of those whose
 * logs were read.
 */
export const below = Effect.fnUntraced(function*<A>(
  store: SessionStore.Store,
  self: Pointer.Run,
  openCalls: ReadonlyArray<OpenCall.OpenCall>,
  look: Look<A>,
  // somebody else's log may say that a run works for itself
  parents = new Map<string, Pointer.Parent | undefined>([[Pointer.keyOf(self), undefined]])
): Effect.fn.Return<ReadonlyArray<Working<A>>, SessionStore.StoreError> {
  const working: Array<Working<A>> = []
  for (const { call, run } of yield* runsBelow(store, self, openCalls)) {
    const key = Pointer.keyOf(run)
    if (parents.has(key) && !isOf(parents.get(key), call)) continue
    // a session below that cannot be read, or is removed, does not keep the runs around it from going on
    const read = yield* Fold.ifReadable(look.read(run), undefined)
    parents.set(key, read?.state?.parent)
    if (read?.state === undefined || !isOf(read.state.parent, call)) continue
    const more = yield* below(store, run, read.state.openCalls, look, parents)
    working.push({ call, run, all: more.reduce((sum, { all }) => look.add(sum, all), read.own) })
  }
  return working
})

const isOf = (parent: Pointer.Parent | undefined, call: Pointer.Parent): boolean =>
  parent !== undefined && Pointer.isSameCall(parent, call)

/** Runs that may work for calls which have started and have no outcome, once for each call that names them. */
const runsBelow = (store: SessionStore.Store, self: Pointer.Run, openCalls: ReadonlyArray<OpenCall.OpenCall>) =>
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
  const runs = new Map([...waitsFor, ...beside, ...own].map((run) => [Pointer.keyOf(run), run]))
  return Array.from(runs.values(), (run) => ({ call, run }))
})
