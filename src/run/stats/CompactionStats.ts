/** What compactions add to the numbers, whatever became of them. Does not own how many a run had (`RunTally`). */
import type * as DurableEvent from "../DurableEvent.ts"
import type * as RunEvent from "../RunEvent.ts"
import type * as RunStats from "../RunStats.ts"
import * as Usage from "../Usage.ts"

type Compaction = DurableEvent.Of<"ContextCompacted" | "CompactionDiscarded">

export const add = (self: RunStats.RunStats, { lost, usage }: Compaction): RunStats.RunStats => ({
  ...self,
  usage: Usage.add(self.usage, usage),
  lostTime: self.lostTime + (lost?.lostTime ?? 0)
})

export const isByHand = (event: RunEvent.Durable): event is Compaction =>
  (event._tag === "ContextCompacted" || event._tag === "CompactionDiscarded") && event.isOfRun === false

/** Adds a compaction by hand to a session with a copy of a run that `started` before and has counted; adds nothing else. */
export const addByHand = (
  self: RunStats.RunStats,
  { agent, at }: DurableEvent.Of<"RunStarted">,
  event: RunEvent.Durable
): RunStats.RunStats => {
  const { filter } = self
  const counts = (filter.agent ?? agent) === agent && (filter.since ?? at) <= at
  return isByHand(event) && counts ? add(self, event) : self
}
