/**
 * What somebody made of a transcript's messages, made legal again. Pure; the strictest provider accepts the result,
 * whatever was made.
 *
 * Does not own what a hook makes of the messages, including the latest user message.
 */
import * as HashSet from "effect/HashSet"
import * as Message from "../Message.ts"
import * as Entries from "./Entries.ts"
import * as Notice from "./Notice.ts"

/**
 * `messages` as they may be sent instead of `before`. Reasoning stays only if it is word for word in `before`, so that
 * it goes back unedited and to nobody else. Ids follow from places: if a longer conversation is rewritten in the same
 * way, it begins with the same bytes.
 */
export const legal = (
  messages: ReadonlyArray<Message.Message>,
  before: ReadonlyArray<Message.Message>
): ReadonlyArray<Message.Message> => {
  const thoughts = new Set(before.flatMap((message) => reasoning(message).map((part) => JSON.stringify(part))))
  const given = messages.map((message): Message.Message =>
    reasoning(message).length === 0 || message.role !== "assistant" ? message : {
      role: "assistant",
      content: message.content.filter((part) => part.type !== "reasoning" || thoughts.has(JSON.stringify(part)))
    }
  )
  const out: Array<Message.Message> = []
  for (const { message } of Entries.fromMessages(given, 0, 0, HashSet.empty()).entries) Entries.addMessage(out, message)
  const last = out.at(-1)?.role
  if (last !== "user" && last !== "tool") Entries.addMessage(out, goOn)
  return out
}

const goOn = Message.user(Notice.goOn)

const reasoning = (message: Message.Message): ReadonlyArray<Message.AssistantPart> =>
  message.role === "assistant" ? message.content.filter((part) => part.type === "reasoning") : []
