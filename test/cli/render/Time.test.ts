import { assert, describe, it } from "@effect/vitest"
import * as Time from "../../../src/cli/render/Time.ts"

const minute = 60_000

const ages: Record<string, number> = {
  "just now": -5 * minute,
  "1 min ago": minute,
  "59 min ago": 60 * minute - 1,
  "23 h ago": 24 * 60 * minute - 1,
  "1 day ago": 24 * 60 * minute,
  "29 days ago": 29 * 24 * 60 * minute,
  "1 month ago": 30 * 24 * 60 * minute,
  "2 years ago": 800 * 24 * 60 * minute
}

describe("how long ago", () => {
  for (const [words, millis] of Object.entries(ages)) {
    it(`says ${words}`, () => assert.strictEqual(Time.age(millis), words))
  }
})

describe("how long", () => {
  it("uses the unit that reads best", () => {
    assert.deepStrictEqual([0, 999, 1_000, 59_940, 60_000, 125_000].map(Time.duration), [
      "0 ms",
      "999 ms",
      "1.0 s",
      "59.9 s",
      "1 min 0 s",
      "2 min 5 s"
    ])
  })
})
