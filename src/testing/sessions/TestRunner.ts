/**
 * The functions of vitest that the suites are written with, loaded only when one is declared: a program that loads a model
 * from `fiberloop/testing` needs neither vitest nor @effect/vitest, and may `require` it.
 */
import type * as Vitest from "@effect/vitest"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { createRequire } from "node:module"
import type * as SessionStore from "../../services/SessionStore.ts"

/** Declares a test of a session store: `body` runs on a store of its own, in virtual time. */
export type Test = <A, E>(claim: string, body: Effect.Effect<A, E, SessionStore.SessionStore | Scope.Scope>) => void

/** Set by `load`. */
export let assert: typeof Vitest.assert
export let describe: typeof Vitest.describe
export let it: typeof Vitest.it

/** Loads the functions, at once, so that no module waits for another one; throws where suites cannot be declared. */
export const load = (): void => {
  const vitest = loaded()
  if (vitest instanceof Error) {
    throw new Error(
      "A suite needs vitest and @effect/vitest, and is called in a test file: npm i -D vitest @effect/vitest",
      { cause: vitest }
    )
  }
  assert = vitest.assert
  describe = vitest.describe
  it = vitest.it
}

const loaded = (): typeof Vitest | Error => {
  if (globalThis.process?.env["VITEST"] === undefined) return new Error("no vitest runs this file")
  try {
    return createRequire(import.meta.url)("@effect/vitest")
  } catch (cause) {
    return new Error("@effect/vitest cannot be loaded", { cause })
  }
}
