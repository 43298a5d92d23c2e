/**
 * Runs statements as one transaction, all or nothing. A lost connection is an error here, as for a single statement: clients
 * die of the ROLLBACK that they then still send, and of whatever made them send it.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as SqlClient from "effect/sql/SqlClient"
import * as SqlError from "effect/sql/SqlError"

export const run = <A, E, R>(
  sql: SqlClient.SqlClient,
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, E | SqlError.SqlError, R> => faults(sql.withTransaction(self))

/** The same for transactions that others run. An interruption, and a bug, stay what they are. */
export const faults = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
  Effect.catchCause(self, (cause) => {
    const defects = cause.reasons.filter(Cause.isDieReason).map(({ defect }) => defect)
    const fault = defects.find(SqlError.isSqlError)
    const isOther = cause.reasons.some(Cause.isInterruptReason) || !defects.every(isTyped)
    return Effect.failCause<E | SqlError.SqlError>(fault === undefined || isOther ? cause : Cause.fail(fault))
  })

/** An error that the transaction failed with. */
const isTyped = (defect: unknown): boolean => Predicate.hasProperty(defect, "_tag")
