/** Messages in a line each. */
import type * as Message from "../../src/run/Message.ts"

/** Without those of the system: the role, and the texts, other parts by their type. */
export const messages = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<string> =>
  messages.flatMap((message) => message.role === "system" ? [] : `${message.role}: ${parts(message.content)}`)

const parts = (content: ReadonlyArray<Message.AssistantPart>): string =>
  content.map((part) => part.type === "text" ? part.text : part.type).join(",")
