/**
 * What the error of an append tells of what is stored: nothing, another's event in its place, or that nobody knows.
 *
 * Does not own what errors mean to a caller; those are an engine's.
 */
import type * as SqlError from "effect/sql/SqlError"

/** The connection was lost: the statement may have been carried out, or may yet be. Other errors say that it was not. */
export const isUnknown = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "ConnectionError" || codeOf(reason.cause).startsWith("57P0")

/** Engines differ in what they call an event that is there already: another's, who moved the fence. */
export const isConflict = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "UniqueViolation" || reason._tag === "ConstraintError"

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : ""
