/**
 * Cuts a conversation in two, an older part that a strategy replaces and a newer one that stays: results stay with their calls,
 * a turn with open calls stays whole, and what a person said last stays word for word, as what the run was given does. Pure.
 *
 * Does not own where in the conversation these two are (`Said`).
 */
import type * as Message from "../../run/Message.ts"
import * as Transcript from "../../run/Transcript.ts"
import type * as ContextManager from "../../services/ContextManager.ts"
import * as Said from "./Said.ts"

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
  /** what stays of the older part: system messages, what the run was given, and what a person said last */
  readonly replacement: ReadonlyArray<Message.Message>
  /** what is left out, except for the old memory */
  readonly left: ReadonlyArray<Message.Message>
}

/**
 * The cut; undefined where it would leave nothing out. What the run was given stays too where there is room for it. Where the cut is
 * not enough, because the rest is still too much to send or by the strategy's own measure, whatever had no answer before the latest
 * message goes too.
 */
export const make = (
  view: ContextManager.View,
  keep: Keep,
  isEnough: (cut: Cut) => boolean = () => true
): Cut | undefined => {
  const entries = Transcript.entries(view.transcript)
  const latest = Said.latest(entries)
  const cut = keeping(view, entries, latest === undefined ? [] : [latest], keep, isEnough)
  const input = Said.input(entries, view.input, latest)
  if (cut === undefined || latest === undefined || input === undefined) return cut
  const room = roomIn(view)
  if (2 * view.size.of(Said.message(entries, input)) > room) return cut
  const both = [input, latest]
  const beside = keeping(view, entries, both, within(view, entries, both, keep, room), isEnough)
  // two messages in place of one may take more than they did
  const most = Math.min(room, view.size.tokens - 1)
  return beside !== undefined && isEnough(beside) && fits(view, beside, most) ? beside : cut
}

/**
 * Tokens that are left with what the run was given: some of those that may be sent stay free for the turns to come, and a context that
 * was refused becomes clearly smaller.
 */
const roomIn = ({ force, size: { limit = Infinity, tokens } }: ContextManager.View): number =>
  share * (force === undefined ? limit : Math.min(limit, tokens))

const share = 0.7

/** What stays of the newest part beside what was said: one message less, and no more tokens than the room leaves. */
const within = (
  { size: { fixed, of } }: ContextManager.View,
  entries: Said.Entries,
  said: ReadonlyArray<Said.Said>,
  keep: Keep,
  room: number
): Keep => {
  const stays = Said.whole(entries, said).filter(({ entry, isKept }) => isKept || entry.memory !== undefined)
  const taken = stays.reduce((sum, { entry }) => sum + of(entry.message), fixed)
  return { messages: keep.messages - 1, tokens: Math.min(keep.tokens, room - taken) }
}

/** The cut that keeps the newest part and what was said, if need be without the unanswered words beside it. */
const keeping = (
  view: ContextManager.View,
  entries: Said.Entries,
  said: ReadonlyArray<Said.Said>,
  keep: Keep,
  isEnough: (cut: Cut) => boolean
): Cut | undefined => {
  const open = openAt(entries, view.transcript)
  const end = Math.min(endOf(entries, keep, view.size.of), open)
  const whole = cutAt(Said.whole(entries.slice(0, end), said), entries.slice(end))
  const beside = said.filter((one) => one.at < open && !Said.isWhole(entries, one))
  if (beside.length === 0) return whole
  // in a manual compaction, what may be sent may stay
  const mayStay = view.force === "manual" || (whole !== undefined && isEnough(whole))
  if (mayStay && fits(view, whole)) return whole
  // else one message that is too much for the model would stay so for ever, whatever is said after it
  const after = Math.max(end, ...beside.map(({ at }) => at + 1))
  return cutAt(Said.apart(entries.slice(0, after), said), entries.slice(after))
}

/** Where the older part ends, if no calls are open. */
const endOf = (entries: Said.Entries, keep: Keep, of: ContextManager.Size["of"]): number => {
  const mayGo = Math.max(entries.length - keep.messages, fitting(entries, keep.tokens, of))
  let at = Math.min(mayGo, lastExchange(entries))
  // results stay with their calls: a cut between them moves past them
  while (entries[at]?.message.role === "tool") at++
  return at
}

/** The index of the message whose calls are open. */
const openAt = (entries: Said.Entries, transcript: Transcript.Transcript): number => {
  const openSeq = Transcript.openSeq(transcript)
  const at = openSeq === undefined ? -1 : entries.findIndex(({ seq }) => seq >= openSeq)
  return at < 0 ? Infinity : at
}

/** Whether what stays takes at most so many tokens, as far as a limit is known; without a cut, everything stays. */
const fits = (
  { size: { fixed, limit, of }, transcript }: ContextManager.View,
  cut: Cut | undefined,
  most = limit ?? Infinity
): boolean => {
  const { replacement, upTo } = cut ?? { replacement: [], upTo: 0 }
  if (most === Infinity) return true
  const kept = Transcript.entries(transcript).filter(({ memory, seq }) => seq > upTo || memory !== undefined)
  const messages = [...replacement, ...kept.map(({ message }) => message)]
  return messages.reduce((sum, message) => sum + of(message), fixed) <= most
}

/** The index of the last message that is not the results of calls. */
const lastExchange = (entries: Said.Entries): number =>
  Math.max(0, entries.findLastIndex(({ message }) => message.role !== "tool"))

/** The index of the first of the newest messages that fit. */
const fitting = (entries: Said.Entries, tokens: number, of: ContextManager.Size["of"]): number => {
  if (tokens === Infinity) return 0
  let left = tokens
  for (let at = entries.length - 1; at >= 0; at--) {
    left -= of(entries[at]!.message)
    if (left < 0) return at + 1
  }
  return 0
}

const cutAt = (older: ReadonlyArray<Said.Piece>, newer: Said.Entries): Cut | undefined => {
  const left = older.filter(({ entry, isKept }) => !isKept && entry.memory === undefined)
  if (left.length === 0) return undefined
  // one event may have made several messages, and what came during a call is placed after its turn: messages after the
  // cut that are not newer than those before it are kept in the replacement
  const upTo = older.reduce((max, { entry }) => Math.max(max, entry.seq), 0)
  const kept = older.filter(({ isKept }) => isKept).map(({ entry }) => entry)
  const siblings = newer.filter((entry) => entry.seq <= upTo)
  return {
    upTo,
    replacement: [...kept, ...siblings].map(({ message }) => message),
    left: left.map(({ entry }) => entry.message)
  }
}
