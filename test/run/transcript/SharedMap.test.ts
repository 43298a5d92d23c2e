/** Versions of a map share what they have in common, and none sees what was added to another. */
import { assert, describe, it } from "@effect/vitest"
import * as SharedMap from "../../../src/run/transcript/SharedMap.ts"

const of = (...keys: ReadonlyArray<string>) =>
  keys.reduce<SharedMap.SharedMap<string, string>>((map, key) => SharedMap.add(map, key, key.toUpperCase()), none)

const none = SharedMap.empty<string, string>()

const seen = (map: SharedMap.SharedMap<string, string>) =>
  ["a", "b", "c", "d"].map((key) => SharedMap.get(map, key) ?? "-").join("")

describe("a version", () => {
  it("has what was added to it, but not what was added since", () => {
    const before = of("a", "b")
    const after = SharedMap.add(before, "c", "C")
    assert.deepStrictEqual([seen(none), seen(before), seen(after)], ["----", "AB--", "ABC-"])
    assert.deepStrictEqual([before.size, after.size], [2, 3])
  })

  it("extended twice yields two that do not affect each other", () => {
    const before = of("a", "b")
    const one = SharedMap.add(before, "c", "1")
    const other = SharedMap.add(SharedMap.add(before, "d", "2"), "c", "3")
    assert.deepStrictEqual([seen(before), seen(one), seen(other)], ["AB--", "AB1-", "AB32"])
    assert.strictEqual(seen(SharedMap.add(one, "d", "4")), "AB14")
  })

  it("shares its items with the one it was made from", () => {
    const before = of("a")
    assert.strictEqual(SharedMap.add(before, "b", "B").items, before.items)
  })
})
