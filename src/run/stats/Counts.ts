/** How often each of a few kinds occurred. Pure; a kind may have any name. */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"

export type Counts = HashMap.HashMap<string, number>

export const empty: Counts = HashMap.empty()

export const add = (self: Counts, kind: string): Counts =>
  HashMap.set(self, kind, Option.getOrElse(HashMap.get(self, kind), () => 0) + 1)

/** The most frequent first, equally frequent ones by name. */
export const toRecord = (self: Counts): Readonly<Record<string, number>> =>
  Object.fromEntries(HashMap.toEntries(self).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)))
