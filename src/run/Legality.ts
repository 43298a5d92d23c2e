/**
 * What the strictest provider accepts of a single part: well-formed texts, arguments that are objects, names and ids of
 * the narrowest form. Pure; the order of messages is `Transcript`'s.
 */
import type * as Message from "./Message.ts"

/** What every provider takes for the id of a call. */
export const isId = (id: string): boolean => /^[a-zA-Z0-9_-]{1,64}$/.test(id)

export const cleanText = (text: string): string =>
  (text.isWellFormed() ? text : text.toWellFormed()).replaceAll("\0", "\ufffd")

/** A JSON value without lone surrogates and NUL, in its keys too; the value itself where there are none. */
export const cleanJson = <A>(value: A): A => {
  if (typeof value === "string") return cleanText(value) as A
  if (value === null || typeof value !== "object") return value
  const text = JSON.stringify(value)
  return isCleanJson(text) ? value : JSON.parse(text, cleanNode) as A
}

/** JSON escapes what is not legal, and little else. */
const isCleanJson = (text: string): boolean => !text.includes("\\u")

const cleanNode = (_: string, value: unknown): unknown => {
  if (typeof value === "string") return cleanText(value)
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [cleanText(key), member]))
}

/** Arguments are an object for every provider; what was not one is kept inside one. */
export const object = (params: Message.ToolCallPart["params"]): Message.ToolCallPart["params"] =>
  params !== null && typeof params === "object" && !Array.isArray(params) ? params : { arguments: params }

export const cleanName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "_"

/** A part as it may be sent; none where nothing of it may. */
export const cleanPart = <P extends Message.AssistantPart>(part: P): ReadonlyArray<P> => {
  switch (part.type) {
    case "text":
      if (part.text.trim() === "") return []
      return [part.metadata === undefined ? { ...part, text: cleanText(part.text) } : cleanJson(part)]
    case "reasoning":
      // goes back unedited or not at all
      return cleanJson(part) === part ? [part] : []
    default:
      return [cleanJson(part)]
  }
}

/** Nothing that can stand alone as a message. */
export const isBlank = (content: ReadonlyArray<Message.AssistantPart>): boolean =>
  content.every((part) => part.type === "reasoning")
