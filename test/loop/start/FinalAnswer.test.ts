/** What the model is told about the wanted answer, before it gives one and after a wrong one. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as FinalAnswer from "../../../src/loop/start/FinalAnswer.ts"

const asJsonSchema = (schema: Schema.Constraint) => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(schema)
  return Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions }
}

const total = FinalAnswer.make(Schema.Struct({ total: Schema.Finite }))

describe("the system message", () => {
  it("is the instructions, or empty if these are blank", () => {
    assert.strictEqual(FinalAnswer.systemText(" Add.\n", undefined), " Add.\n")
    assert.strictEqual(FinalAnswer.systemText(" \n", undefined), "")
  })

  it("asks for the schema after the instructions, or alone if these are blank", () => {
    const alone = FinalAnswer.systemText(" \n", total)
    assert.include(alone, total.schema)
    assert.strictEqual(alone, alone.trim())
    assert.strictEqual(FinalAnswer.systemText("Add.", total), `Add.\n\n${alone}`)
  })
})

describe("an answer whose schema is not one of objects", () => {
  type Output = Parameters<typeof FinalAnswer.make>[0]
  const weather = FinalAnswer.make(Schema.Literals(["sunny", "rainy"]))
  const asked = (schema: Output) => JSON.parse(FinalAnswer.make(schema).schema)
  const Refund = Schema.Struct({ result: Schema.String })
  const Refusal = Schema.Struct({ why: Schema.optionalKey(Schema.String) })

  it.each<readonly [string, Output, object]>([
    ["literals", Schema.Literals(["a", "b"]), { type: "string", enum: ["a", "b"] }],
    ["a list", Schema.Array(Schema.Finite), { type: "array", items: { type: "number" } }],
    ["a list that is defined later", Schema.suspend(() => Schema.Array(Schema.Finite)), {
      type: "array",
      items: { type: "number" }
    }],
    ["a text", Schema.String, { type: "string" }],
    ["a date", Schema.Date, { type: "string" }],
    ["an object or null", Schema.NullOr(Schema.Record(Schema.String, Schema.Finite)), {
      anyOf: [{ type: "object", additionalProperties: { type: "number" } }, { type: "null" }]
    }]
  ])("is asked for as a member of an object: %s", (_, schema, expected) => {
    assert.deepStrictEqual(asked(schema), {
      type: "object",
      properties: { result: expected },
      required: ["result"],
      additionalProperties: true
    })
  })

  it("is asked for as a member that none of the schema's own objects has", () => {
    const { properties, required } = asked(Schema.Union([Refund, Refusal]))
    assert.deepStrictEqual([Object.keys(properties), required], [["result_"], ["result_"]])
  })

  it.each<readonly [string, Output]>([
    ["a struct", Refund],
    ["a class", Schema.Class<object>("Refund")({ result: Schema.String })],
    ["a record", Schema.Record(Schema.String, Schema.String)],
    ["any JSON", Schema.Json],
    ["any object", Schema.ObjectKeyword],
    ["any object or null", Schema.NullOr(Schema.ObjectKeyword)],
    ["anything", Schema.Unknown]
  ])("is no answer of %s, which is asked for as it is", (_, schema) => {
    assert.deepStrictEqual(asked(schema), JSON.parse(JSON.stringify(asJsonSchema(schema))))
  })

  it("is what the object holds, or came without it, as in logs of before", () => {
    for (const text of ["{\"result\":\"rainy\"}", "\"rainy\"", "```json\n{\"result\": \"rainy\"}\n```"]) {
      assert.strictEqual(weather.decode(text), "rainy")
    }
    const refund = FinalAnswer.make(Schema.Union([Refund, Refusal]))
    for (const text of ["{\"result\":\"7 EUR\"}", "{\"result_\":{\"result\":\"7 EUR\"}}"]) {
      assert.deepStrictEqual(refund.decode(text), { result: "7 EUR" })
    }
    for (const text of ["{}", "{\"result_\":{}}"]) assert.deepStrictEqual(refund.decode(text), {})
  })

  const Numbers = Schema.Record(Schema.String, Schema.Finite)
  const Kinds = Schema.Union([
    Schema.Struct({ kind: Schema.Literal("a"), x: Schema.Finite }),
    Schema.Struct({ kind: Schema.Literal("b") })
  ])

  it.each<readonly [string, Output, string, unknown]>([
    ["beside others", Kinds, "{\"kind\":\"a\",\"x\":1,\"result\":\"checked twice\"}", { kind: "a", x: 1 }],
    [
      "of a record",
      Schema.NullOr(Schema.Record(Schema.String, Schema.Json)),
      "{\"query\":\"q\",\"result\":{\"n\":1}}",
      {
        query: "q",
        result: { n: 1 }
      }
    ],
    ["of a record of another type", Schema.Union([Numbers, Schema.String]), "{\"result\":5,\"b\":1}", {
      result: 5,
      b: 1
    }],
    ["alone in a record", Schema.NullOr(Numbers), "{\"result\":5}", { result: 5 }]
  ])("may have a member of the object's name itself: %s", (_, schema, text, expected) => {
    assert.deepStrictEqual(FinalAnswer.make(schema).decode(text), expected)
  })

  it("is what the object holds, also beside other members, where it does not fit without the object", () => {
    assert.strictEqual(weather.decode("{\"note\":\"hmm\",\"result\":\"rainy\"}"), "rainy")
    const kinds = FinalAnswer.make(Kinds)
    assert.deepStrictEqual(kinds.decode("{\"note\":\"hmm\",\"result\":{\"kind\":\"b\"}}"), { kind: "b" })
    assert.deepStrictEqual(
      FinalAnswer.make(Schema.NullOr(Schema.Record(Schema.String, Schema.Json))).decode("{\"result\":{}}"),
      {}
    )
  })

  it("that fits neither in the object nor without it is told what is wrong in the object", () => {
    const numbers = FinalAnswer.make(Schema.NullOr(Numbers))
    for (const text of ["{\"result\":{\"n\":\"x\"}}", "{\"result\":{\"n\":\"x\"},\"b\":1}"]) {
      assert.match(FinalAnswer.problem(numbers, text)!, /at \["n"\]/)
    }
    assert.match(FinalAnswer.problem(numbers, "{\"b\":\"x\"}")!, /at \["b"\]/)
  })

  it("is decoded as its schema says", () => {
    const days = FinalAnswer.make(Schema.Array(Schema.Date))
    assert.deepStrictEqual(days.decode("{\"result\":[\"2026-01-02T00:00:00.000Z\"]}"), [new Date("2026-01-02")])
  })

  it("that does not fit is told so, in the object or without it", () => {
    for (const text of ["{\"result\":\"cloudy\"}", "\"cloudy\"", "{}", "{\"weather\":\"rainy\"}", "null"]) {
      assert.match(FinalAnswer.problem(weather, text)!, /"sunny" \| "rainy"/)
    }
    assert.include(FinalAnswer.problem(weather, "cloudy"), "JSON")
  })
})

describe("what is wrong with an answer", () => {
  it("names what is missing, and is nothing for an answer that fits", () => {
    assert.include(FinalAnswer.problem(total, "{\"sum\":3}"), "total")
    assert.isUndefined(FinalAnswer.problem(total, "{\"total\":3}"))
  })
})
