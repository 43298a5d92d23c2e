/** A part of an answer is kept as it will be read back from a log: a live run and a replayed one know the same. */
import { assert, describe, it } from "@effect/vitest"
import type * as Schema from "effect/Schema"
import * as Legality from "../../../src/run/transcript/Legality.ts"

const call = (params: unknown) => ({ type: "tool-call", id: "a", name: "look", params: params as Schema.Json }) as const
const result = (value: unknown) =>
  ({ type: "tool-result", id: "a", name: "look", result: value as Schema.Json, isFailure: false }) as const

describe("a part that can be stored", () => {
  it.each<unknown>([
    Infinity,
    -0,
    { limit: Infinity },
    { limit: NaN, name: "a" },
    { limit: -0 },
    { limits: [1, -Infinity] },
    { at: new Date(0) },
    new Date(0),
    { name: undefined, limit: 1 },
    { deep: { limit: Infinity } }
  ])("has the arguments and results that its JSON has: %o", (value) => {
    for (const part of [call(value), result(value), { ...call({ n: 1 }), metadata: { some: value as Schema.Json } }]) {
      assert.deepStrictEqual(Legality.writable(part), JSON.parse(JSON.stringify(part)))
    }
  })

  it.each<unknown>([undefined, () => 1, Symbol("a")])(
    "has no arguments, and no result, where JSON has no word for them: %o",
    (value) => {
      for (const metadata of [undefined, { some: 1 }, { some: 1n as unknown as Schema.Json }]) {
        const given = metadata === undefined ? {} : { metadata }
        const kept = metadata?.some === 1 ? { metadata } : {}
        assert.deepStrictEqual<unknown>(Legality.writable({ ...call(value), ...given }), { ...call({}), ...kept })
        assert.deepStrictEqual<unknown>(Legality.writable({ ...result(value), ...given }), { ...result(null), ...kept })
      }
    }
  )

  it("has words in place of a number that is too large for JSON", () => {
    for (const part of [Legality.writable(call(5n)), Legality.writable(result(5n))]) {
      assert.deepStrictEqual(JSON.parse(JSON.stringify(part)), part)
    }
  })

  it.each<unknown>([
    { n: 1, name: "a", is: true, not: null },
    {},
    "text",
    1.5,
    null,
    Object.assign(Object.create(null), { n: 1 })
  ])(
    "is the part itself where that is sure: %o",
    (value) => {
      const part = call(value)
      assert.strictEqual(Legality.writable(part), part)
    }
  )
})
