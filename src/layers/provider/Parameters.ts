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
      return hasInfinity(value) ? undefined : value
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

/** What is nested more deeply than any log keeps is left out later. */
const hasInfinity = (value: unknown, depth = 0): boolean => {
  if (typeof value === "number") return !Number.isFinite(value)
  if (typeof value !== "object" || value === null || depth > Bounds.deepest) return false
  return Object.values(value).some((member) => hasInfinity(member, depth + 1))
}
