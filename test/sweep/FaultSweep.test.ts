/**
 * Stores of which the n-th operation fails, under every kind of run. Some of the operations here; all of them with
 * `npm run test:sweep`.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FaultSweep from "../../src/testing/FaultSweep.ts"
import * as MemorySubjects from "./MemorySubjects.ts"
import * as SqliteSubjects from "./SqliteSubjects.ts"

const isWhole = process.env["FIBERLOOP_SWEEP"] === "all"

for (
  const [name, subjects, every] of [
    ["memory", MemorySubjects.subjects, isWhole ? 1 : 2],
    ["SQLite", SqliteSubjects.subjects, isWhole ? 1 : 6]
  ] as const
) {
  it.live(
    `${name}: whatever operation of the store fails, runs end typed and sessions go on`,
    () =>
      Effect.gen(function*() {
        const report = yield* FaultSweep.sweep({ subjects, every })
        if (isWhole) console.log(`${name}: ${report.points} points tried, ${report.failures.length} failed`)
        assert.deepStrictEqual(report.failures, [])
        assert.isAbove(report.points, 80)
      }),
    600_000
  )
}
