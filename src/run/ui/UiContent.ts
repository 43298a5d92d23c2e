/**
 * What was said, whole, as a page is told of it: an answer as chunks, a user's message as parts.
 *
 * Does not own what of an answer a page was shown already (`UiAttempt`).
 */
import * as Message from "../Message.ts"
import * as OpenCall from "../state/OpenCall.ts"
import type { Chunk, UserPart } from "./UiChunk.ts"

/** The parts of a page's message that are told. */
export type Kind = "text" | "reasoning" | "other"

export const all: ReadonlySet<Kind> = new Set(["text", "reasoning", "other"])

/**
 * An answer's calls as a page knows them, by the provider's id: as events name them, those of the provider apart. Added to
 * those `ids` that are known from answers before: a result of the provider's may come turns behind its call.
 */
export const callIds = (
  turn: number,
  content: ReadonlyArray<Message.AssistantPart>,
  ids: Map<string, string> = new Map()
): ReadonlyMap<string, string> => {
  let place = 0
  for (const part of content) {
    if (part.type !== "tool-call") continue
    ids.set(part.id, part.providerExecuted === true ? `${turn}/${part.id}` : OpenCall.callId(turn, place++))
  }
  return ids
}

/** The parts of an answer of these kinds, each whole. */
export const answer = (
  turn: number,
  content: ReadonlyArray<Message.AssistantPart>,
  kinds: ReadonlySet<Kind>,
  ids: ReadonlyMap<string, string> = callIds(turn, content)
): Array<Chunk> =>
  content.flatMap((part, at): Array<Chunk> => {
    const isText = part.type === "text" || part.type === "reasoning"
    if (!kinds.has(isText ? part.type : "other")) return []
    return isText ? text(`${turn}:${at}`, part) : other(part, ids)
  })

const text = (id: string, { text, type }: Message.TextPart | Message.ReasoningPart): Array<Chunk> =>
  text === ""
    ? []
    : [{ type: `${type}-start`, id }, { type: `${type}-delta`, id, delta: text }, { type: `${type}-end`, id }]

type Other = Exclude<Message.AssistantPart, Message.TextPart | Message.ReasoningPart>

const other = (part: Other, ids: ReadonlyMap<string, string>): Array<Chunk> => {
  if (part.type === "file") return [{ type: "file", mediaType: part.mediaType, url: urlOf(part) }]
  const toolCallId = ids.get(part.id)
  // a page stops at the result of a call that it does not know
  if (toolCallId === undefined) return []
  const call = { toolCallId, ...(part.providerExecuted === true ? { providerExecuted: true } : {}) }
  if (part.type === "tool-call") {
    return [{ type: "tool-input-available", ...call, toolName: part.name, input: part.params }]
  }
  return part.isFailure
    ? [{ type: "tool-output-error", ...call, errorText: inWords(part.result) }]
    : [{ type: "tool-output-available", ...call, output: part.result }]
}

/** A result that is an error, for people. */
export const inWords = (result: unknown): string => typeof result === "string" ? result : JSON.stringify(result)

/** What a user said. */
export const user = ({ content }: Message.UserMessage): Array<UserPart> =>
  content.map((part) =>
    part.type === "text" ? { type: "text", text: part.text } : {
      type: "file",
      mediaType: part.mediaType,
      url: urlOf(part),
      ...(part.fileName === undefined ? {} : { filename: part.fileName })
    }
  )

const urlOf = (file: Message.FilePart): string =>
  Message.isAddress(file) ? file.data : `data:${file.mediaType};base64,${file.data}`
