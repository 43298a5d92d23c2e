/**
 * Entries as the messages that one reader gets, made once: a conversation is sent again with every turn, to the same
 * model, and only its end is new.
 *
 * Does not own what an entry looks like to a reader; that is `Entries`.
 */
import * as Message from "../Message.ts"
import * as Entries from "./Entries.ts"
import type * as Vector from "./Vector.ts"

interface Made {
  readonly reader: Message.ModelRef | undefined
  readonly messages: Array<Message.Message>
  /** how many entries they were made of */
  length: number
}

/** By the array that all versions of a transcript share. */
const made = new WeakMap<ReadonlyArray<Entries.Entry>, Made>()

/**
 * The messages of all entries for `reader`, in an array of their own, after the system message if there is one. Costs a
 * copy, and whatever was added since the last time.
 */
export const messages = (
  { items, length }: Vector.Vector<Entries.Entry>,
  reader: Message.ModelRef | undefined,
  system?: Message.SystemMessage
): Array<Message.Message> => {
  const before = made.get(items)
  // an older version that is asked for again, or another reader, begins from nothing
  const isOn = before !== undefined && before.length <= length && Message.isSameModel(before.reader, reader)
  const now: Made = isOn ? before : { reader, messages: [], length: 0 }
  for (; now.length < length; now.length++) {
    Entries.addMessage(now.messages, Entries.forReader(items[now.length]!, reader))
  }
  if (now !== before && (before === undefined || before.length <= length)) made.set(items, now)
  return system === undefined ? now.messages.slice() : [system as Message.Message].concat(now.messages)
}
