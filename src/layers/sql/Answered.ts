/**
 * Bounds the wait for the answer of a database. What it does about the question nobody knows: as where a connection is lost. A
 * question that cannot be taken back, such as the end of a transaction, is left behind after the grace period. None is asked
 * of a database that was closed: some would take that for an interruption.
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

/** The cause of the error of a question that was asked too late. */
export class Closed extends Error {}

/** As `within` until the scope closes; from then on every question fails with `Closed`, also one that waits for its answer. */
export const untilClosed = Effect.fnUntraced(function*(
  timeout: Duration.Input | undefined
): Effect.fn.Return<Answered, never, Scope.Scope> {
  const answered = within(timeout)
  let isClosed = false
  yield* Effect.addFinalizer(() => Effect.sync(() => void (isClosed = true)))
  if (timeout === undefined) return (asking) => isClosed ? closed : asking
  // a connection that is closed under a question fails, or interrupts it
  return (asking) => isClosed ? closed : Effect.catchCauseIf(answered(asking), () => isClosed, () => closed)
})

const closed = Effect.suspend(() => {
  const reason = new SqlError.UnknownError({ cause: new Closed(), message: "closed", operation: "wait" })
  return Effect.fail(new SqlError.SqlError({ reason }))
})

const late = (timeout: Duration.Input) => {
  const message = `no answer within ${Duration.format(Duration.fromInputUnsafe(timeout))}`
  const reason = new SqlError.ConnectionError({ cause: new Error(message), message, operation: "wait" })
  return Effect.fail(new SqlError.SqlError({ reason }))
}
