/**
 * Encodes a prompt as the messages of a chat completion: one for each message and each tool result, in order.
 *
 * Owns the shapes of messages; equal prompts become equal bytes. Does not repair transcripts. Leaves out what the protocol has
 * no place for: files of the assistant, calls that a provider ran itself, approvals.
 */
import * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"
import { CallIds } from "../provider/CallIds.ts"
import * as Json from "../provider/Json.ts"
import * as Attached from "./Attached.ts"
import * as ReasoningDetails from "./ReasoningDetails.ts"

export interface Options {
  /** the source that is asked (`Attached.source`) */
  readonly to: string
  /**
   * Which reasoning goes back: none (`false`); only that of the source that is asked, as `reasoning_details`, and as
   * `reasoning_content` where tools are offered or were called ("auto"); or also all other, as `reasoning_content` (`true`).
   */
  readonly sendReasoning: boolean | "auto"
  /** What answers get that lack what the server requires (`StandIns`): empty reasoning, or a signature that it does not check. */
  readonly standIn?: "reasoning" | "signature" | undefined
  readonly offersTools: boolean
}

/** With what only the server understands of it (`Attached`). */
interface FunctionCall {
  readonly id: string
  readonly type: "function"
  readonly function: { readonly name: string; readonly arguments: string }
}

type Reasoned = Pick<Extract<ChatMessage, { role: "assistant" }>, "reasoning_content" | "reasoning_details">

type UserPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } }
  | { readonly type: "file"; readonly file: { readonly filename: string; readonly file_data: string } }

type ChatMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | ReadonlyArray<UserPart> }
  | {
    readonly role: "assistant"
    readonly content: string | null
    readonly reasoning_content?: string
    readonly reasoning_details?: ReadonlyArray<Json.JsonObject>
    readonly tool_calls?: ReadonlyArray<FunctionCall>
  }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string }

/** A URL as it is; data as a `data:` URL. */
const fileUrl = (part: Prompt.FilePart): string => {
  const { data, mediaType } = part
  if (data instanceof URL) return data.href
  if (typeof data === "string" && /^(data|https?):/.test(data)) return data
  const type = mediaType === "image/*" ? "image/jpeg" : mediaType
  return `data:${type};base64,${typeof data === "string" ? data : Base64.encode(data)}`
}

const userPart = (part: Prompt.UserMessagePart): UserPart => {
  if (part.type === "text") return { type: "text", text: part.text }
  return part.mediaType.startsWith("image/")
    ? { type: "image_url", image_url: { url: fileUrl(part) } }
    : { type: "file", file: { filename: part.fileName ?? "file", file_data: fileUrl(part) } }
}

/** Texts alone go as one string, which every server reads; DeepSeek among others refuses a list. */
const userContent = (parts: ReadonlyArray<Prompt.UserMessagePart>): string | ReadonlyArray<UserPart> => {
  const texts = parts.filter((part) => part.type === "text")
  return texts.length === parts.length ? texts.map((part) => part.text).join("\n") : parts.map(userPart)
}

/**
 * The arguments of a call as the text of a JSON object, because servers parse it for their templates: an object as it is,
 * also when given as text; nothing as `{}`; anything else that the model wrote under `invalid_arguments`.
 */
const argumentsText = (params: unknown): string => {
  if (params === undefined || params === null) return "{}"
  if (typeof params === "string") {
    return Json.object(Json.parse(params)) === undefined ? JSON.stringify({ invalid_arguments: params }) : params
  }
  return JSON.stringify(typeof params === "object" && !Array.isArray(params) ? params : { invalid_arguments: params })
}

/** What goes back of a message's reasoning; also empty `reasoning_content`, where it came so (DeepSeek asks for it). */
const reasoningFields = (parts: ReadonlyArray<Prompt.ReasoningPart>, hasTools: boolean, options: Options): Reasoned => {
  const { sendReasoning, to } = options
  if (sendReasoning === false) return {}
  const attached = parts.map((part) => Attached.sent(part, to))
  const said = parts.filter((_, i) => {
    const { isReasoningContent, reasoningDetails } = attached[i]!
    return (hasTools && isReasoningContent) || (sendReasoning === true && reasoningDetails === undefined)
  })
  const reasoning_content = said.map(({ text }) => text).join("")
  const isThere = reasoning_content !== "" || (said.length > 0 && attached.some((one) => one.isReasoningContent))
  const reasoning_details = ReasoningDetails.whole(attached.flatMap((one) => one.reasoningDetails ?? []))
  return {
    ...Object.assign({}, ...attached.map(({ fields }) => fields)),
    ...(isThere ? { reasoning_content } : {}),
    ...(reasoning_details.length > 0 ? { reasoning_details } : {})
  }
}

/**
 * Gemini does not check this signature, and looks for one at the first call of an answer only
 * (https://ai.google.dev/gemini-api/docs/thought-signatures).
 */
const unchecked = { extra_content: { google: { thought_signature: "skip_thought_signature_validator" } } }

const assistant = (message: Prompt.AssistantMessage, options: Options, ids: CallIds): ChatMessage => {
  let content = ""
  const reasoning: Array<Prompt.ReasoningPart> = []
  const calls: Array<FunctionCall> = []
  for (const part of message.content) {
    if (part.type === "text") content += part.text
    if (part.type === "reasoning") reasoning.push(part)
    if (part.type === "tool-call" && !part.providerExecuted) {
      const { fields, id } = Attached.sent(part, options.to)
      calls.push({
        ...(options.standIn === "signature" && calls.length === 0 ? unchecked : {}),
        ...fields,
        id: ids.ofCall(part.id, id),
        type: "function",
        function: { name: part.name, arguments: argumentsText(part.params) }
      })
    }
  }
  return {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    ...(options.standIn === "reasoning" ? { reasoning_content: "" } : {}),
    ...(reasoning.length > 0 ? reasoningFields(reasoning, options.offersTools || calls.length > 0, options) : {}),
    ...(calls.length > 0 ? { tool_calls: calls } : {})
  }
}

/** What the model reads of a result: its output for the model where there is one, else a text as it is, else JSON. */
const resultText = (part: Prompt.ToolResultPart): string => {
  if (part.modelOutput !== undefined) {
    return part.modelOutput.map((part) => part.type === "text" ? part.text : `[${fileName(part)}: below]`).join("\n")
  }
  if (part.result === undefined) return ""
  return typeof part.result === "string" ? part.result : JSON.stringify(part.result)
}

const fileName = ({ fileName, mediaType }: Prompt.FilePart): string =>
  fileName === undefined ? mediaType : `${mediaType} ${fileName}`

/** A message of a tool takes texts only: the files of all its results begin what the user says next, or stand alone below them. */
const filesOf = (message: Prompt.Message | undefined): ReadonlyArray<Prompt.UserMessagePart> =>
  message?.role !== "tool" ? [] : resultsOf(message).flatMap(({ modelOutput = [], name }) => {
    const files = modelOutput.filter((part) => part.type === "file")
    return files.length === 0 ? [] : [Prompt.textPart({ text: `Files of the result of ${name}:` }), ...files]
  })

const resultsOf = ({ content }: Prompt.ToolMessage) => content.filter((part) => part.type === "tool-result")

export const encode = (prompt: Prompt.Prompt, options: Options): ReadonlyArray<ChatMessage> => {
  const ids = new CallIds()
  return prompt.content.flatMap((message, i, all): ReadonlyArray<ChatMessage> => {
    switch (message.role) {
      case "system":
        return [{ role: "system", content: message.content }]
      case "user":
        return [{ role: "user", content: userContent([...filesOf(all[i - 1]), ...message.content]) }]
      case "assistant":
        return [assistant(message, options, ids)]
      case "tool": {
        const texts = resultsOf(message).map((part): ChatMessage => ({
          role: "tool",
          tool_call_id: ids.ofResult(part.id),
          content: resultText(part)
        }))
        const files = all[i + 1]?.role === "user" ? [] : filesOf(message)
        return files.length === 0 ? texts : [...texts, { role: "user", content: userContent(files) }]
      }
    }
  })
}
