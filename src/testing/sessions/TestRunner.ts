/**
 * The functions of vitest that the suites are written with, loaded only where vitest runs: a program that imports a model
 * from `fiberloop/testing` needs neither vitest nor @effect/vitest.
 */
import type * as Vitest from "@effect/vitest"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as SessionStore from "../../services/SessionStore.ts"

/** Declares a test of a session store: `body` runs on a store of its own, in virtual time. */
export type Test = <A, E>(claim: string, body: Effect.Effect<A, E, SessionStore.SessionStore | Scope.Scope>) => void

const isVitest = globalThis.process?.env["VITEST"] !== undefined

const loaded: typeof Vitest | Error = isVitest
  ? await import("@effect/vitest").catch((cause: unknown) => new Error("@effect/vitest cannot be loaded", { cause }))
  : new Error("no vitest runs this file")

// nothing of it is used before `check` has passed
const runner = (loaded instanceof Error ? {} : loaded) as typeof Vitest

export const assert: typeof Vitest.assert = runner.assert
export const describe: typeof Vitest.describe = runner.describe
export const it: typeof Vitest.it = runner.it

/** Throws where suites cannot be declared. */
export const check = (): void => {
  if (loaded instanceof Error) {
    throw new Error(
      "A suite needs vitest and @effect/vitest, and is called in a test file: npm i -D vitest @effect/vitest",
      {
        cause: loaded
      }
    )
  }
}
