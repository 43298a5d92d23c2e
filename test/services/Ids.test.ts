/** Ids that are made where nobody gives any. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { vi } from "vitest"
import { Ids } from "../../src/services/Ids.ts"

const version7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

describe("ids", () => {
  it.effect("are UUIDs of version 7, of the time at which they were made", () =>
    Effect.gen(function*() {
      const before = Date.now()
      const id = yield* (yield* Ids).next
      assert.match(id, version7)
      const at = parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
      assert.isTrue(at >= before && at <= Date.now())
    }))

  it.effect("sort in the order in which they were made, also where a clock stands still", () =>
    Effect.gen(function*() {
      const { next } = yield* Ids
      const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now())
      const ids = yield* Effect.all(Array.from({ length: 10_000 }, () => next))
      clock.mockRestore()
      assert.deepStrictEqual(ids.toSorted(), ids)
      assert.isTrue(ids.every((id) => version7.test(id)))
      assert.strictEqual(new Set(ids).size, ids.length)
    }))
})
