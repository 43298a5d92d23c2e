/**
 * What the error of an append says about what is stored: nothing, another's event in its place, or that it is unknown.
 *
 * Does not own what errors mean to a caller; that is the engine's.
 */
import type * as SqlError from "effect/sql/SqlError"

/** The connection was lost: the statement may have been carried out, or may yet be. Other errors say that it was not. */
export const isUnknown = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "ConnectionError" || codeIn(reason.cause).startsWith("57P0")

/**
 * The place of an event is taken: by another writer, which moved the fence. Checks and triggers that somebody added to the tables say
 * nothing of writers.
 */
export const isConflict = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "UniqueViolation" || (reason._tag === "ConstraintError" && isKeyTaken(reason.cause))

/**
 * SQLITE_CONSTRAINT_PRIMARYKEY (sqlite.org/rescode.html), which effect/sql does not tell from others: an event's key is the primary key
 * of its table, and nothing else there is unique.
 */
const isKeyTaken = (cause: unknown): boolean =>
  typeof cause === "object" && cause !== null && "errcode" in cause && cause.errcode === 1555

/** As the engine has it; empty where there is none. */
export const codeOf = ({ reason }: SqlError.SqlError): string => codeIn(reason.cause)

const codeIn = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""
