/** Checks what a sweep is given, before it begins: with a wrong number or name it would try nothing, or never end. */
import * as Effect from "effect/Effect"

/** Dies with a `RangeError` that names the first option which is given and is no whole number of at least 1. */
export const check = (sweep: string, options: Readonly<Record<string, number | undefined>>): Effect.Effect<void> => {
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined && !(Number.isSafeInteger(value) && value >= 1)) {
      return refuse(sweep, `${name} must be a whole number of at least 1, not ${value}`)
    }
  }
  return Effect.void
}

/**
 * Dies with a `RangeError` that names what there is, where the option `name` is given and is no list of some of it. An empty
 * list is one of nothing, which only `mayBeEmpty` allows.
 */
export const among = (
  sweep: string,
  name: string,
  given: ReadonlyArray<unknown> | undefined,
  known: ReadonlyArray<string>,
  mayBeEmpty = false
): Effect.Effect<void> => {
  if (given === undefined) return Effect.void
  const isList = Array.isArray(given) && (mayBeEmpty || given.length > 0)
  const wrong = isList ? given.filter((value) => !known.includes(value as string)) : [given]
  return wrong.length === 0
    ? Effect.void
    : refuse(sweep, `${name} must be a list of ${quoted(known)}, not ${isList ? `of ${quoted(wrong)}` : quoted(wrong)}`)
}

/** Dies with a `RangeError`: `message` says what the sweep must be given. */
export const refuse = (sweep: string, message: string): Effect.Effect<never> =>
  Effect.die(new RangeError(`${sweep}: ${message}`))

const quoted = (values: ReadonlyArray<unknown>): string => values.map((value) => JSON.stringify(value)).join(", ")
