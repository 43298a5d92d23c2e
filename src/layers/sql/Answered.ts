/**
 * Bounds the wait for the answer of a database. What it does about the question nobody knows: as where a connection is lost. A
 * question that cannot be taken back, such as the end of a transaction, is left behind after the grace period.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
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

const late = (timeout: Duration.Input) => {
  const message = `no answer within ${Duration.format(Duration.fromInputUnsafe(timeout))}`
  const reason = new SqlError.ConnectionError({ cause: new Error(message), message, operation: "wait" })
  return Effect.fail(new SqlError.SqlError({ reason }))
}
