/**
 * Processes that are killed with SIGKILL at points of every kind of run, and go on. Some of the points here; all of them with
 * `npm run test:sweep`.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"

const isWhole = process.env["FIBERLOOP_SWEEP"] === "all"

for (const store of ["Sqlite"]) {
  it.live(
    `${store}: wherever a process is killed, nothing is lost and nothing is done twice`,
    () =>
      Effect.gen(function*() {
        const module = new URL(`./${store}Subjects.ts`, import.meta.url)
        const report = yield* CrashSweep.sweep({ module, every: isWhole ? 1 : 7 })
        if (isWhole) console.log(`${store}: ${report.points} points tried, ${report.failures.length} failed`)
        assert.deepStrictEqual(report.failures, [])
        assert.isAbove(report.points, 20)
      }),
    1_800_000
  )
}
