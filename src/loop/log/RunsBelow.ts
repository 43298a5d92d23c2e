/**
 * The runs that a run's calls wait for, the runs that their calls wait for, and so on, according to their logs.
 *
 * Does not own what is asked there (`Questions`), nor whether answers let a run go on (`start/TakingUp`).
 */
import * as Effect from "effect/Effect"
import * as Pointer from "../../run/Pointer.ts"
import type * as RunState from "../../run/RunState.ts"
import type * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Fold from "./Fold.ts"

/** An open call, with the runs that it waits for. */
export interface Call {
  readonly call: OpenCall.OpenCall
  readonly below: ReadonlyArray<Below>
}

export type Below =
  | {
    readonly _tag: "Last"
    readonly sessionId: string
    readonly state: RunState.RunState
    readonly calls: ReadonlyArray<Call>
  }
  /** another run follows it in its session, whose last event came at `at`: what it asked is over */
  | { readonly _tag: "Followed"; readonly at: number }
  /** it is in another store, or in a log that cannot be read */
  | { readonly _tag: "Unknown" }

/** Each run is listed with the first call that waits for it. Nothing is read where no call waits for a run. */
export const of = (
  store: SessionStore.Store,
  sessionId: string,
  state: RunState.RunState
): Effect.Effect<ReadonlyArray<Call>, SessionStore.StoreError> =>
  ofCalls(store, state, new Set([Pointer.keyOf({ sessionId, runId: state.runId ?? "" })]))

/** Whether a call waits for another run. */
export const isPaused = ({ phase }: OpenCall.OpenCall): boolean => phase === "paused"

/** `seen`: a handler, or somebody else's log, may say that a run waits for itself. */
const ofCalls = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  { openCalls }: RunState.RunState,
  seen: Set<string>
): Effect.fn.Return<ReadonlyArray<Call>, SessionStore.StoreError> {
  const calls: Array<Call> = []
  for (const call of openCalls) {
    const below: Array<Below> = []
    for (const run of isPaused(call) ? call.waitsFor ?? [] : []) {
      const key = Pointer.keyOf(run)
      if (seen.has(key)) continue
      seen.add(key)
      below.push(yield* Fold.ifReadable(ofRun(store, run, seen), unknown))
    }
    calls.push({ call, below })
  }
  return calls
})

const ofRun = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  { runId, sessionId }: Pointer.Run,
  seen: Set<string>
): Effect.fn.Return<Below, SessionStore.StoreError> {
  const { state } = yield* Fold.lastRun(store, sessionId)
  if (state.runId !== runId) return { _tag: "Followed", at: state.at }
  return { _tag: "Last", sessionId, state, calls: yield* ofCalls(store, state, seen) }
})

const unknown: Below = { _tag: "Unknown" }
