/**
 * What a tool's code returns, as the JSON that a log can keep: encoded once, and parsed only where somebody needs the value.
 * A text stays itself, nothing at all is `null`, bytes are base64.
 */
import * as Base64 from "effect/encoding/Base64"
import type * as Schema from "effect/Schema"
import * as Bounds from "../../run/log/Bounds.ts"

/** `text` is what a model reads: the JSON, or the text where the value is one. */
export interface Json {
  readonly _tag: "Json"
  readonly text: string
  readonly isText: boolean
}

export type PlainJson = Json | { readonly _tag: "NotJson"; readonly message: string }

export const of = (given: unknown): PlainJson => {
  try {
    const value = withoutBytes(given)
    if (typeof value === "string") return { _tag: "Json", text: value, isText: true }
    if (value === undefined) return { _tag: "Json", text: "null", isText: false }
    const text: string | undefined = JSON.stringify(value)
    if (text === undefined) return { _tag: "NotJson", message: `a ${typeof value} is not JSON` }
    return Bounds.isTooDeep(text)
      ? { _tag: "NotJson", message: `it is nested in more than ${Bounds.deepest} levels` }
      : { _tag: "Json", text, isText: false }
  } catch (error) {
    return { _tag: "NotJson", message: error instanceof Error ? error.message : "it is not JSON" }
  }
}

export const value = ({ isText, text }: Json): Schema.Json => isText ? text : JSON.parse(text) as Schema.Json

const isBytes = (value: unknown): boolean => value instanceof Uint8Array || value instanceof ArrayBuffer

/** In JSON, bytes would take a line of digits each; bytes that are the value, or a field of it, become base64. */
const withoutBytes = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return Base64.encode(value)
  if (value instanceof ArrayBuffer) return Base64.encode(new Uint8Array(value))
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.values(value).some(isBytes)
    ? Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withoutBytes(field)]))
    : value
}
