/** Usage is a sum. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Usage from "../../src/run/Usage.ts"

const tokens = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1e9 }))
const usage = Schema.Struct({
  inputTokens: tokens,
  outputTokens: tokens,
  cachedInputTokens: Schema.optionalKey(tokens),
  cacheWriteTokens: Schema.optionalKey(tokens),
  reasoningTokens: Schema.optionalKey(tokens),
  cost: Schema.optionalKey(tokens)
})
const check = { arbitrary: { runs: 200, seed: "usage" } }

describe("the usage a provider reported", () => {
  it.prop("is kept as it was reported", [usage], ([a]) => {
    assert.strictEqual(Usage.counted(a), a)
  }, check)

  it.each([Number.NaN, Infinity, -1, 1e300, null, "7", undefined])(
    "is 0 for a count of %s, and absent where it may be",
    (odd) => {
      const told = { inputTokens: odd, outputTokens: 3, reasoningTokens: odd, cachedInputTokens: 1, cost: odd }
      const counted = Usage.counted(told as Usage.Usage)
      assert.deepStrictEqual(Usage.add(counted, Usage.zero), { inputTokens: 0, outputTokens: 3, cachedInputTokens: 1 })
      const onlyCost = Usage.counted({ ...Usage.zero, cost: odd } as Usage.Usage)
      assert.strictEqual(onlyCost.cost, undefined)
    }
  )

  it("is nothing if nothing was reported", () => {
    assert.deepStrictEqual(Usage.counted(undefined as never), Usage.zero)
  })
})

describe("adding usage", () => {
  it.prop("of nothing changes nothing", [usage], ([a]) => {
    assert.deepStrictEqual(Usage.add(a, Usage.zero), a)
    assert.deepStrictEqual(Usage.add(Usage.zero, a), a)
  }, check)

  it.prop("does not depend on the order", [usage, usage], ([a, b]) => {
    assert.deepStrictEqual(Usage.add(a, b), Usage.add(b, a))
  }, check)

  it.prop("does not depend on the grouping", [usage, usage, usage], ([a, b, c]) => {
    assert.deepStrictEqual(Usage.add(Usage.add(a, b), c), Usage.add(a, Usage.add(b, c)))
  }, check)

  it.prop("adds the tokens that a limit counts", [usage, usage], ([a, b]) => {
    assert.strictEqual(Usage.total(Usage.add(a, b)), Usage.total(a) + Usage.total(b))
  }, check)

  it.prop("changes neither", [usage, usage], ([a, b]) => {
    const before = JSON.stringify([a, b])
    Usage.add(a, b)
    assert.strictEqual(JSON.stringify([a, b]), before)
  }, check)

  it("knows a count if either knows it, and none if neither does", () => {
    const sum = Usage.add({ ...Usage.zero, cachedInputTokens: 3 }, { ...Usage.zero, cost: 0.5 })
    assert.deepStrictEqual(sum, { ...Usage.zero, cachedInputTokens: 3, cost: 0.5 })
  })

  it("counts cached and reasoning tokens once, within input and output", () => {
    assert.strictEqual(
      Usage.total({ inputTokens: 10, outputTokens: 5, cachedInputTokens: 8, reasoningTokens: 4 }),
      15
    )
  })
})
