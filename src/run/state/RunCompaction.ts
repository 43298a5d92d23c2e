/**
 * What compactions do to the state of a run: parts of `RunState.evolve`, total like it, which write only to the state that it is
 * making. One by hand is not the run's, and costs it nothing.
 */
import type * as DurableEvent from "../DurableEvent.ts"
import type * as RunState from "../RunState.ts"
import * as Usage from "../Usage.ts"

export const compact = (next: RunState.Next, event: DurableEvent.Of<"ContextCompacted">): void => {
  next.compactionsInARow += event.cause === "manual" ? 0 : 1
  if (event.isOfRun === false) return
  next.totals = { ...next.totals, compactions: next.totals.compactions + 1 }
  spend(next, event)
}

export const discard = (next: RunState.Next, event: DurableEvent.Of<"CompactionDiscarded">): void => {
  if (event.isOfRun !== false) spend(next, event)
}

const spend = (
  next: RunState.Next,
  { lost, usage }: DurableEvent.Of<"ContextCompacted" | "CompactionDiscarded">
): void => {
  next.totals = { ...next.totals, usage: Usage.add(next.totals.usage, usage) }
  next.retries += lost?.retries ?? 0
  next.lostTime += lost?.lostTime ?? 0
}
