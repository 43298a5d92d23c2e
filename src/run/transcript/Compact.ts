/**
 * What a compaction does to a transcript: it removes a prefix, adds what is remembered of it and what replaces it, and
 * may turn old results into notes. Pure.
 *
 * Does not own what is left out; a strategy decides.
 */
import * as HashSet from "effect/HashSet"
import type * as Memory from "../Memory.ts"
import * as Message from "../Message.ts"
import { all, closing, empty, type Input, toInput, type Transcript } from "./Building.ts"
import * as Entries from "./Entries.ts"
import * as Legality from "./Legality.ts"
import * as Pruning from "./Pruning.ts"
import * as Vector from "./Vector.ts"

/** What a compaction changes in a transcript. */
export interface Change {
  /** messages made of events up to here are replaced */
  readonly upTo: number
  readonly replacement: ReadonlyArray<Message.Message>
  /** what is remembered from here on; if absent, nothing */
  readonly memory?: Memory.Memory | undefined
  /** long tool results in kept messages, up to here, become notes; see `Pruning` */
  readonly pruned?: number | undefined
}

/**
 * Replaces a prefix, by the event `seq`. Strategies are not all ours, so their messages are made legal like everything
 * else. A turn whose calls are open stays open, unless it is replaced.
 */
export const compact = (self: Transcript, change: Change, seq: number): Transcript => {
  // no message is made of events still to come
  const upTo = Math.min(change.upTo, seq)
  const { memory, pruned = 0 } = change
  const open = self.open !== undefined && self.open.seq > upTo ? self.open : undefined
  const keep = (entries: ReadonlyArray<Entries.Entry>) =>
    entries.filter((entry) => entry.seq > upTo && entry.memory === undefined)
      .map((entry) => entry.seq <= pruned ? Pruning.prune(entry) : entry)
  const settled = keep(Vector.toArray(self.settled))
  const unsettled = open === undefined ? keep(closing(self)) : []
  const left = [...settled, ...unsettled, ...(open === undefined ? [] : Entries.fromTurn(open))]
  const { entries: replaced, taken } = Entries.fromMessages(change.replacement, upTo, seq, takenBy(self, left))
  // a message that is being gathered stays so, and no other becomes one
  const gathered = unsettled.at(-1)?.message.role === "user" ? unsettled.pop() : undefined
  const entries = [...replaced, ...settled, ...unsettled]
  const firsts = entries.findIndex((entry) => entry.message.role !== "system")
  entries.splice(firsts < 0 ? entries.length : firsts, 0, ...remembered(memory, upTo, seq))
  const waiting = open === undefined ? [] : Vector.toArray(self.waiting).filter((input) => input.seq > upTo)
  return {
    ...empty,
    taken,
    settled: Vector.make(entries),
    open,
    waiting: Vector.make(waiting),
    tail: gathered === undefined ? undefined : inputOf(gathered)
  }
}

const inputOf = ({ from, isDuringCall, isNotice, latest, message, seq }: Entries.Entry): Input => ({
  ...toInput(seq, message.role === "user" ? message.content : [], isNotice),
  from,
  isDuringCall,
  latest
})

/** Ids of messages that are gone may be used again. */
const takenBy = (self: Transcript, left: ReadonlyArray<Entries.Entry>): Transcript["taken"] => {
  const before = Entries.idsOf(all(self))
  const after = Entries.idsOf(left)
  let taken = self.taken
  for (const id of [...before.shown, ...before.renamed]) taken = HashSet.remove(taken, id)
  for (const id of [...after.shown, ...after.renamed]) taken = HashSet.add(taken, id)
  return taken
}

const remembered = (memory: Memory.Memory | undefined, seq: number, from: number): ReadonlyArray<Entries.Entry> => {
  const content = memory === undefined ? [] : Legality.cleanParts([Message.text(memory.text)])
  return memory === undefined || content.length === 0
    ? []
    : [{ seq, from, message: { role: "user", content }, memory }]
}
