/**
 * Checks the numbers that a program passes to a layer: a wrong one is the program's bug, reported when the layer is made.
 *
 * Does not own the numbers of an agent or a run, which are checked as inputs are.
 */

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
