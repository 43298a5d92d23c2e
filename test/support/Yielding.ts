/**
 * A scheduler under which fibers yield at one operation, as they may at any: by default after a number of them in a
 * row.
 *
 * Does not own which operation that is; a test tries all of them.
 */
import * as Effect from "effect/Effect"
import * as Scheduler from "effect/Scheduler"

export interface Yielding extends Scheduler.Scheduler {
  /** how many operations there were */
  readonly count: () => number
}

/** Yields at the n-th operation; `meanwhile` runs before the fiber continues. */
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

/** Runs `self` under it, and what that starts in its context. */
export const run = <A, E, R>(yielding: Yielding, self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.provideService(self, Scheduler.Scheduler, yielding)
