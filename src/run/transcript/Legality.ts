/**
 * What the strictest provider accepts of a single part: well-formed texts, arguments that are objects, names and ids of
 * the narrowest form. Pure; the order of messages is `Transcript`'s.
 */
import type * as Message from "../Message.ts"

/** What every provider takes for the id of a call. */
export const isId = (id: string): boolean => /^[a-zA-Z0-9_-]{1,64}$/.test(id)

export const cleanText = (text: string): string =>
  text.isWellFormed() && !text.includes("\0") ? text : text.toWellFormed().replaceAll("\0", "\ufffd")

/**
 * A JSON value without lone surrogates and NUL, in its keys too; the value itself where there are none. What is nested too
 * deeply to be written is left out, in words.
 */
export const cleanJson = (value: Json): Json => {
  if (typeof value === "string") return cleanText(value)
  if (value === null || typeof value !== "object") return value
  try {
    const text = JSON.stringify(value)
    return isCleanJson(text) ? value : JSON.parse(text, cleanNode)
  } catch {
    return tooDeep
  }
}

const tooDeep = "(left out: nested too deeply)"

/** A part that can be stored: what is nested deeper than JSON can be written is left out, in words. */
export const writable = (part: Message.AssistantPart): Message.AssistantPart => {
  if (write(part) !== undefined) return part
  const { metadata, ...rest } = part
  const kept = write(metadata) === undefined ? rest : part
  switch (kept.type) {
    case "tool-call":
      return { ...kept, params: write(kept.params) === undefined ? tooDeep : kept.params }
    case "tool-result":
      return { ...kept, result: write(kept.result) === undefined ? tooDeep : kept.result }
    default:
      return kept
  }
}

type Json = Message.ToolCallPart["params"]

/** JSON, or nothing where the nesting is deeper than the stack. */
const write = (value: unknown): string | undefined => {
  try {
    return JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** JSON escapes what is not legal, and little else. */
const isCleanJson = (text: string): boolean =>
  !text.includes("\\u") || !/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i.test(text)

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
      return part.text.trim() === "" ? [] : [cleanMetadata({ ...part, text: cleanText(part.text) })]
    case "reasoning": {
      // goes back unedited or not at all
      const text = write(part)
      return text !== undefined && isCleanJson(text) ? [part] : []
    }
    case "file": {
      const { fileName } = part
      const named = fileName === undefined ? part : { ...part, fileName: cleanText(fileName) }
      return [cleanMetadata({ ...named, mediaType: cleanText(part.mediaType), data: cleanText(part.data) })]
    }
    case "tool-call":
      return [cleanMetadata({ ...part, params: object(cleanJson(part.params)) })]
    case "tool-result":
      return [cleanMetadata({ ...part, result: cleanJson(part.result) })]
  }
}

const cleanMetadata = <P extends Message.AssistantPart>(part: P): P => {
  if (part.metadata === undefined) return part
  const clean = cleanJson(part.metadata)
  const { metadata: _, ...rest } = part
  return (typeof clean === "object" && clean !== null ? { ...rest, metadata: clean } : rest) as P
}
