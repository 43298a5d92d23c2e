/** What a schema encodes is kept in the JSON that it is read from; what plain JSON had is kept byte for byte. */
import { assert, describe, it } from "@effect/vitest"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Equal from "effect/Equal"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as JsonForm from "../../../src/layers/tools/JsonForm.ts"
import * as PlainJson from "../../../src/layers/tools/PlainJson.ts"

const encoded = (schema: Schema.Top, value: unknown): unknown =>
  Schema.encodeUnknownSync(schema as Schema.Codec<unknown>)(value)

/** What is kept of a value, and what plain JSON makes of it. */
const kept = (schema: Schema.Top, value: unknown) => {
  const given = encoded(schema, value)
  return [JsonForm.of(schema, given), PlainJson.of(given)] as const
}

class Price extends Schema.Class<Price>("Price")({ cents: Schema.BigInt, note: Schema.optionalKey(Schema.String) }) {}

class Money {
  readonly cents = 5
  toJSON() {
    return "5 cents"
  }
}

const at = new Date(0)
const iso = "1970-01-01T00:00:00.000Z"

describe("the JSON that a schema is read from is kept", () => {
  it.each<readonly [what: string, schema: Schema.Top, value: unknown, json: Schema.Json]>([
    ["an Option", Schema.Option(Schema.String), Option.some("a"), { _tag: "Some", value: "a" }],
    ["an Option of a date", Schema.Option(Schema.DateFromString), Option.some(at), { _tag: "Some", value: iso }],
    ["a bigint", Schema.BigInt, 1n, "1"],
    ["a Map", Schema.ReadonlyMap(Schema.String, Schema.Date), new Map([["a", at]]), [["a", iso]]],
    ["a Set", Schema.ReadonlySet(Schema.Date), new Set([at]), [iso]],
    ["a HashMap", Schema.HashMap(Schema.String, Schema.BigInt), HashMap.make(["a", 1n]), [["a", "1"]]],
    ["a Duration", Schema.Struct({ in: Schema.Duration }), { in: Duration.seconds(3) }, {
      in: { _tag: "Millis", value: 3000 }
    }],
    ["a Duration without end", Schema.Struct({ in: Schema.Duration }), { in: Duration.infinity }, {
      in: { _tag: "Infinity" }
    }],
    [
      "an Option beside a text that is a number's name",
      Schema.Struct({ code: Schema.Literals(["NaN", "AAPL"]), owner: Schema.Option(Schema.String) }),
      { code: "NaN", owner: Option.none() },
      { code: "NaN", owner: { _tag: "None" } }
    ],
    ["bytes in a list", Schema.Array(Schema.Uint8Array), [new Uint8Array([1, 2])], ["AQI="]],
    ["an instance of a class", Price, new Price({ cents: 1n }), { cents: "1" }],
    [
      "a time in its zone",
      Schema.DateTimeZoned,
      DateTime.makeZonedUnsafe(0, { timeZone: "Europe/Berlin" }),
      "1970-01-01T01:00:00.000+01:00[Europe/Berlin]"
    ]
  ])("of %s, and read back as it was", (_, schema, value, json) => {
    const [form] = kept(schema, value)
    assert(form._tag === "Json")
    assert.deepStrictEqual(PlainJson.value(form), json)
    const read = Schema.decodeUnknownSync(Schema.toCodecJson(schema) as unknown as Schema.Codec<unknown>)(json)
    assert.isTrue(Equal.equals(read, value))
  })
})

const Row = Schema.Struct({
  at: Schema.Date,
  link: Schema.URL,
  when: Schema.DateTimeUtc,
  note: Schema.optional(Schema.String),
  n: Schema.Number
})

describe("what plain JSON says so that the schema reads it stays as it was, byte for byte", () => {
  it.each<readonly [what: string, schema: Schema.Top, value: unknown]>([
    ["dates and links, beside a member that is undefined", Schema.Array(Row), [
      { at, link: new URL("https://a.example/b"), when: DateTime.makeUnsafe(0), note: undefined, n: -0 }
    ]],
    ["an object in another order", Schema.Struct({ a: Schema.Date, b: Schema.Number }), { b: 1, a: at }],
    ["a void", Schema.Void, undefined],
    ["bytes", Schema.Uint8Array, new Uint8Array([1, 2])],
    ["bytes in a field", Schema.Struct({ data: Schema.Uint8Array, at: Schema.Date }), { data: Buffer.from("hi"), at }],
    ["what says itself", Schema.Unknown, { by: new Money(), of: [Option.some(1)] }],
    ["what says itself, of a schema of its class", Schema.Struct({ by: Schema.instanceOf(Money) }), {
      by: new Money()
    }],
    ["what the schema has no form in JSON of", Schema.Struct({ [Symbol.for("x")]: Schema.Date, at: Schema.Date }), {
      at,
      [Symbol.for("x")]: at
    }]
  ])("of %s", (_, schema, value) => {
    const [form, plain] = kept(schema, value)
    assert.strictEqual(plain._tag, "Json")
    assert.deepStrictEqual(form, plain)
  })

  const schemas = [
    Schema.Unknown,
    Schema.Json,
    Schema.Any,
    Schema.Union([Schema.Option(Schema.BigInt), Schema.Unknown]),
    Schema.Record(Schema.String, Schema.Unknown),
    Schema.Array(Schema.NullOr(Schema.Unknown))
  ]
  it.prop("of any JSON", [Schema.Json], ([value]) => {
    for (const schema of schemas) assert.deepStrictEqual(JsonForm.of(schema, value), PlainJson.of(value))
  })
})

describe("no form but plain JSON", () => {
  const Secret = Schema.Redacted(Schema.String)
  it.each<readonly [what: string, schema: Schema.Top, value: unknown, plain: string]>([
    ["shows a secret", Secret, Redacted.make("hunter2"), `"<redacted>"`],
    [
      "shows a secret that is no text",
      Schema.Struct({ pin: Schema.Redacted(Schema.Int) }),
      { pin: Redacted.make(1234) },
      `{"pin":"<redacted>"}`
    ],
    [
      "shows a secret beside an Option",
      Schema.Struct({ key: Secret, of: Schema.Option(Schema.Int) }),
      { key: Redacted.make("hunter2"), of: Option.none() },
      `{"key":"<redacted>","of":{"_id":"Option","_tag":"None"}}`
    ],
    [
      "shows a secret within an Option",
      Schema.Array(Schema.Option(Secret)),
      [Option.some(Redacted.make("hunter2"))],
      `[{"_id":"Option","_tag":"Some","value":"<redacted>"}]`
    ]
  ])("%s", (_, schema, value, plain) => {
    const [form] = kept(schema, value)
    assert(form._tag === "Json")
    assert.strictEqual(form.text, plain)
  })

  it.each<readonly [what: string, schema: Schema.Top, value: unknown]>([
    ["a number", Schema.Number, NaN],
    ["a member", Schema.Struct({ n: Schema.Number, cents: Schema.BigInt }), { n: Infinity, cents: 1n }],
    ["a value of an Option", Schema.Option(Schema.Number), Option.some(NaN)],
    ["a value of a Map", Schema.ReadonlyMap(Schema.String, Schema.Number), new Map([["a", NaN]])]
  ])("makes a text of %s that JSON has not", (_, schema, value) => {
    assert.strictEqual(kept(schema, value)[0]._tag, "NotJson")
  })
})

describe("beside what has a form of its own in JSON", () => {
  const owned = { owner: Schema.Option(Schema.String) }
  const none = { owner: Option.none() }

  it.each<readonly [what: string, schema: Schema.Top, value: unknown]>([
    ["a NaN", Schema.Struct({ ...owned, value: Schema.Number }), { ...none, value: NaN }],
    [
      "a NaN where a text is read, too",
      Schema.Struct({ ...owned, value: Schema.Union([Schema.Number, Schema.String]) }),
      { ...none, value: NaN }
    ],
    ["a NaN within", Schema.Struct({ value: Schema.Option(Schema.Number) }), { value: Option.some(-Infinity) }],
    [
      "an undefined in a list",
      Schema.Struct({ ...owned, list: Schema.Array(Schema.UndefinedOr(Schema.String)) }),
      { ...none, list: [undefined] }
    ]
  ])("%s is refused", (_, schema, value) => {
    assert.strictEqual(kept(schema, value)[0]._tag, "NotJson")
  })

  it("a member that is undefined is left out", () => {
    const note = Schema.UndefinedOr(Schema.String)
    const schema = Schema.Struct({ ...owned, note, rows: Schema.Array(Schema.Struct({ note })) })
    const [form] = kept(schema, { ...none, note: undefined, rows: [{ note: undefined }, { note: "a" }] })
    assert(form._tag === "Json")
    assert.deepStrictEqual(PlainJson.value(form), { owner: { _tag: "None" }, rows: [{}, { note: "a" }] })
  })
})
