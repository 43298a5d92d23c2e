/**
 * What the strictest provider accepts in a single part: well-formed texts, arguments that are objects, names and ids of
 * the narrowest form. Pure; the order of messages is `Transcript`'s.
 */
import * as FileCheck from "../FileCheck.ts"
import * as Bounds from "../log/Bounds.ts"
import type * as Message from "../Message.ts"

/** What every provider accepts as the id of a call. */
export const isId = (id: string): boolean => /^[a-zA-Z0-9_-]{1,64}$/.test(id)

const isCleanText = (text: string): boolean => text.isWellFormed() && !text.includes("\0")

/** The text without lone surrogates and NUL. */
export const cleanText = (text: string): string =>
  isCleanText(text) ? text : text.toWellFormed().replaceAll("\0", "\ufffd")

/**
 * A JSON value without lone surrogates and NUL, also in its keys; the value itself if it has none. A value nested too
 * deeply is replaced by words that say so.
 */
export const cleanJson = (value: Json): Json => {
  if (typeof value === "string") return cleanText(value)
  if (isFlat(value)) return value
  const text = write(value)
  if (text === undefined) return Bounds.leftOut
  return isCleanJson(text) ? value : JSON.parse(text, cleanNode)
}

/**
 * Surely clean, surely not nested too deeply, and surely what its JSON says: a leaf, or an object of clean leaves, as most arguments
 * and results are. Saves writing them as JSON; others may still be clean.
 */
const isFlat = (value: Json): boolean => {
  if (value === null || typeof value !== "object") return typeof value === "string" || isCleanLeaf(value)
  if (Array.isArray(value)) return false
  const node = value as { readonly [key: string]: unknown }
  try {
    const kind = Object.getPrototypeOf(node)
    if (kind !== Object.prototype && kind !== null) return false
    for (const key in node) if (!isCleanText(key) || !isCleanLeaf(node[key])) return false
    return true
  } catch {
    // a value with a member that cannot be read is not JSON
    return false
  }
}

const isCleanLeaf = (value: unknown): boolean =>
  typeof value === "string"
    ? isCleanText(value)
    : typeof value === "number"
    ? isJsonNumber(value)
    : value === null || typeof value === "boolean"

/** A number that is the same when it is read back: not `Infinity`, as `1e400` is, nor `NaN` or `-0`. */
const isJsonNumber = (value: number): boolean => Number.isFinite(value) && !Object.is(value, -0)

/**
 * A part as it can be stored, which is as it will be read back: what is nested too deeply is replaced by words that say so, and what
 * JSON cannot say is what its JSON says: of arguments no members, of a result `null`.
 */
export const writable = (part: Message.AssistantPart): Message.AssistantPart => {
  const given = part.type === "tool-call" ? part.params : part.type === "tool-result" ? part.result : null
  if (part.metadata === undefined && isFlat(given)) return part
  const isSaid = isSayable(given)
  const text = isSaid ? write(part) : undefined
  if (text !== undefined) return JSON.parse(text) as Message.AssistantPart
  const { metadata, ...rest } = part
  const kept = write(metadata) === undefined ? rest : part
  switch (kept.type) {
    case "tool-call":
      return { ...kept, params: isSaid ? readBack(kept.params) : {} }
    case "tool-result":
      return { ...kept, result: isSaid ? readBack(kept.result) : null }
    default:
      return kept
  }
}

/** Whether JSON has a word for it: of what has none, it leaves the member out. */
const isSayable = (value: unknown): boolean =>
  value !== undefined && typeof value !== "function" && typeof value !== "symbol"

const readBack = (value: Json): Json => {
  const text = write(value)
  return text === undefined ? Bounds.leftOut : JSON.parse(text)
}

type Json = Message.ToolCallPart["params"]

/** JSON; `undefined` if it is nested too deeply. */
const write = (value: unknown): string | undefined => {
  try {
    const text: string | undefined = JSON.stringify(value)
    return text === undefined || Bounds.isTooDeep(text) ? undefined : text
  } catch {
    return undefined
  }
}

/** JSON escapes whatever is not legal, and little else. */
const isCleanJson = (text: string): boolean =>
  !text.includes("\\u") || !/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/i.test(text)

const cleanNode = (_: string, value: unknown): unknown => {
  if (typeof value === "string") return cleanText(value)
  if (value === null || typeof value !== "object" || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [cleanText(key), member]))
}

/** Arguments are an object for every provider; anything else is wrapped in one. */
const object = (params: Message.ToolCallPart["params"]): Message.ToolCallPart["params"] =>
  params !== null && typeof params === "object" && !Array.isArray(params) ? params : { arguments: params }

/** What every provider accepts as the name of a tool: it has the form of an id. An old log may hold a call without a name. */
export const cleanName = (given: unknown): string => {
  const name = typeof given === "string" ? given : ""
  return isId(name) ? name : name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "_"
}

/** Parts as they may be sent, without those that may not be sent at all. */
export const cleanParts = <P extends Message.AssistantPart>(parts: ReadonlyArray<P>): Array<P> => {
  const clean: Array<P> = []
  for (const part of parts) addClean(clean, part)
  return clean
}

/** Adds a part as it may be sent, if any of it may: a copy, so that nobody who gets it can write into the log. */
export const addClean = <P extends Message.AssistantPart>(to: Array<P>, part: P): void => {
  switch (part.type) {
    case "text": {
      const text = cleanText(part.text)
      if (text.trim() !== "") to.push(cleanMetadata({ ...part, text }))
      return
    }
    case "reasoning": {
      // goes back unedited or not at all
      const text = write(part)
      if (text !== undefined && isCleanJson(text)) to.push(part)
      return
    }
    case "file":
      to.push(cleanFile(part) as P)
      return
    case "tool-call":
      to.push(cleanMetadata({ ...part, params: object(cleanJson(part.params)) }))
      return
    case "tool-result":
      to.push(cleanMetadata({
        ...part,
        result: cleanJson(part.result),
        ...(part.content === undefined ? {} : { content: cleanParts(part.content) })
      }))
      return
  }
}

/** A log may hold a file that inputs may not: a model made it, or it was stored before inputs were checked for that. */
const cleanFile = (part: Message.FilePart): Message.FilePart | Message.TextPart => {
  const { data, fileName, mediaType } = part
  const named = fileName === undefined ? part : { ...part, fileName: cleanText(fileName) }
  const file = { ...named, mediaType: cleanText(mediaType), data: cleanText(data) }
  return FileCheck.wrongIn(file) === undefined ? cleanMetadata(file) : FileCheck.lost
}

const cleanMetadata = <P extends Message.AssistantPart>(part: P): P => {
  if (part.metadata === undefined) return part
  const clean = cleanJson(part.metadata)
  const { metadata: _, ...rest } = part
  return (typeof clean === "object" && clean !== null ? { ...rest, metadata: clean } : rest) as P
}
