/**
 * Runs over a real provider connection: whatever ends one, the server sees the close before the end is emitted; and one
 * whose response has ended carries the next call.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it, vi } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Http from "node:http"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as LanguageModelOpenAi from "../../src/layers/LanguageModelOpenAi.ts"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as Model from "../../src/services/Model.ts"
import * as Loopback from "../support/Loopback.ts"
import * as OpenAi from "../support/OpenAiServer.ts"

const begun = OpenAi.open(OpenAi.data(OpenAi.delta({ content: "Once upon" })))

/** An agent, and whether its provider has seen the client leave. */
const place = Effect.fnUntraced(function*(
  reply: OpenAi.Reply,
  client: typeof FetchHttpClient.layer = FetchHttpClient.layer
) {
  const server = yield* OpenAi.make(reply)
  const model = ModelLanguageModel.layer.pipe(
    Layer.provide(LanguageModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key })),
    Layer.provide(client)
  )
  const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, model))
  const agent = yield* Agent.make({ instructions: "Tell a story." }).pipe(Effect.provide(below))
  return { agent, server, hasLeft: () => Deferred.isDoneUnsafe(server.left) }
})

const clients = {
  fetch: FetchHttpClient.layer,
  undici: NodeHttpClient.layerUndici,
  "node:http": NodeHttpClient.layerNodeHttp
}

describe("a model that thinks", () => {
  it.live("gets its reasoning_content back after a tool call, and the configured body fields", () =>
    Effect.gen(function*() {
      const { data, delta, finish, toolCalls } = OpenAi
      const call = { index: 0, id: "a", function: { name: "look", arguments: "{\"n\":1}" } }
      const server = yield* OpenAi.make(
        OpenAi.events(data(delta({ reasoning_content: "I look." }), toolCalls(call), finish("tool_calls"))),
        OpenAi.events(data(delta({ reasoning_content: "Seen." }), delta({ content: "One." }), finish("stop")))
      )
      const options = { model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key, body: { temperature: 0 } }
      const model = ModelOpenAi.layer(options)
      const look = Tool.make("look", { parameters: Schema.Struct({ n: Schema.Finite }), success: Schema.String })
      const toolkit = Toolkit.make(look)
      const tools = toolkit.toLayer({ look: () => Effect.succeed("one") })
      const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, model, tools))
      const agent = yield* Agent.make({ instructions: "Look.", toolkit }).pipe(Effect.provide(below))
      yield* agent.run({ input: "how many?", sessionId: "s" })
      yield* agent.run({ input: "sure?", sessionId: "s" })
      const reasoning = (at: number) =>
        server.requests[at]?.body.messages.flatMap((_: any) => _.role === "assistant" ? [_.reasoning_content] : [])
      assert.deepStrictEqual([reasoning(1), reasoning(2)], [["I look."], ["I look.", "Seen."]])
      assert.deepStrictEqual(server.requests.map(({ body }) => body.temperature), [0, 0, 0])
    }))
})

describe("a server that is no API", () => {
  it.live.each<readonly [string, OpenAi.Reply]>([
    ["redirects", OpenAi.status(302, "", { location: "/login" })],
    ["answers with a web page", OpenAi.status(200, "<html></html>", { "content-type": "text/html" })]
  ])("is asked once when it %s", ([, reply]) =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(reply)
      const model = ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key })
      const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, model))
      const agent = yield* Agent.make({ instructions: "Tell a story." }).pipe(Effect.provide(below))
      const error = yield* Effect.flip(agent.run({ input: "hello" }))
      assert.deepStrictEqual([error._tag, error.reason._tag], ["NonRetryableError", "InvalidRequest"])
      assert.lengthOf(server.requests, 1)
    }))

  type Models = Layer.Layer<Model.Model, unknown>
  it.live.each<readonly [string, (model: Models) => Layer.Layer<Model.Model | HttpClient.HttpClient, unknown>]>([
    ["before", (model) => Layer.merge(FetchHttpClient.layer, model)],
    ["after", (model) => Layer.merge(model, FetchHttpClient.layer)]
  ])("can still redirect the application's own client, built %s the model", ([, beside]) =>
    Effect.gen(function*() {
      const urls: Array<string | undefined> = []
      const host = yield* Loopback.listen(Http.createServer((request, response) => {
        urls.push(request.url)
        response.writeHead(request.url === "/there" ? 200 : 302, { location: "/there" }).end()
      }))
      const model = ModelOpenAi.layer({ model: "m", baseUrl: `http://${host}/v1`, apiKey: OpenAi.key })
      const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, beside(model)))
      const agent = yield* Agent.make({ instructions: "Tell a story." }).pipe(Effect.provide(below))
      const error = yield* Effect.flip(agent.run({ input: "hello" }))
      assert.strictEqual(error.reason._tag, "InvalidRequest")
      const { status } = yield* Effect.provide(HttpClient.get(`http://${host}/here`), below)
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(urls, ["/v1/chat/completions", "/here", "/there"])
    }))
})

/** Waits in real time never end: a process that stalls for a moment would miss the end of a response. */
const withoutTimeouts = Effect.acquireRelease(
  Effect.sync(() => vi.useFakeTimers({ toFake: ["setTimeout"] })),
  () => Effect.sync(() => vi.useRealTimers())
)

describe("one connection", () => {
  for (const [name, client] of Object.entries(clients)) {
    // its agent keeps no connection
    if (name === "node:http") continue
    it.live(`carries the calls of a conversation whose responses end in time, over ${name}`, () =>
      Effect.gen(function*() {
        const { data, delta, finish, late, usage } = OpenAi
        const counts = { prompt_tokens: 1, completion_tokens: 1 }
        const answer = [data(delta({ content: "Hello" })), data(finish("stop")), data(usage(counts))]
        const { agent, server } = yield* place(late(...answer), client)
        yield* withoutTimeouts
        for (const _ of Array(5)) yield* agent.run({ input: "hello", sessionId: "s" })
        assert.deepStrictEqual(server.requests.map(({ connection }) => connection), [1, 1, 1, 1, 1])
      }))
  }
})

describe("the server sees the close", () => {
  for (const [name, client] of Object.entries(clients)) {
    it.live(`before the end of an aborted run is emitted, over ${name}`, () =>
      Effect.gen(function*() {
        const { agent, hasLeft } = yield* place(begun, client)
        const run = yield* agent.start({ input: "A long one." })
        const seen: Array<readonly [tag: string, hasLeft: boolean]> = []
        yield* run.events.pipe(Stream.runForEach((event) => {
          seen.push([event._tag, hasLeft()])
          return event._tag === "TextDelta" ? Effect.forkChild(run.abort) : Effect.void
        }))
        assert.deepStrictEqual(seen.at(-1), ["RunAborted", true])
        assert.isFalse(seen.some(([tag, hasLeft]) => tag === "TextDelta" && hasLeft))
      }))
  }

  it.live("when a run is aborted before its answer has begun", () =>
    Effect.gen(function*() {
      const { agent, hasLeft, server } = yield* place(OpenAi.silence)
      const run = yield* agent.start({ input: "A long one." })
      yield* Deferred.await(server.received)
      yield* run.abort
      assert.deepStrictEqual([(yield* run.result)._tag, hasLeft()], ["Aborted", true])
    }))

  it.live("when a consumer leaves", () =>
    Effect.gen(function*() {
      const { agent, hasLeft } = yield* place(begun)
      const told = yield* Deferred.make<void>()
      const reader = yield* agent.stream({ input: "A long one." }).pipe(
        Stream.runForEach((event) => event._tag === "TextDelta" ? Deferred.succeed(told, undefined) : Effect.void),
        Effect.forkChild
      )
      yield* Deferred.await(told)
      yield* Fiber.interrupt(reader)
      assert.isTrue(hasLeft())
    }))

  it.live("when the layer closes", () =>
    Effect.gen(function*() {
      const { hasLeft } = yield* Effect.scoped(Effect.gen(function*() {
        const here = yield* place(begun)
        const run = yield* here.agent.start({ input: "A long one." })
        yield* run.events.pipe(Stream.takeUntil((event) => event._tag === "TextDelta"), Stream.runDrain)
        return here
      }))
      assert.isTrue(hasLeft())
    }))

  it.live("when a time limit ends the run", () =>
    Effect.gen(function*() {
      const { agent, hasLeft } = yield* place(begun)
      const result = yield* agent.run({ input: "A long one.", limits: { maxDuration: 1_000 } })
      assert.deepStrictEqual([result._tag, hasLeft()], ["Limited", true])
    }))
})

it.effect("a model's info has the sizes given in its options", () =>
  Effect.gen(function*() {
    const options = { model: "m", baseUrl: "http://127.0.0.1:9/v1", contextWindow: 8_000, maxOutput: 1_000 }
    const { info } = Context.get(yield* Layer.build(ModelOpenAi.layer(options)), Model.Model)
    assert.deepStrictEqual(info, {
      provider: "openai-compatible",
      name: "m",
      contextWindow: 8_000,
      maxOutput: 1_000
    })
  }))

it.effect("a provider has its given name instead of the protocol's", () =>
  Effect.gen(function*() {
    const options = { model: "m", baseUrl: "http://127.0.0.1:9/v1", provider: "ollama" }
    const { info } = Context.get(yield* Layer.build(ModelOpenAi.layer(options)), Model.Model)
    assert.deepStrictEqual(info, { provider: "ollama", name: "m" })
  }))

describe("a request", () => {
  /** An agent whose requests are answered here. */
  const answered = Effect.fnUntraced(function*() {
    const requests: Array<{ readonly url: string; readonly body: any }> = []
    const fetch: typeof globalThis.fetch = async (url, init) => {
      requests.push({
        url: url instanceof Request ? url.url : url.toString(),
        body: JSON.parse(new TextDecoder().decode(init?.body as Uint8Array))
      })
      const { headers, pieces } = OpenAi.events(
        OpenAi.data(OpenAi.delta({ content: "4" }), OpenAi.finish("stop")),
        OpenAi.done
      )
      return new Response(pieces.join(""), { headers })
    }
    const model = ModelOpenAi.layer({ model: "m", body: { temperature: 1, seed: 7 } }).pipe(
      Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetch)),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ OPENAI_API_KEY: "sk-none" })))
    )
    const below = yield* Layer.build(Layer.mergeAll(model, SessionStoreMemory.layer, Fiberloop.layer))
    return { agent: yield* Effect.provide(Agent.make({ instructions: "Be brief." }), below), requests }
  })

  it.effect("goes to OpenAI when no base URL is given", () =>
    Effect.gen(function*() {
      const { agent, requests } = yield* answered()
      yield* agent.run({ input: "2 + 2?" })
      assert.deepStrictEqual(requests.map(({ url }) => url), ["https://api.openai.com/v1/chat/completions"])
    }))

  it.effect("has the fields that the agent's caller adds, over those of the layer", () =>
    Effect.gen(function*() {
      const { agent, requests } = yield* answered()
      yield* agent.run({ input: "2 + 2?" }).pipe(Effect.provideService(LanguageModelOpenAi.Body, { temperature: 0 }))
      yield* agent.run({ input: "2 + 2?" })
      assert.deepStrictEqual(requests.map(({ body }) => [body.temperature, body.seed]), [[0, 7], [1, 7]])
    }))
})
