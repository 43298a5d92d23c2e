/**
 * Bounds the wait for a database's answer. Whether the database carried out a question whose wait is over is unknown, as after
 * a lost connection. A question that cannot be taken back, such as the end of a transaction, is left behind after the grace
 * period. A closed database is not asked: some clients would report that as an interruption.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as SqlError from "effect/sql/SqlError"
import * as Leavable from "../../services/fibers/Leavable.ts"

export type Answered = <A, E, R>(asking: Effect.Effect<A, E, R>) => Effect.Effect<A, E | SqlError.SqlError, R>

export const within = (timeout: Duration.Input | undefined): Answered => (asking) =>
  timeout === undefined
    ? asking
    : Leavable.run(asking, Effect.void, () => ({
      millis: Duration.toMillis(timeout),
      over: () => () => late(timeout)
    }))

/** The cause in the error of a question that was asked too late. */
export class Closed extends Error {}

/** As `within` until the scope closes; after that every question fails with `Closed`, even one that waits for its answer. */
export const untilClosed = Effect.fnUntraced(function*(
  timeout: Duration.Input | undefined
): Effect.fn.Return<Answered, never, Scope.Scope> {
  const answered = within(timeout)
  let isClosed = false
  yield* Effect.addFinalizer(() => Effect.sync(() => void (isClosed = true)))
  if (timeout === undefined) return (asking) => isClosed ? closed : asking
  // closing a connection makes its open question fail, or interrupts it
  return (asking) => isClosed ? closed : Effect.catchCauseIf(answered(asking), () => isClosed, () => closed)
})

const closed = Effect.suspend(() => {
  const reason = new SqlError.UnknownError({ cause: new Closed(), message: "closed", operation: "wait" })
  return Effect.fail(new SqlError.SqlError({ reason }))
})

const late = (timeout: Duration.Input) => {
  const message = `no answer within ${
    Duration.format(Duration.fromInputUnsafe(timeout))
  }, which the option timeout sets`
  const reason = new SqlError.ConnectionError({ cause: new Error(message), message, operation: "wait" })
  return Effect.fail(new SqlError.SqlError({ reason }))
}
