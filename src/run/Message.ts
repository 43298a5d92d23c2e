/**
 * The project's own message schema: what is stored in a log and handed to a Model. Plain JSON on both sides, so that a
 * stored session can be read for ever, whatever happens to a provider library's types.
 *
 * Does not own how a log becomes messages; that is `Transcript`.
 */
import * as Schema from "effect/Schema"
import * as FileData from "./FileData.ts"

/** What a provider attached to a part (signatures, cache markers), by provider name; sent back unedited. */
export const Metadata = Schema.Record(Schema.String, Schema.Json)
export type Metadata = typeof Metadata.Type

/** What somebody said. */
export const TextPart = Schema.Struct({
  type: Schema.tag("text"),
  text: Schema.String,
  metadata: Schema.optionalKey(Metadata)
})
export type TextPart = typeof TextPart.Type

/** Reasoning goes back unedited, and only to the provider and model that made it. */
export const ReasoningPart = Schema.Struct({
  type: Schema.tag("reasoning"),
  text: Schema.String,
  metadata: Schema.optionalKey(Metadata)
})
export type ReasoningPart = typeof ReasoningPart.Type

/** A file: `data` is base64, or an address that starts with `http:`, `https:` or `data:`. */
export const FilePart = Schema.Struct({
  type: Schema.tag("file"),
  mediaType: Schema.String,
  data: Schema.String,
  fileName: Schema.optionalKey(Schema.String),
  metadata: Schema.optionalKey(Metadata)
})
export type FilePart = typeof FilePart.Type

/** What a person may say, and a tool show a model. */
export const UserPart = Schema.Union([TextPart, FilePart])
export type UserPart = typeof UserPart.Type

/** Whether a file is given by its address, `data:` included, and not as base64; a log may hold addresses that are not URLs. */
export const isAddress = (file: FilePart): boolean => FileData.isAddress(file.data)

/** A call the model asked for. `params` is what it sent: a JSON value, or the raw text where that was not JSON. */
export const ToolCallPart = Schema.Struct({
  type: Schema.tag("tool-call"),
  id: Schema.String,
  name: Schema.String,
  params: Schema.Json,
  providerExecuted: Schema.optionalKey(Schema.Boolean),
  metadata: Schema.optionalKey(Metadata)
})
export type ToolCallPart = typeof ToolCallPart.Type

/** What became of the call `id`, for its model to read: `content` where it is there, else `result`. */
export const ToolResultPart = Schema.Struct({
  type: Schema.tag("tool-result"),
  id: Schema.String,
  name: Schema.String,
  result: Schema.Json,
  content: Schema.optionalKey(Schema.Array(UserPart)),
  isFailure: Schema.Boolean,
  providerExecuted: Schema.optionalKey(Schema.Boolean),
  metadata: Schema.optionalKey(Metadata)
})
export type ToolResultPart = typeof ToolResultPart.Type

/** What a model may say; its tool results are of calls that the provider executed. */
export const AssistantPart = Schema.Union([TextPart, ReasoningPart, FilePart, ToolCallPart, ToolResultPart])
export type AssistantPart = typeof AssistantPart.Type

/** Instructions: they come first in a request. */
export const SystemMessage = Schema.Struct({ role: Schema.tag("system"), content: Schema.String })
export type SystemMessage = typeof SystemMessage.Type

/** What a person said, or the runtime in their place. */
export const UserMessage = Schema.Struct({ role: Schema.tag("user"), content: Schema.Array(UserPart) })
export type UserMessage = typeof UserMessage.Type

/** What a model said, including its calls. */
export const AssistantMessage = Schema.Struct({ role: Schema.tag("assistant"), content: Schema.Array(AssistantPart) })
export type AssistantMessage = typeof AssistantMessage.Type

/** The results of the calls of the assistant message before it, in call order. */
export const ToolMessage = Schema.Struct({ role: Schema.tag("tool"), content: Schema.Array(ToolResultPart) })
export type ToolMessage = typeof ToolMessage.Type

/** What a model is sent, or says: one of four roles. */
export const Message = Schema.Union([SystemMessage, UserMessage, AssistantMessage, ToolMessage])
export type Message = typeof Message.Type

/** Which model made a message, or is about to read one. */
export const ModelRef = Schema.Struct({ provider: Schema.String, name: Schema.String })
export type ModelRef = typeof ModelRef.Type

/** By the names in the log: two models at different addresses may have the same name. */
export const isSameModel = (a: ModelRef | undefined, b: ModelRef | undefined): boolean =>
  a?.provider === b?.provider && a?.name === b?.name

/** A model's name for people and as a key: `provider/name`. */
export const modelName = ({ name, provider }: ModelRef): string => `${provider}/${name}`

/** A text as a part. */
export const text = (value: string): TextPart => ({ type: "text", text: value })

/** A user message of a text, or of parts. */
export const user = (content: string | ReadonlyArray<UserPart>): UserMessage => ({
  role: "user",
  content: typeof content === "string" ? [text(content)] : content
})

/** The text parts of a message's content, joined. */
export const textOf = (content: ReadonlyArray<AssistantPart>): string => {
  let out = ""
  for (let i = 0; i < content.length; i++) {
    const part = content[i]!
    if (part.type === "text") out += part.text
  }
  return out
}

/** Nothing that a reader or a tool could use: no text except white space, no file, no call. */
export const isBlank = (content: ReadonlyArray<AssistantPart>): boolean => {
  for (const part of content) {
    if (part.type === "tool-call" || part.type === "file") return false
    if (part.type === "text" && part.text.trim() !== "") return false
  }
  return true
}

/** The call at this place (from 0) among those that are ours to execute. */
export const toolCallAt = (content: ReadonlyArray<AssistantPart>, place: number): ToolCallPart | undefined => {
  let left = place
  for (let i = 0; i < content.length; i++) {
    const part = content[i]!
    if (isOurs(part) && left-- === 0) return part
  }
  return undefined
}

/** The calls of an assistant message that are ours to execute, in order. A loop: V8 filters a frozen array three times slower. */
export const toolCalls = (content: ReadonlyArray<AssistantPart>): ReadonlyArray<ToolCallPart> => {
  const calls: Array<ToolCallPart> = []
  for (let i = 0; i < content.length; i++) {
    const part = content[i]!
    if (isOurs(part)) calls.push(part)
  }
  return calls
}

export const isOurs = (part: AssistantPart): part is ToolCallPart =>
  part.type === "tool-call" && part.providerExecuted !== true
