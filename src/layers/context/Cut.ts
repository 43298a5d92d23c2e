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
 * The cut; undefined where it would leave nothing out. What the run was given stays too where that fits beside the latest message.
 * Where the cut is not enough, because the rest is still too much to send or by the strategy's own measure, whatever had no
 * answer before the latest message goes too.
 */
export const make = (
  view: ContextManager.View,
  keep: Keep,
  isEnough: (cut: Cut) => boolean = () => true
): Cut | undefined => {
  const entries = Transcript.entries(view.transcript)
  const latest = Said.latest(entries)
  const input = Said.input(entries, view.input, latest)
  const isMade = (cut: Cut | undefined) => cut !== undefined && isEnough(cut)
  if (latest !== undefined && input !== undefined) {
    const mayStay = view.force !== "overflow" && fits(view, undefined)
    const both = [input, latest]
    const beside = keeping(view, entries, both, endOf(view, entries, keep, both), (cut) => mayStay || isMade(cut))
    if (beside.fits) return beside.cut
  }
  const said = latest === undefined ? [] : [latest]
  // in a manual compaction, what may be sent may stay
  const mayStay = view.force === "manual"
  return keeping(view, entries, said, endOf(view, entries, keep), (cut) => mayStay || isMade(cut)).cut
}

/** Where the older part ends; what was said and is `reserved` takes its room from the tokens that stay. */
const endOf = (
  { size, transcript }: ContextManager.View,
  entries: Said.Entries,
  keep: Keep,
  reserved: ReadonlyArray<Said.Said> = []
): number => {
  const mayGo = Math.max(entries.length - keep.messages, fitting(entries, keep.tokens, size.of, reserved))
  let at = Math.min(mayGo, lastExchange(entries))
  // results stay with their calls: a cut between them moves past them
  while (entries[at]?.message.role === "tool") at++
  return Math.min(at, openAt(entries, transcript))
}

/** The cut at `end` that keeps what was said, if need be without the unanswered words beside it; and whether it is one to make. */
const keeping = (
  view: ContextManager.View,
  entries: Said.Entries,
  said: ReadonlyArray<Said.Said>,
  end: number,
  isEnough: (cut: Cut | undefined) => boolean
): { readonly cut: Cut | undefined; readonly fits: boolean } => {
  const result = (cut: Cut | undefined) => ({ cut, fits: isEnough(cut) && fits(view, cut) })
  const whole = result(cutAt(Said.whole(entries.slice(0, end), said), entries.slice(end)))
  const open = openAt(entries, view.transcript)
  const beside = said.filter((one) => one.at < open && !Said.isWhole(entries, one))
  if (whole.fits || beside.length === 0) return whole
  // else one message that is too much for the model would stay so for ever, whatever is said after it
  const after = Math.max(end, ...beside.map(({ at }) => at + 1))
  return result(cutAt(Said.apart(entries.slice(0, after), said), entries.slice(after)))
}

/** The index of the message whose calls are open. */
const openAt = (entries: Said.Entries, transcript: Transcript.Transcript): number => {
  const openSeq = Transcript.openSeq(transcript)
  const at = openSeq === undefined ? -1 : entries.findIndex(({ seq }) => seq >= openSeq)
  return at < 0 ? Infinity : at
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

/** The index of the last message that is not the results of calls. */
const lastExchange = (entries: Said.Entries): number =>
  Math.max(0, entries.findLastIndex(({ message }) => message.role !== "tool"))

/** The index of the first of the newest messages that fit. */
const fitting = (
  entries: Said.Entries,
  tokens: number,
  of: ContextManager.Size["of"],
  reserved: ReadonlyArray<Said.Said>
): number => {
  if (tokens === Infinity) return 0
  const places = new Set(reserved.map(({ at }) => at))
  let left = tokens
  for (const at of places) left -= of(entries[at]!.message)
  for (let at = entries.length - 1; at >= 0; at--) {
    if (!places.has(at)) left -= of(entries[at]!.message)
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
