/** What the offline model reads in a conversation: the task, and what tools replied since it was given. Pure. */
import type * as Message from "../../run/Message.ts"
import * as Notice from "../../run/transcript/Notice.ts"
import * as Plan from "./Plan.ts"

interface Conversation {
  readonly task: string
  readonly replies: Plan.Replies
}

/** The task is the user's last text; neighbouring inputs come as parts of one message. */
export const read = (messages: ReadonlyArray<Message.Message>): Conversation => {
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at]!
    if (message.role !== "user") continue
    const task = message.content.findLast((part) => part.type === "text" && !Notice.is(part.text.trim()))
    if (task?.type === "text") return { task: task.text, replies: repliesIn(messages.slice(at + 1)) }
  }
  return { task: "", replies: () => [] }
}

const repliesIn = (messages: ReadonlyArray<Message.Message>): Plan.Replies => {
  const byId = new Map<string, Plan.Reply>()
  const byCall = new Map<string, Array<Plan.Reply>>()
  for (const message of messages) {
    if (message.role === "tool") { for (const part of message.content) byId.set(part.id, part) }
  }
  for (const message of messages) {
    if (message.role !== "assistant") continue
    for (const part of message.content) {
      const reply = part.type === "tool-call" ? byId.get(part.id) : undefined
      if (part.type !== "tool-call" || reply === undefined) continue
      const key = Plan.keyOf({ tool: part.name, params: part.params as Plan.Ask["params"] })
      byCall.set(key, [...byCall.get(key) ?? [], reply])
    }
  }
  return (ask) => byCall.get(Plan.keyOf(ask)) ?? []
}
