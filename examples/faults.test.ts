import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { FaultSweep } from "fiberloop/testing"
import { subjects } from "./subjects.ts"

it.live("no fault of the store pays twice", () =>
  Effect.gen(function*() {
    const report = yield* FaultSweep.sweep({ subjects })
    assert.deepStrictEqual(report.failures, [])
    assert.isAbove(report.points, 0)
  }), 120_000)
