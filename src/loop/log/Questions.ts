/**
 * The questions that keep a run from going on: its own, and those of the runs that its calls wait for, according to their logs.
 *
 * Does not own how one is answered, nor what becomes of a call whose question has expired.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as RunResult from "../../run/RunResult.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as CallAbove from "./CallAbove.ts"
import * as Fold from "./Fold.ts"
import * as RunsBelow from "./RunsBelow.ts"

/**
 * The questions that somebody can still answer, of the last run of a session and of the runs below it. Nobody waits for an answer below a
 * call that was cut off.
 */
export const waiting = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string
): Effect.fn.Return<ReadonlyArray<RunResult.Approval>, SessionStore.StoreError> {
  const { state } = yield* Fold.lastRun(store, sessionId)
  return (yield* CallAbove.isCutOff(store, sessionId, state)) ? [] : yield* of(store, sessionId, state)
})

/**
 * The questions of a run in this state, and of the runs below it as they are by now, that have not expired: in call order, each once;
 * runs that are not known have none. Reads only where a call waits for another run.
 */
export const of = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  sessionId: string,
  state: RunState.RunState
): Effect.fn.Return<ReadonlyArray<RunResult.Approval>, SessionStore.StoreError> {
  const calls = yield* RunsBelow.of(store, sessionId, state)
  const now = yield* Clock.currentTimeMillis
  return ofCalls(sessionId, state, calls).filter((approval) => !OpenCall.isExpired(approval, now))
})

const ofCalls = (
  sessionId: string,
  { agent }: RunState.RunState,
  calls: ReadonlyArray<RunsBelow.Call>
): ReadonlyArray<RunResult.Approval> =>
  calls.flatMap(({ below, call }) => [
    ...RunResult.approvals(sessionId, { agent, openCalls: [call] }),
    ...below.flatMap((run) => run._tag === "Last" ? ofCalls(run.sessionId, run.state, run.calls) : [])
  ])
