/**
 * The time of day as a drive writes it: it follows the clock, and goes on by itself while somebody has set the clock back. So what
 * is computed from it, how long the drive took and what has expired, is never less than the time that passed.
 *
 * Does not own short spans that are measured alone (`Stopwatch`).
 */
import type * as Clock from "effect/Clock"
import * as TimeOfDay from "../../services/fibers/TimeOfDay.ts"

/** How many milliseconds the clock may advance between two looks and still be taken for one that nobody set. */
const near = 1000

/** The rounding error of a sum of milliseconds since the epoch, which is less precise than its parts. */
const rounding = 0.001

/**
 * Whole milliseconds since the epoch. Between two looks they never go back, nor advance by less than the time that passed, unless
 * the clock was set by less than `near` and set back.
 */
export const make = (clock: Clock.Clock): () => number => {
  let last = -Infinity
  /** the most that the clock was ahead of monotonic time, which nobody sets */
  let ahead = -Infinity
  let isBehind = false
  return () => {
    const ofDay = TimeOfDay.of(clock)
    // asked several times a step, so monotonic time is read only where it may make a difference
    if (!isBehind && ofDay >= last && ofDay - last < near) return last = ofDay
    const passed = Number(clock.monotonicTimeNanosUnsafe()) / 1e6
    ahead = Math.max(ahead, ofDay - passed)
    last = Math.max(last, Math.floor(ahead + passed + rounding))
    isBehind = last > ofDay
    return last
  }
}
