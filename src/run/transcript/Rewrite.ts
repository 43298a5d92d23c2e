/**
 * What somebody made of a transcript's messages, made legal again. Pure; the strictest provider accepts the result,
 * whatever was made.
 *
 * Does not own what a hook makes of the messages, including the latest user message.
 */
import * as HashSet from "effect/HashSet"
import type * as Message from "../Message.ts"
import * as ToolOutcome from "../ToolOutcome.ts"
import * as Entries from "./Entries.ts"
import * as Notice from "./Notice.ts"

/**
 * `messages` as they may be sent instead of `before`. Reasoning stays only if it is word for word in `before`, so that
 * it goes back unedited and to nobody else. Ids follow from places: if a longer conversation is rewritten in the same
 * way, it begins with the same bytes. Content of a result is dropped where it is stale (`ToolOutcome.isStale`). If it
 * `isPaused`, the last message of `before` is one that its model goes on with: so is that of the result, where it is left as
 * it is.
 */
export const legal = (
  messages: ReadonlyArray<Message.Message>,
  before: ReadonlyArray<Message.Message>,
  isPaused = false
): ReadonlyArray<Message.Message> => {
  const thoughts = new Set(before.flatMap((message) => reasoning(message).map((part) => JSON.stringify(part))))
  const shown = new Map(before.flatMap(results).map((part) => [part.id, part]))
  const given = messages.map((message): Message.Message => {
    if (message.role === "tool") return { role: "tool", content: message.content.map((part) => fresh(part, shown)) }
    return reasoning(message).length === 0 || message.role !== "assistant" ? message : {
      role: "assistant",
      content: message.content.filter((part) => part.type !== "reasoning" || thoughts.has(JSON.stringify(part)))
    }
  })
  const out: Array<Message.Message> = []
  const goesOn = isPaused && isUnchanged(messages.at(-1), before.at(-1))
  const { entries } = Entries.fromMessages(given, 0, 0, HashSet.empty(), goesOn)
  for (const { message } of entries) Entries.addMessage(out, message)
  const last = out.at(-1)?.role
  if (last !== "user" && last !== "tool" && !(goesOn && last === "assistant")) {
    Entries.addMessage(out, Notice.goOnMessage)
  }
  return out
}

/** A result without content that is stale. */
const fresh = (part: Message.ToolResultPart, shown: ReadonlyMap<string, Message.ToolResultPart>) => {
  const before = part.content === undefined ? undefined : shown.get(part.id)
  if (before === undefined || !ToolOutcome.isStale(before, part)) return part
  const { content: _, ...rest } = part
  return rest
}

/** Whether a message that its model is to go on with stayed as it is. */
const isUnchanged = (given: Message.Message | undefined, before: Message.Message | undefined): boolean =>
  before?.role === "assistant" && JSON.stringify(given) === JSON.stringify(before)

const reasoning = (message: Message.Message): ReadonlyArray<Message.AssistantPart> =>
  message.role === "assistant" ? message.content.filter((part) => part.type === "reasoning") : []

const results = (message: Message.Message): ReadonlyArray<Message.ToolResultPart> =>
  message.role === "tool" ? message.content : []
