/** An agent's output schema over the AI SDK: what each provider is sent, and what happens when one refuses it. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createGoogle } from "@ai-sdk/google"
import { createOpenAI } from "@ai-sdk/openai"
import type { LanguageModelV4 } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import type * as Model from "../../src/services/Model.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as TestAgent from "../support/TestAgent.ts"

const Total = Schema.Struct({ total: Schema.Finite, currency: Schema.NullOr(Schema.String) })
const total = "{\"total\":3,\"currency\":null}"

/** A provider as a test needs it: its model, its answers, and where its requests have the format. */
interface Provider {
  readonly make: (server: Pick<OpenAi.Server, "baseUrl">) => LanguageModelV4
  readonly says: (text: string) => OpenAi.Reply
  readonly works: OpenAi.Reply
  readonly format: (body: any) => unknown
  readonly tools: (body: any) => number
}

const claude: Provider = {
  make: (server) => Sdk.anthropic(server, "claude-sonnet-4-5"),
  says: (text) => Sdk.message("end_turn", Sdk.says(0, text)),
  works: Sdk.message("tool_use", Sdk.calls(0, "toolu_1", "work", "{\"n\":1}")),
  format: ({ output_config }) => output_config?.format,
  tools: ({ tools }) => tools.length
}

const gemini: Provider = {
  make: (server) => Sdk.google(server, "gemini-3-pro-preview"),
  says: (text) => OpenAi.events(OpenAi.data(Sdk.chunk([{ text }], { finishReason: "STOP" }))),
  works: OpenAi.events(OpenAi.data(
    Sdk.chunk([{ functionCall: { name: "work", args: { n: 1 } } }], { finishReason: "STOP" })
  )),
  format: ({ generationConfig: { responseJsonSchema, responseMimeType } }) =>
    responseMimeType === undefined ? undefined : { type: responseMimeType, schema: responseJsonSchema },
  tools: ({ tools }) => tools[0].functionDeclarations.length
}

const gpt: Provider = {
  make: (server) => Sdk.responses(server, "gpt-5"),
  says: (text) => OpenAi.events(Sdk.named(Sdk.created, ...Sdk.writes(0, text), Sdk.completed())),
  works: OpenAi.events(Sdk.named(Sdk.created, ...Sdk.asks(0, "work", "{\"n\":1}"), Sdk.completed())),
  format: ({ text }) => text?.format,
  tools: ({ tools }) => tools.length
}

/** An agent with an output, and tools, over a model. */
const agentOver = Effect.fnUntraced(function*(
  options: ModelAiSdk.Options,
  output: Model.Output["schema"] = Total
) {
  const handler = () => Effect.succeed("done")
  const context = yield* Layer.build(Layer.mergeAll(
    Fiberloop.layer,
    SessionStoreMemory.layer,
    ModelAiSdk.layer(options),
    TestAgent.kit.toLayer({ work: handler, look: handler, again: handler })
  ))
  return yield* Agent.make({ name: "app/Sum", instructions: "Add.", toolkit: TestAgent.kit, output }).pipe(
    Effect.provide(context)
  )
})

const typed = Effect.fnUntraced(function*(
  { make }: Provider,
  replies: ReadonlyArray<OpenAi.Reply>,
  output?: Model.Output["schema"]
) {
  const server = yield* OpenAi.make(...replies)
  const agent = yield* agentOver({ model: make(server), structuredOutput: true }, output)
  return { agent, server }
})

const strictSchema = {
  type: "object",
  properties: { total: { type: "number" }, currency: { anyOf: [{ type: "string" }, { type: "null" }] } },
  required: ["total", "currency"],
  additionalProperties: false
}

describe.each<readonly [string, Provider, object]>([
  ["Claude", claude, { type: "json_schema", schema: strictSchema }],
  ["Gemini", gemini, { type: "application/json", schema: strictSchema }],
  ["GPT", gpt, { type: "json_schema", name: "app_Sum", strict: true, schema: strictSchema }]
])("an agent's output schema, sent to %s,", (_, provider, expected) => {
  it.effect("is in every request of its run, with tools and after a wrong answer", () =>
    Effect.gen(function*() {
      const { agent, server } = yield* typed(provider, [provider.works, provider.says("three"), provider.says(total)])
      const result = yield* agent.run({ input: "1 + 2" })
      assert.deepStrictEqual(result._tag === "Completed" ? result.output : result._tag, { total: 3, currency: null })
      assert.deepStrictEqual(server.requests.map(({ body }) => provider.tools(body)), [3, 3, 3])
      const formats = server.requests.map(({ body }) => provider.format(body))
      assert.deepStrictEqual(formats, [expected, expected, expected])
    }))

  it.effect("is one of objects where its own is not, and the output is what such an object holds", () =>
    Effect.gen(function*() {
      const output = Schema.Literals(["sunny", "rainy"])
      const { agent, server } = yield* typed(
        provider,
        [provider.works, provider.says("{\"result\":\"rainy\"}")],
        output
      )
      const result = yield* agent.run({ input: "go" })
      assert.strictEqual(result._tag === "Completed" ? result.output : result._tag, "rainy")
      const schema = {
        type: "object",
        properties: { result: { type: "string", enum: ["sunny", "rainy"] } },
        required: ["result"],
        additionalProperties: false
      }
      const formats = server.requests.map(({ body }) => provider.format(body))
      assert.deepStrictEqual<unknown>(formats, Array(2).fill({ ...expected, schema }))
    }))
})

it.effect("a schema that OpenAI's strict mode cannot express is sent without strict mode", () =>
  Effect.gen(function*() {
    const output = Schema.Struct({ a: Schema.optionalKey(Schema.String) })
    const { agent, server } = yield* typed(gpt, [gpt.says("{}")], output)
    assert.strictEqual((yield* agent.run({ input: "go" }))._tag, "Completed")
    const format = gpt.format(server.requests[0]?.body)
    assert.deepInclude(format, { type: "json_schema", strict: false })
  }))

it.effect("a schema with an optional property leaves Claude free to call tools or none", () =>
  Effect.gen(function*() {
    const output = Schema.Struct({ a: Schema.String, b: Schema.optionalKey(Schema.Struct({ c: Schema.String })) })
    const { agent, server } = yield* typed(claude, [claude.works, claude.says("{\"a\":\"x\"}")], output)
    assert.strictEqual((yield* agent.run({ input: "go" }))._tag, "Completed")
    const asked = server.requests.map(({ body }) => [body.tool_choice, claude.tools(body), claude.format(body)])
    const format = {
      type: "json_schema",
      schema: {
        type: "object",
        properties: {
          a: { type: "string" },
          b: {
            type: "object",
            properties: { c: { type: "string" } },
            required: ["c"],
            additionalProperties: false
          }
        },
        required: ["a"],
        additionalProperties: false
      }
    }
    assert.deepStrictEqual(asked, Array(2).fill([{ type: "auto" }, 3, format]))
  }))

describe("a server that refuses the format", () => {
  const googles = {
    error: {
      code: 400,
      status: "INVALID_ARGUMENT",
      message: "Function calling with a response mime type: 'application/json' is unsupported"
    }
  }
  const refusals: ReadonlyArray<readonly [string, Provider, OpenAi.Reply]> = [
    [
      "Anthropic",
      claude,
      OpenAi.status(400, Sdk.apiError("invalid_request_error", "output_config.format: Extra inputs are not permitted"))
    ],
    ["Google", gemini, OpenAi.status(400, googles)],
    ["Google, in the first event of a 200", gemini, OpenAi.events(OpenAi.data(googles))],
    [
      "OpenAI",
      gpt,
      OpenAi.status(400, {
        error: {
          message: "Invalid schema for response_format 'app_Sum'",
          type: "invalid_request_error",
          param: "text.format"
        }
      })
    ]
  ]

  it.effect.each(refusals)(
    "is asked once more without it, then never with it again: %s",
    ([, provider, refusal]) =>
      Effect.gen(function*() {
        const { agent, server } = yield* typed(provider, [refusal, provider.works, provider.says(total)])
        assert.strictEqual((yield* agent.run({ input: "1 + 2" }))._tag, "Completed")
        const formats = server.requests.map(({ body }) => provider.format(body))
        assert.deepStrictEqual(formats.map((format) => format !== undefined), [true, false, false])
      })
  )

  it.effect("is not asked once more when it refuses the request for another reason", () =>
    Effect.gen(function*() {
      const refusal = OpenAi.status(400, Sdk.apiError("invalid_request_error", "messages: roles must alternate"))
      const { agent, server } = yield* typed(claude, [refusal])
      const { reason } = yield* Effect.flip(agent.run({ input: "1 + 2" }))
      assert.deepStrictEqual([reason._tag, server.requests.length], ["InvalidRequest", 1])
    }))
})

describe("by default the format is sent", () => {
  /** Whether the first request to a model with this `fetch` has the format. */
  const isSent = Effect.fnUntraced(function*(
    { format, says }: Provider,
    make: (fetch: typeof globalThis.fetch) => LanguageModelV4,
    structuredOutput?: boolean
  ) {
    const bodies: Array<any> = []
    const { headers, pieces } = says(total)
    const model = make(async (_, init) => {
      bodies.push(JSON.parse(init?.body as string))
      return new Response(pieces.join(""), { headers })
    })
    yield* (yield* agentOver({ model, structuredOutput })).run({ input: "1 + 2" })
    return format(bodies[0]) !== undefined
  })

  const apiKey = Sdk.key
  const own: ReadonlyArray<readonly [string, Provider, (fetch: typeof globalThis.fetch) => LanguageModelV4]> = [
    ["Anthropic", claude, (fetch) => createAnthropic({ apiKey, fetch })("claude-sonnet-4-5")],
    ["Google", gemini, (fetch) => createGoogle({ apiKey, fetch })("gemini-3-pro-preview")],
    ["OpenAI", gpt, (fetch) => createOpenAI({ apiKey, fetch }).responses("gpt-5")]
  ]

  it.effect.each(own)("to %s's own server, unless the layer says no", ([, provider, make]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual([yield* isSent(provider, make), yield* isSent(provider, make, false)], [true, false])
    }))

  it.effect("to no other server", () =>
    Effect.gen(function*() {
      const baseURL = "http://localhost:4000/v1"
      const make = (fetch: typeof globalThis.fetch) => createAnthropic({ apiKey, baseURL, fetch })("claude-sonnet-4-5")
      assert.isFalse(yield* isSent(claude, make))
    }))
})
