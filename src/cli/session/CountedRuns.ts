/**
 * Which events of sessions count, where a run that several sessions have is to count once: a fork has the runs that it copied, and
 * so has an import beside its original.
 *
 * Does not own what is counted (`RunStats`), nor the order of the sessions: a copy has to come after its original.
 */
import type * as DurableEvent from "../../run/DurableEvent.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as RunStats from "../../run/RunStats.ts"
import * as CompactionStats from "../../run/stats/CompactionStats.ts"

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

/** Makes the runs of a session, one session after the other. */
export const make = (): () => Runs => {
  const counted = new Set<string>()
  return () => {
    const here: Array<string> = []
    let copied: DurableEvent.Of<"RunStarted"> | undefined
    return {
      add: (stats, event) => {
        const key = isLandmark(event) ? `${event.seq} ${event.at} ${event.runId}` : undefined
        const isCopy = key !== undefined && counted.has(key)
        if (key !== undefined) here.push(key)
        if (event._tag === "RunStarted") copied = isCopy ? event : undefined
        if (copied === undefined) return RunStats.evolve(stats, event)
        if (isCopy) return stats
        if (event._tag !== "RunResumed") return CompactionStats.addByHand(stats, copied, event)
        const started = copied
        copied = undefined
        return RunStats.evolve(stats, started)
      },
      close: () => {
        for (const key of here) counted.add(key)
      }
    }
  }
}

/** What may count in a copy, and is known by its place and time where it was copied: an import says nothing of when a copy was made. */
const isLandmark = (event: RunEvent.Durable): boolean =>
  event._tag === "RunStarted" || event._tag === "RunResumed" || CompactionStats.isByHand(event)
