/**
 * Checks the options that a program passes to a layer: a wrong one is the program's bug, reported when the layer is made.
 *
 * Does not own what is checked (`InputCheck`), nor the options of layers with an error of their own.
 */
import * as Layer from "effect/Layer"
import * as InputCheck from "../../run/InputCheck.ts"
import * as Warning from "../../services/Warning.ts"

/** Throws for what is no object, and for an option that `of` does not have: a misspelt one would be ignored silently. */
export const options = <K extends string>(
  of: string,
  given: { readonly [P in K]?: unknown },
  members: Readonly<Record<K, true>>
): void => taken(InputCheck.options(of, given, members))

/** Throws unless the setting is a number of at least `least`. */
export const atLeast = (name: string, value: number | undefined, least: number): void =>
  taken(InputCheck.number(name, value, (value) => value >= least, `a number of at least ${least}`))

/** Throws unless the value is a number from 0 to 1. */
export const part = (name: string, value: number | undefined): void =>
  taken(InputCheck.number(name, value, (value) => value >= 0 && value <= 1, "a fraction, a number from 0 to 1"))

/** Throws unless these are layers, and at least one; `what` names the service that each is of. */
export const layers = (of: string, given: ReadonlyArray<Layer.Any>, what: string): void => {
  if (Array.isArray(given) && given.length > 0 && given.every(Layer.isLayer)) return
  const others = Array.isArray(given) ? given.filter((each) => !Layer.isLayer(each)) : [given]
  const is = others.length === 0 ? "none" : Warning.whatIs(others[0])
  throw new RangeError(`fiberloop: ${of} needs one layer of a ${what} or more, and nothing else; it was given ${is}`)
}

/** Throws for what was refused. */
export const taken = (checked: InputCheck.Checked<unknown>): void => {
  InputCheck.taken("fiberloop", checked)
}
