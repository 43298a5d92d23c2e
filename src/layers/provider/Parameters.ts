/** Reads the arguments of a tool call, as a model wrote them. Does not own whether they fit the tool. */
import * as Tool from "effect/ai/Tool"
import * as Bounds from "../../run/log/Bounds.ts"

/**
 * The parameters of a call from the text of its arguments: no text, `null` and `[]` are no parameters; JSON inside a JSON
 * string is parsed once more; what does not parse (or would poison a prototype, or has a number such as `1e400`, which would be read
 * as `Infinity`) stays the text that the model wrote.
 */
export const fromText = (text: string): unknown => {
  if (text.trim() === "") return {}
  const read = (json: string): unknown => {
    try {
      const value = Tool.unsafeSecureJsonParse(json)
      return isTooLarge("", value) || placeOf(value, isTooLarge) !== undefined ? undefined : value
    } catch {
      return undefined
    }
  }
  const value = read(text)
  if (value === null || (Array.isArray(value) && value.length === 0)) return {}
  if (typeof value !== "string") return value ?? text
  if (value.trim() === "") return {}
  const inner = read(value)
  return typeof inner === "object" && inner !== null ? inner : text
}

/** Why `fromText` left a text as it was although it is the JSON of an object or a list, in words for its model; else `undefined`. */
export const refused = (text: string): string | undefined => {
  const value = parsed(text)
  const inner = typeof value === "string" ? parsed(value) : value
  const number = placeOf(inner, isTooLarge)
  if (number !== undefined) return `they have a number that is too large, at ${number}; send a smaller one, or a text`
  const key = placeOf(inner, isPoison)
  return key === undefined ? undefined : `they have a key that is not allowed, at ${key}; send them without it`
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

type Is = (key: string, member: unknown) => boolean

const isTooLarge: Is = (_, member) => typeof member === "number" && !Number.isFinite(member)

/** Of what `Tool.unsafeSecureJsonParse` does not read. */
const isPoison: Is = (key, member) =>
  key === "__proto__" || (key === "constructor" && (member === null || Object.hasOwn(member as object, "prototype")))

/** Where the first such member is, as `a.0.b`. What is nested more deeply than any log keeps is left out later. */
const placeOf = (value: unknown, is: Is, depth = 0): string | undefined => {
  if (typeof value !== "object" || value === null || depth > Bounds.deepest) return undefined
  for (const [key, member] of Object.entries(value)) {
    if (is(key, member)) return key
    const within = placeOf(member, is, depth + 1)
    if (within !== undefined) return `${key}.${within}`
  }
  return undefined
}
