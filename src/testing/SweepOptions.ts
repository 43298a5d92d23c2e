/** Checks the numbers that a sweep is given, before it begins: with a wrong one it would try nothing, or never end. */
import * as Effect from "effect/Effect"

/** Dies with a `RangeError` that names the first option which is given and is no whole number of at least 1. */
export const check = (sweep: string, options: Readonly<Record<string, number | undefined>>): Effect.Effect<void> => {
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 1)) {
      return Effect.die(new RangeError(`${sweep}: ${name} must be a whole number of at least 1, not ${value}`))
    }
  }
  return Effect.void
}
