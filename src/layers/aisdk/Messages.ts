/**
 * Encodes a prompt as the messages of the AI SDK: one for one, order and options kept.
 *
 * Owns the shapes of messages. Does not repair transcripts. Leaves approvals out: nothing of ours asks a provider for one. Leaves out
 * what the provider of another model executed itself: only that provider knows such calls.
 */
import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4FileDataData,
  SharedV4FileDataUrl
} from "@ai-sdk/provider"
import type * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"
import { CallIds } from "../provider/CallIds.ts"
import * as Container from "./Container.ts"
import * as Metadata from "./Metadata.ts"

type Content<Role> = Extract<LanguageModelV4Message, { role: Role }>["content"]
type AssistantContent = Content<"assistant">
type Output<Type> = Extract<LanguageModelV4ToolResultOutput, { type: Type }>

/** Bytes stay as they are; a `data:` URL becomes the data that it holds, because providers take only http URLs. */
const fileData = ({ data }: Prompt.FilePart): SharedV4FileDataData | SharedV4FileDataUrl => {
  const address = data instanceof URL
    ? data
    : typeof data === "string" && /^(data|https?):/.test(data)
    ? URL.parse(data)
    : null
  if (address === null) return { type: "data", data: data as string | Uint8Array }
  if (address.protocol !== "data:") return { type: "url", url: address }
  const [head = "", ...rest] = address.href.split(",")
  const bytes = unescaped(rest.join(","))
  return { type: "data", data: /;base64$/i.test(head) ? bytes.toString("latin1") : Base64.encode(bytes) }
}

/** The bytes of a percent-encoded ASCII text; characters that are not escaped stay as they are. */
const unescaped = (text: string): Buffer =>
  Buffer.from(text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16))), "latin1")

const file = (part: Prompt.FilePart) => ({
  type: "file" as const,
  mediaType: part.mediaType,
  data: fileData(part),
  ...(part.fileName === undefined ? {} : { filename: part.fileName })
})

const modelOutput = (parts: ReadonlyArray<Prompt.ToolModelOutputPart>, model: string): Output<"content"> => ({
  type: "content",
  value: parts.map((part) => ({
    ...(part.type === "text" ? { type: part.type, text: part.text } : file(part)),
    ...Metadata.sent(part.options, model)
  }))
})

/** What the model reads of a result. The result of a provider's own tool goes back as the JSON that it was. */
const output = (part: Prompt.ToolResultPart, model: string): LanguageModelV4ToolResultOutput => {
  if (part.modelOutput !== undefined) return modelOutput(part.modelOutput, model)
  if (typeof part.result === "string" && !part.providerExecuted) {
    return { type: part.isFailure ? "error-text" : "text", value: part.result }
  }
  const value = (part.result ?? null) as Output<"json">["value"]
  return { type: part.isFailure ? "error-json" : "json", value }
}

/** The messages for the model of this name (`Metadata.nameOf`). */
export const encode = (prompt: Prompt.Prompt, model: string): LanguageModelV4Prompt => {
  const options = (part: { readonly options: Prompt.ProviderOptions }) => Metadata.sent(part.options, model)
  const ids = new CallIds()

  const toolResult = (part: Prompt.ToolResultPart): LanguageModelV4ToolResultPart => ({
    type: "tool-result",
    toolCallId: ids.ofResult(part.id),
    toolName: part.name,
    output: output(part, model),
    ...options(part)
  })

  // by id, as a log may have a result that does not say whose it is
  const others = new Set<string>()
  const isOthers = (part: Prompt.ToolCallPart | Prompt.ToolResultPart): boolean => {
    if (!part.providerExecuted) return false
    if (Metadata.isOthers(part.options, model)) others.add(part.id)
    return others.has(part.id)
  }

  const assistantPart = (part: Prompt.AssistantMessagePart): AssistantContent => {
    if ((part.type === "tool-call" || part.type === "tool-result") && isOthers(part)) return []
    switch (part.type) {
      case "text":
      case "reasoning":
        if (part.type === "reasoning" && Container.isKept(part)) return []
        return [{ type: part.type, text: part.text, ...options(part) }]
      case "file":
        return [{ ...file(part), ...options(part) }]
      case "tool-call":
        return [{
          type: "tool-call",
          toolCallId: ids.ofCall(part.id, part.providerExecuted ? undefined : Metadata.callId(part.options, model)),
          toolName: part.name,
          input: part.params,
          ...(part.providerExecuted ? { providerExecuted: true } : {}),
          ...options(part)
        }]
      case "tool-result":
        return [toolResult(part)]
      case "tool-approval-request":
        return []
    }
  }

  const encodeMessage = (message: Prompt.Message): LanguageModelV4Message => {
    switch (message.role) {
      case "system":
        return { role: "system", content: message.content, ...options(message) }
      case "user":
        return {
          role: "user",
          content: message.content.map((part) =>
            part.type === "text"
              ? { type: "text", text: part.text, ...options(part) }
              : { ...file(part), ...options(part) }
          ),
          ...options(message)
        }
      case "assistant":
        return { role: "assistant", content: message.content.flatMap(assistantPart), ...options(message) }
      case "tool":
        return {
          role: "tool",
          content: message.content.flatMap((part) => part.type === "tool-result" ? [toolResult(part)] : []),
          ...options(message)
        }
    }
  }

  return prompt.content.map(encodeMessage).filter((message) => message.content.length > 0)
}
