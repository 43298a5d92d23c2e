/**
 * Processes that are killed while agents work for another agent's calls. Some of the points here; all of them with
 * `npm run test:sweep`.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Sweeping from "./Sweeping.ts"

it.live(
  "wherever a process is killed, the caller counts a sub-agent's usage exactly once",
  () =>
    Effect.map(Sweeping.sweep("TeamSubjects", 11), ({ failures, points }) => {
      assert.deepStrictEqual(failures, [])
      assert.isAbove(points, 20)
    }),
  1_800_000
)
