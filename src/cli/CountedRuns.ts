/**
 * Which events of sessions count, where a run that several sessions have is to count once: a fork has the runs that it copied, and
 * so has an import beside its original.
 *
 * Does not own what is counted (`RunStats`), nor the order of the sessions: a copy has to come after its original.
 */
import type * as DurableEvent from "../run/DurableEvent.ts"
import type * as RunEvent from "../run/RunEvent.ts"
import * as RunStats from "../run/RunStats.ts"
import * as CompactionStats from "../run/stats/CompactionStats.ts"

/** The runs of one session: its events are taken in order. */
export interface Runs {
  /**
   * Adds an event: of a run that counted before, nothing up to the end of the copy, and after that what a compaction by hand spent. If
   * it is resumed here then, it begins as a run of its own.
   */
  readonly add: (stats: RunStats.RunStats, event: RunEvent.Durable) => RunStats.RunStats
  /** They have counted: the same runs of other sessions will not. */
  readonly close: () => void
}

/** A session's runs; `createdAt` as in a list of sessions, for a copy the time at which it was made. */
export const make = (): (createdAt: number) => Runs => {
  const counted = new Set<string>()
  return (createdAt) => {
    const here: Array<string> = []
    let copied: DurableEvent.Of<"RunStarted"> | undefined
    return {
      add: (stats, event) => {
        if (event._tag === "RunStarted") {
          const key = `${event.seq} ${event.at} ${event.runId}`
          here.push(key)
          copied = counted.has(key) ? event : undefined
          return copied === undefined ? RunStats.evolve(stats, event) : stats
        }
        if (copied === undefined) return RunStats.evolve(stats, event)
        if (event.at <= createdAt) return stats
        const started = copied
        if (event._tag !== "RunResumed") return CompactionStats.addByHand(stats, started, event)
        copied = undefined
        return RunStats.evolve(stats, started)
      },
      close: () => {
        for (const key of here) counted.add(key)
      }
    }
  }
}
