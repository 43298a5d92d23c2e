/** What sweeps refuse to begin with. */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as FaultSweep from "../../src/testing/FaultSweep.ts"

/** A defect is what a sweep that begins ends with: there is no such module. */
const module = new URL("./none.ts", import.meta.url)

const refused = Effect.fnUntraced(function*(sweep: Effect.Effect<unknown>, message: string) {
  const exit = yield* Effect.exit(sweep)
  const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
  assert.instanceOf(error, RangeError)
  assert.strictEqual(error.message, message)
})

describe("a number that is no whole number of at least 1 is refused, by its name", () => {
  for (const wrong of [0, -1, 1.5, NaN, Infinity, "2" as never]) {
    const sweeps: ReadonlyArray<readonly [string, Effect.Effect<unknown>]> = [
      ["CrashSweep: every", CrashSweep.sweep({ module, every: wrong })],
      ["CrashSweep: concurrency", CrashSweep.sweep({ module, concurrency: wrong })],
      ["FaultSweep: every", FaultSweep.sweep({ subjects: {}, every: wrong })]
    ]
    for (const [name, sweep] of sweeps) {
      it.effect(`${name} ${wrong}`, () => refused(sweep, `${name} must be a whole number of at least 1, not ${wrong}`))
    }
  }
})

const broken = new URL("../sweep/BrokenSubjects.ts", import.meta.url)

describe("a name that there is not is refused, with those that there are", () => {
  it.effect.each<readonly [string, Effect.Effect<unknown>, string]>([
    [
      "a subject",
      CrashSweep.sweep({ module: broken, only: ["broken", "onne"] }),
      "CrashSweep: only must be a list of \"broken\", not of \"onne\""
    ],
    [
      "a member that every object has",
      CrashSweep.sweep({ module: broken, only: ["toString"] }),
      "CrashSweep: only must be a list of \"broken\", not of \"toString\""
    ],
    [
      "no subject",
      CrashSweep.sweep({ module: broken, only: [] }),
      "CrashSweep: only must be a list of \"broken\", not []"
    ],
    [
      "no list of subjects",
      CrashSweep.sweep({ module: broken, only: "broken" as never }),
      "CrashSweep: only must be a list of \"broken\", not \"broken\""
    ],
    [
      "a way to go on",
      CrashSweep.sweep({ module, goOn: ["resum" as never] }),
      "CrashSweep: goOn must be a list of \"resume\", \"recover\", \"hello\", not of \"resum\""
    ],
    [
      "no way to go on",
      CrashSweep.sweep({ module, goOn: [] }),
      "CrashSweep: goOn must be a list of \"resume\", \"recover\", \"hello\", not []"
    ],
    [
      "a fault",
      FaultSweep.sweep({ subjects: {}, faults: ["fail" as never] }),
      "FaultSweep: faults must be a list of \"fails\", \"answerLost\", \"down\", \"answerLostThenDown\", not of \"fail\""
    ],
    [
      "no fault and no outage",
      FaultSweep.sweep({ subjects: {}, faults: [] }),
      "FaultSweep: faults must be a list of \"fails\", \"answerLost\", \"down\", \"answerLostThenDown\", not []"
    ]
  ])("%s", ([, sweep, message]) => refused(sweep, message))
})

it.effect("a module without subjects is refused, with what it exports", () => {
  const other = new URL("../sweep/SweepRun.ts", import.meta.url)
  return refused(
    CrashSweep.sweep({ module: other }),
    `CrashSweep: ${other.href} must export subjects by their names; it exports run`
  )
})
