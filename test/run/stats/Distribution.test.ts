/** How numbers are spread: exact up to three digits, approximate beyond, and small however many there are. */
import { assert, describe, it } from "@effect/vitest"
import * as HashMap from "effect/HashMap"
import * as Schema from "effect/Schema"
import * as Distribution from "../../../src/run/stats/Distribution.ts"

const of = (values: Iterable<number>) => Array.from(values).reduce(Distribution.add, Distribution.empty)
const upTo = (n: number) => Array.from({ length: n }, (_, at) => at + 1)

describe("a distribution", () => {
  it("of three-digit numbers has the nearest-rank percentiles", () => {
    const hundred = of(upTo(100).reverse())
    assert.deepStrictEqual(
      [0, 0.5, 0.95, 0.99, 1].map((part) => Distribution.quantile(hundred, part)),
      [1, 50, 95, 99, 100]
    )
    assert.deepStrictEqual([hundred.count, hundred.sum, hundred.max, Distribution.mean(hundred)], [
      100,
      5_050,
      100,
      50.5
    ])
  })

  it("of one number has that number everywhere", () => {
    assert.deepStrictEqual([0.5, 0.95].map((part) => Distribution.quantile(of([12_345]), part)), [12_300, 12_300])
    assert.strictEqual(Distribution.quantile(of([1_999]), 0.95), 1_999, "never above the maximum")
  })

  it("of nothing has none", () => {
    assert.isNull(Distribution.quantile(Distribution.empty, 0.5))
    assert.isNull(Distribution.mean(Distribution.empty))
  })

  it("counts the time of a clock that went backwards as 0", () => {
    assert.deepStrictEqual([of([-5]).sum, Distribution.quantile(of([-5, NaN, Infinity]), 1)], [0, 0])
  })

  it("does not grow with the number of values", () => {
    assert.isAtMost(HashMap.size(of(upTo(100_000)).places), 999 + 2 * 900 + 1)
  })

  const value = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 }))

  it.prop("is within half a percent of the sorted values", [Schema.Array(value)], ([values]) => {
    const sorted = [...values].sort((a, b) => a - b)
    for (const part of [0.5, 0.95]) {
      const exact = sorted[Math.max(1, Math.ceil(part * sorted.length)) - 1]
      const found = Distribution.quantile(of(values), part)
      if (exact === undefined) assert.isNull(found)
      else assert.isAtMost(Math.abs(found! - exact), exact * 0.005)
    }
  })
})
