/** What a model is told of a schema: an object at its root, whatever effect makes of a name. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import * as ToldSchema from "../../src/services/ToldSchema.ts"

const city = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: true
}

class Place extends Schema.Class<Place>("app/Place")({ city: Schema.String }) {}

interface Tree {
  readonly kids: ReadonlyArray<Tree>
}
const Tree = Schema.Struct({
  kids: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree))
}).annotate({ identifier: "a/tree ~ of kids" })

describe("a schema with a name", () => {
  it.each<readonly [string, Schema.Constraint]>([
    ["a class", Place],
    ["a struct with an identifier", Schema.Struct({ city: Schema.String }).annotate({ identifier: "Place" })],
    ["one that is made later", Schema.suspend(() => Place)]
  ])("is told of as the object that it is, and once: %s", (_, schema) => {
    assert.deepStrictEqual<unknown>(ToldSchema.of(schema), city)
  })

  it("is an object at its root, and is named below that, where it is inside itself", () => {
    const { $defs, ...root } = ToldSchema.of(Tree)
    const kids = { type: "array", items: { $ref: "#/$defs/a~1tree%20~0%20of%20kids" } }
    const tree = { type: "object", properties: { kids }, required: ["kids"], additionalProperties: true }
    assert.deepStrictEqual([root, $defs], [tree, { "a/tree ~ of kids": tree }])
  })

  it("keeps the names that it refers to", () => {
    class Trip extends Schema.Class<Trip>("app/Trip")({ from: Place, to: Place }) {}
    const { $defs, ...root } = ToldSchema.of(Trip)
    const place = { $ref: "#/$defs/app~1PlaceEncoded" }
    assert.deepInclude(root, { type: "object", properties: { from: place, to: place } })
    assert.deepStrictEqual($defs, { "app/PlaceEncoded": city })
  })
})

describe("the arguments of a tool", () => {
  it("are told of as a JSON Schema of the application's own says", () => {
    const parameters = { $ref: "#/$defs/%", type: "object", properties: { city: {} } } as const
    assert.deepStrictEqual<unknown>(ToldSchema.ofTool(Tool.dynamic("look", { parameters })), parameters)
  })

  it.each<readonly [string, Tool.Any]>([
    ["at all", Tool.make("look")],
    ["in its struct", Tool.make("look", { parameters: Schema.Struct({}) })],
    ["in its class", Tool.make("look", { parameters: class extends Schema.Class<any>("app/Look")({}) {} })],
    ["and nobody says so", Tool.dynamic("look")],
    ["in a JSON Schema of the application's own", Tool.dynamic("look", { parameters: { type: "object" } })]
  ])("are listed though there are none %s, as OpenAI wants it", (_, tool) => {
    assert.deepInclude(ToldSchema.ofTool(tool), { type: "object", properties: {} })
  })

  it.each<readonly [string, JsonSchema.JsonSchema, object]>([
    ["says no type", { properties: { city: {} } }, { type: "object", properties: { city: {} } }],
    ["says what they are not", { not: { required: ["town"] } }, {
      type: "object",
      properties: {},
      not: { required: ["town"] }
    }],
    ["says only more of them", { type: "object", anyOf: [{}] }, { type: "object", properties: {}, anyOf: [{}] }],
    ["says what they may be", { anyOf: [{ type: "object" }] }, { anyOf: [{ type: "object" }] }]
  ])("are an object, though a JSON Schema of the application's own %s", (_, parameters, told) => {
    assert.deepStrictEqual<unknown>(ToldSchema.ofTool(Tool.dynamic("look", { parameters })), told)
  })

  it("are no others where the tool's schema refuses them, also with a name", () => {
    const other = Schema.String.check(Schema.makeFilter((name) => name !== "city"))
    const closed = Schema.StructWithRest(Schema.Struct({ city: Schema.String }), [Schema.Record(other, Schema.Never)])
    const tools = [closed, closed.annotate({ identifier: "Place" })].map((parameters) =>
      Tool.make("look", { parameters })
    )
    const expected = { ...city, additionalProperties: false }
    assert.deepStrictEqual<unknown>(tools.map(ToldSchema.ofTool), [expected, expected])
  })
})
