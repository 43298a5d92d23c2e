/**
 * The prompts of conversations, which grow at their ends: what a conversation began with the last time is neither converted
 * nor looked up again. A prompt says what its messages say, whatever was asked for before.
 *
 * Does not own what a message looks like in a prompt; that is `PromptMessages`.
 */
import * as Prompt from "effect/ai/Prompt"
import type * as Message from "../../run/Message.ts"
import * as PromptMessages from "./PromptMessages.ts"

/** The messages that a conversation had last, and as what they were sent. */
interface Sent {
  readonly messages: ReadonlyArray<Message.Message>
  readonly content: ReadonlyArray<Prompt.Message>
}

const nothing: Sent = { messages: [], content: [] }

/** Instructions may be those of many conversations. */
const isSaid = (message: Message.Message): boolean => message.role !== "system"

const sharedLength = (a: ReadonlyArray<unknown>, b: ReadonlyArray<unknown>): number => {
  let length = 0
  while (length < a.length && length < b.length && a[length] === b[length]) length++
  return length
}

/** Costs a comparison for each message that is the same object as the last time, and a conversion for each behind them. */
export const make = (): (messages: ReadonlyArray<Message.Message>) => Prompt.Prompt => {
  // by its first words
  const conversations = new WeakMap<Message.Message, Sent>()
  return (messages) => {
    const first = messages.find(isSaid)
    const before = first === undefined ? nothing : conversations.get(first) ?? nothing
    const shared = sharedLength(before.messages, messages)
    const content = before.content.slice(0, shared)
    for (let i = shared; i < messages.length; i++) content.push(PromptMessages.fromMessage(messages[i]!))
    // a copy: whose array it is may go on with it
    if (first !== undefined) conversations.set(first, { messages: messages.slice(), content })
    return Prompt.fromMessages(content)
  }
}
