/**
 * The prompts of conversations, which grow at their ends: what a conversation began with the last time is neither converted
 * nor looked up again. A prompt says what its messages say, whatever was asked for before.
 *
 * Does not own what a message looks like in a prompt; that is `PromptMessages`.
 */
import * as Prompt from "effect/ai/Prompt"
import type * as Message from "../../run/Message.ts"
import * as PromptMessages from "./PromptMessages.ts"

/** The messages that a conversation had last, and as what they were sent. Nobody else has these arrays. */
interface Sent {
  readonly messages: Array<Message.Message>
  readonly content: Array<Prompt.Message>
}

/** Instructions may be those of many conversations. */
const isSaid = (message: Message.Message): boolean => message.role !== "system"

const sharedLength = (a: ReadonlyArray<unknown>, b: ReadonlyArray<unknown>): number => {
  const most = Math.min(a.length, b.length)
  for (let i = 0; i < most; i++) if (a[i] !== b[i]) return i
  return most
}

/** Makes of what a conversation had last what it has now. */
const grow = ({ content, messages }: Sent, now: ReadonlyArray<Message.Message>): void => {
  messages.length = content.length = sharedLength(messages, now)
  for (let i = messages.length; i < now.length; i++) {
    content.push(PromptMessages.fromMessage(now[i]!))
    messages.push(now[i]!)
  }
}

/** Costs a copy, a comparison for each message that is the same object as the last time, and a conversion for each after them. */
export const make = (): (messages: ReadonlyArray<Message.Message>) => Prompt.Prompt => {
  // by its first words
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
