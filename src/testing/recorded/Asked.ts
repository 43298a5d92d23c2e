/**
 * Whether a model is asked what it was asked in a recording.
 *
 * Does not own what it answers (`Answers`).
 */
import * as Canonical from "../../run/Canonical.ts"
import type * as Message from "../../run/Message.ts"
import * as Transcript from "../../run/Transcript.ts"

/**
 * Where a request differs first from what the recorded one had sent by then, in words; undefined if they are the same. Instructions are
 * not compared, which no log has, nor the ids of calls, which follow from their place in the log.
 */
export const difference = (
  asked: ReadonlyArray<Message.Message>,
  sent: Transcript.Transcript,
  model: Message.ModelRef
): string | undefined => {
  const [now, then] = [comparable(asked), comparable(Transcript.messages(sent, model))]
  for (let at = 0; at < Math.max(now.length, then.length); at++) {
    if (now[at] === then[at]) continue
    const from = Math.max(0, firstOther(now[at] ?? "", then[at] ?? "") - shownBefore)
    return `message ${at + 1} of the conversation is\n  ${shown(now[at], from)}\nand was\n  ${shown(then[at], from)}`
  }
  return undefined
}

/** What is said in each message, as text in which each id is a number, from 1 in the order in which they come. */
const comparable = (messages: ReadonlyArray<Message.Message>): ReadonlyArray<string> => {
  const numbers = new Map<string, number>()
  const numbered = ({ id, text }: Written): string => {
    if (id === undefined) return text
    const number = numbers.get(id) ?? numbers.size + 1
    numbers.set(id, number)
    return `{"id":${number},${text.slice(1)}`
  }
  return messages.flatMap((message) =>
    message.role === "system" ? [] : [`${message.role} [${writtenOf(message).map(numbered).join()}]`]
  )
}

/** A part of a message as canonical JSON, without its id. */
interface Written {
  readonly id: string | undefined
  readonly text: string
}

/** Each request of a run has the messages of the one before, too, and each is written once. */
const written = new WeakMap<Message.Message, ReadonlyArray<Written>>()

const writtenOf = (message: Exclude<Message.Message, Message.SystemMessage>): ReadonlyArray<Written> => {
  const known = written.get(message)
  if (known !== undefined) return known
  const parts = message.content.map((part: object): Written => {
    const id = "id" in part ? String(part.id) : undefined
    return { id, text: Canonical.canonical(id === undefined ? part : { ...part, id: undefined }) }
  })
  written.set(message, parts)
  return parts
}

/** How much of a long message is shown, in characters, and how much of that comes before the first that is another one. */
const mostShown = 1_000
const shownBefore = 200

const firstOther = (a: string, b: string): number => {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return at
}

const shown = (message: string | undefined, from: number): string => {
  if (message === undefined) return "not there"
  if (message.length <= mostShown) return message
  const end = from + mostShown
  return `${from > 0 ? "..." : ""}${message.slice(from, end)}${end < message.length ? "..." : ""}`
}
