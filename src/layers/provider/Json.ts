/**
 * Narrow readers of parsed JSON: a value of the expected shape, or nothing. Knows no shape of any protocol.
 *
 * A Schema would refuse a whole chunk for one field that nobody reads, and costs three times as much per delta.
 */
import type * as Schema from "effect/Schema"

export type Json = Schema.MutableJson
export type JsonObject = Schema.MutableJsonObject

/** The value of a JSON text; `undefined` when it is not JSON. */
export const parse = (text: string): Json | undefined => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const object = (value: Json | undefined): JsonObject | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined

const none: ReadonlyArray<Json> = []

export const array = (value: Json | undefined): ReadonlyArray<Json> => Array.isArray(value) ? value : none

/** A string that is not empty. */
export const text = (value: Json | undefined): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined

export const number = (value: Json | undefined): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined

/** A value as JSON holds it; `undefined` when JSON cannot. */
export const of = (value: unknown): Json | undefined => {
  try {
    return parse(JSON.stringify(value) ?? "")
  } catch {
    return undefined
  }
}
