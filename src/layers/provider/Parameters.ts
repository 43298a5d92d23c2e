/** Reads the arguments of a tool call, as a model wrote them. Does not own whether they fit the tool. */
import * as Tool from "effect/ai/Tool"

/**
 * The parameters of a call from the text of its arguments: no text, `null` and `[]` are no parameters; JSON inside a JSON
 * string is parsed once more; what does not parse (or would poison a prototype) stays the text that the model wrote.
 */
export const fromText = (text: string): unknown => {
  if (text.trim() === "") return {}
  const read = (json: string): unknown => {
    try {
      return Tool.unsafeSecureJsonParse(json)
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
