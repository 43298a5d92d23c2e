/** Waits for locks that other connections hold, on the clock. Does not own transactions. */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Schedule from "effect/Schedule"
import type * as SqlError from "effect/sql/SqlError"
import type { DatabaseSync } from "node:sqlite"
import * as SqliteErrors from "./SqliteErrors.ts"
import * as SqliteFile from "./SqliteFile.ts"

/**
 * Runs a statement on the opened files, at once when it is called. The effect runs it again while another connection holds a
 * lock that it needs, for `timeout` at most; `inTurn` wraps that wait, so that other fibers can wait for it. Outside a
 * transaction, a statement that met a lock has done nothing. Waits on the clock and not in SQLite, which would block the
 * process, and with it the very transaction it waits for when that is another connection of this process.
 */
export const unlocked = (db: DatabaseSync, timeout: Duration.Input, guarded = SqliteFile.guarded(db)) => {
  const schedule = Schedule.min([Schedule.exponential("1 millis"), Schedule.spaced("25 millis")]).pipe(
    Schedule.upTo({ duration: timeout })
  )
  type Attempt<A> = Effect.Effect<A, SqlError.SqlError>
  return <A>(statement: () => A, inTurn: (waiting: Attempt<A>) => Attempt<A> = identity): Attempt<A> => {
    try {
      return Effect.succeed(guarded(statement))
    } catch (cause) {
      if (!SqliteErrors.isLocked(cause) || db.isTransaction) {
        return Effect.fail(SqliteErrors.toSqlError(cause, "execute"))
      }
      const again = Effect.try({
        try: () => guarded(statement),
        catch: (cause) => SqliteErrors.toSqlError(cause, "execute")
      })
      return inTurn(Effect.retry(again, { schedule, while: (error) => SqliteErrors.isLocked(error.reason.cause) }))
    }
  }
}
