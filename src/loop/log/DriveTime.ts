/**
 * The time of day as a drive writes it: it follows the clock, and goes on by itself where somebody sets that back. What is told
 * from it, how long the drive took and what has expired, is then never less than what passed.
 *
 * Does not own what takes a moment and is measured alone (`Env.stopwatch`).
 */
import type * as Clock from "effect/Clock"

/** Milliseconds since the epoch, never less than before and what passed since, in whole milliseconds. */
export const make = (clock: Clock.Clock): () => number => {
  let last = -Infinity
  let lookedAt = 0n
  return () => {
    const now = clock.monotonicTimeNanosUnsafe()
    const least = last + Math.floor(Number(now - lookedAt) / 1e6)
    const ofDay = clock.currentTimeMillisUnsafe()
    if (ofDay < least) return least
    last = ofDay
    lookedAt = now
    return ofDay
  }
}
