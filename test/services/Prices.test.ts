/** What tokens cost, by the application's prices. */
import { assert, describe, it } from "@effect/vitest"
import type * as Usage from "../../src/run/Usage.ts"
import * as Prices from "../../src/services/Prices.ts"

const model = { provider: "acme", name: "big/one" }
const million = 1_000_000

describe("the cost of a call", () => {
  it.each<readonly [string, Prices.Price, Usage.Usage, number]>([
    ["is of what went in and came out", { input: 3, output: 15 }, { inputTokens: million, outputTokens: million }, 18],
    ["may be a fraction", { input: 3, output: 15 }, { inputTokens: 1, outputTokens: 1 }, 0.000018],
    ["is nothing for nothing", { input: 3, output: 15 }, { inputTokens: 0, outputTokens: 0 }, 0],
    [
      "counts cached tokens, which are input tokens, at their own price",
      { input: 3, output: 15, cachedInput: 0.3 },
      { inputTokens: million, outputTokens: 0, cachedInputTokens: million / 2 },
      1.65
    ],
    [
      "counts tokens written to the cache, which are input tokens, at their own price",
      { input: 4, output: 15, cacheWrite: 6 },
      { inputTokens: million, outputTokens: 0, cacheWriteTokens: million / 2 },
      5
    ],
    [
      "counts both as input where they have no price",
      { input: 3, output: 15 },
      { inputTokens: million, outputTokens: 0, cacheWriteTokens: million / 2, cachedInputTokens: million / 4 },
      3
    ],
    [
      "counts reasoning, which is output, once",
      { input: 3, output: 15 },
      { inputTokens: 0, outputTokens: million, reasoningTokens: million },
      15
    ],
    [
      "is not below nothing where a provider counts more cached tokens than there are",
      { input: 3, output: 15, cachedInput: 0 },
      { inputTokens: 10, outputTokens: 0, cachedInputTokens: 20 },
      0
    ]
  ])("%s", (_, price, usage, cost) => {
    assert.deepStrictEqual(Prices.costed(() => price, model, usage), { ...usage, cost })
  })

  it("is left out if no price is known", () => {
    const usage = { inputTokens: 1, outputTokens: 1 }
    assert.deepStrictEqual(Prices.costed(() => undefined, model, usage), usage)
    assert.deepStrictEqual(Prices.costed(() => ({ input: NaN, output: 1 }), model, usage), usage)
    assert.deepStrictEqual(Prices.costed(() => ({ input: -1, output: 1 }), model, usage), usage)
  })

  it("is what a model reports itself if no price is known, and otherwise follows the price", () => {
    const usage = { inputTokens: 0, outputTokens: million, cost: 7 }
    assert.strictEqual(Prices.costed(() => undefined, model, usage).cost, 7)
    assert.strictEqual(Prices.costed(() => ({ input: 3, output: 15 }), model, usage).cost, 15)
  })
})

describe("a table of prices", () => {
  const price = { input: 1, output: 2 }

  it("has models by provider and name", () => {
    const prices = Prices.table({ "acme/big/one": price })
    assert.deepStrictEqual(prices(model), price)
    assert.isUndefined(prices({ provider: "acme", name: "small" }))
    assert.isUndefined(prices({ provider: "other", name: "big/one" }))
    assert.isUndefined(Prices.table({})({ provider: "constructor", name: "" }))
    assert.isUndefined(Prices.table({})({ provider: "", name: "constructor" }))
  })

  it("falls back to a name alone if the provider has no entry for it", () => {
    const prices = Prices.table({ "big/one": { input: 1, output: 1 }, "acme/big/one": { input: 2, output: 2 } })
    assert.strictEqual(prices({ provider: "other", name: "big/one" })?.input, 1)
    assert.strictEqual(prices(model)?.input, 2)
  })

  it.each([{ input: -1, output: 1 }, { input: 1, output: NaN }, { ...price, cachedInput: Infinity }, {
    ...price,
    cacheWrite: -1
  }])("does not accept %o", (bad) => {
    assert.throws(() => Prices.table({ "acme/x": bad }), "the price of \"acme/x\" must be numbers of at least 0")
  })

  it("takes a price with more fields, as those of a price list have", () => {
    const priced = { ...price, currency: "USD" }
    assert.strictEqual(Prices.table({ m: priced })({ provider: "acme", name: "m" }), priced)
  })

  it.each<readonly [unknown, string]>([
    [undefined, "prices must be an object: prices by model"],
    [null, "prices must be an object: prices by model"],
    [[price], "prices must be an object: prices by model"],
    [Promise.resolve({}), "prices must be an object: prices by model"],
    [{ m: null }, "the price of \"m\" must be an object, such as { input: 3, output: 15 }"]
  ])("does not accept %o, and says what it must be", (bad, says) => {
    assert.throws(() => Prices.table(bad as never), RangeError, says)
  })
})
