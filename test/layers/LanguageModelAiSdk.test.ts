/** What becomes of streams of Anthropic, Google and OpenAI's Responses API through their AI SDK packages. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import type { LanguageModelV4, LanguageModelV4StreamPart, LanguageModelV4Usage } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Logger, References, Stream } from "effect"
import { LanguageModel, Toolkit } from "effect/ai"
import * as LanguageModelAiSdk from "../../src/layers/LanguageModelAiSdk.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"

const { data, events } = OpenAi
const { block, calls, chunk, named, says, thinks } = Sdk

const anthropic = (reply: OpenAi.Reply) => Sdk.answer(Sdk.anthropic, reply)
const google = (...payloads: ReadonlyArray<Record<string, unknown>>) =>
  Sdk.answer(Sdk.google, events(data(...payloads)))
const stopped = { finishReason: "STOP" }

const metadataOf = (parts: ReadonlyArray<OpenAi.Part>, type: string): Record<string, any> =>
  Object.assign({}, ...parts.filter((part) => part.type.startsWith(type)).map((part) => part.metadata))

describe("content", () => {
  it.effect("of Anthropic arrives in order, part by part", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* anthropic(Sdk.message(
        "tool_use",
        thinks(0, "hm", "SIG"),
        says(1, "Hel", "lo"),
        calls(2, "toolu_1", "look", "{\"n\":", "1}")
      ))
      assert.isUndefined(error)
      assert.strictEqual(
        OpenAi.types(parts).join(" "),
        "response-metadata reasoning-start reasoning-delta reasoning-delta reasoning-end "
          + "text-start text-delta text-delta text-end "
          + "tool-params-start tool-params-delta tool-params-delta tool-params-end tool-call finish"
      )
      assert.deepStrictEqual([OpenAi.reasoning(parts), OpenAi.text(parts)], ["hm", "Hello"])
      assert.deepStrictEqual(OpenAi.calls(parts), [{ id: "toolu_1", name: "look", params: { n: 1 } }])
      assert.deepInclude(parts[0], { id: "msg_1", modelId: "claude-x-1" })
    }))

  it.effect("of Google arrives with generated files", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* google(
        chunk([{ text: "hm", thought: true }]),
        chunk([{ text: "Hello" }, { inlineData: { mimeType: "image/png", data: "aGk=" } }]),
        chunk([{ functionCall: { name: "look", args: { n: 1 } } }], stopped)
      )
      assert.isUndefined(error)
      assert.deepStrictEqual([OpenAi.reasoning(parts), OpenAi.text(parts)], ["hm", "Hello"])
      assert.deepStrictEqual(OpenAi.calls(parts).map(({ name, params }) => [name, params]), [["look", { n: 1 }]])
      const file = parts.find((part) => part.type === "file")
      assert.deepStrictEqual([file?.mediaType, Buffer.from(file?.data ?? []).toString()], ["image/png", "hi"])
      assert.deepInclude(parts[0], { type: "response-metadata", id: "resp_1" })
    }))

  it.effect("that the model signed carries the signature and the model's name", () =>
    Effect.gen(function*() {
      const thought = yield* anthropic(Sdk.message(
        "end_turn",
        thinks(0, "hm", "SIG"),
        says(1, "Hello")
      ))
      const redacted = yield* anthropic(Sdk.message(
        "end_turn",
        block(0, { type: "redacted_thinking", data: "RED" }),
        says(1, "Hello")
      ))
      const called = yield* google(chunk([{ functionCall: { name: "f", args: {} }, thoughtSignature: "TS" }], stopped))
      assert.deepStrictEqual(
        [thought, redacted, called].map(({ parts }, at) => metadataOf(parts, at < 2 ? "reasoning" : "tool-call")),
        [
          { anthropic: { signature: "SIG" }, aisdk: { model: "anthropic.messages/claude-x" } },
          { anthropic: { redactedData: "RED" }, aisdk: { model: "anthropic.messages/claude-x" } },
          { google: { thoughtSignature: "TS" }, aisdk: { model: "google.generative-ai/gemini-x" } }
        ]
      )
    }))

  const searched = Sdk.message(
    "end_turn",
    block(
      0,
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} },
      { type: "input_json_delta", partial_json: "{\"query\":\"a\"}" }
    ),
    block(1, {
      type: "web_search_tool_result",
      tool_use_id: "srvtoolu_1",
      content: [{ type: "web_search_result", url: "https://a.test/", title: "A", encrypted_content: "ENC" }]
    }),
    says(2, "A")
  )

  it.effect("of tools that the provider ran itself is marked so, with results and sources", () =>
    Effect.gen(function*() {
      const toolkit = yield* Toolkit.make(Sdk.WebSearch({ maxUses: 2 }))
      const { error, parts } = yield* Sdk.answer(Sdk.anthropic, searched, { toolkit })
      assert.isUndefined(error)
      const call = parts.find((part) => part.type === "tool-call")
      const result = parts.find((part) => part.type === "tool-result")
      assert.deepInclude(call, { id: "srvtoolu_1", name: "web_search", params: { query: "a" }, providerExecuted: true })
      assert.deepInclude(result, { id: "srvtoolu_1", isFailure: false, providerExecuted: true })
      assert.include(JSON.stringify(result), "ENC")
      assert.deepInclude(parts.find((part) => part.type === "source"), { sourceType: "url", title: "A" })
    }))

  it.effect("of an undeclared provider tool has the call without its result, which effect/ai could not read", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* anthropic(searched)
      assert.isUndefined(error)
      assert.deepInclude(parts.find((part) => part.type === "tool-call"), { id: "srvtoolu_1", providerExecuted: true })
      assert.notInclude(OpenAi.types(parts), "tool-result")
      assert.strictEqual(OpenAi.text(parts), "A")
    }))

  it.effect.each<readonly [string, ReadonlyArray<string>, unknown]>([
    ["none at all", [], {}],
    ["empty ones", [""], {}],
    ["what does not parse", ["{\"n\":"], "{\"n\":"],
    ["what would poison a prototype", ["{\"__proto__\":{}}"], "{\"__proto__\":{}}"]
  ])("of a call may have as arguments %s", ([, json, params]) =>
    Effect.gen(function*() {
      const { parts } = yield* anthropic(Sdk.message("tool_use", calls(0, "toolu_1", "look", ...json)))
      assert.deepStrictEqual(OpenAi.calls(parts), [{ id: "toolu_1", name: "look", params }])
    }))

  it.effect("asked for without streaming is whole, with the metadata of all deltas", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(Sdk.message("end_turn", thinks(0, "hm", "SIG"), says(1, "Hel", "lo")))
      const { content } = yield* LanguageModel.generateText({ prompt: "hi" }).pipe(
        Effect.provide(LanguageModelAiSdk.layer(Sdk.anthropic(server)))
      )
      assert.deepStrictEqual(content.map((part) => part.type), ["response-metadata", "reasoning", "text", "finish"])
      const [, thought, text] = content
      assert.deepInclude(thought, { text: "hm" })
      assert.deepStrictEqual(thought?.metadata["anthropic"], { signature: "SIG" })
      assert.deepInclude(text, { text: "Hello" })
    }))
})

/** What becomes of any parts that a provider's package emits, and of the usage it reports. */
const given = (usage: unknown, ...content: ReadonlyArray<LanguageModelV4StreamPart>) => {
  const parts: Array<LanguageModelV4StreamPart> = [
    { type: "stream-start", warnings: [] },
    ...content,
    { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: usage as LanguageModelV4Usage }
  ]
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "community",
    modelId: "m",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("not asked")),
    doStream: () => Promise.resolve({ stream: ReadableStream.from(parts) })
  }
  return Effect.provide(Stream.runCollect(OpenAi.stream()), LanguageModelAiSdk.layer(model))
}

it.effect("a document that an answer draws on is a source with its file name", () =>
  Effect.gen(function*() {
    const document = { sourceType: "document", id: "d", mediaType: "application/pdf", title: "A" } as const
    const parts = yield* given({}, { type: "source", ...document, filename: "a.pdf" }, { type: "source", ...document })
    const [named, plain] = parts.filter((part) => part.type === "source")
    assert.deepInclude(named, { ...document, fileName: "a.pdf" })
    assert.deepInclude(plain, document)
  }))

describe("the finish", () => {
  const counted = (usage: unknown) =>
    given(
      usage,
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "Hi" },
      { type: "text-end", id: "0" }
    )
  const noCounts = {
    inputTokens: { total: undefined, uncached: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined }
  }

  it.effect("has the usage, with tokens read from the cache and written to it", () =>
    Effect.gen(function*() {
      const usage = { input_tokens: 10, cache_read_input_tokens: 20, cache_creation_input_tokens: 30, output_tokens: 1 }
      const { parts } = yield* anthropic(
        events(named(Sdk.begin(usage), ...says(0, "Hi"), ...Sdk.finish("end_turn", { ...usage, output_tokens: 5 })))
      )
      const { inputTokens, outputTokens } = OpenAi.finishOf(parts)!.usage
      assert.deepStrictEqual({ ...inputTokens }, { uncached: 10, total: 60, cacheRead: 20, cacheWrite: 30 })
      assert.strictEqual(outputTokens.total, 5)
    }))

  it.effect.each([1.6, -5, 1e300])(
    "rounds or leaves out a usage that is no token count, and the answer is whole: %s",
    (n) =>
      Effect.gen(function*() {
        const whole = n === 1.6 ? 2 : undefined
        const counted = { input_tokens: n, output_tokens: n }
        const claude = yield* anthropic(
          events(named(Sdk.begin(counted), ...says(0, "Hi"), ...Sdk.finish("end_turn", counted)))
        )
        const usageMetadata = { promptTokenCount: n, candidatesTokenCount: n }
        const gemini = yield* google({ ...chunk([{ text: "Hi" }], stopped), usageMetadata })
        for (const { error, parts } of [claude, gemini]) {
          assert.deepStrictEqual([error, OpenAi.text(parts)], [undefined, "Hi"])
          const { inputTokens, outputTokens } = OpenAi.finishOf(parts)!.usage
          assert.deepStrictEqual([inputTokens.total, outputTokens.total], [whole, whole])
        }
      })
  )

  it.effect.each<readonly [string, unknown]>([
    ["not a number", NaN],
    ["null", null],
    ["negative", -1],
    ["infinite", Infinity]
  ])("leaves out a count that is %s, and the answer is whole", ([, count]) =>
    Effect.gen(function*() {
      const inputTokens = { total: 3.2, noCache: count, cacheRead: count, cacheWrite: count }
      const parts = yield* counted({ inputTokens, outputTokens: { total: count, text: count, reasoning: count } })
      assert.strictEqual(OpenAi.text(parts), "Hi")
      const { usage } = OpenAi.finishOf(parts)!
      assert.deepStrictEqual({ ...usage.inputTokens }, { ...noCounts.inputTokens, total: 3 })
      assert.deepStrictEqual({ ...usage.outputTokens }, noCounts.outputTokens)
    }))

  it.effect("of a provider without usable counts has none, and the answer is whole", () =>
    Effect.gen(function*() {
      for (const usage of [undefined, {}, { inputTokens: 3, outputTokens: 4, totalTokens: 7 }]) {
        const parts = yield* counted(usage)
        assert.strictEqual(OpenAi.text(parts), "Hi")
        const { inputTokens, outputTokens } = OpenAi.finishOf(parts)!.usage
        assert.deepStrictEqual([{ ...inputTokens }, { ...outputTokens }], [noCounts.inputTokens, noCounts.outputTokens])
      }
    }))

  it.effect("has the tokens of reasoning", () =>
    Effect.gen(function*() {
      const { parts } = yield* google(chunk([{ text: "Hi" }], stopped))
      const { inputTokens, outputTokens } = OpenAi.finishOf(parts)!.usage
      assert.deepStrictEqual([inputTokens.total, { ...outputTokens }], [7, { total: 5, text: 3, reasoning: 2 }])
    }))

  it.effect.each<readonly [string, string]>([
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["max_tokens", "length"],
    ["refusal", "content-filter"],
    ["tool_use", "tool-calls"],
    ["pause_turn", "pause"],
    ["something_new", "other"]
  ])("of Anthropic with %s is %s, and keeps the provider's own word", ([raw, reason]) =>
    Effect.gen(function*() {
      const { parts } = yield* anthropic(Sdk.message(raw, says(0, "Hi")))
      const finish = OpenAi.finishOf(parts)
      assert.strictEqual(finish?.reason, reason)
      assert.deepInclude(finish?.metadata["aisdk"], { finishReason: raw })
    }))

  it.effect.each([["STOP", "stop"], ["MAX_TOKENS", "length"], ["SAFETY", "content-filter"]])(
    "of Google with %s is %s",
    ([finishReason, reason]) =>
      Effect.gen(function*() {
        const { parts } = yield* google(chunk([{ text: "Hi" }], { finishReason }))
        assert.strictEqual(OpenAi.finishOf(parts)?.reason, reason)
      })
  )

  it.effect.each<readonly [string, ReadonlyArray<Record<string, unknown>>, string]>([
    ["a whole text", [...Sdk.writes(0, "Hi"), Sdk.completed()], "stop"],
    ["a call", [...Sdk.asks(0, "look", "{}"), Sdk.completed()], "tool-calls"],
    ["a text that became too long", [...Sdk.writes(0, "Hi"), Sdk.completed("max_output_tokens")], "length"],
    ["a text that was filtered", [...Sdk.writes(0, "Hi"), Sdk.completed("content_filter")], "content-filter"]
  ])(
    "of the Responses API, which has no finish reason of its own, fits %s",
    ([, payloads, reason]) =>
      Effect.gen(function*() {
        const { error, parts } = yield* Sdk.answer(Sdk.responses, events(named(Sdk.created, ...payloads)))
        assert.isUndefined(error)
        assert.strictEqual(OpenAi.finishOf(parts)?.reason, reason)
        const made = parts.find((part) => part.type === "response-metadata")
        assert.strictEqual(made?.timestamp?.epochMilliseconds, 1_700_000_000_000)
      })
  )

  it.effect("that says that the model failed is a retryable failure", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* google(chunk([{ text: "Hi" }], { finishReason: "MALFORMED_FUNCTION_CALL" }))
      assert.deepStrictEqual([error?.reason._tag, error?.isRetryable], ["InternalProviderError", true])
      assert.isUndefined(OpenAi.finishOf(parts))
    }))

  describe("in words that the package does not know", () => {
    const chat: Sdk.Maker = ({ baseUrl }) => createOpenAI({ apiKey: Sdk.key, baseURL: baseUrl }).chat("m-1")
    const ended = (raw: string) =>
      Sdk.answer(chat, events(data(OpenAi.delta({ content: "Hi" }), OpenAi.finish(raw)) + OpenAi.done))

    it.effect.each<readonly [string, string]>([
      ["model_context_window_exceeded", "length"],
      ["refusal", "content-filter"],
      ["end_turn", "stop"],
      ["something_new", "other"]
    ])("is what a provider means by %s: %s", ([raw, reason]) =>
      Effect.gen(function*() {
        const { error, parts } = yield* ended(raw)
        assert.deepStrictEqual([error, OpenAi.finishOf(parts)?.reason], [undefined, reason])
        assert.deepInclude(OpenAi.finishOf(parts)?.metadata["aisdk"], { finishReason: raw })
      }))

    it.effect.each(["malformed_tool_use", "malformed_model_output"])(
      "is a retryable failure for Bedrock's %s",
      (raw) =>
        Effect.gen(function*() {
          const { error, parts } = yield* ended(raw)
          assert.deepStrictEqual([error?.reason._tag, error?.isRetryable], ["InternalProviderError", true])
          assert.isUndefined(OpenAi.finishOf(parts))
        })
    )

    it.effect.each(["UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE"])(
      "is a retryable failure for Gemini's %s",
      (finishReason) =>
        Effect.gen(function*() {
          const { error } = yield* google(chunk([{ text: "Hi" }], { finishReason }))
          assert.deepStrictEqual([error?.reason._tag, error?.isRetryable], ["InternalProviderError", true])
        })
    )
  })

  it.effect("carries the SDK's warnings, which are logged at debug level", () =>
    Effect.gen(function*() {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ logLevel, message }) => logged.push([logLevel, message]))
      const { parts } = yield* anthropic(Sdk.message("end_turn", says(0, "Hi"))).pipe(
        Effect.provide(Logger.layer([logger])),
        Effect.provideService(References.MinimumLogLevel, "Debug")
      )
      const finish = JSON.stringify(OpenAi.finishOf(parts)?.metadata["aisdk"])
      assert.include(finish, "The model \\\"claude-x\\\" is unknown")
      assert.deepStrictEqual(logged.map((entry) => (entry as [string])[0]), ["Debug"])
    }))

  it.live("ends the call although the socket stays open, and closes it", () =>
    Effect.gen(function*() {
      const { server } = yield* anthropic(OpenAi.open(named(Sdk.begin(), ...says(0, "Hi"), ...Sdk.finish("end_turn"))))
      yield* Deferred.await(server.left)
    }))
})

describe("a stream is truncated, without a finish part,", () => {
  const begun = named(Sdk.begin(), ...says(0, "Hi"))
  const cut: ReadonlyArray<readonly [string, Sdk.Maker, string]> = [
    ["when nothing came", Sdk.anthropic, ""],
    ["when nothing came from Google", Sdk.google, ""],
    ["when the message only began", Sdk.anthropic, named(Sdk.begin())],
    ["when text came without a finish", Sdk.anthropic, begun],
    ["when a whole call came without a finish", Sdk.anthropic, named(Sdk.begin(), ...calls(0, "toolu_1", "f", "{}"))],
    ["when the finish was cut", Sdk.anthropic, begun + named(...Sdk.finish("end_turn").slice(0, 1))],
    ["when the finish has no reason", Sdk.anthropic, begun + named(...Sdk.finish(null))],
    ["when Google's answer has no reason", Sdk.google, data(chunk([{ text: "Hi" }]))],
    ["when Responses began and did not finish", Sdk.responses, named(Sdk.created, ...Sdk.asks(0, "f", "{}"))],
    ["when Google's call has no reason", Sdk.google, data(chunk([{ functionCall: { name: "f", args: {} } }]))]
  ]
  it.effect.each(cut)("%s", ([, make, body]) =>
    Effect.gen(function*() {
      const { error, parts } = yield* Sdk.answer(make, events(body))
      assert.isTrue(error !== undefined && LanguageModelAiSdk.isTruncated(error), error?.message)
      assert.isTrue(error?.isRetryable)
      assert.isUndefined(OpenAi.finishOf(parts))
    }))
})

describe("the server sees the close before the interruption ends", () => {
  const streaming = (reply: OpenAi.Reply, make: Sdk.Maker, until: "received" | "told") =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(reply)
      const told = yield* Deferred.make<void>()
      const reader = yield* OpenAi.stream().pipe(
        Stream.runForEach((part) => part.type === "text-delta" ? Deferred.succeed(told, undefined) : Effect.void),
        Effect.provide(LanguageModelAiSdk.layer(make(server))),
        Effect.forkChild
      )
      yield* Deferred.await(until === "told" ? told : server.received)
      yield* Fiber.interrupt(reader)
      assert.isTrue(Deferred.isDoneUnsafe(server.left))
    })

  it.live("of an answer that has not begun", () => streaming(OpenAi.silence, Sdk.anthropic, "received"))
  it.live("of an answer from Anthropic", () =>
    streaming(OpenAi.open(named(Sdk.begin(), ...says(0, "Once"))), Sdk.anthropic, "told"))
  it.live("of an answer from Google", () => streaming(OpenAi.open(data(chunk([{ text: "Once" }]))), Sdk.google, "told"))

  it.live("of an answer from the Responses API, whose package reads ahead", () =>
    streaming(OpenAi.open(named(Sdk.created, ...Sdk.writes(0, "Once"))), Sdk.responses, "told"))
})

it.live("a reader that leaves early closes the connection", () =>
  Effect.gen(function*() {
    const server = yield* OpenAi.make(OpenAi.open(named(Sdk.begin(), ...says(0, "Once"))))
    yield* OpenAi.stream().pipe(
      Stream.takeUntil((part) => part.type === "text-delta"),
      Stream.runDrain,
      Effect.provide(LanguageModelAiSdk.layer(Sdk.anthropic(server)))
    )
    yield* Deferred.await(server.left)
  }))

it.live("a stream that ignores the abort signal is cancelled", () =>
  Effect.gen(function*() {
    const cancelled = yield* Deferred.make<void>()
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(named(Sdk.begin(), ...says(0, "Once")))),
      cancel: () => void Deferred.doneUnsafe(cancelled, Effect.void)
    })
    const headers = { "content-type": "text/event-stream" }
    const fetch = () => Promise.resolve(new Response(body, { headers }))
    yield* OpenAi.stream().pipe(
      Stream.takeUntil((part) => part.type === "text-delta"),
      Stream.runDrain,
      Effect.provide(LanguageModelAiSdk.layer(createAnthropic({ apiKey: Sdk.key, fetch })("claude-x")))
    )
    yield* Deferred.await(cancelled)
  }))
