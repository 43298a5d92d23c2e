/**
 * Which events of sessions count, where a run that several sessions have is to count once: a fork has the runs that it copied, and
 * so has an import beside its original.
 *
 * Does not own what is counted (`RunStats`), nor the order of the sessions: a copy has to come after its original.
 */
import type * as DurableEvent from "../run/DurableEvent.ts"
import type * as RunEvent from "../run/RunEvent.ts"

/** The runs of one session: its events are taken in order. */
export interface Runs {
  /**
   * What an event adds: of a run that counted before, nothing up to the end of the copy. If it is resumed here then, it begins as a
   * run of its own.
   */
  readonly take: (event: RunEvent.Durable) => ReadonlyArray<RunEvent.Durable>
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
      take: (event) => {
        if (event._tag === "RunStarted") {
          const key = `${event.seq} ${event.at} ${event.runId}`
          here.push(key)
          copied = counted.has(key) ? event : undefined
          return copied === undefined ? [event] : []
        }
        if (copied === undefined) return [event]
        if (event._tag !== "RunResumed" || event.at <= createdAt) return []
        const started = copied
        copied = undefined
        return [started]
      },
      close: () => {
        for (const key of here) counted.add(key)
      }
    }
  }
}
