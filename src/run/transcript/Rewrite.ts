/**
 * What somebody made of a transcript's messages, made legal again. Pure; gives what the strictest provider
 * accepts, whatever was made.
 *
 * Does not own what is made of them; that is a hook's affair, the latest user message included.
 */
import * as HashSet from "effect/HashSet"
import * as Message from "../Message.ts"
import * as Entries from "./Entries.ts"
import * as Notice from "./Notice.ts"

/**
 * `messages` as they may be sent in the place of `before`. Reasoning stays where it is word for word what `before` has
 * of it, so that it goes back unedited and to nobody else. Ids follow from places: what is made of a longer
 * conversation in the same way begins with the same bytes.
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
