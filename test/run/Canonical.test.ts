/** Equal inputs are equal texts. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { canonical } from "../../src/run/Canonical.ts"
import * as Message from "../../src/run/Message.ts"
import * as RunInput from "../../src/run/RunInput.ts"
import * as Logs from "../support/Logs.ts"
import { dice } from "../support/Odd.ts"

const check = (runs: number) => ({ arbitrary: { runs, size: 12, seed: "canonical" } })

/** The same value with the keys of its objects in another order. */
const shuffled = (value: Schema.Json, seed: number): Schema.Json => {
  if (Array.isArray(value)) return value.map((member: Schema.Json) => shuffled(member, seed))
  if (typeof value !== "object" || value === null) return value
  const die = dice(seed)
  const entries = Object.entries(value).map(([key, member]) => [die.int(1000), key, member] as const)
  return Object.fromEntries(
    entries.toSorted(([a], [b]) => a - b).map(([, key, member]) => [key, shuffled(member as Schema.Json, seed + 1)])
  )
}

describe("canonical", () => {
  it.prop("does not depend on the order of keys", [Schema.Json, Logs.seed], ([value, seed]) => {
    assert.strictEqual(canonical(shuffled(value, seed)), canonical(value))
  }, check(300))

  it.prop("is JSON of the same value", [Schema.Json], ([value]) => {
    assert.deepStrictEqual(JSON.parse(canonical(value)), JSON.parse(JSON.stringify(value)))
  }, check(300))

  it.prop("tells different values apart", [Schema.Json, Schema.Json], ([a, b]) => {
    const isSame = canonical(a) === canonical(b)
    assert.strictEqual(isSame, canonical(JSON.parse(JSON.stringify(a))) === canonical(JSON.parse(JSON.stringify(b))))
    if (isSame) assert.deepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)))
  }, check(300))

  it.each<readonly [string, unknown, unknown]>([
    ["key order", { a: 1, b: [{ c: 2, d: 3 }] }, { b: [{ d: 3, c: 2 }], a: 1 }],
    ["undefined", { a: 1, b: undefined }, { a: 1 }],
    ["undefined within", { a: { b: undefined } }, { a: {} }],
    ["numeric keys", { 10: "a", 9: "b", x: 1 }, { x: 1, 9: "b", 10: "a" }],
    ["text beyond ASCII", { "\u00e9": 1, "\u{1f600}": 2 }, { "\u{1f600}": 2, "\u00e9": 1 }]
  ])("is the same whatever the %s", (_, a, b) => assert.strictEqual(canonical(a), canonical(b)))

  it.each<readonly [string, unknown, unknown]>([
    ["order of a list", [1, 2], [2, 1]],
    ["null", { a: null }, {}],
    ["form of a letter", { a: "\u00e9" }, { a: "e\u0301" }],
    ["type", { a: "1" }, { a: 1 }],
    ["nesting", { a: { b: 1 } }, { a: 1, b: 1 }],
    ["key named __proto__", JSON.parse("{\"__proto__\": 1}"), {}]
  ])("differs with the %s", (_, a, b) => assert.notStrictEqual(canonical(a), canonical(b)))

  it.prop("is the same for an input that was stored and read back", [Logs.odd], ([{ log }]) => {
    for (const event of log) {
      if (event._tag !== "RunStarted") continue
      const read = Schema.decodeUnknownSync(RunInput.Effective)(JSON.parse(JSON.stringify(event.input)))
      assert.strictEqual(canonical(read), canonical(event.input))
    }
  }, { arbitrary: { runs: 100, size: 60, seed: "canonical" } })

  it("differs for inputs that differ in one word", () => {
    const input = (text: string): RunInput.Effective => ({ messages: [Message.user(text)], toolPolicy: {}, limits: {} })
    assert.notStrictEqual(canonical(input("hello")), canonical(input("hullo")))
  })
})
