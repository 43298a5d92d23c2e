/**
 * The time of day as a drive writes it: it follows the clock, and goes on by itself where somebody sets that back. What is told
 * from it, how long the drive took and what has expired, is then never less than what passed.
 *
 * Does not own what takes a moment and is measured alone (`Env.stopwatch`).
 */
import type * as Clock from "effect/Clock"

/** Milliseconds since the epoch, whole, never less than before, nor than the first of them and what passed since. */
export const make = (clock: Clock.Clock): () => number => {
  let first: { readonly at: number; readonly by: bigint } | undefined
  let last = -Infinity
  /** what the clock was set back by */
  let ahead = 0
  return () => {
    const ofDay = clock.currentTimeMillisUnsafe() + ahead
    // asked several times a step, so the time that nobody sets is read only where it is needed
    first ??= { at: ofDay, by: clock.monotonicTimeNanosUnsafe() }
    if (ofDay < last) {
      const passed = Math.floor(Number(clock.monotonicTimeNanosUnsafe() - first.by) / 1e6)
      last = Math.max(last, first.at + passed)
      ahead += last - ofDay
    } else last = ofDay
    return last
  }
}
