/** What Anthropic and Google are sent through their AI SDK packages: messages, signatures, tools, settings. */
import { createAnthropic } from "@ai-sdk/anthropic"
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { LanguageModel, Prompt, Tool, Toolkit } from "effect/ai"
import * as Messages from "../../src/layers/aisdk/Messages.ts"
import * as LanguageModelAiSdk from "../../src/layers/LanguageModelAiSdk.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"

const claude = Sdk.message("end_turn", Sdk.says(0, "Hi"))
const gemini = OpenAi.events(OpenAi.data(Sdk.chunk([{ text: "Hi" }], { finishReason: "STOP" })))

/** The body of the request that a call becomes. */
const askClaude = (call: OpenAi.Call, options?: LanguageModelAiSdk.Options) =>
  Effect.map(Sdk.answer(Sdk.anthropic, claude, call, options), ({ error, request }) => {
    assert.isUndefined(error)
    return request
  })

const askGemini = (call: OpenAi.Call, make: Sdk.Maker = Sdk.google) =>
  Effect.map(Sdk.answer(make, gemini, call), ({ error, request }) => {
    assert.isUndefined(error)
    return request
  })

const gpt = OpenAi.events(Sdk.named(Sdk.created, ...Sdk.writes(0, "Hi"), Sdk.completed()))

const askGpt = (call: OpenAi.Call) =>
  Effect.map(Sdk.answer(Sdk.responses, gpt, call), ({ error, request }) => {
    assert.isUndefined(error)
    return request
  })

const user = Prompt.userMessage({ content: [Prompt.textPart({ text: "hello" })] })
const prompt = (...messages: ReadonlyArray<Prompt.Message>) => Prompt.fromMessages([user, ...messages])

/** The conversation up to an answer that used a tool, and its result. */
const answered = Effect.fnUntraced(function*(make: Sdk.Maker, reply: OpenAi.Reply) {
  const { parts } = yield* Sdk.answer(make, reply)
  const result = Prompt.toolResultPart({
    id: OpenAi.calls(parts)[0]?.id ?? "",
    name: "look",
    result: "seen",
    isFailure: false,
    providerExecuted: false
  })
  const results = Prompt.fromMessages([Prompt.toolMessage({ content: [result] })])
  return Prompt.concat(Prompt.concat(prompt(), Prompt.fromResponseParts(parts)), results)
})

describe("what a model signed goes back unedited", () => {
  const thought = Sdk.message(
    "tool_use",
    Sdk.thinks(0, "hm", "SIG"),
    Sdk.block(1, { type: "redacted_thinking", data: "RED" }),
    Sdk.calls(2, "toolu_1", "look", "{\"n\":1}")
  )
  // The hyphen keeps it apart from the ids of calls, which are random letters and digits.
  const signature = "signed-thought"
  const signed = OpenAi.events(OpenAi.data(Sdk.chunk(
    [{ functionCall: { name: "look", args: { n: 1 } }, thoughtSignature: signature }],
    { finishReason: "STOP" }
  )))

  it.effect("to Claude", () =>
    Effect.gen(function*() {
      const { messages } = yield* askClaude({ prompt: yield* answered(Sdk.anthropic, thought) })
      assert.deepStrictEqual(messages[1].content, [
        { type: "thinking", thinking: "hm", signature: "SIG" },
        { type: "redacted_thinking", data: "RED" },
        { type: "tool_use", id: "toolu_1", name: "look", input: { n: 1 } }
      ])
      assert.deepInclude(messages[2].content[0], { type: "tool_result", tool_use_id: "toolu_1", content: "seen" })
    }))

  it.effect("to Gemini", () =>
    Effect.gen(function*() {
      const { contents } = yield* askGemini({ prompt: yield* answered(Sdk.google, signed) })
      assert.strictEqual(contents[1].parts[0].thoughtSignature, signature)
      assert.deepStrictEqual(contents[2].parts[0].functionResponse.name, "look")
    }))

  it.effect("but not to another model", () =>
    Effect.gen(function*() {
      const other: Sdk.Maker = (server) => Sdk.google(server, "gemini-y")
      const { contents } = yield* askGemini({ prompt: yield* answered(Sdk.google, signed) }, other)
      assert.strictEqual(contents[1].parts[0].functionCall.name, "look")
      assert.notInclude(JSON.stringify(contents), signature)
    }))
})

it.effect("the result of a provider's own tool goes back as the original JSON", () =>
  Effect.gen(function*() {
    const found = { type: "web_search_result", url: "https://a.test/", title: "A", page_age: null }
    const toolkit = yield* Toolkit.make(Sdk.WebSearch({ maxUses: 2 }))
    const reply = Sdk.message(
      "end_turn",
      Sdk.block(0, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "a" } }),
      Sdk.block(1, {
        type: "web_search_tool_result",
        tool_use_id: "srvtoolu_1",
        content: [{ ...found, encrypted_content: "ENC" }]
      }),
      Sdk.says(2, "A")
    )
    const { parts } = yield* Sdk.answer(Sdk.anthropic, reply, { toolkit })
    const said = Prompt.concat(prompt(), Prompt.fromResponseParts(parts))
    const { messages, tools } = yield* askClaude({ prompt: Prompt.concat(said, prompt()), toolkit })
    assert.deepStrictEqual(tools, [{ type: "web_search_20250305", name: "web_search", max_uses: 2 }])
    const [call, result] = messages[1].content
    assert.deepInclude(call, { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "a" } })
    assert.deepInclude(result, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1" })
    assert.include(JSON.stringify(result), "\"encrypted_content\":\"ENC\"")
  }))

it.effect("a text result of a provider's own tool goes back as JSON too", () =>
  Effect.gen(function*() {
    const part = { id: "mcptoolu_1", name: "echo", providerExecuted: true }
    const options = { anthropic: { type: "mcp-tool-use", serverName: "s" } }
    const call = Prompt.toolCallPart({ ...part, params: {}, options })
    const result = Prompt.toolResultPart({ ...part, result: "seen", isFailure: false })
    const { messages } = yield* askClaude({
      prompt: prompt(Prompt.assistantMessage({ content: [call, result] }), user)
    })
    assert.deepStrictEqual(messages[1].content, [
      { type: "mcp_tool_use", id: "mcptoolu_1", name: "echo", input: {}, server_name: "s" },
      { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false, content: "seen" }
    ])
  }))

it.effect("cache markers are sent with messages and parts", () =>
  Effect.gen(function*() {
    const options = { anthropic: { cacheControl: { type: "ephemeral" } } }
    const system = Prompt.systemMessage({ content: "Be brief.", options })
    const parts = [Prompt.textPart({ text: "long", options }), Prompt.textPart({ text: "short" })]
    const call = { id: "toolu_1", name: "look", providerExecuted: false }
    const request = yield* askClaude({
      prompt: Prompt.fromMessages([
        system,
        Prompt.userMessage({ content: parts }),
        Prompt.assistantMessage({ content: [Prompt.toolCallPart({ ...call, params: {} })], options }),
        Prompt.toolMessage({ content: [Prompt.toolResultPart({ ...call, result: "seen", isFailure: false })], options })
      ])
    })
    const marker = { cache_control: { type: "ephemeral" } }
    assert.deepStrictEqual(request.system, [{ type: "text", text: "Be brief.", ...marker }])
    assert.deepStrictEqual(request.messages[0].content, [
      { type: "text", text: "long", ...marker },
      { type: "text", text: "short" }
    ])
    const [asked] = request.messages[1].content
    const [seen] = request.messages[2].content
    assert.deepStrictEqual([asked.cache_control, seen.cache_control], [marker.cache_control, marker.cache_control])
  }))

it("what an application attaches goes along with what a tool shows its model", () => {
  const options = { some: { cache: true } }
  const call = { id: "toolu_1", name: "look", providerExecuted: false }
  const modelOutput = [Prompt.textPart({ text: "long", options }), Prompt.textPart({ text: "short" })]
  const result = Prompt.toolResultPart({ ...call, result: 1, isFailure: false, modelOutput })
  const message = Messages.encode(prompt(Prompt.toolMessage({ content: [result] })), "some/model")
    .find(({ role }) => role === "tool")
  const [seen] = message?.role === "tool" ? message.content : []
  assert.deepStrictEqual(seen?.type === "tool-result" ? seen.output : undefined, {
    type: "content",
    value: [{ type: "text", text: "long", providerOptions: options }, { type: "text", text: "short" }]
  })
})

it.effect.each<readonly [string, Prompt.FilePart["data"], object]>([
  ["bytes", new TextEncoder().encode("hi"), { type: "base64", media_type: "image/png", data: "aGk=" }],
  ["base64", "aGk=", { type: "base64", media_type: "image/png", data: "aGk=" }],
  ["a data URL", new URL("data:image/png;base64,aGk="), { type: "base64", media_type: "image/png", data: "aGk=" }],
  ["a percent-encoded data URL", "data:,h%69", { type: "base64", media_type: "image/png", data: "aGk=" }],
  ["a percent-encoded data URL of binary data", "data:,%FF%00%25%", {
    type: "base64",
    media_type: "image/png",
    data: "/wAlJQ=="
  }],
  ["a percent-encoded data URL in UTF-8", "data:,w%C3%B6", { type: "base64", media_type: "image/png", data: "d8O2" }],
  ["an address", "https://a.test/a.png", { type: "url", url: "https://a.test/a.png" }]
])("a file is sent as %s", ([, data, source]) =>
  Effect.gen(function*() {
    const image = Prompt.filePart({ mediaType: "image/png", data })
    const { messages } = yield* askClaude({ prompt: Prompt.fromMessages([Prompt.userMessage({ content: [image] })]) })
    assert.deepStrictEqual(messages[0].content, [{ type: "image", source }])
  }))

it.effect.each<readonly [string, Partial<Prompt.ToolResultPart>, object]>([
  ["text", { result: "seen" }, { content: "seen" }],
  ["JSON", { result: { n: 1 } }, { content: "{\"n\":1}" }],
  ["a failure", { result: "no", isFailure: true }, { content: "no", is_error: true }],
  ["a failure in JSON", { result: { n: 1 }, isFailure: true }, { content: "{\"n\":1}", is_error: true }],
  [
    "what was made for the model",
    {
      result: 1,
      modelOutput: [Prompt.textPart({ text: "one" }), Prompt.filePart({ mediaType: "image/png", data: "aGk=" })]
    },
    {
      content: [
        { type: "text", text: "one" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } }
      ]
    }
  ]
])("a result is sent as %s", ([, fields, sent]) =>
  Effect.gen(function*() {
    const call = Prompt.toolCallPart({ id: "c1", name: "look", params: {}, providerExecuted: false })
    const result = Prompt.toolResultPart({
      id: "c1",
      name: "look",
      result: "",
      isFailure: false,
      providerExecuted: false,
      ...fields
    })
    const { messages } = yield* askClaude({
      prompt: prompt(Prompt.assistantMessage({ content: [call] }), Prompt.toolMessage({ content: [result] }))
    })
    assert.deepInclude(messages[2].content[0], { type: "tool_result", tool_use_id: "c1", ...sent })
  }))

describe("tools", () => {
  const look = Tool.make("look", { description: "Looks.", parameters: Schema.Struct({ n: Schema.Finite }) })
    .annotate(Tool.Strict, true)
  const go = Tool.make("go", { parameters: Schema.Struct({}) })
  const toolkit = Effect.provide(
    Toolkit.make(look, go),
    Toolkit.make(look, go).toLayer({
      look: () => Effect.void,
      go: () => Effect.void
    })
  )

  it.effect("are sent with name, description and schema", () =>
    Effect.gen(function*() {
      const { tools } = yield* askClaude({ toolkit: yield* toolkit })
      assert.deepStrictEqual(tools.map((tool: any) => [tool.name, tool.description, tool.strict]), [
        ["look", "Looks.", true],
        ["go", undefined, undefined]
      ])
      assert.deepInclude(tools[0].input_schema, { type: "object", required: ["n"] })
    }))

  it.effect("take an object, also where a class has their arguments", () =>
    Effect.gen(function*() {
      class Place extends Schema.Class<Place>("Place")({ city: Schema.String }) {}
      const kit = Toolkit.make(Tool.make("weather", { parameters: Place }))
      const toolkit = yield* Effect.provide(kit, kit.toLayer({ weather: () => Effect.void }))
      const { tools } = yield* askClaude({ toolkit })
      assert.deepStrictEqual(tools[0].input_schema, {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: true
      })
    }))

  it.effect.each<readonly [LanguageModel.ToolChoice<string>, object, ReadonlyArray<string>]>([
    ["auto", { type: "auto" }, ["look", "go"]],
    ["required", { type: "any" }, ["look", "go"]],
    [{ tool: "look" }, { type: "tool", name: "look" }, ["look", "go"]],
    [{ oneOf: ["go"] }, { type: "auto" }, ["go"]],
    [{ mode: "required", oneOf: ["go"] }, { type: "any" }, ["go"]]
  ])("are limited and required by the choice %o", ([toolChoice, choice, names]) =>
    Effect.gen(function*() {
      const request = yield* askClaude({ toolkit: yield* toolkit, toolChoice })
      assert.deepStrictEqual(request.tool_choice, choice)
      assert.deepStrictEqual(request.tools.map(({ name }: any) => name), names)
    }))
})

it.effect("a tool without arguments is sent with a list of none, as OpenAI wants it", () =>
  Effect.gen(function*() {
    const kit = Toolkit.make(Tool.make("go"), Tool.make("come").annotate(Tool.Strict, true))
    const handlers = kit.toLayer({ go: () => Effect.void, come: () => Effect.void })
    const { tools } = yield* askGpt({ toolkit: yield* Effect.provide(kit, handlers) })
    const none = { type: "object", properties: {}, additionalProperties: false }
    assert.deepStrictEqual(tools.map(({ parameters }: any) => parameters), [none, none])
  }))

describe("a strict tool", () => {
  const kitOf = (parameters: Schema.Struct<Schema.Struct.Fields>) => {
    const kit = Toolkit.make(Tool.make("look", { parameters }).annotate(Tool.Strict, true))
    return Effect.provide(kit, kit.toLayer({ look: () => Effect.void }))
  }
  const bounded = Schema.Struct({
    n: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })),
    unit: Schema.optionalKey(Schema.String)
  })
  const strictly = (n: object) => ({
    type: "object",
    properties: { n, unit: { anyOf: [{ type: "string" }, { type: "null" }] } },
    required: ["n", "unit"],
    additionalProperties: false
  })
  const description = "a value between 1 and 9"

  it.effect("is sent to GPT with a strict-mode schema, which names all that it takes", () =>
    Effect.gen(function*() {
      const { tools: [tool] } = yield* askGpt({ toolkit: yield* kitOf(bounded) })
      assert.isTrue(tool.strict)
      assert.deepStrictEqual(tool.parameters, strictly({ type: "integer", minimum: 1, maximum: 9, description }))
    }))

  it.effect("is sent to Claude with one that has the bounds in words, as Claude refuses them otherwise", () =>
    Effect.gen(function*() {
      const { tools: [tool] } = yield* askClaude({ toolkit: yield* kitOf(bounded) })
      assert.isTrue(tool.strict)
      assert.deepStrictEqual(tool.input_schema, strictly({ type: "integer", description }))
    }))

  interface Tree {
    readonly kids: ReadonlyArray<Tree>
  }
  const Tree = Schema.Struct({ kids: Schema.Array(Schema.suspend((): Schema.Codec<Tree> => Tree)) })

  it.effect.each<readonly [string, Schema.Struct<Schema.Struct.Fields>]>([
    ["a record", Schema.Struct({ a: Schema.Record(Schema.String, Schema.Finite) })],
    ["a tuple", Schema.Struct({ a: Schema.Tuple([Schema.String, Schema.Finite]) })],
    ["what is inside itself", Tree]
  ])(
    "that takes %s is sent to Claude without strict mode, which cannot express that",
    ([, parameters]) =>
      Effect.gen(function*() {
        const { tools: [tool] } = yield* askClaude({ toolkit: yield* kitOf(parameters) })
        assert.isFalse(tool.strict)
        assert.deepInclude(tool.input_schema, { type: "object", additionalProperties: true })
      })
  )
})

it.effect("an output schema uses the provider's own mode", () =>
  Effect.gen(function*() {
    const reply = OpenAi.events(OpenAi.data(Sdk.chunk([{ text: "{\"n\":1}" }], { finishReason: "STOP" })))
    const server = yield* OpenAi.make(reply)
    const { value } = yield* LanguageModel.generateObject({
      prompt: "how many?",
      schema: Schema.Struct({ n: Schema.Finite })
    }).pipe(Effect.provide(LanguageModelAiSdk.layer(Sdk.google(server))))
    assert.deepStrictEqual(value, { n: 1 })
    const { generationConfig } = server.requests[0]!.body
    assert.strictEqual(generationConfig.responseMimeType, "application/json")
    assert.include(JSON.stringify(generationConfig), "\"required\":[\"n\"]")
  }))

it.effect("an object that is asked for by itself, of Claude, is asked for by a tool where its schema is open", () =>
  Effect.gen(function*() {
    const call = Schema.Struct({ total: Schema.optionalKey(Schema.Finite) })
    const server = yield* OpenAi.make(claude)
    yield* LanguageModel.generateObject({ prompt: "go", schema: call }).pipe(
      Effect.provide(LanguageModelAiSdk.layer(Sdk.anthropic(server))),
      Effect.exit
    )
    const { output_config, tool_choice, tools } = server.requests[0]!.body
    assert.deepStrictEqual([output_config, tool_choice.type, tools.length], [undefined, "any", 1])
  }))

describe("an object that is asked for by itself, of OpenAI,", () => {
  /** What is generated, and the format in which it was asked for. */
  const generated = Effect.fnUntraced(function*(
    schema: Schema.Codec<unknown, any>,
    text: string,
    settings: LanguageModelAiSdk.Settings = {}
  ) {
    const server = yield* OpenAi.make(OpenAi.events(Sdk.named(Sdk.created, ...Sdk.writes(0, text), Sdk.completed())))
    const { value } = yield* LanguageModel.generateObject({ prompt: "go", objectName: "app/Sum", schema }).pipe(
      Effect.provide(LanguageModelAiSdk.layer(Sdk.responses(server), { settings }))
    )
    return { value, format: server.requests[0]!.body.text.format }
  })
  const total = { total: { type: "number" } }

  it.effect("is one without other properties, as its strict mode wants it", () =>
    Effect.gen(function*() {
      const { format, value } = yield* generated(Schema.Struct({ total: Schema.Finite }), "{\"total\":3}")
      assert.deepStrictEqual(value, { total: 3 })
      assert.deepStrictEqual(format, {
        type: "json_schema",
        name: "app_Sum",
        strict: true,
        schema: { type: "object", properties: total, required: ["total"], additionalProperties: false }
      })
    }))

  it.effect.each<readonly [string, Schema.Codec<unknown, any>, string]>([
    ["an optional property", Schema.Struct({ total: Schema.optionalKey(Schema.Finite) }), "{}"],
    ["a record", Schema.Struct({ totals: Schema.Record(Schema.String, Schema.Finite) }), "{\"totals\":{\"a\":1}}"],
    ["a list", Schema.Array(Schema.Finite), "[3]"]
  ])("is asked for without strict mode where that cannot express it: %s", ([, schema, text]) =>
    Effect.gen(function*() {
      const { format, value } = yield* generated(schema, text)
      assert.deepStrictEqual(value, JSON.parse(text))
      assert.isFalse(format.strict)
    }))

  it.effect("is asked for in the mode that an application sets", () =>
    Effect.gen(function*() {
      const settings = { providerOptions: { openai: { strictJsonSchema: false, store: false } } }
      const { format } = yield* generated(Schema.Struct({ total: Schema.Finite }), "{\"total\":3}", settings)
      assert.isFalse(format.strict)
    }))
})

it.effect("settings apply to every call, and those of one call override them", () =>
  Effect.gen(function*() {
    const settings = {
      maxOutputTokens: 9000,
      headers: { "x-own": "1" },
      providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } } }
    }
    const server = yield* OpenAi.make(claude)
    yield* Effect.gen(function*() {
      yield* OpenAi.outcome()
      yield* Effect.provideService(OpenAi.outcome(), LanguageModelAiSdk.CallSettings, { maxOutputTokens: 8000 })
    }).pipe(Effect.provide(LanguageModelAiSdk.layer(Sdk.anthropic(server), { settings })))
    const [first, second] = server.requests
    assert.deepStrictEqual(first?.body.thinking, { type: "enabled", budget_tokens: 1024 })
    assert.strictEqual(first?.headers["x-own"], "1")
    assert.deepStrictEqual(second?.body.thinking, first?.body.thinking)
    assert.strictEqual(first?.body.max_tokens - second?.body.max_tokens, 1000)
  }))

describe("what one call sets, over what the layer sets", () => {
  /** What a model is called with. */
  const sentOf = Effect.fnUntraced(function*(settings: LanguageModelAiSdk.Settings, own: LanguageModelAiSdk.Settings) {
    const { headers, pieces } = claude
    const sent: Array<LanguageModelV4CallOptions> = []
    const fetch = async () => new Response(pieces.join(""), { headers })
    const model = createAnthropic({ apiKey: Sdk.key, fetch })("claude-sonnet-4-5")
    const doStream = model.doStream.bind(model)
    model.doStream = (options) => {
      sent.push(options)
      return doStream(options)
    }
    yield* OpenAi.outcome().pipe(
      Effect.provideService(LanguageModelAiSdk.CallSettings, own),
      Effect.provide(LanguageModelAiSdk.layer(model, { settings }))
    )
    return sent[0]!
  })

  it.effect("keeps the layer's other options of each provider, at every depth", () =>
    Effect.gen(function*() {
      const settings = {
        providerOptions: {
          gateway: { order: ["bedrock", "anthropic"], user: "a" },
          anthropic: { thinking: { type: "enabled", budgetTokens: 1024 }, effort: "high" }
        }
      }
      const own = {
        providerOptions: {
          gateway: { order: ["vertex"] },
          anthropic: { thinking: { budgetTokens: 2048 }, sendReasoning: false },
          openai: { user: "b" }
        }
      }
      const { providerOptions } = yield* sentOf(settings, own)
      assert.deepStrictEqual(providerOptions, {
        gateway: { order: ["vertex"], user: "a" },
        anthropic: { thinking: { type: "enabled", budgetTokens: 2048 }, effort: "high", sendReasoning: false },
        openai: { user: "b" }
      })
    }))

  it.effect("keeps the layer's other headers, whose names may be in another case", () =>
    Effect.gen(function*() {
      const { headers } = yield* sentOf(
        { headers: { "X-Team": "a", "X-User": "none" } },
        { headers: { "x-user": "7" } }
      )
      assert.deepStrictEqual(headers, { "X-Team": "a", "x-user": "7" })
    }))

  it.effect("takes away what it has as undefined", () =>
    Effect.gen(function*() {
      const settings = {
        headers: { "X-Team": "a" },
        providerOptions: { anthropic: { effort: "high", sendReasoning: false } }
      }
      const own = {
        headers: { "x-team": undefined },
        providerOptions: { anthropic: { effort: undefined } }
      }
      const { headers, providerOptions } = JSON.parse(JSON.stringify(yield* sentOf(settings, own)))
      assert.deepStrictEqual([headers, providerOptions], [{}, { anthropic: { sendReasoning: false } }])
    }))
})
