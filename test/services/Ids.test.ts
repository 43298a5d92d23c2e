import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { Ids } from "../../src/services/Ids.ts"

const version7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe("Ids", () => {
  it.effect("ids are version 7 UUIDs that sort in order of creation, within a millisecond and across two", () =>
    Effect.gen(function*() {
      const { next } = yield* Ids
      const ids: Array<string> = []
      for (let i = 0; i < 2000; i++) {
        ids.push(yield* next)
        if (i % 700 === 0) yield* TestClock.adjust(1)
      }
      for (const id of ids) assert.match(id, version7)
      assert.deepStrictEqual(ids.toSorted(), ids)
      assert.strictEqual(new Set(ids).size, ids.length)
    }))

  it.effect("no two ids have the same random part", () =>
    Effect.gen(function*() {
      const { next } = yield* Ids
      // the last 32 bits contain no counter and no time
      const ends = new Set((yield* Effect.replicateEffect(next, 2000)).map((id) => id.slice(-8)))
      assert.isAtLeast(ends.size, 1998)
    }))
})
