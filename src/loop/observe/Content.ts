/**
 * Messages as the semantic conventions write them into attributes, as JSON. Only where content is recorded; files are named
 * and left out.
 */
import * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"

export const input = (messages: ReadonlyArray<Message.Message>): string =>
  JSON.stringify(messages.map((message) => ({
    role: message.role,
    parts: typeof message.content === "string"
      ? [{ type: "text", content: message.content }]
      : (message.content as ReadonlyArray<Message.AssistantPart>).map(partOf)
  })))

/** Its calls have `ids`, in order: those under which they are sent from then on, and not those that the model gave them. */
export const output = (
  content: ReadonlyArray<Message.AssistantPart>,
  finishReason: RunEvent.FinishReason,
  ids: ReadonlyArray<string>
): string => {
  let calls = 0
  const parts = content.map((part) => partOf(Message.isOurs(part) ? { ...part, id: ids[calls++] ?? part.id } : part))
  return JSON.stringify([{ role: "assistant", parts, finish_reason: reasonOf(finishReason) }])
}

const partOf = (part: Message.AssistantPart): object => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, content: part.text }
    case "tool-call":
      return { type: "tool_call", id: part.id, name: part.name, arguments: part.params }
    case "tool-result":
      return { type: "tool_call_response", id: part.id, response: part.content?.map(partOf) ?? part.result }
    case "file":
      return { type: "file", mime_type: part.mediaType, name: part.fileName }
  }
}

const reasons: Partial<Record<RunEvent.FinishReason, string>> = {
  "content-filter": "content_filter",
  "tool-calls": "tool_call"
}

/** A finish reason in the conventions' words, where they have one. */
export const reasonOf = (reason: RunEvent.FinishReason): string => reasons[reason] ?? reason
