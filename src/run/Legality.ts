/**
 * What the strictest provider accepts of a single part: well-formed texts, arguments that are objects, names and ids of
 * the narrowest form. Pure; the order of messages is `Transcript`'s.
 */
import type * as Message from "./Message.ts"

/** Nine letters and digits, the narrowest form a provider asks for; unique because `seq` is. */
export const derivedId = (seq: number, index: number): string =>
  `c${seq.toString(36).padStart(6, "0")}${index.toString(36).padStart(2, "0")}`

const cleanText = (text: string): string =>
  (text.isWellFormed() ? text : text.toWellFormed()).replaceAll("\0", "\ufffd")

export const cleanJson = (value: Message.ToolCallPart["params"]): Message.ToolCallPart["params"] => {
  if (typeof value === "string") return cleanText(value)
  if (value === null || typeof value !== "object") return value
  const text = JSON.stringify(value)
  return text.includes("\\u") ? JSON.parse(text, cleanNode) : value
}

const cleanNode = (_: string, value: unknown): unknown => {
  if (typeof value === "string") return cleanText(value)
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [cleanText(key), member]))
}

/** Arguments are an object for every provider; what was not one is kept inside one. */
export const cleanParams = (params: Message.ToolCallPart["params"]): Message.ToolCallPart["params"] => {
  const clean = cleanJson(params)
  return clean !== null && typeof clean === "object" && !Array.isArray(clean) ? clean : { arguments: clean }
}

export const cleanName = (name: string): string => name.replace(/[^a-zA-Z0-9_.-]/g, "_").slice(0, 64) || "_"

export const cleanPart = <P extends Message.AssistantPart>(part: P): ReadonlyArray<P> => {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : [{ ...part, text: cleanText(part.text) }]
    case "reasoning":
      // goes back unedited or not at all
      return part.text.isWellFormed() && !part.text.includes("\0") ? [part] : []
    case "tool-result":
      return [{ ...part, result: cleanJson(part.result) }]
    default:
      return [part]
  }
}

export const isBlank = (content: ReadonlyArray<Message.AssistantPart>): boolean =>
  content.every((part) => part.type === "reasoning")
