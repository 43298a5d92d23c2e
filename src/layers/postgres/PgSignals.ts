/**
 * Wakes the watchers of a session in every process that uses the database, by LISTEN and NOTIFY. A signal carries no event
 * and may get lost; a watcher polls every few seconds by itself, more often while nobody listens.
 *
 *     append --> this process's watchers
 *            \-> sent, joined with what came meanwhile: NOTIFY --> LISTEN --> watchers of the others
 *
 * Signals are sent after the append, in a transaction of their own: a commit that notifies waits for every other such commit.
 */
import type * as PgConnection from "@effect/sql-pg/PgConnection"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import * as RcRef from "effect/RcRef"
import type * as Scope from "effect/Scope"
import type * as SqlError from "effect/sql/SqlError"
import * as Detached from "../../services/fibers/Detached.ts"
import * as SessionSignals from "../store/SessionSignals.ts"

interface Wire {
  /** Signals these sessions. */
  readonly send: (sessionIds: ReadonlyArray<string>) => Effect.Effect<unknown, SqlError.SqlError>
  /** The signals that anyone sends from now on; on a connection of its own. */
  readonly receive: Effect.Effect<
    Queue.Dequeue<PgConnection.Notification, SqlError.SqlError>,
    SqlError.SqlError,
    Scope.Scope
  >
  /** How long that connection is kept while no session is watched. */
  readonly idleTimeout: Duration.Input
}

/** A notification holds less than 8,000 bytes. Sessions with longer ids are found by polling. */
const longestId = 2000

/** The connection that receives is there while sessions are watched, and made again when it is lost. It outlives who watched first. */
export const make = Effect.fnUntraced(function*(
  { idleTimeout, receive, send }: Wire
): Effect.fn.Return<SessionSignals.SessionSignals, never, Scope.Scope> {
  const local = SessionSignals.make()
  const context = yield* Effect.context<never>()
  const changed = new Set<string>()
  const hasChanged = Latch.makeUnsafe(false)
  let isListening = false

  const flush = Effect.suspend(() => {
    hasChanged.closeUnsafe()
    const sessionIds = [...changed].filter((id) => id.length <= longestId)
    changed.clear()
    return sessionIds.length === 0 ? Effect.void : Effect.ignore(send(sessionIds))
  })

  const listen = Effect.gen(function*() {
    const queue = yield* receive
    // before the connection is given back, which may take long: by the end of that another one may listen
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        isListening = false
        local.notifyAll()
      })
    )
    isListening = true
    local.notifyAll()
    while (true) for (const { payload } of yield* Queue.takeAll(queue)) local.notify(payload)
  }).pipe(Effect.scoped, Effect.ignore)
  const listenOn = Effect.forever(Effect.andThen(listen, Effect.sleep("1 second")))
  const listening = yield* RcRef.make({
    acquire: Effect.acquireRelease(Effect.sync(() => Detached.start(listenOn, context)), Fiber.interrupt),
    idleTimeToLive: idleTimeout
  })

  // what a run appended last is signalled even if the store closes right after it
  yield* Effect.addFinalizer(() => Effect.timeoutOption(flush, "1 second"))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(hasChanged.await, flush)))

  return {
    notify: (sessionId) => {
      local.notify(sessionId)
      changed.add(sessionId)
      hasChanged.openUnsafe()
    },
    notifyAll: local.notifyAll,
    // there is none once the store is closed, which the watcher's own questions find out
    listen: (sessionId) => Effect.tap(local.listen(sessionId), () => Effect.exit(RcRef.get(listening))),
    pollEvery: () => isListening ? "2 seconds" : local.pollEvery()
  }
})
