/** An agent's output schema in the request: what is sent, in which mode, and what happens when a server refuses it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as LanguageModelOpenAi from "../../src/layers/LanguageModelOpenAi.ts"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
import * as ResponseFormat from "../../src/layers/provider/ResponseFormat.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import type * as Model from "../../src/services/Model.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as TestAgent from "../support/TestAgent.ts"

const Total = Schema.Struct({ total: Schema.Finite, currency: Schema.NullOr(Schema.String) })
const says = (text: string) => OpenAi.events(OpenAi.data(OpenAi.delta({ content: text }), OpenAi.finish("stop")))
const total = says("{\"total\":3,\"currency\":null}")
const works = OpenAi.events(OpenAi.data(
  OpenAi.toolCalls({ index: 0, id: "a", function: { name: "work", arguments: "{\"n\":1}" } }),
  OpenAi.finish("tool_calls")
))

/** An agent with an output, and tools, over a server. */
const typed = Effect.fnUntraced(function*(
  replies: ReadonlyArray<OpenAi.Reply>,
  options: Partial<LanguageModelOpenAi.Options> = { structuredOutput: true },
  output: Model.Output["schema"] = Total
) {
  const server = yield* OpenAi.make(...replies)
  const handler = () => Effect.succeed("done")
  const context = yield* Layer.build(Layer.mergeAll(
    Fiberloop.layer,
    SessionStoreMemory.layer,
    ModelLanguageModel.layer.pipe(Layer.provide(OpenAi.model(server, options))),
    TestAgent.kit.toLayer({ work: handler, look: handler, again: handler })
  ))
  const agent = yield* Agent.make({
    name: "app/Sum",
    instructions: "Add.",
    toolkit: TestAgent.kit,
    output
  }).pipe(Effect.provide(context))
  return { agent, server }
})

const formats = (server: OpenAi.Server) => server.requests.map(({ body }) => body.response_format)

describe("an agent's output schema", () => {
  it.effect("is the same response format in every request of its run, with tools and after a wrong answer", () =>
    Effect.gen(function*() {
      const { agent, server } = yield* typed([works, says("three"), total])
      const result = yield* agent.run({ input: "1 + 2" })
      assert.deepStrictEqual(result._tag === "Completed" ? result.output : result._tag, { total: 3, currency: null })
      assert.deepStrictEqual(server.requests.map(({ body }) => body.tools.length), [3, 3, 3])
      const [first, ...others] = formats(server).map((format) => JSON.stringify(format))
      assert.deepStrictEqual(others, [first, first])
      assert.deepStrictEqual(formats(server)[0], {
        type: "json_schema",
        json_schema: {
          name: "app_Sum",
          strict: true,
          schema: {
            type: "object",
            properties: { total: { type: "number" }, currency: { anyOf: [{ type: "string" }, { type: "null" }] } },
            required: ["total", "currency"],
            additionalProperties: false
          }
        }
      })
    }))

  it.effect.each<readonly [string, Model.Output["schema"], object, Schema.Json]>([
    ["literals", Schema.Literals(["sunny", "rainy"]), { type: "string", enum: ["sunny", "rainy"] }, "sunny"],
    ["a list", Schema.Array(Schema.String), { type: "array", items: { type: "string" } }, ["sunny"]],
    [
      "a union",
      Schema.Union([Schema.Struct({ at: Schema.Finite }), Schema.Null]),
      {
        anyOf: [
          {
            type: "object",
            properties: { at: { type: "number" } },
            required: ["at"],
            additionalProperties: false
          },
          { type: "null" }
        ]
      },
      { at: 4 }
    ]
  ])("that is not one of objects is sent as that of a member of one, which the output is taken from: %s", (
    [, output, member, answer]
  ) =>
    Effect.gen(function*() {
      const { agent, server } = yield* typed([works, says(JSON.stringify({ result: answer }))], undefined, output)
      const result = yield* agent.run({ input: "go" })
      assert.deepStrictEqual<unknown>(result._tag === "Completed" ? result.output : result._tag, answer)
      const schema = {
        type: "object",
        properties: { result: member },
        required: ["result"],
        additionalProperties: false
      }
      const format = { type: "json_schema", json_schema: { name: "app_Sum", strict: true, schema } }
      assert.deepStrictEqual(formats(server), [format, format])
      assert.include(server.requests[0]?.body.messages[0].content, "\"required\":[\"result\"]")
    }))

  it.effect("is also described by a system message that is the same each time", () =>
    Effect.gen(function*() {
      const { agent, server } = yield* typed([works, total])
      yield* agent.run({ input: "1 + 2" })
      const [first, second] = server.requests.map(({ body }) => body.messages[0])
      assert.include(first.content, "\"total\"")
      assert.deepStrictEqual(first, second)
    }))

  it.effect("is described in words only unless the server is said to know the field", () =>
    Effect.gen(function*() {
      const { agent, server } = yield* typed([total], {})
      yield* agent.run({ input: "1 + 2" })
      assert.deepStrictEqual(formats(server), [undefined])
      assert.include(server.requests[0]?.body.messages[0].content, "\"total\"")
    }))

  it.effect("is absent from the requests of an agent without one", () =>
    Effect.gen(function*() {
      const { server } = yield* typed([total])
      const context = yield* Layer.build(Layer.mergeAll(
        Fiberloop.layer,
        SessionStoreMemory.layer,
        ModelLanguageModel.layer.pipe(Layer.provide(OpenAi.model(server, { structuredOutput: true })))
      ))
      const plain = yield* Effect.provide(Agent.make({ instructions: "Add." }), context)
      yield* plain.run({ input: "1 + 2" })
      assert.notProperty(server.requests[0]?.body, "response_format")
    }))
})

describe("a server that refuses the field", () => {
  const refused = {
    error: {
      message: "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
      type: "invalid_request_error",
      param: null
    }
  }
  const refusal = OpenAi.status(400, refused)

  it.effect.each<readonly [string, OpenAi.Reply]>([
    ["with a status", refusal],
    ["in the first event of a 200", OpenAi.events(": OPENROUTER PROCESSING\n\n", OpenAi.data(refused))],
    ["in a document with status 200", OpenAi.status(200, refused)]
  ])("is asked once more without it, then never with it again: %s", ([, refusal]) =>
    Effect.gen(function*() {
      const { agent, server } = yield* typed([refusal, works, total])
      const result = yield* agent.run({ input: "1 + 2" })
      assert.strictEqual(result._tag, "Completed")
      assert.deepStrictEqual(formats(server).map((format) => format !== undefined), [true, false, false])
    }))

  it.effect("is recognised though the conversation names the field, and one that only quotes it is still sent the field", () =>
    Effect.gen(function*() {
      const input = "response_format"
      const { agent, server } = yield* typed([refusal, works, total])
      assert.strictEqual((yield* agent.run({ input }))._tag, "Completed")
      assert.strictEqual(server.requests.length, 3)
      const quoting = OpenAi.status(400, { error: { message: `Invalid content: ${input}` } })
      const other = yield* typed([quoting, quoting, works, total])
      const error = yield* Effect.flip(other.agent.run({ input }))
      assert.strictEqual(error.message.includes(input), false)
      assert.strictEqual((yield* other.agent.run({ input }))._tag, "Completed")
      assert.deepStrictEqual(formats(other.server).map((format) => format !== undefined), [true, false, true, true])
    }))

  it.effect("is not asked once more when it refuses the request for another reason", () =>
    Effect.gen(function*() {
      const { agent, server } = yield* typed([OpenAi.status(400, { error: { message: "model is blank" } })])
      const error = yield* Effect.flip(agent.run({ input: "1 + 2" }))
      assert.strictEqual(error.reason._tag, "InvalidRequest")
      assert.strictEqual(server.requests.length, 1)
    }))
})

describe("by default the field is sent", () => {
  const formatAt = Effect.fnUntraced(function*(baseUrl: string, structuredOutput?: boolean) {
    const bodies: Array<any> = []
    const fetch: typeof globalThis.fetch = async (_, init) => {
      bodies.push(JSON.parse(new TextDecoder().decode(init?.body as Uint8Array)))
      return new Response(total.pieces.join(""), { headers: total.headers })
    }
    const context = yield* Layer.build(Layer.mergeAll(
      Fiberloop.layer,
      SessionStoreMemory.layer,
      ModelLanguageModel.layer.pipe(
        Layer.provide(
          LanguageModelOpenAi.layer({ model: "m-1", baseUrl, apiKey: Redacted.make("sk-none"), structuredOutput })
        ),
        Layer.provide(FetchHttpClient.layer),
        Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetch))
      )
    ))
    const agent = yield* Effect.provide(Agent.make({ instructions: "Add.", output: Total }), context)
    yield* agent.run({ input: "1 + 2" })
    return bodies[0].response_format?.type
  })

  it.effect("to OpenAI's own server", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* formatAt("https://api.openai.com/v1"), "json_schema")
    }))

  it.effect("neither to another server nor when the layer says no", () =>
    Effect.gen(function*() {
      assert.isUndefined(yield* formatAt("http://localhost:11434/v1"))
      assert.isUndefined(yield* formatAt("https://api.openai.com/v1", false))
    }))
})

describe("a schema is sent", () => {
  const modeOf = (schema: Model.Output["schema"]) => {
    const format = ResponseFormat.ofAnswer({ name: "n", schema })
    return format === undefined ? "not at all" : format.json_schema.strict ? "strict" : "as it is"
  }

  class Trip extends Schema.Class<Trip>("a/trip ~ of one")({ to: Schema.optionalKey(Schema.String) }) {}
  class Place extends Schema.Class<Place>("Place")({ city: Schema.NonEmptyString, at: Schema.Array(Schema.Int) }) {}

  it.each<readonly [string, Model.Output["schema"], string]>([
    ["strictly when all properties are required", Total, "strict"],
    ["strictly when it is a class", Schema.toCodecJson(Place), "strict"],
    [
      "strictly when it has a union below the root",
      Schema.Struct({ a: Schema.Union([Total, Schema.Literal("none")]) }),
      "strict"
    ],
    [
      "without strict mode when it has an optional property",
      Schema.Struct({ a: Schema.optionalKey(Schema.String) }),
      "as it is"
    ],
    ["without strict mode when it is a class with an optional property", Schema.toCodecJson(Trip), "as it is"],
    ["without strict mode when it has a tuple", Schema.Struct({ a: Schema.Tuple([Schema.String]) }), "as it is"],
    [
      "without strict mode when it has a record",
      Schema.Struct({ a: Schema.Record(Schema.String, Schema.Finite) }),
      "as it is"
    ],
    [
      "without strict mode when it has a record of anything",
      Schema.Struct({ a: Schema.Record(Schema.String, Schema.Json) }),
      "as it is"
    ],
    [
      "without strict mode when it has a record of some names",
      Schema.Struct({ a: Schema.Record(Schema.String.check(Schema.isPattern(/^x-/)), Schema.String) }),
      "as it is"
    ],
    [
      "without strict mode when it has an object that takes no others",
      Schema.Struct({
        a: Schema.StructWithRest(Schema.Struct({ b: Schema.String }), [Schema.Record(Schema.String, Schema.Never)])
      }),
      "as it is"
    ],
    ["without strict mode when it has what may be anything", Schema.Struct({ a: Schema.Json }), "as it is"],
    ["not at all when it is a number", Schema.Finite, "not at all"],
    ["not at all when it is a list", Schema.Array(Total), "not at all"],
    [
      "not at all when it is a list of objects with an optional property",
      Schema.Array(Schema.Struct({ a: Schema.optionalKey(Total) })),
      "not at all"
    ],
    ["not at all when it is a union", Schema.Union([Total, Schema.Struct({ error: Schema.String })]), "not at all"]
  ])("%s", (_, schema, mode) => {
    assert.strictEqual(modeOf(schema), mode)
  })
})

describe("a schema that is sent as it is", () => {
  const sent = (schema: Model.Output["schema"]): any =>
    ResponseFormat.ofAnswer({ name: "n", schema: Schema.Struct({ at: Schema.optionalKey(Schema.String), schema }) })
      ?.json_schema.schema.properties
  const text = { type: "string" }
  const one = { type: "object", properties: { a: text }, additionalProperties: false }

  it.each<readonly [string, Model.Output["schema"], unknown]>([
    ["an object", Schema.Struct({ a: Schema.optionalKey(Schema.String) }), one],
    [
      "the objects of a union",
      Schema.Union([Schema.Struct({ a: Schema.optionalKey(Schema.String) }), Schema.Struct({ b: Schema.String })]),
      { anyOf: [one, { ...one, properties: { b: text }, required: ["b"] }] }
    ],
    ["the objects of a list", Schema.Array(Schema.Struct({ a: Schema.optionalKey(Schema.String) })), {
      type: "array",
      items: one
    }],
    [
      "an object with a property that is named like a part of a schema",
      Schema.Struct({ properties: Schema.optionalKey(Schema.String) }),
      { ...one, properties: { properties: text } }
    ]
  ])("has no other properties in %s", (_, schema, expected) => {
    assert.deepStrictEqual(sent(schema).schema, expected)
  })

  it.each<readonly [string, Model.Output["schema"], unknown]>([
    ["a record", Schema.Record(Schema.String, Schema.String), { type: "object", additionalProperties: text }],
    ["a record of anything", Schema.Record(Schema.String, Schema.Json), { type: "object" }],
    [
      "an object with a rest",
      Schema.StructWithRest(Schema.Struct({ a: Schema.String }), [
        Schema.Record(Schema.String, Schema.String)
      ]),
      {
        type: "object",
        properties: { a: text },
        required: ["a"],
        allOf: [{ type: "object", additionalProperties: text }]
      }
    ]
  ])("keeps the other properties of %s", (_, schema, expected) => {
    assert.deepStrictEqual(sent(schema).schema, expected)
  })

  it("is one of an object at its root, also where that has a name and is inside itself", () => {
    interface Tree {
      readonly kids?: ReadonlyArray<Tree>
    }
    const Tree = Schema.Struct({
      kids: Schema.optionalKey(Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree)))
    }).annotate({ identifier: "a/tree ~ of kids" })
    const { $defs, ...root } = ResponseFormat.ofAnswer({ name: "n", schema: Tree })!.json_schema.schema
    const kids = { type: "array", items: { $ref: "#/$defs/a~1tree%20~0%20of%20kids" } }
    assert.deepStrictEqual(root, { type: "object", properties: { kids }, additionalProperties: false })
    assert.deepStrictEqual($defs, { "a/tree ~ of kids": root })
  })

  it("has no other properties in an object that it names", () => {
    interface Tree {
      readonly kids?: ReadonlyArray<Tree>
    }
    const Tree = Schema.Struct({
      kids: Schema.optionalKey(Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree)))
    }).annotate({ identifier: "Tree" })
    const schema = ResponseFormat.ofAnswer({ name: "n", schema: Schema.Struct({ tree: Tree }) })?.json_schema.schema
    assert.deepInclude(schema?.$defs, {
      Tree: {
        type: "object",
        properties: { kids: { type: "array", items: { $ref: "#/$defs/Tree" } } },
        additionalProperties: false
      }
    })
  })
})

it("an answer has the name that it was asked for under, also where another has its schema", () => {
  const schema = Schema.Struct({ n: Schema.Finite })
  const names = ["one", "two"].map((name) => ResponseFormat.ofAnswer({ name, schema })?.json_schema.name)
  assert.deepStrictEqual(names, ["one", "two"])
})
