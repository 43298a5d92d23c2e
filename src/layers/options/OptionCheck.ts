/**
 * Checks the options that a program passes to a layer: a wrong one is the program's bug, reported when the layer is made.
 *
 * Does not own the options of an agent or a run, which are checked as inputs are, nor those of layers with an error of their own.
 */
import * as Result from "effect/Result"
import * as InputCheck from "../../run/InputCheck.ts"

/** Throws for an option that `of` does not have: a misspelt one would be ignored silently. */
export const noOthers = <K extends string>(
  of: string,
  given: { readonly [P in K]?: unknown },
  members: Readonly<Record<K, true>>
): void => {
  const others = InputCheck.noOthers(of, given, members)
  if (Result.isFailure(others)) throw new RangeError(`fiberloop: ${others.failure.message}`)
}

/** Throws unless the setting is a number of at least `least`. */
export const atLeast = (name: string, value: number | undefined, least: number): void => {
  if (value !== undefined && !(value >= least)) {
    throw new RangeError(`fiberloop: ${name} must be a number of at least ${least}, not ${value}`)
  }
}

/** Throws unless the value is a number from 0 to 1. */
export const part = (name: string, value: number | undefined): void => {
  if (value !== undefined && !(value >= 0 && value <= 1)) {
    throw new RangeError(`fiberloop: ${name} must be a fraction, a number from 0 to 1, not ${value}`)
  }
}
