/**
 * A scheduler under which fibers yield at one operation, as they may at any: by default when they have done so many in a row.
 *
 * Does not own what that operation is; a test tries all of them.
 */
import * as Effect from "effect/Effect"
import * as Scheduler from "effect/Scheduler"

export interface Yielding extends Scheduler.Scheduler {
  /** how many operations there were */
  readonly count: () => number
}

/** Yields at the n-th operation; `meanwhile` runs before the fiber goes on. */
export const at = (n: number, meanwhile: () => void = () => {}): Yielding => {
  const below = new Scheduler.MixedScheduler()
  let count = 0
  return {
    executionMode: below.executionMode,
    shouldYield: () => {
      if (++count !== n) return false
      queueMicrotask(meanwhile)
      return true
    },
    makeDispatcher: () => below.makeDispatcher(),
    count: () => count
  }
}

/** Runs `self` under it, and what it starts in its context. */
export const run = <A, E, R>(yielding: Yielding, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(self, Scheduler.Scheduler, yielding)
