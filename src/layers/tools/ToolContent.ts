/**
 * What a tool's `toModelOutput` shows a model of its result: texts and files, as a log can keep them. The function is foreign code.
 *
 * Does not own the result itself (`Settling`).
 */
import type * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"
import * as FileCheck from "../../run/FileCheck.ts"
import * as Bounds from "../../run/log/Bounds.ts"
import * as Message from "../../run/Message.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import * as PlainJson from "./PlainJson.ts"
import { truncate } from "./Truncation.ts"

/**
 * Settles a call with its result and what its model reads, at most `limit` characters of text. A result that is not JSON is kept as
 * that text, with the names of the files.
 */
export const settled = (
  result: PlainJson.PlainJson,
  shown: ReadonlyArray<Prompt.ToolModelOutputPart>,
  limit: number
): ToolExecutor.Settlement => {
  const parts = partsOf(shown)
  if (typeof parts === "string") return { outcome: { _tag: "NotEncodable", message: parts } }
  const { content, originalSize } = cut(parts, limit)
  const kept = result._tag === "Json" ? PlainJson.value(result) : content.map(inWords).join("\n")
  return {
    outcome: { _tag: "Succeeded", result: kept, content },
    ...(originalSize === undefined ? {} : { originalSize })
  }
}

const inWords = (part: Message.UserPart): string =>
  part.type === "text"
    ? part.text
    : `[${part.fileName === undefined ? part.mediaType : `${part.mediaType} ${part.fileName}`}]`

/** The parts, or what is wrong with them. */
const partsOf = (shown: ReadonlyArray<Prompt.ToolModelOutputPart>): ReadonlyArray<Message.UserPart> | string => {
  try {
    // a copy, without holes
    const parts = [...shown].map(partOf)
    const wrong = parts.map((part) => part.type === "file" ? FileCheck.wrongIn(part) : undefined)
    const first = wrong.find((why) => why !== undefined)
    return first === undefined ? parts : `its toModelOutput gave a file ${first}`
  } catch {
    return "its toModelOutput gave no list of parts"
  }
}

const partOf = (part: Prompt.ToolModelOutputPart): Message.UserPart => {
  if (part.type === "text") return { ...Message.text(asText(part.text)), ...attachedTo(part) }
  const { data, fileName, mediaType } = part
  return {
    type: "file",
    mediaType: asText(mediaType),
    data: data instanceof URL ? data.href : data instanceof Uint8Array ? Base64.encode(data) : asText(data),
    ...(fileName === undefined ? {} : { fileName: asText(fileName) }),
    ...attachedTo(part)
  }
}

/** What the application attached, such as a cache marker. Throws where no log can keep it. */
const attachedTo = (part: Prompt.ToolModelOutputPart): { readonly metadata?: Message.Metadata } => {
  const options = Object.entries(part.options ?? {})
  if (options.length === 0) return {}
  const text = JSON.stringify(Object.fromEntries(options))
  if (Bounds.isTooDeep(text)) throw new TypeError("nested too deeply")
  return { metadata: JSON.parse(text) }
}

/** Throws where that is no text: foreign code may give anything. */
const asText = (value: string): string => {
  if (typeof value !== "string") throw new TypeError("not a text")
  return value
}

/** The parts with at most `limit` characters of text: where that is less than all, the texts become one, before the files. */
const cut = (parts: ReadonlyArray<Message.UserPart>, limit: number) => {
  const texts = parts.flatMap((part) => part.type === "text" ? [part.text] : [])
  const { originalSize, text } = truncate(texts.join("\n"), limit)
  if (originalSize === undefined) return { content: parts, originalSize }
  return { content: [Message.text(text), ...parts.filter((part) => part.type === "file")], originalSize }
}
