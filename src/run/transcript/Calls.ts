/**
 * The calls of an assistant message as they may be sent: their ids have the narrowest form and are unique in the
 * conversation, and calls that the provider executed itself have a result each, where the provider put it.
 *
 * Does not own where the results of other calls go (`Entries`).
 */
import * as HashSet from "effect/HashSet"
import type * as Message from "../Message.ts"
import * as Legality from "./Legality.ts"

/** A call that is ours to execute: the id it is sent under, and the one the model gave it. */
export interface Call {
  readonly id: string
  readonly givenId: string
  readonly name: string
}

interface Prepared {
  readonly content: ReadonlyArray<Message.AssistantPart>
  readonly calls: ReadonlyArray<Call>
  /** provider-given ids in use, these included */
  readonly taken: HashSet.HashSet<string>
  /** provider-given ids that calls here had, and lost because others have them */
  readonly renamed: ReadonlyArray<string>
}

/**
 * Nine letters and digits, the narrowest form that a provider asks for; unique within one `prefix` because `seq` is. A conversation from
 * elsewhere, or as a hook leaves it, has one `seq`, and may have more places than two digits have.
 */
const derivedId = (prefix: "c" | "p", seq: number, index: number): string =>
  index < 36 ** 2
    ? `${prefix}${digits(seq, 6)}${digits(index, 2)}`
    : `${prefix.toUpperCase()}${digits(seq, 4)}${digits(index, 4)}`

const digits = (value: number, length: number): string => value.toString(36).padStart(length, "0")

/** Whether we made this id ourselves. */
const isDerived = (id: string): boolean => /^[cpCP][0-9a-z]{8,}$/.test(id)

/** How many parts were prepared under a `seq` before; whether the content's provider may still answer the calls that it executes. */
interface Options {
  readonly from?: number
  readonly isPaused?: boolean
}

/**
 * Prepares the content of the event `seq`. Ids are derived, so that the same log gives the same bytes, except for ids of
 * provider-executed calls, which providers recognize.
 */
export const prepare = (
  seq: number,
  content: ReadonlyArray<Message.AssistantPart>,
  takenBefore: HashSet.HashSet<string>,
  options: Options = {}
): Prepared => {
  const { from = 0 } = options
  const calls: Array<Call> = []
  let foreign: Foreign | undefined
  let taken = takenBefore
  const prepared: Array<Message.AssistantPart> = []
  for (let at = 0; at < content.length; at++) {
    let part = content[at]!
    if (part.type === "tool-result" || (part.type === "tool-call" && part.providerExecuted === true)) {
      foreign ??= pairForeign(seq, content, takenBefore, options)
      const pair = foreign.ids.get(at)
      if (pair === undefined) continue
      taken = HashSet.add(taken, pair.id)
      part = { ...part, ...pair }
    } else if (part.type === "tool-call") {
      const id = derivedId("c", seq, from + calls.length)
      const name = Legality.cleanName(part.name)
      calls.push({ id, givenId: part.id, name })
      part = { ...part, id, name }
    }
    Legality.addClean(prepared, part)
  }
  // the content is kept: a copy has no spare capacity
  return { content: prepared.slice(), calls, taken, renamed: foreign?.renamed ?? [] }
}

const isForeign = (part: Message.AssistantPart): part is Message.ToolCallPart =>
  part.type === "tool-call" && part.providerExecuted === true

/** The ids of a message's calls that its provider executed itself. */
export const foreignIds = ({ content }: Message.AssistantMessage): ReadonlyArray<string> =>
  content.flatMap((part) => isForeign(part) ? [part.id] : [])

interface Foreign {
  readonly ids: ReadonlyMap<number, { readonly id: string; readonly name: string }>
  readonly renamed: ReadonlyArray<string>
}

/**
 * The ids and names of provider-executed calls and their results, by place in the content; a call without a result, unless that may
 * still come, or a result without a call, gets none. And the ids that others had already.
 */
const pairForeign = (
  seq: number,
  content: ReadonlyArray<Message.AssistantPart>,
  taken: HashSet.HashSet<string>,
  { from = 0, isPaused = false }: Options
): Foreign => {
  const renamed: Array<string> = []
  const ids = new Map<number, { readonly id: string; readonly name: string }>()
  const used = new Set<string>()
  content.forEach((part, at) => {
    if (!isForeign(part)) return
    const result = content.findIndex((other, i) =>
      i > at && other.type === "tool-result" && other.id === part.id && !ids.has(i)
    )
    if (result < 0 && !isPaused) return
    const keeps = Legality.isId(part.id) && !isDerived(part.id) && !used.has(part.id) && !HashSet.has(taken, part.id)
    const id = keeps ? part.id : derivedId("p", seq, from + at)
    if (HashSet.has(taken, part.id)) renamed.push(part.id)
    used.add(id)
    const named = { id, name: Legality.cleanName(part.name) }
    ids.set(at, named)
    if (result >= 0) ids.set(result, named)
  })
  return { ids, renamed }
}
