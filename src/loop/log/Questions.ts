/**
 * The questions that keep a run from going on: its own, and those of the runs that its calls wait for, as their logs have them.
 *
 * Does not own how one is answered, nor what becomes of a call whose question has expired.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Pointer from "../../run/Pointer.ts"
import * as RunResult from "../../run/RunResult.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Fold from "./Fold.ts"

type Store = SessionStore.SessionStore["Service"]
type Found = Effect.Effect<ReadonlyArray<RunResult.Approval>, SessionStore.StoreError>

/** Those that somebody can still answer, of the last run of a session and below it, in call order. */
export const waiting = Effect.fnUntraced(function*(
  store: Store,
  sessionId: string
): Effect.fn.Return<ReadonlyArray<RunResult.Approval>, SessionStore.StoreError> {
  const { state } = yield* Fold.lastRun(store, sessionId)
  const now = yield* Clock.currentTimeMillis
  return (yield* of(store, sessionId, state)).filter((approval) => !OpenCall.isExpired(approval, now))
})

/**
 * All of them, expired or not, in call order, each once; of runs in another store, and of logs that cannot be read, nothing is known. Nothing is read where no
 * call waits for another run.
 */
export const of = (store: Store, sessionId: string, state: RunState.RunState): Found =>
  isBelow(state)
    ? all(store, sessionId, state, new Set([Pointer.keyOf({ sessionId, runId: state.runId ?? "" })]))
    : Effect.succeed(RunResult.approvals(sessionId, state))

/** A call waits for another run. */
export const isBelow = ({ openCalls }: RunState.RunState): boolean => openCalls.some(isPaused)

const isPaused = ({ phase }: OpenCall.OpenCall): boolean => phase === "paused"

/** `seen`: a handler, or a log of somebody else's, may say that a run waits for itself. */
const all = Effect.fnUntraced(function*(
  store: Store,
  sessionId: string,
  state: RunState.RunState,
  seen: Set<string>
): Effect.fn.Return<ReadonlyArray<RunResult.Approval>, SessionStore.StoreError> {
  const found: Array<RunResult.Approval> = []
  for (const call of state.openCalls) {
    found.push(...RunResult.approvals(sessionId, { agent: state.agent, openCalls: [call] }))
    for (const run of isPaused(call) ? call.waitsFor ?? [] : []) found.push(...yield* below(store, run, seen))
  }
  return found
})

const below = (store: Store, run: Pointer.Run, seen: Set<string>): Found => {
  const key = Pointer.keyOf(run)
  if (seen.has(key)) return nothing
  seen.add(key)
  return Effect.catchReasons(ofLast(store, run, seen), "NonRetryableError", {
    StoreRefused: () => nothing,
    SessionNotFound: () => nothing
  })
}

const ofLast = Effect.fnUntraced(function*(store: Store, { runId, sessionId }: Pointer.Run, seen: Set<string>) {
  const { state } = yield* Fold.lastRun(store, sessionId)
  // behind its end, where people answer; the questions of one that another run follows are over
  return state.runId === runId ? yield* all(store, sessionId, state, seen) : []
})

const nothing: Found = Effect.succeed([])
