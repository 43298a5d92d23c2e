/** The request: messages, tools, tool choice and the fields of the body. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { type AiError, LanguageModel, Prompt, Tool, Toolkit } from "effect/ai"
import { HttpClient, HttpClientResponse } from "effect/http"
import * as LanguageModelOpenAi from "../../src/layers/LanguageModelOpenAi.ts"
import * as OpenAi from "../support/OpenAiServer.ts"

const reply = OpenAi.events(OpenAi.data(OpenAi.delta({ content: "ok" }), OpenAi.finish("stop", { prompt_tokens: 1 })))

/** The body of the request that a call makes. */
const bodyOf = (call: OpenAi.Call, options: Partial<LanguageModelOpenAi.Options> = {}) =>
  Effect.gen(function*() {
    const server = yield* OpenAi.make(reply)
    const { error } = yield* Effect.provide(OpenAi.outcome(call), OpenAi.model(server, options))
    assert.isUndefined(error)
    return server.requests[0]?.body
  })
const messagesOf = (prompt: Prompt.RawInput, options: Partial<LanguageModelOpenAi.Options> = {}) =>
  Effect.map(bodyOf({ prompt }, options), (body) => body.messages)

const png = new Uint8Array([137, 80, 78, 71])

describe("messages", () => {
  it.effect("system and user texts are strings, and consecutive messages stay separate", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* messagesOf([
          { role: "system", content: "Be brief." },
          { role: "system", content: "Be kind." },
          { role: "user", content: [{ type: "text", text: "one" }, { type: "text", text: "two" }] },
          { role: "user", content: "three" }
        ]),
        [
          { role: "system", content: "Be brief." },
          { role: "system", content: "Be kind." },
          { role: "user", content: "one\ntwo" },
          { role: "user", content: "three" }
        ]
      )
    }))

  it.effect.each<readonly [string, Prompt.UserMessagePartEncoded, object]>([
    ["image bytes", { type: "file", mediaType: "image/png", data: png }, {
      type: "image_url",
      image_url: { url: "data:image/png;base64,iVBORw==" }
    }],
    ["image base64 of any kind", { type: "file", mediaType: "image/*", data: "iVBORw==" }, {
      type: "image_url",
      image_url: { url: "data:image/jpeg;base64,iVBORw==" }
    }],
    ["an image's URL", { type: "file", mediaType: "image/png", data: new URL("https://x.test/a.png") }, {
      type: "image_url",
      image_url: { url: "https://x.test/a.png" }
    }],
    ["a data URL", { type: "file", mediaType: "image/png", data: "data:image/png;base64,iVBORw==" }, {
      type: "image_url",
      image_url: { url: "data:image/png;base64,iVBORw==" }
    }],
    ["another file", { type: "file", mediaType: "application/pdf", fileName: "a.pdf", data: png }, {
      type: "file",
      file: { filename: "a.pdf", file_data: "data:application/pdf;base64,iVBORw==" }
    }]
  ])("a user message has %s beside its text", ([, file, expected]) =>
    Effect.gen(function*() {
      const content = [{ type: "text" as const, text: "look" }, file]
      assert.deepStrictEqual(yield* messagesOf([{ role: "user", content }]), [
        { role: "user", content: [{ type: "text", text: "look" }, expected] }
      ])
    }))

  const round: Prompt.RawInput = [
    { role: "user", content: "weather?" },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Two cities." },
        { type: "text", text: "Let me " },
        { type: "text", text: "see." },
        { type: "tool-call", id: "a", name: "f", params: { city: "Oslo" } },
        { type: "tool-call", id: "b", name: "f", params: { city: "Rome" } }
      ]
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", id: "a", name: "f", isFailure: false, result: { degrees: 3 } },
        { type: "tool-result", id: "b", name: "f", isFailure: true, result: "no such city" }
      ]
    }
  ]
  const toolCalls = [
    { id: "a", type: "function", function: { name: "f", arguments: "{\"city\":\"Oslo\"}" } },
    { id: "b", type: "function", function: { name: "f", arguments: "{\"city\":\"Rome\"}" } }
  ]

  it.effect("a tool round is one assistant message and one message per result, without reasoning", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* messagesOf(round)).slice(1), [
        { role: "assistant", content: "Let me see.", tool_calls: toolCalls },
        { role: "tool", tool_call_id: "a", content: "{\"degrees\":3}" },
        { role: "tool", tool_call_id: "b", content: "no such city" }
      ])
    }))

  it.effect("sendReasoning sends reasoning as reasoning_content", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* messagesOf(round, { sendReasoning: true }))[1], {
        role: "assistant",
        content: "Let me see.",
        reasoning_content: "Two cities.",
        tool_calls: toolCalls
      })
    }))

  describe("reasoning that came as reasoning_content", () => {
    const called = OpenAi.data(
      OpenAi.toolCalls({ index: 0, id: "a", function: { name: "f", arguments: "{}" } }),
      OpenAi.finish("tool_calls", { prompt_tokens: 1 })
    )
    const result = Prompt.make([{
      role: "tool",
      content: [{ type: "tool-result", id: "a", name: "f", isFailure: false, result: "3" }]
    }])

    /** The assistant message that goes back after this answer of the model. */
    const sentBack = Effect.fnUntraced(function*(
      answer: string,
      options: Partial<LanguageModelOpenAi.Options> = {},
      next: Partial<LanguageModelOpenAi.Options> = options
    ) {
      const server = yield* OpenAi.make(OpenAi.events(answer), reply)
      const { parts } = yield* Effect.provide(OpenAi.outcome(), OpenAi.model(server, options))
      const prompt = Prompt.concat(Prompt.fromResponseParts(parts as never), result)
      yield* Effect.provide(OpenAi.outcome({ prompt }), OpenAi.model(server, next))
      return server.requests[1]?.body.messages[0]
    })
    const thought = OpenAi.data(
      OpenAi.delta({ reasoning_content: "Two " }),
      OpenAi.delta({ reasoning_content: "cities." })
    )

    it.effect("goes back with the tool calls that it led to", () =>
      Effect.gen(function*() {
        const message = yield* sentBack(thought + called)
        assert.deepStrictEqual([message.reasoning_content, message.tool_calls.length], ["Two cities.", 1])
      }))

    it.effect.each<
      readonly [string, string, Partial<LanguageModelOpenAi.Options>?, Partial<LanguageModelOpenAi.Options>?]
    >([
      ["under another name", OpenAi.data(OpenAi.delta({ reasoning: "Two cities." })) + called],
      ["without a tool call", thought + OpenAi.data(OpenAi.finish("stop", { prompt_tokens: 1 }))],
      ["from another model", thought + called, {}, { model: "m-2" }],
      ["and must not be sent", thought + called, { sendReasoning: false }]
    ])("is not sent when it came %s", ([, answer, options, next]) =>
      Effect.gen(function*() {
        assert.notProperty(yield* sentBack(answer, options, next), "reasoning_content")
      }))

    it.effect.each(["auto", true] as const)(
      "never goes to api.openai.com when sendReasoning is %s",
      (sendReasoning) =>
        Effect.gen(function*() {
          const bodies: Array<any> = []
          const client = HttpClient.make((request) =>
            Effect.sync(() => {
              const { body } = request
              if (body._tag === "Uint8Array") bodies.push(JSON.parse(new TextDecoder().decode(body.body)))
              return HttpClientResponse.fromWeb(request, new Response("", { status: 400 }))
            })
          )
          const assistant: Prompt.AssistantMessageEncoded = {
            role: "assistant",
            content: [
              {
                type: "reasoning",
                text: "hm",
                options: { openai: { from: "api.openai.com/m", isReasoningContent: true } }
              },
              { type: "tool-call", id: "a", name: "f", params: {} }
            ]
          }
          const model = LanguageModelOpenAi.layer({
            model: "m",
            baseUrl: "https://api.openai.com/v1",
            apiKey: OpenAi.key,
            sendReasoning
          })
          yield* Effect.provide(
            OpenAi.outcome({ prompt: [assistant] }),
            Layer.provide(model, Layer.succeed(HttpClient.HttpClient, client))
          )
          assert.notProperty(bodies[0].messages[0], "reasoning_content")
          assert.lengthOf(bodies[0].messages[0].tool_calls, 1)
        })
    )
  })

  it.effect("calls without text have null content; a message with neither calls nor text has empty content", () =>
    Effect.gen(function*() {
      const messages = yield* messagesOf([
        { role: "assistant", content: [{ type: "tool-call", id: "a", name: "f", params: {} }] },
        { role: "assistant", content: [{ type: "reasoning", text: "hm" }] }
      ])
      assert.deepStrictEqual(messages.map((_: { content: unknown }) => _.content), [null, ""])
    }))

  it.effect.each<readonly [unknown, string]>([
    [undefined, "{}"],
    [null, "{}"],
    ["{\"city\":1}", "{\"city\":1}"],
    ["{\"city\":", "{\"invalid_arguments\":\"{\\\"city\\\":\"}"],
    [[1], "{\"invalid_arguments\":[1]}"]
  ])("the arguments %o go back as an object: %s", ([params, expected]) =>
    Effect.gen(function*() {
      const [message] = yield* messagesOf([
        { role: "assistant", content: [{ type: "tool-call", id: "a", name: "f", params }] }
      ])
      assert.strictEqual(message.tool_calls[0].function.arguments, expected)
    }))

  it.effect("what tools show the model is sent instead of their results, with the files below all of them", () =>
    Effect.gen(function*() {
      const text = Prompt.textPart({ text: "a chart" })
      const image = Prompt.filePart({ mediaType: "image/png", data: "iVBORw0KGgo=" })
      const named = Prompt.filePart({ mediaType: "application/pdf", data: "iVBORw0KGgo=", fileName: "q3.pdf" })
      const result = (id: string, modelOutput: ReadonlyArray<Prompt.ToolModelOutputPart>) =>
        Prompt.toolResultPart({
          id,
          name: `f_${id}`,
          isFailure: false,
          result: 1,
          modelOutput,
          providerExecuted: false
        })
      const messages = yield* messagesOf(Prompt.fromMessages([
        Prompt.toolMessage({ content: [result("a", [text, image]), result("b", [text]), result("c", [named])] })
      ]))
      assert.deepStrictEqual(messages, [
        { role: "tool", tool_call_id: "a", content: "a chart\n[image/png: below]" },
        { role: "tool", tool_call_id: "b", content: "a chart" },
        { role: "tool", tool_call_id: "c", content: "[application/pdf q3.pdf: below]" },
        {
          role: "user",
          content: [
            { type: "text", text: "Files of the result of f_a:" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
            { type: "text", text: "Files of the result of f_c:" },
            { type: "file", file: { filename: "q3.pdf", file_data: "data:application/pdf;base64,iVBORw0KGgo=" } }
          ]
        }
      ])
    }))

  it.effect("the files of results begin what the user says next, since some servers refuse two messages of a user in a row", () =>
    Effect.gen(function*() {
      const image = Prompt.filePart({ mediaType: "image/png", data: "iVBORw0KGgo=" })
      const call = { id: "a", name: "f", providerExecuted: false }
      const messages = yield* messagesOf(Prompt.fromMessages([
        Prompt.toolMessage({
          content: [Prompt.toolResultPart({ ...call, isFailure: false, result: 1, modelOutput: [image] })]
        }),
        Prompt.userMessage({ content: [Prompt.textPart({ text: "Shorter." })] })
      ]))
      assert.deepStrictEqual(messages, [
        { role: "tool", tool_call_id: "a", content: "[image/png: below]" },
        {
          role: "user",
          content: [
            { type: "text", text: "Files of the result of f:" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
            { type: "text", text: "Shorter." }
          ]
        }
      ])
    }))

  it.effect("calls that a provider ran itself are left out", () =>
    Effect.gen(function*() {
      const messages = yield* messagesOf([{
        role: "assistant",
        content: [
          { type: "tool-call", id: "w", name: "web_search", params: {}, providerExecuted: true },
          { type: "tool-result", id: "w", name: "web_search", isFailure: false, result: {}, providerExecuted: true },
          { type: "text", text: "found" }
        ]
      }])
      assert.deepStrictEqual(messages, [{ role: "assistant", content: "found" }])
    }))

  it.effect("equal prompts are sent as equal bytes", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(reply)
      const toolkit = yield* weatherTools
      const model = OpenAi.model(server, { body: { temperature: 0 } })
      yield* Effect.provide(OpenAi.outcome({ prompt: round, toolkit }), model)
      yield* Effect.provide(OpenAi.outcome({ prompt: Prompt.make(round), toolkit }), model)
      assert.strictEqual(server.requests.length, 2)
      assert.strictEqual(server.requests[0]?.text, server.requests[1]?.text)
    }))

  it.effect("a value that JSON cannot hold is the caller's error", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(reply)
      const prompt: Prompt.RawInput = [{
        role: "tool",
        content: [{ type: "tool-result", id: "a", name: "f", isFailure: false, result: { n: 1n } }]
      }]
      const { error } = yield* Effect.provide(OpenAi.outcome({ prompt }), OpenAi.model(server))
      assert.strictEqual(error?.reason._tag, "InvalidUserInputError")
      assert.deepStrictEqual(server.requests, [])
    }))
})

const Weather = Tool.make("weather", {
  description: "Looks up the weather",
  parameters: Schema.Struct({ city: Schema.String })
})
const Now = Tool.make("now")
const Strict = Tool.make("strict", { parameters: Schema.Struct({ a: Schema.optionalKey(Schema.Finite) }) }).annotate(
  Tool.Strict,
  true
)
const kit = Toolkit.make(Weather, Now, Strict)
const weatherTools = kit.pipe(Effect.provide(kit.toLayer({
  weather: () => Effect.void,
  now: () => Effect.void,
  strict: () => Effect.void
})))

describe("tools", () => {
  it.effect("are functions with a JSON schema of an object", () =>
    Effect.gen(function*() {
      const { tools } = yield* bodyOf({ toolkit: yield* weatherTools })
      assert.deepStrictEqual(tools[0], {
        type: "function",
        function: {
          name: "weather",
          description: "Looks up the weather",
          parameters: {
            type: "object",
            properties: { city: { type: "string" } },
            required: ["city"],
            additionalProperties: true
          }
        }
      })
      assert.deepStrictEqual(tools[1].function.parameters, {
        type: "object",
        properties: {},
        additionalProperties: false
      })
    }))

  it.effect("take an object, also where a class has their arguments", () =>
    Effect.gen(function*() {
      class Place extends Schema.Class<Place>("Place")({ city: Schema.String }) {}
      const kit = Toolkit.make(Tool.make("weather", { parameters: Place }))
      const toolkit = yield* Effect.provide(kit, kit.toLayer({ weather: () => Effect.void }))
      assert.deepStrictEqual((yield* bodyOf({ toolkit })).tools[0].function.parameters, {
        type: "object",
        properties: { city: { type: "string" } },
        required: ["city"],
        additionalProperties: true
      })
    }))

  it.effect("a strict tool is sent with a strict-mode schema", () =>
    Effect.gen(function*() {
      const strict = (yield* bodyOf({ toolkit: yield* weatherTools })).tools[2].function
      assert.isTrue(strict.strict)
      assert.deepStrictEqual([strict.parameters.required, strict.parameters.additionalProperties], [["a"], false])
    }))

  it.effect.each<readonly [string, Schema.Struct<Schema.Struct.Fields>]>([
    ["a record", Schema.Struct({ a: Schema.Record(Schema.String, Schema.Finite) })],
    ["a record of anything", Schema.Struct({ a: Schema.Record(Schema.String, Schema.Json) })],
    ["anything", Schema.Struct({ a: Schema.Unknown })],
    ["a tuple", Schema.Struct({ a: Schema.Array(Schema.Tuple([Schema.String, Schema.Finite])) })]
  ])(
    "a strict tool that takes %s, which strict mode cannot express, is sent without strict mode",
    ([, parameters]) =>
      Effect.gen(function*() {
        const tool = Tool.make("odd", { parameters }).annotate(Tool.Strict, true)
        const kit = Toolkit.make(tool)
        const toolkit = yield* Effect.provide(kit, kit.toLayer({ odd: () => Effect.void }))
        const sent = (yield* bodyOf({ toolkit })).tools[0].function
        assert.deepStrictEqual(sent.parameters, Tool.getJsonSchema(tool))
        assert.isFalse(sent.strict)
      })
  )

  it.effect("a strict tool with a JSON Schema is sent with that, and without strict mode where it has a record", () =>
    Effect.gen(function*() {
      const one = {
        type: "object",
        properties: { a: { type: "string" } },
        required: ["a"],
        additionalProperties: false
      }
      const other = { ...one, additionalProperties: { type: "string" } }
      const tools = [one, other].map((parameters, at) =>
        Tool.dynamic(`look${at}`, { parameters }).annotate(Tool.Strict, true)
      )
      const kit = Toolkit.make(...tools)
      const handlers = yield* kit.toHandlers({ look0: () => Effect.void, look1: () => Effect.void })
      const sent = (yield* bodyOf({ toolkit: yield* Effect.provideContext(kit, handlers) })).tools
      assert.deepStrictEqual(sent.map((tool: any) => [tool.function.parameters, tool.function.strict]), [
        [one, true],
        [other, false]
      ])
    }))

  it.effect("a strict tool stays strict whatever the names of its arguments", () =>
    Effect.gen(function*() {
      const parameters = Schema.Struct({
        not: Schema.String,
        prefixItems: Schema.Struct({ patternProperties: Schema.String }),
        additionalProperties: Schema.Struct({ a: Schema.String })
      })
      const kit = Toolkit.make(Tool.make("odd", { parameters }).annotate(Tool.Strict, true))
      const toolkit = yield* Effect.provide(kit, kit.toLayer({ odd: () => Effect.void }))
      assert.isTrue((yield* bodyOf({ toolkit })).tools[0].function.strict)
    }))

  it.effect.each<readonly [LanguageModel.ToolChoice<string>, unknown, ReadonlyArray<string>]>([
    ["auto", "auto", ["weather", "now", "strict"]],
    ["none", "none", ["weather", "now", "strict"]],
    ["required", "required", ["weather", "now", "strict"]],
    [{ tool: "now" }, { type: "function", function: { name: "now" } }, ["weather", "now", "strict"]],
    [{ oneOf: ["now", "weather"] }, "auto", ["weather", "now"]],
    [{ mode: "required", oneOf: ["now"] }, "required", ["now"]]
  ])("the choice %o", ([toolChoice, choice, names]) =>
    Effect.gen(function*() {
      const body = yield* bodyOf({ toolkit: yield* weatherTools, toolChoice })
      assert.deepStrictEqual(body.tool_choice, choice)
      assert.deepStrictEqual(body.tools.map((_: { function: { name: string } }) => _.function.name), names)
    }))

  it.effect("without tools there is neither a list of tools nor a choice", () =>
    Effect.gen(function*() {
      const body = yield* bodyOf({})
      for (const field of ["tools", "tool_choice", "response_format"]) assert.notProperty(body, field)
    }))

  it.effect("a tool that only another API has is the caller's error", () =>
    Effect.gen(function*() {
      const Search = Tool.providerDefined({
        id: "openai.web_search",
        customName: "Search",
        providerName: "web_search"
      })()
      const server = yield* OpenAi.make(reply)
      const call = LanguageModel.generateText({ prompt: "hi", toolkit: Toolkit.make(Search) })
      const error = yield* Effect.flip(Effect.provide(call, OpenAi.model(server)))
      assert.strictEqual((error as AiError.AiError).reason._tag, "ToolConfigurationError")
      assert.deepStrictEqual(server.requests, [])
    }))
})

describe("the body", () => {
  it.effect("requests a stream with usage from the model, on the API's path", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(reply)
      yield* Effect.provide(OpenAi.outcome(), OpenAi.model(server))
      const request = server.requests[0]
      assert.strictEqual(request?.url, "/v1/chat/completions")
      assert.strictEqual(request?.headers["content-type"], "application/json")
      assert.strictEqual(request?.headers.accept, "text/event-stream")
      assert.deepStrictEqual(request?.body, {
        stream_options: { include_usage: true },
        model: "m-1",
        messages: [{ role: "user", content: "hello" }],
        stream: true
      })
    }))

  it.effect("has the fields of the options, which may remove stream_options but not override the call", () =>
    Effect.gen(function*() {
      const body = yield* bodyOf({}, {
        body: { temperature: 0, stream_options: undefined, stream: false, model: "other" }
      })
      assert.deepStrictEqual([body.temperature, body.stream, body.model], [0, true, "m-1"])
      assert.notProperty(body, "stream_options")
    }))

  it.effect("takes fields from Body for one call, over those of the options", () =>
    Effect.gen(function*() {
      const body = yield* bodyOf({}, { body: { temperature: 0, seed: 1 } }).pipe(
        Effect.provideService(LanguageModelOpenAi.Body, { temperature: 1 })
      )
      assert.deepStrictEqual([body.temperature, body.seed], [1, 1])
    }))

  it.effect("keeps the other members of an object of the options that Body has members of, at every depth", () =>
    Effect.gen(function*() {
      const of = { order: ["a", "b"], max_price: { prompt: 1, completion: 2 }, zdr: true }
      const body = yield* bodyOf({}, { body: { provider: of, stop: ["x"], temperature: 0 } }).pipe(
        Effect.provideService(LanguageModelOpenAi.Body, {
          provider: { order: ["c"], max_price: { prompt: 3 }, zdr: undefined },
          stop: ["y"],
          temperature: undefined
        })
      )
      assert.deepStrictEqual(body.provider, { order: ["c"], max_price: { prompt: 3, completion: 2 } })
      assert.deepStrictEqual(body.stop, ["y"])
      assert.notProperty(body, "temperature")
      assert.deepStrictEqual(of, { order: ["a", "b"], max_price: { prompt: 1, completion: 2 }, zdr: true })
    }))
})
