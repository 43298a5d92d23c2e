/**
 * Processes that are killed while agents work for the calls of another one. Some of the points here; all of them with
 * `npm run test:sweep`.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"

const isWhole = process.env["FIBERLOOP_SWEEP"] === "all"

it.live(
  "wherever a process is killed, what worked for a call counts for whoever made it, once",
  () =>
    Effect.gen(function*() {
      const module = new URL("./TeamSubjects.ts", import.meta.url)
      const report = yield* CrashSweep.sweep({ module, every: isWhole ? 1 : 7 })
      assert.deepStrictEqual(report.failures, [])
      assert.isAbove(report.points, 20)
    }),
  1_800_000
)
