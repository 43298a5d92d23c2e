/**
 * Tools that a provider runs itself may report an error, be declared without schemas or not at all, or have the name of an
 * application's: the answer counts, and goes back.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as ModelFallback from "../../src/layers/ModelFallback.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as RunLog from "../support/RunLog.ts"

const answered = (input: object, content: object) =>
  Sdk.message(
    "end_turn",
    Sdk.block(
      0,
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
      { type: "input_json_delta", partial_json: JSON.stringify(input) }
    ),
    Sdk.block(1, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content }),
    Sdk.says(2, "Here.")
  )

const Bare = Tool.providerDefined({
  id: "anthropic.web_search_20250305",
  customName: "web_search",
  providerName: "web_search"
})

const found = [{
  type: "web_search_result",
  url: "https://a.test/",
  title: "A",
  encrypted_content: "E",
  page_age: null
}]
const refused = { type: "web_search_tool_result_error", error_code: "max_uses_exceeded" }

describe("an answer counts", () => {
  it.live.each<readonly [string, Tool.Any, OpenAi.Reply, boolean]>([
    ["that reports an error", Sdk.WebSearch({ maxUses: 1 }), answered({ query: "a" }, refused), true],
    ["called with other arguments than declared", Sdk.WebSearch({ maxUses: 1 }), answered({ q: "a" }, found), false],
    ["declared without schemas", Bare(undefined as never), answered({ query: "a" }, found), false]
  ])("with a tool of the provider's own %s", ([, tool, reply, isFailure]) =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(reply, Sdk.message("end_turn", Sdk.says(0, "Asked again.")))
      const toolkit = Toolkit.make(tool as ReturnType<typeof Sdk.WebSearch>)
      const below = yield* Layer.build(
        Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, ModelAiSdk.layer({ model: Sdk.anthropic(server) }))
      )
      const retry = RetryPolicy.make({ base: 0, maxRetries: 1 })
      const agent = yield* Agent.make({ instructions: "Look.", toolkit, retry }).pipe(Effect.provide(below))
      const run = yield* agent.start({ input: "go", sessionId: "s" })
      const events = yield* Stream.runCollect(run.events)
      assert.strictEqual((yield* run.result).text, "Here.")
      assert.lengthOf(server.requests, 1)
      const parts = RunLog.only(events, "AssistantMessage")[0]?.message.content ?? []
      assert.deepStrictEqual(parts.map(({ type }) => type), ["tool-call", "tool-result", "text"])
      assert.deepStrictEqual(parts.flatMap((part) => part.type === "tool-result" ? [part.isFailure] : []), [isFailure])
      yield* agent.run({ input: "and?", sessionId: "s" })
      const sent = server.requests[1]!.body.messages[1].content
      assert.deepStrictEqual(sent.map(({ type }: { type: string }) => type), [
        "server_tool_use",
        "web_search_tool_result",
        "text"
      ])
    }))
})

describe("an answer that the provider pauses in", () => {
  it.live("is sent back with the search that has no result yet, and is one message once it is whole", () =>
    Effect.gen(function*() {
      const search = Sdk.block(
        1,
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
        { type: "input_json_delta", partial_json: JSON.stringify({ query: "a" }) }
      )
      const server = yield* OpenAi.make(
        Sdk.message("pause_turn", Sdk.says(0, "Let me look."), search),
        Sdk.message(
          "end_turn",
          Sdk.block(0, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: found }),
          Sdk.says(1, "Here.")
        ),
        Sdk.message("end_turn", Sdk.says(0, "Bye."))
      )
      const toolkit = Toolkit.make(Sdk.WebSearch({ maxUses: 1 }))
      const below = yield* Layer.build(
        Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, ModelAiSdk.layer({ model: Sdk.anthropic(server) }))
      )
      const agent = yield* Agent.make({ instructions: "Look.", toolkit }).pipe(Effect.provide(below))
      const run = yield* agent.start({ input: "go", sessionId: "s" })
      const events = yield* Stream.runCollect(run.events)
      assert.strictEqual((yield* run.result).text, "Here.")
      assert.deepStrictEqual(RunLog.violations(RunLog.durable(events)), [])
      yield* agent.run({ input: "and?", sessionId: "s" })
      const sent = server.requests.slice(1).map(({ body }) =>
        body.messages.map(({ content, role }: { role: string; content: ReadonlyArray<{ type: string }> }) =>
          `${role}: ${content.map(({ type }) => type).join(" ")}`
        )
      )
      assert.deepStrictEqual(sent, [
        ["user: text", "assistant: text server_tool_use"],
        ["user: text", "assistant: text server_tool_use web_search_tool_result text", "user: text"]
      ])
    }))
})

const Look = Tool.make("look", { success: Schema.String })
const lookHandler = Toolkit.make(Look).toLayer({ look: () => Effect.succeed("seen") })

const own = (id: `${string}.${string}`, name: string, args: object = {}) =>
  Tool.providerDefined({ id, customName: name, providerName: name, args: Schema.Unknown })(args)

describe("what a provider ran under a name that nobody declared goes back", () => {
  /** The second request, after an answer of `first` and a call of ours. */
  const asked = Effect.fnUntraced(
    function*(make: Sdk.Maker, id: string, tool: Tool.Any, first: OpenAi.Reply, second: OpenAi.Reply) {
      const server = yield* OpenAi.make(first, second)
      const model = ModelAiSdk.layer({ model: make(server, id) })
      const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, model, lookHandler))
      const toolkit = Toolkit.make(Look, tool as typeof Look)
      const agent = yield* Agent.make({ instructions: "Look.", toolkit }).pipe(Effect.provide(below))
      assert.strictEqual((yield* agent.run({ input: "go" })).text, "Here.")
      return server.requests[1]?.body
    }
  )

  it.live("with what it found and its signatures, as Gemini's search beside an application's tools", () =>
    Effect.gen(function*() {
      const call = { toolType: "GOOGLE_SEARCH_WEB", args: { queries: ["a"] }, id: "g1" }
      const response = { toolType: "GOOGLE_SEARCH_WEB", response: { found: 1 }, id: "g1" }
      const answer = [
        { toolCall: call, thoughtSignature: "SIGA" },
        { toolResponse: response, thoughtSignature: "SIGB" },
        { functionCall: { name: "look", args: {}, id: "f1" }, thoughtSignature: "SIGC" }
      ]
      const stop = { finishReason: "STOP" }
      const { contents } = yield* asked(
        Sdk.google,
        "gemini-3-pro-preview",
        own("google.google_search", "google_search"),
        OpenAi.events(OpenAi.data(...answer.map((part) => Sdk.chunk([part])), Sdk.chunk([], stop))),
        OpenAi.events(OpenAi.data(Sdk.chunk([{ text: "Here." }], stop)))
      )
      assert.deepStrictEqual(contents[1].parts.slice(0, 2), answer.slice(0, 2))
      assert.deepInclude(contents[1].parts[2], { thoughtSignature: "SIGC" })
    }))

  it.live("as the tools of a server that OpenAI calls", () =>
    Effect.gen(function*() {
      const call = { server_label: "s", name: "roll", arguments: "{}", output: "4" }
      const item = { id: "mcp_1", type: "mcp_call", status: "completed", ...call }
      const called = [
        { type: "response.output_item.added", output_index: 0, item },
        { type: "response.output_item.done", output_index: 0, item }
      ]
      const { input } = yield* asked(
        Sdk.responses,
        "gpt-x",
        own("openai.mcp", "mcp", { serverLabel: "s", serverUrl: "https://s.test/" }),
        OpenAi.events(Sdk.named(Sdk.created, ...called, ...Sdk.asks(1, "look", "{}"), Sdk.completed())),
        OpenAi.events(Sdk.named(Sdk.created, ...Sdk.writes(0, "Here."), Sdk.completed()))
      )
      assert.deepInclude(input, { type: "item_reference", id: "mcp_1" })
    }))

  it.live.each<readonly [string, object, Tool.Any]>([
    ["arguments", { q: 1 }, Tool.make("look", { parameters: Schema.Struct({ place: Schema.String }) })],
    ["results", {}, Tool.make("look", { success: Schema.Struct({ seen: Schema.Number }) })]
  ])(
    "as a tool of a server that Anthropic calls, which has the name of an application's with other %s",
    ([, args, tool]) =>
      Effect.gen(function*() {
        const call = { type: "mcp_tool_use", id: "mcptoolu_1", name: "look", server_name: "docs", input: args }
        const result = { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false, content: [] }
        const server = yield* OpenAi.make(
          Sdk.message("end_turn", Sdk.block(0, call), Sdk.block(1, result), Sdk.says(2, "Here.")),
          Sdk.message("end_turn", Sdk.says(0, "Bye."))
        )
        const toolkit = Toolkit.make(tool as typeof Look)
        const handlers = toolkit.toLayer({ look: () => Effect.die("asked of the application") })
        const model = ModelAiSdk.layer({ model: Sdk.anthropic(server) })
        const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, model, handlers))
        const agent = yield* Agent.make({ instructions: "Look.", toolkit }).pipe(Effect.provide(below))
        assert.strictEqual((yield* agent.run({ input: "go", sessionId: "s" })).text, "Here.")
        yield* agent.run({ input: "and?", sessionId: "s" })
        assert.lengthOf(server.requests, 2)
        const sent = server.requests[1]!.body.messages[1].content
        assert.deepStrictEqual(sent.map(({ type }: { type: string }) => type), [
          "mcp_tool_use",
          "mcp_tool_result",
          "text"
        ])
        assert.deepInclude(sent[0], { name: "look", server_name: "docs", input: args })
      })
  )

  it.live("as the code that a search of Anthropic's runs", () =>
    Effect.gen(function*() {
      const code = { type: "server_tool_use", id: "srvtoolu_1", name: "code_execution", input: {} }
      const result = { type: "code_execution_result", stdout: "", stderr: "", return_code: 0, content: [] }
      const { messages } = yield* asked(
        Sdk.anthropic,
        "claude-x",
        own("anthropic.web_search_20260209", "web_search"),
        Sdk.message(
          "tool_use",
          Sdk.block(0, code, { type: "input_json_delta", partial_json: `{"code":"await web_search()"}` }),
          Sdk.block(1, { type: "code_execution_tool_result", tool_use_id: "srvtoolu_1", content: result }),
          Sdk.calls(2, "toolu_1", "look", "{}")
        ),
        Sdk.message("end_turn", Sdk.says(0, "Here."))
      )
      assert.deepStrictEqual(messages[1].content.map(({ type }: { type: string }) => type), [
        "server_tool_use",
        "code_execution_tool_result",
        "tool_use"
      ])
    }))
})

describe("a call that a provider ran itself is not sent to another model", () => {
  const searched = Sdk.message(
    "tool_use",
    Sdk.block(
      0,
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
      { type: "input_json_delta", partial_json: `{"query":"a"}` }
    ),
    Sdk.block(1, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: found }),
    Sdk.calls(2, "toolu_1", "look", "{}")
  )
  const writes = OpenAi.events(Sdk.named(Sdk.created, ...Sdk.writes(0, "Here."), Sdk.completed()))

  it.live.each<readonly [string, Sdk.Maker, OpenAi.Reply]>([
    ["OpenAI", Sdk.responses, writes],
    ["Google", Sdk.google, OpenAi.events(OpenAi.data(Sdk.chunk([{ text: "Here." }], { finishReason: "STOP" })))]
  ])("of %s, which takes over in mid-run", ([, make, reply]) =>
    Effect.gen(function*() {
      const first = yield* OpenAi.make(searched, OpenAi.status(401, Sdk.apiError("authentication_error", "revoked")))
      const second = yield* OpenAi.make(reply)
      const model = ModelFallback.layer([
        ModelAiSdk.layer({ model: Sdk.anthropic(first) }),
        ModelAiSdk.layer({ model: make(second) })
      ])
      const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, model, lookHandler))
      const toolkit = Toolkit.make(Look, Sdk.WebSearch({ maxUses: 1 }))
      const agent = yield* Agent.make({ instructions: "Look.", toolkit }).pipe(Effect.provide(below))
      assert.strictEqual((yield* agent.run({ input: "go" })).text, "Here.")
      const { contents, input } = second.requests[0]!.body
      const sent = JSON.stringify(contents ?? input)
      assert.include(sent, "seen")
      assert.notInclude(sent, "srvtoolu_1")
    }))

  it.live("of the same provider, which would miss what was thought before it", () =>
    Effect.gen(function*() {
      const call = { id: "ws_1", type: "web_search_call", status: "completed", action: { type: "search", query: "a" } }
      const items = ["added", "done"].map((what) => ({
        type: `response.output_item.${what}`,
        output_index: 0,
        item: call
      }))
      const server = yield* OpenAi.make(
        OpenAi.events(Sdk.named(Sdk.created, ...items, ...Sdk.writes(1, "Here."), Sdk.completed())),
        writes,
        writes
      )
      const toolkit = Toolkit.make(own("openai.web_search", "web_search"))
      const below = yield* Layer.build(Layer.merge(Fiberloop.layer, SessionStoreMemory.layer))
      const refs = Effect.fnUntraced(function*(id: string) {
        const model = yield* Layer.build(ModelAiSdk.layer({ model: Sdk.responses(server, id) }))
        const agent = yield* Agent.make({ instructions: "Look.", toolkit }).pipe(
          Effect.provide(model),
          Effect.provide(below)
        )
        yield* agent.run({ input: "go", sessionId: "s" })
        return JSON.stringify(server.requests.at(-1)!.body.input).includes("ws_1")
      })
      assert.deepStrictEqual([yield* refs("gpt-x"), yield* refs("gpt-x-mini"), yield* refs("gpt-x")], [
        false,
        false,
        true
      ])
    }))
})

describe("the container in which a model's code runs", () => {
  const code = Sdk.block(
    0,
    { type: "server_tool_use", id: "srvtoolu_1", name: "code_execution", input: {} },
    { type: "input_json_delta", partial_json: `{"code":"await web_search()"}` }
  )
  const done = { type: "code_execution_result", stdout: "", stderr: "", return_code: 0, content: [] }
  const ran = Sdk.block(1, { type: "code_execution_tool_result", tool_use_id: "srvtoolu_1", content: done })
  const answerIn = (reason: string, expires_at: string, ...blocks: ReadonlyArray<typeof code>) => {
    const [delta, ...rest] = Sdk.finish(reason)
    const container = { id: "container_1", expires_at }
    const end = { ...delta, delta: { stop_reason: reason, stop_sequence: null, container } }
    return OpenAi.events(Sdk.named(Sdk.begin(), ...blocks.flat(), end, ...rest))
  }
  const whole = (at: number) => Sdk.message("end_turn", Sdk.says(at, "Here."))

  /** What each request names, of a run whose first answer is `first`, and of one after it. */
  const named = Effect.fnUntraced(function*(
    first: OpenAi.Reply,
    second: OpenAi.Reply,
    options: Partial<ModelAiSdk.Options> = {}
  ) {
    const server = yield* OpenAi.make(first, second, whole(0))
    const model = ModelAiSdk.layer({ ...options, model: Sdk.anthropic(server) })
    const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, model, lookHandler))
    const toolkit = Toolkit.make(Look, own("anthropic.code_execution_20250825", "code_execution"))
    const agent = yield* Agent.make({ instructions: "Look.", toolkit }).pipe(Effect.provide(below))
    assert.strictEqual((yield* agent.run({ input: "go", sessionId: "s" })).text, "Here.")
    yield* agent.run({ input: "and?", sessionId: "s" })
    assert.notInclude(JSON.stringify(server.requests.map(({ body }) => body.messages)), "container")
    return server.requests.map(({ body }) => body.container)
  })
  const never = "2999-01-01T00:00:00Z"

  it.live.each<readonly [string, OpenAi.Reply, OpenAi.Reply]>([
    [
      "a paused answer",
      answerIn("pause_turn", never, code),
      OpenAi.events(Sdk.named(Sdk.begin(), ...ran, ...Sdk.says(2, "Here."), ...Sdk.finish("end_turn")))
    ],
    ["calls", answerIn("tool_use", never, code, ran, Sdk.calls(2, "toolu_1", "look", "{}")), whole(0)]
  ])("is named to go on with %s, and not after another message", ([, first, second]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* named(first, second), [undefined, "container_1", undefined])
    }))

  it.live("is not named once it has expired", () =>
    Effect.gen(function*() {
      const calls = Sdk.calls(2, "toolu_1", "look", "{}")
      const first = answerIn("tool_use", "2001-01-01T00:00:00Z", code, ran, calls)
      assert.deepStrictEqual(yield* named(first, whole(0)), [undefined, undefined, undefined])
    }))

  it.live("is the application's own where that names one", () =>
    Effect.gen(function*() {
      const settings = { providerOptions: { anthropic: { container: { id: "container_own" } } } }
      const first = answerIn("tool_use", never, code, ran, Sdk.calls(2, "toolu_1", "look", "{}"))
      assert.deepStrictEqual(new Set(yield* named(first, whole(0), { settings })), new Set(["container_own"]))
    }))
})
