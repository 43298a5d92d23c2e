/** What a tool returns is kept as its JSON says it, also where no JSON is parsed for that. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as PlainJson from "../../../src/layers/tools/PlainJson.ts"
import { dice } from "../../support/Odd.ts"

const seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))

const keys = ["a", "b c", "", "__proto__", "toJSON", "constructor", "2", "1"]
const leaves = ["", "text", "\ud800", "\u2028", 0, -0, 1e21, 5e-324, -1.5, true, false, null]
const others = [undefined, [], {}, { n: -0, u: undefined }, new Date(0)]

/** An object of up to five fields; only sometimes are they not all leaves. */
const objectOf = (seed: number): object => {
  const die = dice(seed)
  const values: ReadonlyArray<unknown> = die.pick([leaves, leaves, [...leaves, ...others]])
  const given = {}
  for (let left = die.pick([0, 1, 2, 5]); left > 0; left--) {
    Object.defineProperty(given, die.pick(keys), { value: die.pick(values), enumerable: true, configurable: true })
  }
  if (die.pick([true, false, false])) Object.assign(given, { [Symbol("mark")]: "x" })
  if (die.pick([true, false, false])) Object.defineProperty(given, "toJSON", { value: () => ({ said: 1 }) })
  return given
}

const kept = (given: unknown): readonly [text: string, value: unknown] => {
  const json = PlainJson.of(given)
  assert(json._tag === "Json")
  return [json.text, PlainJson.value(json)]
}

/** Own fields in order, with what distinguishes 0 from -0. */
const fieldsOf = (value: unknown) =>
  Reflect.ownKeys(value as object).map((key) => [key, (value as Record<PropertyKey, unknown>)[key]])

describe("an object that a tool returns", () => {
  it.prop("is kept as its JSON says it", [seed], ([seed]) => {
    const given = objectOf(seed)
    const [text, value] = kept(given)
    assert.strictEqual(text, JSON.stringify(given))
    assert.deepStrictEqual(fieldsOf(value), fieldsOf(JSON.parse(text)))
  }, { arbitrary: { runs: 500, size: 60, seed: "plain json" } })

  it("is kept as it was, whatever becomes of it, and whatever a getter says the next time", () => {
    let asked = 0
    const given = {
      n: 1,
      get times() {
        return ++asked
      }
    }
    const json = PlainJson.of(given)
    given.n = 2
    assert(json._tag === "Json")
    assert.deepStrictEqual([json.text, PlainJson.value(json)], [`{"n":1,"times":1}`, { n: 1, times: 1 }])
  })
})
