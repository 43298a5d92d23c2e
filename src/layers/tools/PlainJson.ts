/**
 * What a tool's code returns, as the JSON that a log can keep: encoded once, and parsed only where somebody needs the value.
 * A text stays itself, nothing at all is `null`, bytes are base64.
 */
import * as Base64 from "effect/encoding/Base64"
import type * as Schema from "effect/Schema"
import * as LostInJson from "../../run/input/LostInJson.ts"
import * as Bounds from "../../run/log/Bounds.ts"

/** `text` is what a model reads: the JSON, or the text where the value is one; `flat` is the value where that is known. */
export interface Json {
  readonly _tag: "Json"
  readonly text: string
  readonly isText: boolean
  readonly flat?: Flat
}

type Leaf = string | number | boolean | null
type Flat = Readonly<Record<string, Leaf>>

export type PlainJson = Json | { readonly _tag: "NotJson"; readonly message: string }

export const of = (given: unknown): PlainJson => {
  try {
    const flat = flatOf(given)
    if (flat !== undefined) return { _tag: "Json", text: JSON.stringify(flat), isText: false, flat }
    const value = withoutBytes(given)
    if (typeof value === "string") return { _tag: "Json", text: value, isText: true }
    if (value === undefined) return { _tag: "Json", text: "null", isText: false }
    const text: string | undefined = JSON.stringify(value)
    if (text === undefined) return notJson(`a ${typeof value} is not JSON`)
    if (Bounds.isTooDeep(text)) return notJson(`it is nested in more than ${Bounds.deepest} levels`)
    const lost = LostInJson.find(value)
    return lost === undefined ? { _tag: "Json", text, isText: false } : notJson(inWords(lost))
  } catch (error) {
    return notJson(error instanceof Error ? error.message : "it is not JSON")
  }
}

const inWords = ({ path, what }: LostInJson.Lost): string => `${what} is not JSON${path === "" ? "" : `, at ${path}`}`

const notJson = (message: string): PlainJson => ({ _tag: "NotJson", message })

export const value = ({ flat, isText, text }: Json): Schema.Json =>
  isText ? text : flat ?? JSON.parse(text) as Schema.Json

const isBytes = (value: unknown): boolean => value instanceof Uint8Array || value instanceof ArrayBuffer

/** A copy of an object that parsing its JSON would give back as it is: all its fields are leaves, as those of most results are. */
const flatOf = (value: unknown): Flat | undefined => {
  // a `toJSON` that is not enumerable is no field
  const isOther = !isPlain(value) || typeof value["toJSON"] === "function" ||
    Object.getOwnPropertySymbols(value).length > 0
  if (isOther) return undefined
  const copied = { ...value }
  for (const key in copied) if (!isLeaf(copied[key])) return undefined
  return copied as Flat
}

const isLeaf = (value: unknown): value is Leaf =>
  typeof value === "string" || typeof value === "boolean" || value === null ||
  (typeof value === "number" && Number.isFinite(value) && !Object.is(value, -0))

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype

/** In JSON, bytes would take a line of digits each; bytes that are the value, or a field of it, become base64. */
const withoutBytes = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return Base64.encode(value)
  if (value instanceof ArrayBuffer) return Base64.encode(new Uint8Array(value))
  return isPlain(value) && Object.values(value).some(isBytes)
    ? Object.fromEntries(Object.entries(value).map(([key, field]) => [key, withoutBytes(field)]))
    : value
}
