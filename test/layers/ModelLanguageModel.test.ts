/** Any effect/ai LanguageModel as a Model: what it is asked, and what its parts and errors become. */
import { assert, describe, it } from "@effect/vitest"
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as AiModel from "effect/ai/Model"
import type * as Response from "effect/ai/Response"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
import { OutputSchema } from "../../src/layers/provider/OutputSchema.ts"
import type * as Message from "../../src/run/Message.ts"
import type * as RunError from "../../src/run/RunError.ts"
import * as Model from "../../src/services/Model.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as Scripted from "../support/ScriptedLanguageModel.ts"
import * as TestAgent from "../support/TestAgent.ts"

const request = (messages: ReadonlyArray<Message.Message>): Model.ModelRequest => ({
  messages,
  tools: Object.values(TestAgent.kit.tools),
  toolChoice: "auto",
  metadata: { sessionId: "s", runId: "r", turn: 1, attempt: 1 }
})
const hello: ReadonlyArray<Message.Message> = [
  { role: "system", content: "Be brief." },
  { role: "user", content: [{ type: "text", text: "hello" }] }
]

const modelOf = Effect.fnUntraced(function*(turns: ReadonlyArray<Scripted.Turn>, options?: ModelLanguageModel.Options) {
  const { asked, model } = yield* Scripted.make(turns)
  const adapted = yield* Effect.provideService(ModelLanguageModel.make(options), LanguageModel.LanguageModel, model)
  return { asked, adapted }
})

const partsOf = Effect.fnUntraced(function*(...parts: ReadonlyArray<Response.StreamPartEncoded>) {
  const { adapted } = yield* modelOf([{ parts }])
  return yield* Stream.runCollect(adapted.stream(request(hello)))
})

it.effect.each(["thrown by the call", "a part of the answer"])(
  "a date at which the provider is to be asked again counts from now, in an error %s",
  (how) =>
    Effect.gen(function*() {
      yield* TestClock.setTime(Date.parse("Wed, 21 Oct 2026 07:28:00 GMT"))
      const response = { status: 429, headers: { "retry-after": "Wed, 21 Oct 2026 07:28:45 GMT" } }
      const reason = AiError.reasonFromHttpStatus({ status: 429, http: { response } as never })
      const error = AiError.make({ module: "Foreign", method: "streamText", reason })
      const { adapted } = yield* modelOf([
        how === "thrown by the call" ? { fail: error } : { parts: [{ type: "error", error }] }
      ])
      const failure = yield* Effect.flip(Stream.runCollect(adapted.stream(request(hello))))
      assert.strictEqual(failure.reason.retryAfter, 45_000)
    })
)

describe("a response", () => {
  it.effect("is whole once it has a finish: an error before it fails the run, one after it does not, however arrays are cut", () =>
    Effect.gen(function*() {
      const error: Response.StreamPartEncoded = { type: "error", error: new Error("late") }
      for (const size of [1, 2, 100]) {
        const answers = (...parts: ReadonlyArray<Response.StreamPartEncoded>) =>
          Effect.gen(function*() {
            const model = yield* LanguageModel.make({
              generateText: () => Effect.die(new Error("not asked")),
              streamText: () => Stream.rechunk(Stream.fromIterable(parts), size)
            })
            const adapted = yield* Effect.provideService(ModelLanguageModel.make(), LanguageModel.LanguageModel, model)
            const { agent } = yield* TestAgent.make([], {
              model: Layer.succeed(Model.Model, adapted),
              agent: { retry: RetryPolicy.make({ maxRetries: 0 }) }
            })
            return yield* Effect.exit(agent.run({ input: "go" }))
          })
        const text = Scripted.text("0", "hello")
        const whole = yield* answers(...text, Scripted.finish("stop"), error)
        assert.deepInclude(whole._tag === "Success" ? whole.value : {}, { _tag: "Completed", text: "hello" })
        assert.strictEqual((yield* answers(...text, error, Scripted.finish("stop")))._tag, "Failure")
      }
    }))

  it.effect("with texts, reasoning and a call becomes the same parts in order", () =>
    Effect.gen(function*() {
      const parts = yield* partsOf(
        { type: "response-metadata", id: "resp", modelId: "m", timestamp: undefined, request: undefined },
        { type: "reasoning-start", id: "0" },
        { type: "reasoning-delta", id: "0", delta: "hm" },
        { type: "reasoning-end", id: "0", metadata: { test: { signature: "sig" } } },
        ...Scripted.text("1", "a", "b"),
        { type: "tool-params-start", id: "call_1", name: "work" },
        { type: "tool-params-delta", id: "call_1", delta: "{\"n\":" },
        { type: "tool-params-delta", id: "call_1", delta: "1}" },
        { type: "tool-params-end", id: "call_1" },
        { type: "tool-call", id: "call_1", name: "work", params: { n: 1 } },
        Scripted.finish("tool-calls")
      )
      assert.deepStrictEqual<unknown>(
        parts.filter((part) => part.type !== "block-start" && part.type !== "block-end"),
        [
          { type: "response", id: "resp", model: "m" },
          { type: "reasoning-delta", block: "0", delta: "hm" },
          { type: "text-delta", block: "1", delta: "a" },
          { type: "text-delta", block: "1", delta: "b" },
          { type: "tool-params-delta", block: "call_1", tool: "work", delta: "" },
          { type: "tool-params-delta", block: "call_1", delta: "{\"n\":" },
          { type: "tool-params-delta", block: "call_1", delta: "1}" },
          { type: "tool-call", id: "call_1", name: "work", params: { n: 1 } },
          {
            type: "finish",
            reason: "tool-calls",
            usage: { inputTokens: 3, outputTokens: 2, cachedInputTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }
          }
        ]
      )
      const end = parts.find((part) => part.type === "block-end")
      assert.deepStrictEqual(end?.type === "block-end" ? end.metadata : undefined, { test: { signature: "sig" } })
    }))

  it.effect("with a call of an unknown tool or with arguments that do not fit is passed on", () =>
    Effect.gen(function*() {
      const parts = yield* partsOf(
        { type: "tool-call", id: "a", name: "nope", params: { x: 1 } },
        { type: "tool-call", id: "b", name: "work", params: { n: "one" } },
        Scripted.finish("tool-calls")
      )
      assert.deepStrictEqual(parts.flatMap((part) => part.type === "tool-call" ? [part.params] : []), [{ x: 1 }, {
        n: "one"
      }])
    }))

  it.effect("with a call without arguments gets JSON arguments", () =>
    Effect.gen(function*() {
      const parts = yield* partsOf({ type: "tool-call", id: "a", name: "work", params: undefined }, Scripted.finish())
      const [call] = parts
      assert.isTrue(call?.type === "tool-call" && call.params !== undefined)
    }))

  it.effect("without token counts has a usage of zero", () =>
    Effect.gen(function*() {
      const nothing = { total: undefined, uncached: undefined, cacheRead: undefined, cacheWrite: undefined }
      const [part] = yield* partsOf({
        type: "finish",
        reason: "stop",
        usage: { inputTokens: nothing, outputTokens: { total: undefined, text: undefined, reasoning: undefined } }
      })
      assert.deepStrictEqual(part?.type === "finish" ? part.usage : part, { inputTokens: 0, outputTokens: 0 })
    }))

  it.effect.each(["stop", "length", "content-filter", "tool-calls", "error", "pause", "other", "unknown"] as const)(
    "that finishes with %s says so",
    (reason) =>
      Effect.gen(function*() {
        const [part] = yield* partsOf(Scripted.finish(reason))
        assert.strictEqual(part?.type === "finish" ? part.reason : part?.type, reason)
      })
  )
})

describe("an error", () => {
  const of = (reason: AiError.AiErrorReason) => AiError.make({ module: "Test", method: "streamText", reason })
  const status = (status: number) => ({
    http: {
      request: { method: "POST" as const, url: "http://localhost", urlParams: [], hash: undefined, headers: {} },
      response: { status, headers: {} }
    }
  })
  const metadata = {}
  const cases: Array<[string, AiError.AiErrorReason, RunError.ModelError["_tag"], string]> = [
    ["a rate limit", new AiError.RateLimitError({ metadata }), "RetryableError", "RateLimited"],
    [
      "an overloaded provider",
      new AiError.InternalProviderError({ description: "busy", metadata }),
      "RetryableError",
      "Overloaded"
    ],
    [
      "a broken connection",
      new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "x" }),
      "RetryableError",
      "Network"
    ],
    [
      "a bad address",
      new AiError.NetworkError({ reason: "InvalidUrlError", method: "POST", url: "x" }),
      "NonRetryableError",
      "InvalidRequest"
    ],
    ["a quota", new AiError.QuotaExhaustedError({ metadata }), "NonRetryableError", "QuotaExhausted"],
    [
      "a wrong key",
      new AiError.AuthenticationError({ kind: "InvalidKey", metadata }),
      "NonRetryableError",
      "Authentication"
    ],
    ["a policy", new AiError.ContentPolicyError({ description: "no", metadata }), "NonRetryableError", "ContentPolicy"],
    [
      "a bad request",
      new AiError.InvalidRequestError({ description: "no", metadata }),
      "NonRetryableError",
      "InvalidRequest"
    ],
    [
      "a prompt that is too long",
      new AiError.InvalidRequestError({ description: "maximum context length is 10", metadata }),
      "NonRetryableError",
      "ContextOverflow"
    ],
    [
      "a bad response",
      new AiError.InvalidResponseError({ description: "no", metadata }),
      "RetryableError",
      "InvalidResponse"
    ],
    ["something unknown", new AiError.UnknownError({ description: "?", metadata }), "NonRetryableError", "Unknown"],
    ["a 409", new AiError.UnknownError({ description: "?", metadata, ...status(409) }), "RetryableError", "Overloaded"],
    ["a 408", new AiError.UnknownError({ description: "?", metadata, ...status(408) }), "RetryableError", "TimedOut"],
    [
      "a 413",
      new AiError.UnknownError({ description: "?", metadata, ...status(413) }),
      "NonRetryableError",
      "InvalidRequest"
    ],
    ["a 529", new AiError.UnknownError({ description: "?", metadata, ...status(529) }), "RetryableError", "Overloaded"]
  ]
  it.effect.each(cases)("that is %s has its reason", ([, reason, tag, expected]) =>
    Effect.gen(function*() {
      const { adapted } = yield* modelOf([{ parts: Scripted.text("0", "a"), fail: of(reason) }])
      const error = yield* Effect.flip(Stream.runDrain(adapted.stream(request(hello))))
      assert.deepStrictEqual<unknown>([error._tag, error.reason._tag], [tag, expected])
    }))

  it.effect("that asks for a delay keeps it", () =>
    Effect.gen(function*() {
      const limited = new AiError.RateLimitError({ metadata, retryAfter: Duration.seconds(7) })
      const { adapted } = yield* modelOf([{ fail: of(limited) }])
      const error = yield* Effect.flip(Stream.runDrain(adapted.stream(request(hello))))
      assert.deepStrictEqual(error._tag === "RetryableError" ? error.retryAfter : error, Duration.seconds(7))
    }))

  it.effect("part in a response fails the stream after the parts before it", () =>
    Effect.gen(function*() {
      const { adapted } = yield* modelOf([{
        parts: [
          ...Scripted.text("0", "a"),
          { type: "error", error: { type: "overloaded_error", message: "busy" } },
          Scripted.finish()
        ]
      }])
      const seen: Array<Model.ModelPart> = []
      const error = yield* adapted.stream(request(hello)).pipe(
        Stream.runForEach((part) => Effect.sync(() => seen.push(part))),
        Effect.flip
      )
      assert.strictEqual(error.reason._tag, "Overloaded")
      assert.isTrue(seen.some((part) => part.type === "text-delta") && !seen.some((part) => part.type === "finish"))
    }))
})

describe("a request", () => {
  it.effect("has the messages, tools and tool choice", () =>
    Effect.gen(function*() {
      const { adapted, asked } = yield* modelOf([{ parts: [Scripted.finish()] }, { parts: [Scripted.finish()] }])
      yield* Stream.runDrain(adapted.stream(request(hello)))
      yield* Stream.runDrain(adapted.stream({ ...request(hello), tools: [], toolChoice: "none" }))
      assert.deepStrictEqual(asked[0]?.prompt.content.map((message) => message.role), ["system", "user"])
      assert.deepStrictEqual(asked[0]?.tools.map((tool) => tool.name), ["work", "look", "again"])
      assert.deepStrictEqual(asked.map((options) => options.toolChoice), ["auto", "none"])
      assert.deepStrictEqual(asked[1]?.tools, [])
    }))

  it.effect("has files as data or as URLs", () =>
    Effect.gen(function*() {
      const { adapted, asked } = yield* modelOf([{ parts: [Scripted.finish()] }])
      yield* Stream.runDrain(adapted.stream(request([{
        role: "user",
        content: [
          { type: "file", mediaType: "image/png", data: "aGVsbG8=", fileName: "a.png" },
          { type: "file", mediaType: "image/png", data: "https://example.com/a.png" },
          { type: "file", mediaType: "image/png", data: "data:image/png;base64,aGVsbG8=" }
        ]
      }])))
      const [message] = asked[0]!.prompt.content
      const files = message?.role === "user" ? message.content.filter((part) => part.type === "file") : []
      assert.deepStrictEqual(files.map((part) => part.data), [
        "aGVsbG8=",
        new URL("https://example.com/a.png"),
        new URL("data:image/png;base64,aGVsbG8=")
      ])
    }))

  it.effect("carries its own output schema only, even inside a request with another", () =>
    Effect.gen(function*() {
      const seen: Array<string | undefined> = []
      const look = Stream.fromEffectDrain(Effect.map(OutputSchema, (output) => void seen.push(output?.name)))
      const model = yield* LanguageModel.make({
        generateText: () => Effect.die(new Error("only streams are scripted")),
        streamText: () => Stream.concat(look, Stream.make(Scripted.finish()))
      })
      const adapted = yield* Effect.provideService(ModelLanguageModel.make(), LanguageModel.LanguageModel, model)
      const output = (name: string): Model.Output => ({ name, schema: Schema.Struct({}) })
      const ask = (output?: Model.Output) =>
        Stream.runDrain(adapted.stream({ ...request(hello), ...(output === undefined ? {} : { output }) }))
      yield* ask()
      yield* ask(output("inner"))
      yield* Effect.provideService(ask(), OutputSchema, output("outer"))
      yield* Effect.provideService(ask(output("inner")), OutputSchema, output("outer"))
      assert.deepStrictEqual(seen, [undefined, "inner", undefined, "inner"])
    }))

  it.effect("goes to a model described as effect/ai knows it, unless told otherwise", () =>
    Effect.gen(function*() {
      const { model } = yield* Scripted.make([])
      const provided = Layer.mergeAll(
        Layer.succeed(LanguageModel.LanguageModel, model),
        Layer.succeed(AiModel.ProviderName, "acme"),
        Layer.succeed(AiModel.ModelName, "acme-1")
      )
      const known = yield* Effect.provide(ModelLanguageModel.make(), provided)
      assert.deepStrictEqual(known.info, { provider: "acme", name: "acme-1" })
      const told = yield* Effect.provide(ModelLanguageModel.make({ name: "x", contextWindow: 9 }), provided)
      assert.deepStrictEqual(told.info, { provider: "acme", name: "x", contextWindow: 9 })
    }))

  it.effect.each([
    { contextWindow: NaN },
    { contextWindow: -5 },
    { maxOutput: 0 },
    { maxOutput: NaN }
  ])("cannot go to a model made with an invalid size: %j", (options) =>
    Effect.gen(function*() {
      const { model } = yield* Scripted.make([])
      const made = ModelLanguageModel.make(options).pipe(Effect.provideService(LanguageModel.LanguageModel, model))
      const defect = Cause.squash(yield* Effect.flip(Effect.sandbox(made)))
      assert.match(String(defect), new RegExp(`${Object.keys(options)[0]} must be a number of at least 1`))
    }))
})
