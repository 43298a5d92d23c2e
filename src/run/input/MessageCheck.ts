/** Messages as a caller writes them, as the log keeps them: not blank, of known parts, nobody else's. Pure. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Message from "../Message.ts"
import type * as RunInput from "../RunInput.ts"
import { type Checked, json, refuse } from "./Checked.ts"

const isUserMessage = Schema.is(Message.UserMessage)
const isHistoryMessage = Schema.is(Schema.Union([Message.UserMessage, Message.AssistantMessage]))

/** A text or user messages, not blank; `field` names them. */
export const userMessages = (
  field: string,
  input: RunInput.RunInput["input"]
): Checked<ReadonlyArray<Message.UserMessage>> => {
  if (typeof input === "string" && input.trim() !== "") return Result.succeed([Message.user(input)])
  const given = typeof input === "string" ? [{ role: "user" as const, content: input }] : input
  const messages = areObjects(given) ? given.map((message) => Message.user(message.content)) : undefined
  if (messages === undefined || given.some((message) => message.role !== "user") || !messages.every(isUserMessage)) {
    return refuse(field, `the ${field} must be a text or user messages, of text and file parts`)
  }
  return messages.length === 0 || messages.some((message) => isBlank(message.content))
    ? refuse(field, `the ${field} is empty; say what the agent is to do`)
    : Result.flatMap(addresses(field, messages), (_) => kept(field, _))
}

/** Messages of a conversation that began elsewhere. */
export const historyMessages = (
  history: ReadonlyArray<RunInput.HistoryInput>
): Checked<NonNullable<RunInput.Effective["history"]>> => {
  const messages = areObjects(history)
    ? history.map(({ content, role }) => ({ role, content: Message.user(content).content }))
    : undefined
  return messages?.every(isHistoryMessage)
    ? Result.flatMap(addresses("history", messages), (_) => kept("history", _))
    : refuse("history", "the history must be user and assistant messages, of text and file parts")
}

/** Untyped code may give anything for messages. */
const areObjects = (given: ReadonlyArray<object>): boolean =>
  Array.isArray(given) && given.every((message) => typeof message === "object" && message !== null)

/** The messages, unless a file of theirs is at an address that is no URL; the address is not repeated. */
const addresses = <M extends Message.UserMessage | Message.AssistantMessage>(
  field: string,
  messages: ReadonlyArray<M>
): Checked<ReadonlyArray<M>> => {
  for (const [index, { content }] of messages.entries()) {
    const bad = content.findIndex((part) => part.type === "file" && Message.isAddress(part) && !URL.canParse(part.data))
    if (bad !== -1) {
      return refuse(
        field,
        `part ${bad + 1} of message ${index + 1} of the ${field} is a file whose address is not a valid URL; ` +
          "correct the address, or give the file as base64"
      )
    }
  }
  return Result.succeed(messages)
}

/** Messages of which nobody else has a part: who gave them may go on with what it has. */
const kept = <M extends Message.UserMessage | Message.AssistantMessage>(
  field: string,
  messages: ReadonlyArray<M>
): Checked<ReadonlyArray<M>> => json(field, messages) as unknown as Checked<ReadonlyArray<M>>

const isBlank = (content: ReadonlyArray<Message.UserPart>): boolean =>
  content.every((part) => part.type === "text" && part.text.trim() === "")
