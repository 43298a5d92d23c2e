/** A tool decodes and encodes by its own schemas, whatever other tools of its name do. */
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaIssue from "effect/SchemaIssue"
import * as ToolCodecs from "../../../src/layers/tools/ToolCodecs.ts"

const named = Tool.make("pay", {
  parameters: Schema.Struct({ to: Schema.String }),
  success: Schema.DateTimeUtcFromString
})
const other = Tool.make("pay", {
  parameters: Schema.Struct({ amount: Schema.FiniteFromString }),
  success: Schema.FiniteFromString,
  failureMode: "return"
})

it.effect("tools of the same name each have their own schemas", () =>
  Effect.gen(function*() {
    const at = Schema.decodeSync(Schema.DateTimeUtcFromString)("2026-01-02T00:00:00.000Z")
    for (const _ of ["made", "known"]) {
      const [first, second] = [ToolCodecs.of(named), ToolCodecs.of(other)]
      assert.deepStrictEqual(yield* first.decode({ to: "Ada" }), { to: "Ada" })
      assert.deepStrictEqual(yield* second.decode({ amount: "5" }), { amount: 5 })
      assert.strictEqual((yield* first.settled(at)).encodedResult, "2026-01-02T00:00:00.000Z")
      assert.strictEqual((yield* second.settled(5)).encodedResult, "5")
    }
  }))

it.effect("arguments are read from the JSON that the model was told of", () =>
  Effect.gen(function*() {
    const parameters = Schema.Struct({
      on: Schema.Date,
      at: Schema.URL,
      cents: Schema.BigInt,
      for: Schema.Duration,
      file: Schema.Uint8Array,
      by: Schema.ReadonlyMap(Schema.String, Schema.Date),
      note: Schema.optionalKey(Schema.String)
    })
    const { decode } = ToolCodecs.of(Tool.make("book", { parameters }))
    const given = {
      on: new Date(0),
      at: new URL("https://a.example/b"),
      cents: 12n,
      for: Duration.seconds(3),
      file: new Uint8Array([1, 2]),
      by: new Map([["Ada", new Date(1)]])
    }
    const told = Schema.encodeUnknownSync(Schema.toCodecJson(parameters))(given) as object
    assert.deepStrictEqual(yield* decode({ ...JSON.parse(JSON.stringify(told)), note: null }), given)
    const wrong = yield* Effect.flip(decode({ ...told, at: "nowhere" }))
    assert.include(SchemaIssue.makeFormatterDefault()(wrong), `["at"]`)
  }))

it.effect("no text is read as a number, whatever the model was told", () =>
  Effect.gen(function*() {
    const parameters = Schema.Struct({
      on: Schema.Date,
      amount: Schema.Number,
      limit: Schema.optionalKey(Schema.Number),
      either: Schema.optionalKey(Schema.Union([Schema.Number, Schema.Boolean]))
    })
    const { decode } = ToolCodecs.of(Tool.make("pay", { parameters }))
    const on = "2026-01-02T00:00:00.000Z"
    const refused = (given: object) =>
      Effect.map(Effect.flip(decode({ amount: 1, ...given })), SchemaIssue.makeFormatterDefault())
    for (const text of ["NaN", "Infinity", "3"]) {
      assert.notInclude(yield* refused({ on, amount: text }), "Infinity")
      yield* refused({ on, limit: text })
      yield* refused({ on, either: text })
    }
    assert.deepStrictEqual(yield* decode({ on, amount: 1, limit: null, either: true }), {
      on: new Date(on),
      amount: 1,
      either: true
    })
  }))

const ofUnions = Tool.make("plan", {
  parameters: Schema.Struct({
    at: Schema.optional(Schema.Union([Schema.Finite, Schema.Date])),
    cents: Schema.optionalKey(Schema.Union([Schema.Number, Schema.BigInt])),
    link: Schema.optionalKey(Schema.NullOr(Schema.Union([Schema.Number, Schema.URL]))),
    within: Schema.optionalKey(Schema.Union([Schema.Number, Schema.Duration])),
    row: Schema.optionalKey(Schema.Union([Schema.Struct({ n: Schema.Number }), Schema.Struct({ n: Schema.Date })]))
  })
})

const given = {
  at: new Date(0),
  cents: 12n,
  link: new URL("https://a.example/b"),
  within: Duration.seconds(3),
  row: { n: new Date(1) }
}

it.effect.each(Object.keys(given) as ReadonlyArray<keyof typeof given>)(
  "of a number or another type, the JSON that the model was told of is read: %s",
  (name) =>
    Effect.gen(function*() {
      const { decode } = ToolCodecs.of(ofUnions)
      const told = Schema.encodeUnknownSync(Schema.toCodecJson(ofUnions.parametersSchema))({ [name]: given[name] })
      assert.deepStrictEqual(yield* decode(JSON.parse(JSON.stringify(told))), { [name]: given[name] })
      const number = name === "row" ? { n: 3 } : 3
      assert.deepStrictEqual(yield* decode({ [name]: number }), { [name]: number })
    })
)

it.effect.each(Object.keys(given))(
  "of a number or another type, no text is read as a number: %s",
  (name) =>
    Effect.gen(function*() {
      const { decode } = ToolCodecs.of(ofUnions)
      for (const text of ["NaN", "Infinity", "-Infinity"]) {
        yield* Effect.flip(decode({ [name]: name === "row" ? { n: text } : text }))
      }
    })
)

it.effect("of plain arguments it is said what the schema expects", () =>
  Effect.gen(function*() {
    const { decode } = ToolCodecs.of(Tool.make("add", { parameters: Schema.Struct({ n: Schema.Number }) }))
    const told = SchemaIssue.makeFormatterDefault()(yield* Effect.flip(decode({ n: "3" })))
    assert.strictEqual(told, `Expected number\n  at ["n"]`)
  }))

it("a tool's codecs are made once", () => {
  assert.strictEqual(ToolCodecs.of(named), ToolCodecs.of(named))
})

it.effect("what does not fit besides a null that may be left out is what is reported", () =>
  Effect.gen(function*() {
    const parameters = Schema.Struct({ limit: Schema.optionalKey(Schema.Int), to: Schema.String, by: Schema.Int })
    const { decode } = ToolCodecs.of(Tool.make("ask", { parameters }))
    const told = (params: unknown) => Effect.map(Effect.flip(decode(params)), SchemaIssue.makeFormatterDefault())
    assert.include(yield* told({ limit: null, to: 1, by: 1 }), `["to"]`)
    assert.include(yield* told({ limit: null, to: "Ada" }), `["by"]`)
    assert.include(yield* told({ limit: null, to: null, by: 1 }), `["to"]`)
  }))

it.effect("many nulls are left out at once", () =>
  Effect.gen(function*() {
    const Item = Schema.Struct({ n: Schema.Int, note: Schema.optionalKey(Schema.String) })
    const { decode } = ToolCodecs.of(Tool.make("add", { parameters: Schema.Struct({ items: Schema.Array(Item) }) }))
    const items = Array.from({ length: 5000 }, (_, n) => ({ n, note: null }))
    assert.deepStrictEqual(yield* decode({ items }), { items: items.map(({ n }) => ({ n })) })
  }))

it.effect("many nulls for required values are reported in linear time", () =>
  Effect.gen(function*() {
    const Item = Schema.Struct({ n: Schema.Int, note: Schema.optionalKey(Schema.String) })
    const { decode } = ToolCodecs.of(Tool.make("add", { parameters: Schema.Struct({ items: Schema.Array(Item) }) }))
    const items = Array.from({ length: 20_000 }, () => ({ n: null, note: null }))
    const told = SchemaIssue.makeFormatterDefault()(yield* Effect.flip(decode({ items })))
    assert.include(told, `["items"][0]["n"]`)
  }))
