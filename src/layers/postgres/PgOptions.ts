/**
 * The options of the Postgres store, checked before anything is connected: a wrong one would fail late, or never.
 *
 * Does not own the URL (`PgPlace`).
 */
import * as Result from "effect/Result"
import * as InputCheck from "../../run/InputCheck.ts"
import type { Options } from "../SessionStorePg.ts"

const names: Record<keyof Options, true> = {
  url: true,
  maxConnections: true,
  idleTimeout: true,
  connectTimeout: true,
  timeout: true,
  pooled: true
}

/** What is wrong with them, in words; `undefined` if nothing is. Untyped code may pass anything. */
export const problemOf = (given: Options): string | undefined => {
  const others = InputCheck.noOthers("SessionStorePg", given, names)
  if (Result.isFailure(others)) return others.failure.message
  const { maxConnections = 1, pooled = false }: Partial<Options> = given ?? {}
  if (!Number.isInteger(maxConnections) || maxConnections < 1) {
    return `maxConnections must be a whole number of at least 1, not ${quoted(maxConnections)}.`
  }
  if (typeof pooled !== "boolean") return `pooled must be true or false, not ${quoted(pooled)}.`
  for (const name of ["idleTimeout", "connectTimeout", "timeout"] as const) {
    const wait = InputCheck.duration(
      name,
      given?.[name] ?? 1,
      (millis) => millis >= 1,
      (quoted) => `${name} must be a duration of at least 1 millisecond, not ${quoted}.`
    )
    if (Result.isFailure(wait)) return wait.failure.message
  }
  return undefined
}

/** As untyped code wrote it. */
const quoted = (given: unknown): string => typeof given === "string" ? JSON.stringify(given) : String(given)
