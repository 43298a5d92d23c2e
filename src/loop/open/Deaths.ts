/**
 * How often in a row a run has died, or its store did not answer, according to its log and to those of the runs that work for its
 * calls: a turn that one of these finished, going on after a death, ends the row like a turn of its own.
 *
 * Does not own what its own log says of that (`RunDrive`), which runs work for which call (`Kin`), nor what follows from it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Pointer from "../../run/Pointer.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as RunDrive from "../../run/state/RunDrive.ts"
import * as RunTurn from "../../run/state/RunTurn.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Fold from "../log/Fold.ts"
import * as Kin from "./Kin.ts"

/**
 * The deaths in a row of a session's last run, from `enough` on: fewer are returned as its own log has them. Other logs are read
 * only where there are `enough`, and an open call has started.
 */
export const count = (
  store: SessionStore.Store,
  sessionId: string,
  state: RunState.RunState,
  enough: number
): Effect.Effect<number, SessionStore.StoreError> => {
  const { openCalls, runId } = state
  const deaths = RunDrive.deaths(state)
  return deaths < enough || runId === undefined || !openCalls.some(OpenCall.hasStarted)
    ? Effect.succeed(deaths)
    : Effect.map(deathsBefore(store, { sessionId, runId }, openCalls), (before) => deaths - before)
}

/** Whether they are so many that the run is not to go on. */
export const areTooMany = (
  store: SessionStore.Store,
  sessionId: string,
  state: RunState.RunState
): Effect.Effect<boolean, SessionStore.StoreError> => {
  const { ends } = RunDrive.suspicious
  return Effect.map(count(store, sessionId, state, ends), (deaths) => deaths >= ends)
}

/** The application is not asked unprompted about a run that has died twice in a row: asking may be what kills it. */
export const mayAsk = (
  store: SessionStore.Store,
  sessionId: string,
  state: RunState.RunState
): Effect.Effect<boolean, SessionStore.StoreError> => {
  const { waits } = RunDrive.suspicious
  return Effect.map(count(store, sessionId, state, waits), (deaths) => deaths < waits)
}

/** How many deaths of the row were recorded before the last turn below the calls. */
const deathsBefore = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  self: Pointer.Run,
  openCalls: ReadonlyArray<OpenCall.OpenCall>
): Effect.fn.Return<number, SessionStore.StoreError> {
  const now = yield* Clock.currentTimeMillis
  const working = yield* Kin.below(store, self, openCalls, { read: (run) => lastTurn(store, run, now), add: Math.max })
  const turn = Math.max(never, ...working.map(({ all }) => all))
  if (turn === never) return 0
  let row: Array<number> = []
  yield* Fold.run(store, self.sessionId, self.runId, (event, before) => {
    if (before.crashes === 0) row = []
    if (RunEvent.isEnd(event) && RunEvent.isDeath(event)) row.push(event.at)
  })
  return row.filter((at) => at < turn).length
})

const never = -Infinity

/**
 * When a run last finished a turn, in milliseconds since the epoch; `never` where it has not. A run that did not go on after a death
 * has survived none: work that each life of the process begins anew is no progress. Nor is a turn of a time that is still to come,
 * where a clock was set back: it would be after every death until then.
 */
const lastTurn = Effect.fnUntraced(function*(
  store: SessionStore.Store,
  { runId, sessionId }: Pointer.Run,
  now: number
): Effect.fn.Return<Kin.Read<number>, SessionStore.StoreError> {
  let last = never
  const state = yield* Fold.run(store, sessionId, runId, ({ _tag, at }, before) => {
    if (_tag === "TurnFinished" && before.drive > 1 && RunTurn.isAllKnown(before) && at <= now) {
      last = Math.max(last, at)
    }
  })
  return { state, own: last }
})
