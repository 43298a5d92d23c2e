/**
 * The prompts of conversations, which grow at their ends: the part that a conversation already had last time is neither
 * converted nor looked up again. A prompt depends on its messages only, whatever was asked for before.
 *
 * Does not own what a message looks like in a prompt (`PromptMessages`).
 */
import * as Prompt from "effect/ai/Prompt"
import type * as Message from "../../run/Message.ts"
import * as PromptMessages from "./PromptMessages.ts"

/** The messages that a conversation had last, and what they were converted to. These arrays are not shared. */
interface Sent {
  readonly messages: Array<Message.Message>
  readonly content: Array<Prompt.Message>
}

/** Many conversations may share their instructions. */
const isSaid = (message: Message.Message): boolean => message.role !== "system"

const sharedLength = (a: ReadonlyArray<unknown>, b: ReadonlyArray<unknown>): number => {
  const most = Math.min(a.length, b.length)
  for (let i = 0; i < most; i++) if (a[i] !== b[i]) return i
  return most
}

/** Brings what a conversation had last up to what it has now. */
const grow = ({ content, messages }: Sent, now: ReadonlyArray<Message.Message>): void => {
  messages.length = content.length = sharedLength(messages, now)
  for (let i = messages.length; i < now.length; i++) {
    content.push(PromptMessages.fromMessage(now[i]!))
    messages.push(now[i]!)
  }
}

/** Costs a copy, a comparison for each message that is the same object as last time, and a conversion for each one after those. */
export const make = (): (messages: ReadonlyArray<Message.Message>) => Prompt.Prompt => {
  // keyed by the first message that is not an instruction
  const conversations = new WeakMap<Message.Message, Sent>()
  return (messages) => {
    const first = messages.find(isSaid)
    const sent = first === undefined ? undefined : conversations.get(first)
    const now: Sent = sent ?? { messages: [], content: [] }
    grow(now, messages)
    if (first !== undefined && sent === undefined) conversations.set(first, now)
    return Prompt.fromMessages(now.content.slice())
  }
}
