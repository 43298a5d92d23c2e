/** What sweeps refuse to begin with. */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as FaultSweep from "../../src/testing/FaultSweep.ts"

/** A defect is what a sweep that begins ends with: there is no such module. */
const module = new URL("./none.ts", import.meta.url)

describe("a number that is no whole number of at least 1 is refused, by its name", () => {
  for (const wrong of [0, -1, 1.5, NaN, Infinity, "2" as never]) {
    const sweeps: ReadonlyArray<readonly [string, Effect.Effect<unknown>]> = [
      ["CrashSweep: every", CrashSweep.sweep({ module, every: wrong })],
      ["CrashSweep: concurrency", CrashSweep.sweep({ module, concurrency: wrong })],
      ["FaultSweep: every", FaultSweep.sweep({ subjects: {}, every: wrong })]
    ]
    for (const [name, sweep] of sweeps) {
      it.effect(`${name} ${wrong}`, () =>
        Effect.gen(function*() {
          const exit = yield* Effect.exit(sweep)
          const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
          assert.instanceOf(error, RangeError)
          assert.strictEqual(error.message, `${name} must be a whole number of at least 1, not ${wrong}`)
        }))
    }
  }
})
