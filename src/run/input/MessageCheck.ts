/** From messages as a caller writes them to messages as the log keeps them: not blank, of known parts, shared with nobody. Pure. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as FileCheck from "../FileCheck.ts"
import * as Message from "../Message.ts"
import type * as RunInput from "../RunInput.ts"
import { type Checked, json, refuse } from "./Checked.ts"

const isUserMessage = Schema.is(Message.UserMessage)
const isSaid = Schema.is(Schema.Union([Message.UserMessage, Message.AssistantMessage]))

/** Without calls of tools: a history has no place for what came of them. */
const isHistoryMessage = (message: unknown): message is Message.UserMessage | Message.AssistantMessage =>
  isSaid(message) && !message.content.some((part) => isOfCall(part.type))

const isOfCall = (type: unknown): type is "tool-call" | "tool-result" => type === "tool-call" || type === "tool-result"

interface Said {
  readonly kind: "steer" | "followUp"
  readonly messages: ReadonlyArray<Message.UserMessage>
}

/** A text or user messages, not blank; `field` names them. */
export const userMessages = (
  field: string,
  input: RunInput.RunInput["input"]
): Checked<ReadonlyArray<Message.UserMessage>> => {
  const empty = () => refuse(field, `the ${field} is empty; say what the agent is to do`)
  if (typeof input === "string") return input.trim() === "" ? empty() : Result.succeed([Message.user(input)])
  const must = `the ${field} must be a string or user messages, with text and file parts`
  return Result.flatMap(
    messagesOf(field, must, input, isUserMessage),
    (messages) =>
      messages.length === 0 || messages.some((message) => isBlank(message.content))
        ? empty()
        : Result.flatMap(files(field, messages), (_) => kept(field, _))
  )
}

/** What is said to a run under way. Untyped code may pass any kind, or the arguments in another order. */
export const said = (kind: Said["kind"], message: RunInput.RunInput["input"]): Checked<Said> =>
  kind === "steer" || kind === "followUp"
    ? Result.map(userMessages("message", message), (messages) => ({ kind, messages }))
    : refuse("kind", "the kind of a message to a run must be \"steer\" or \"followUp\"")

/** Messages of a conversation that began elsewhere. */
export const historyMessages = (
  history: ReadonlyArray<RunInput.HistoryInput>
): Checked<NonNullable<RunInput.Effective["history"]>> => {
  const must = "the history must be user and assistant messages, with text and file parts"
  return Result.flatMap(
    messagesOf("history", must, history, isHistoryMessage),
    (messages) => Result.flatMap(files("history", messages), (_) => kept("history", _))
  )
}

/** What may be a message. */
interface Draft {
  readonly role: string
  readonly content: ReadonlyArray<unknown> | undefined
}

/** The messages as they are kept; or a refusal with what they `must` be and where the first one differs. */
const messagesOf = <M extends Draft>(
  field: string,
  must: string,
  given: ReadonlyArray<RunInput.HistoryInput>,
  isMessage: (message: unknown) => message is M
): Checked<ReadonlyArray<M>> => {
  if (!areObjects(given)) return refuse(field, must)
  const messages = given.map(({ content, role }): Draft => ({ role, content: partsOf(content) }))
  if (messages.every(isMessage)) return Result.succeed(messages)
  const first = messages.findIndex((message) => !isMessage(message))
  return refuse(field, `${must}; ${misfit(messages[first]!, `message ${first + 1}`, isMessage)}`)
}

/** A member that is undefined counts as absent. Untyped code may pass anything for parts. */
const partsOf = (content: RunInput.HistoryInput["content"]): ReadonlyArray<unknown> | undefined => {
  if (typeof content === "string") return [Message.text(content)]
  return Array.isArray(content) ? content.map((part: unknown) => isObject(part) ? defined(part) : part) : undefined
}

const defined = (part: object): object =>
  Object.fromEntries(Object.entries(part).filter(([, member]) => member !== undefined))

/** Which part of a message is not valid, in words that repeat nothing of it. */
const misfit = (
  { content, role }: Draft,
  place: string,
  isMessage: (message: unknown) => boolean
): string => {
  if (!isMessage({ role, content: [] })) return `${place} has another role`
  if (content === undefined) return `${place} has content that is neither a string nor a list of parts`
  const part = content.findIndex((part) => !isMessage({ role, content: [part] }))
  const { type } = Object(content[part]) as { readonly type?: unknown }
  if (isOfCall(type)) {
    return `part ${part + 1} of ${place} is a ${type}: leave the calls of tools out, or say in a text what came of them`
  }
  return `part ${part + 1} of ${place} is neither { type: "text", text } nor { type: "file", mediaType, data } ` +
    "with base64 or an address for data"
}

const isObject = (given: unknown): given is object => typeof given === "object" && given !== null

/** Untyped code may pass anything for messages. */
const areObjects = (given: ReadonlyArray<object>): boolean => Array.isArray(given) && given.every(isObject)

/** The messages, unless one of their files cannot be sent. The file is not repeated. */
const files = <M extends Message.UserMessage | Message.AssistantMessage>(
  field: string,
  messages: ReadonlyArray<M>
): Checked<ReadonlyArray<M>> => {
  for (const [index, { content }] of messages.entries()) {
    for (const [at, part] of content.entries()) {
      const wrong = part.type === "file" ? FileCheck.wrongIn(part) : undefined
      if (wrong !== undefined) {
        return refuse(field, `part ${at + 1} of message ${index + 1} of the ${field} is a file ${wrong}`)
      }
    }
  }
  return Result.succeed(messages)
}

/** A copy that shares no part with anybody: whoever gave the messages may go on using theirs. */
const kept = <M extends Message.UserMessage | Message.AssistantMessage>(
  field: string,
  messages: ReadonlyArray<M>
): Checked<ReadonlyArray<M>> => json(field, messages) as unknown as Checked<ReadonlyArray<M>>

const isBlank = (content: ReadonlyArray<Message.UserPart>): boolean =>
  content.every((part) => part.type === "text" && part.text.trim() === "")
