/**
 * The time of day as it is stored: in whole milliseconds, also by a clock that tells parts of them, as `performance.now` does, and a
 * test's clock after a sleep of a fraction. Databases, and sessions as lines, have no others.
 *
 * Does not own the time of a drive, which never goes back (`loop/log/DriveTime`), nor short spans (`Stopwatch`).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** Whole milliseconds since the epoch. */
export const of = (clock: Clock.Clock): number => Math.floor(clock.currentTimeMillisUnsafe())

/** The same by the caller's clock. */
export const now: Effect.Effect<number> = Effect.map(Clock.currentTimeMillis, Math.floor)
