/**
 * Finds in a conversation what people said that a strategy keeps word for word: what they said last, and what the run was given. Pure.
 *
 * Does not own where the conversation is cut (`Cut`).
 */
import * as Canonical from "../../run/Canonical.ts"
import type * as Message from "../../run/Message.ts"
import * as Transcript from "../../run/Transcript.ts"
import * as Legality from "../../run/transcript/Legality.ts"
import type * as ContextManager from "../../services/ContextManager.ts"

export type Entries = ReturnType<typeof Transcript.entries>
type Entry = Entries[number]

/** What was said at once: the index of its message, and which of that message's parts. */
export interface Said {
  readonly at: number
  readonly from: number
  readonly to: number
}

/** What a person said last. A replacement cannot tell what a person said from notices of the runtime. */
export const latest = (entries: Entries): Said | undefined => {
  const at = entries.findLastIndex(Transcript.isSaid)
  const entry = entries[at]
  return entry === undefined ? undefined : { at, from: entry.latest ?? 0, to: entry.message.content.length }
}

/** What the run was given; `undefined` where no run goes on, where compactions left it out, and where it was said last. */
export const input = (
  entries: Entries,
  given: ContextManager.View["input"],
  last: Said | undefined
): Said | undefined => {
  const words = Legality.cleanParts((given ?? []).flatMap(({ content }) => content)).map(Canonical.canonical)
  if (words.length === 0 || last === undefined) return undefined
  for (let at = last.at; at >= 0; at--) {
    const from = placeOf(entries[at]!, words)
    if (from < 0) continue
    return at === last.at && from >= last.from ? undefined : { at, from, to: from + words.length }
  }
  return undefined
}

/** The index of the part with which the words begin in a message; -1 where they are not in it. */
const placeOf = (entry: Entry, words: ReadonlyArray<string>): number => {
  if (!Transcript.isSaid(entry) || entry.message.role !== "user" || entry.message.content.length < words.length) {
    return -1
  }
  const parts = entry.message.content.map(Canonical.canonical)
  return parts.findLastIndex((_, from) => words.every((word, i) => word === parts[from + i]))
}

/** As a message of its own. */
export const message = (entries: Entries, { at, from, to }: Said): Message.Message => {
  const { message } = entries[at]!
  return message.role === "user" ? { ...message, content: message.content.slice(from, to) } : message
}

/** A message, or a part of one. */
export interface Piece {
  readonly entry: Entry
  readonly isKept: boolean
}

/** Messages of which system messages stay, and those in which something was said. */
export const whole = (entries: Entries, said: ReadonlyArray<Said>): ReadonlyArray<Piece> =>
  entries.map((entry, i) => ({ entry, isKept: entry.message.role === "system" || said.some(({ at }) => at === i) }))

/** The same, but of a message only what was said stays, and not the unanswered words beside it. */
export const apart = (entries: Entries, said: ReadonlyArray<Said>): ReadonlyArray<Piece> =>
  whole(entries, said).flatMap((piece, i) => {
    const { entry } = piece
    const { message } = entry
    const here = said.filter(({ at }) => at === i)
    if (message.role !== "user" || here.length === 0) return [piece]
    const ends = [0, ...here.flatMap(({ from, to }) => [from, to]), message.content.length].sort((a, b) => a - b)
    return ends.slice(1).flatMap((to, n) => {
      const content = message.content.slice(ends[n]!, to)
      const isKept = here.some((one) => one.from <= ends[n]! && to <= one.to)
      return content.length === 0 ? [] : [{ entry: { ...entry, message: { role: "user" as const, content } }, isKept }]
    })
  })

export const isWhole = (entries: Entries, { at, from, to }: Said): boolean =>
  from === 0 && to === entries[at]!.message.content.length
