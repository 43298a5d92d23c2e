/**
 * Our messages as those of effect/ai: the same content, metadata as provider options. Total: a file whose address is not a
 * URL, which every provider would refuse again and again, becomes a text that says so.
 */
import * as Prompt from "effect/ai/Prompt"
import * as FileCheck from "../../run/FileCheck.ts"
import * as FileData from "../../run/FileData.ts"
import type * as Message from "../../run/Message.ts"

const optionsOf = (part: { readonly metadata?: Message.Metadata }): { readonly options?: Prompt.ProviderOptions } =>
  part.metadata === undefined ? {} : { options: part.metadata as Prompt.ProviderOptions }

/** Converts a message of ours to one of effect/ai. */
export const fromMessage = (message: Message.Message): Prompt.Message => {
  switch (message.role) {
    case "system":
      return Prompt.systemMessage({ content: message.content })
    case "user":
      return Prompt.userMessage({ content: message.content.map(userPart) })
    case "assistant":
      return Prompt.assistantMessage({ content: message.content.map(assistantPart) })
    case "tool":
      return Prompt.toolMessage({ content: message.content.map(resultPart) })
  }
}

const userPart = (part: Message.UserPart): Prompt.UserMessagePart =>
  part.type === "text" ? Prompt.textPart({ text: part.text, ...optionsOf(part) }) : filePart(part)

const assistantPart = (part: Message.AssistantPart): Prompt.AssistantMessagePart => {
  switch (part.type) {
    case "text":
      return Prompt.textPart({ text: part.text, ...optionsOf(part) })
    case "reasoning":
      return Prompt.reasoningPart({ text: part.text, ...optionsOf(part) })
    case "file":
      return filePart(part)
    case "tool-call":
      return Prompt.toolCallPart({
        id: part.id,
        name: part.name,
        params: part.params,
        providerExecuted: part.providerExecuted ?? false,
        ...optionsOf(part)
      })
    case "tool-result":
      return resultPart(part)
  }
}

const resultPart = (part: Message.ToolResultPart): Prompt.ToolResultPart =>
  Prompt.toolResultPart({
    id: part.id,
    name: part.name,
    result: part.result,
    isFailure: part.isFailure,
    providerExecuted: part.providerExecuted ?? false,
    ...(part.content === undefined ? {} : { modelOutput: part.content.map(userPart) }),
    ...optionsOf(part)
  })

const filePart = (part: Message.FilePart): Prompt.FilePart | Prompt.TextPart => {
  const data = FileData.normal(part.data)
  const url = FileData.isAddress(data) ? URL.parse(data) : undefined
  if (url === null) return Prompt.textPart({ text: FileCheck.lost.text })
  return Prompt.filePart({
    mediaType: part.mediaType,
    data: url ?? data,
    ...(part.fileName === undefined ? {} : { fileName: part.fileName }),
    ...optionsOf(part)
  })
}
