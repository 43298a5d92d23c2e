/** What a log holds of others' data is measured in bytes of JSON. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as Bounds from "../../../src/run/log/Bounds.ts"

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length

describe("a value", () => {
  it.prop("is above every limit smaller than its JSON, and no other", [Schema.Json], ([value]) => {
    const bytes = bytesOf(value)
    assert.strictEqual(Bounds.above(value, bytes - 1), bytes)
    assert.isUndefined(Bounds.above(value, bytes))
    assert.isUndefined(Bounds.above(value, bytes * 100))
  })

  it.prop("is surely within no limit smaller than its JSON", [Schema.Json], ([value]) => {
    assert.isFalse(Bounds.isSurelyWithin(value, bytesOf(value) - 1))
  })

  it.each([
    ["an object", { text: "x".repeat(1000) }],
    ["an object in an object", { inner: { text: "x".repeat(1000) } }],
    ["an array in an object", { inner: ["x".repeat(1000)] }],
    ["an object in an array", [{ text: "x".repeat(1000) }]],
    ["an array in an array", [["x".repeat(1000)]]],
    ["a key", { inner: { ["x".repeat(1000)]: 0 } }],
    ["what is before another", { first: { text: "x".repeat(1000) }, second: { text: "" } }]
  ])("is surely within no limit smaller than a text in %s", (_, value) => {
    assert.isFalse(Bounds.isSurelyWithin(value, 1000))
  })

  it("is surely within a much larger limit, whatever it is made of", () => {
    const value = { text: "\0\u00e9", numbers: [-1.7976931348623157e308, 0], no: [null, false], inner: [{ a: [] }] }
    assert.isTrue(Bounds.isSurelyWithin(value, 6 * bytesOf(value)))
  })
})

describe("JSON", () => {
  const nested = (levels: number, inner: string) => `${"{\"a\":[".repeat(levels / 2)}${inner}${"]}".repeat(levels / 2)}`

  it.each([
    ["a text of brackets", JSON.stringify(`${"\\\"[{".repeat(2000)}\\`)],
    ["many of them beside each other", `[${"{\"[\":[]},".repeat(2000)}"]"]`],
    ["a number", "1"]
  ])("is nested too deeply because of its levels, and not because of %s", (_, inner) => {
    assert.isFalse(Bounds.isTooDeep(nested(Bounds.deepest - 4, inner)))
    assert.isTrue(Bounds.isTooDeep(nested(Bounds.deepest + 2, inner)))
  })
})
