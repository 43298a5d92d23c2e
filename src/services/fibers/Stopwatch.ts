/** How long a single step takes, by a monotonic clock. Does not own the time of a whole drive. */
import type * as Clock from "effect/Clock"

/** Whole milliseconds since this was called. */
export const start = (clock: Clock.Clock): () => number => {
  const from = clock.monotonicTimeNanosUnsafe()
  return () => Math.floor(Number(clock.monotonicTimeNanosUnsafe() - from) / 1e6)
}
