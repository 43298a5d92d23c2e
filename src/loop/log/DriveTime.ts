/**
 * The time of day as a drive writes it: it follows the clock, and goes on by itself while somebody has set that back. What is
 * told from it, how long the drive took and what has expired, is then never less than what passed.
 *
 * Does not own what takes a moment and is measured alone (`Stopwatch`).
 */
import type * as Clock from "effect/Clock"

/** How many milliseconds the clock may go on between two looks and still be taken for one that nobody set. */
const near = 1000

/** Of a sum of milliseconds since the epoch, which is less precise than its parts. */
const rounding = 0.001

/**
 * Milliseconds since the epoch, whole, never less than before; nor than what passed since, unless the clock was set by less
 * than `near` and set back.
 */
export const make = (clock: Clock.Clock): () => number => {
  let last = -Infinity
  /** the most that the clock was ahead of the time that nobody sets */
  let ahead = -Infinity
  let isBehind = false
  return () => {
    const ofDay = clock.currentTimeMillisUnsafe()
    // asked several times a step, so the time that nobody sets is read only where it may tell something else
    if (!isBehind && ofDay >= last && ofDay - last < near) return last = ofDay
    const passed = Number(clock.monotonicTimeNanosUnsafe()) / 1e6
    ahead = Math.max(ahead, ofDay - passed)
    last = Math.max(last, Math.floor(ahead + passed + rounding))
    isBehind = last > ofDay
    return last
  }
}
