/**
 * Cuts a conversation in two, an older part that a strategy replaces and a newer one that stays: results stay with their calls,
 * a turn with open calls stays whole, and what a person said last stays word for word. Pure.
 */
import type * as Message from "../../run/Message.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as ContextManager from "../../services/ContextManager.ts"

type Entries = ReturnType<typeof Transcript.entries>

/**
 * How much stays: at most so many messages, and of these as many as fit into so many tokens, but at least the last exchange: a model that
 * does not know what it has just done does it again.
 */
interface Keep {
  readonly messages: number
  readonly tokens: number
}

export interface Cut {
  readonly upTo: number
  /** what stays of the older part: system messages, and what a person said last */
  readonly replacement: ReadonlyArray<Message.Message>
  /** what is left out, except for the old memory */
  readonly left: ReadonlyArray<Message.Message>
}

/**
 * The cut; undefined where it would leave nothing out. Where the cut is not enough, because the rest is still too much to send
 * or by the strategy's own measure, whatever had no answer before the latest message goes too.
 */
export const make = (
  view: ContextManager.View,
  keep: Keep,
  isEnough: (cut: Cut) => boolean = () => true
): Cut | undefined => {
  const { size, transcript } = view
  const entries = Transcript.entries(transcript)
  const mayGo = Math.max(entries.length - keep.messages, fitting(entries, keep.tokens, size.of))
  let at = Math.min(mayGo, lastExchange(entries))
  // results stay with their calls: a cut between them moves past them
  while (entries[at]?.message.role === "tool") at++
  const openSeq = Transcript.openSeq(transcript)
  const open = openSeq === undefined ? -1 : entries.findIndex(({ seq }) => seq >= openSeq)
  const latest = latestSaid(entries)
  const end = open < 0 ? at : Math.min(at, open)
  const cut = cutAt(entries, end, latest)
  const isOpen = openSeq !== undefined && latest >= open
  if (isOpen || entries[latest]?.latest === undefined) return cut
  // in a manual compaction, what may be sent may stay
  const mayStay = view.force === "manual" || (cut !== undefined && isEnough(cut))
  return mayStay && fits(view, cut)
    ? cut
    : cutAt(withinLatest(entries, latest), Math.max(end, latest + 1) + 1, latest + 1)
}

/** Whether what stays may be sent, as far as that is known; without a cut, everything stays. */
const fits = ({ size, transcript }: ContextManager.View, cut: Cut | undefined): boolean => {
  const { replacement, upTo } = cut ?? { replacement: [], upTo: 0 }
  const { fixed, limit } = size
  if (limit === undefined) return true
  const kept = Transcript.entries(transcript).filter(({ memory, seq }) => seq > upTo || memory !== undefined)
  const messages = [...replacement, ...kept.map(({ message }) => message)]
  return messages.reduce((sum, message) => sum + size.of(message), fixed) <= limit
}

/**
 * Splits what a person said last from the unanswered words before it, as a message of its own: else one message that is too
 * much for the model would stay so for ever, whatever is said after it.
 */
const withinLatest = (entries: Entries, at: number): Entries => {
  const { latest = 0, message, ...place } = entries[at]!
  if (message.role !== "user") return entries
  const part = (content: typeof message.content) => ({ ...place, message: { role: "user" as const, content } })
  return entries.toSpliced(at, 1, part(message.content.slice(0, latest)), part(message.content.slice(latest)))
}

/** A replacement cannot tell what a person said from notices of the runtime. */
const latestSaid = (entries: Entries): number => entries.findLastIndex(Transcript.isSaid)

/** The index of the last message that is not the results of calls. */
const lastExchange = (entries: Entries): number =>
  Math.max(0, entries.findLastIndex(({ message }) => message.role !== "tool"))

/** The index of the first of the newest messages that fit. */
const fitting = (entries: Entries, tokens: number, of: ContextManager.Size["of"]): number => {
  if (tokens === Infinity) return 0
  let left = tokens
  for (let at = entries.length - 1; at >= 0; at--) {
    left -= of(entries[at]!.message)
    if (left < 0) return at + 1
  }
  return 0
}

const cutAt = (entries: Entries, at: number, latest: number): Cut | undefined => {
  const prefix = entries.slice(0, at).map((entry, i) => ({
    ...entry,
    isKept: entry.message.role === "system" || i === latest
  }))
  const left = prefix.filter(({ isKept, memory }) => !isKept && memory === undefined)
  if (left.length === 0) return undefined
  // one event may have made several messages, and what came during a call is placed after its turn: messages after the
  // cut that are not newer than those before it are kept in the replacement
  const upTo = prefix.reduce((max, entry) => Math.max(max, entry.seq), 0)
  const kept = prefix.filter(({ isKept }) => isKept)
  const siblings = entries.slice(at).filter((entry) => entry.seq <= upTo)
  return {
    upTo,
    replacement: [...kept, ...siblings].map(({ message }) => message),
    left: left.map(({ message }) => message)
  }
}
