/** The stream of a chat completion: what becomes of its events, when it ends, and that leaving it closes the socket. */
import { assert, describe, it, vi } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema, Stream } from "effect"
import { AiError, LanguageModel } from "effect/ai"
import * as LanguageModelOpenAi from "../../src/layers/LanguageModelOpenAi.ts"
import * as ChatStream from "../../src/layers/openai/ChatStream.ts"
import * as Endpoint from "../../src/layers/openai/Endpoint.ts"
import * as AdapterErrors from "../../src/layers/provider/AdapterErrors.ts"
import { TimeLeft } from "../../src/services/attempts/TimeLeft.ts"
import * as OpenAi from "../support/OpenAiServer.ts"

const hello = OpenAi.data(OpenAi.delta({ role: "assistant", content: "Hel" }), OpenAi.delta({ content: "lo" }))
const counts = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }

const usageOf = (prompt_tokens: number, completion_tokens: number, more: object = {}) => ({
  usage: { prompt_tokens, completion_tokens, ...more }
})

describe("parts", () => {
  it.effect("text is one block of deltas between metadata and finish", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* OpenAi.answer(
        OpenAi.events(hello, OpenAi.data(OpenAi.finish("stop"), OpenAi.usage(counts)), OpenAi.done)
      )
      assert.isUndefined(error)
      assert.deepStrictEqual(OpenAi.types(parts), [
        "response-metadata",
        "text-start",
        "text-delta",
        "text-delta",
        "text-end",
        "finish"
      ])
      assert.strictEqual(OpenAi.text(parts), "Hello")
      const metadata = parts[0]
      assert.isTrue(metadata?.type === "response-metadata")
      if (metadata?.type === "response-metadata") {
        assert.deepStrictEqual(
          [metadata.id, metadata.modelId, metadata.timestamp?.epochMilliseconds],
          ["chatcmpl-1", "m-1", 1_700_000_000_000]
        )
      }
    }))

  it.effect("reasoning, text and a tool call are blocks of their own, in order", () =>
    Effect.gen(function*() {
      const { parts } = yield* OpenAi.answer(OpenAi.events(OpenAi.data(
        OpenAi.delta({ reasoning_content: "hm" }),
        OpenAi.delta({ content: "well" }),
        OpenAi.toolCalls({ index: 0, id: "a", function: { name: "f", arguments: "{}" } }),
        OpenAi.finish("tool_calls", counts)
      )))
      assert.deepStrictEqual(OpenAi.types(parts).slice(1), [
        "reasoning-start",
        "reasoning-delta",
        "reasoning-end",
        "text-start",
        "text-delta",
        "text-end",
        "tool-params-start",
        "tool-params-delta",
        "tool-params-end",
        "tool-call",
        "finish"
      ])
    }))

  it.effect("a message that is whole in one event is read like a streamed one", () =>
    Effect.gen(function*() {
      const message = {
        role: "assistant",
        content: "well",
        reasoning_content: "hm",
        tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{\"x\":1}" } }]
      }
      const choices = [{ index: 0, message, finish_reason: "tool_calls" }]
      const { error, parts } = yield* OpenAi.answer(OpenAi.events(OpenAi.data({ choices, usage: counts }), OpenAi.done))
      assert.isUndefined(error)
      assert.strictEqual(OpenAi.text(parts), "well")
      assert.strictEqual(OpenAi.reasoning(parts), "hm")
      assert.deepStrictEqual(OpenAi.types(parts).slice(-2), ["tool-call", "finish"])
    }))

  it.effect("a message that repeats the deltas beside them is not read", () =>
    Effect.gen(function*() {
      const chunk = (content: string, all: string, finish_reason: string | null) => ({
        choices: [{ index: 0, delta: { content }, message: { role: "assistant", content: all }, finish_reason }]
      })
      const { parts } = yield* OpenAi.answer(
        OpenAi.events(OpenAi.data(chunk("Hel", "Hel", null), chunk("lo", "Hello", "stop")), OpenAi.done)
      )
      assert.strictEqual(OpenAi.text(parts), "Hello")
    }))

  it.effect.each<readonly [string, object]>([
    ["reasoning_content", { reasoning_content: "because" }],
    ["reasoning", { reasoning: "because" }],
    ["both fields with the same text", { reasoning: "because", reasoning_content: "because" }],
    ["OpenRouter's text beside its details", {
      reasoning: "because",
      reasoning_details: [{ type: "reasoning.text", text: "because", index: 0 }]
    }],
    ["OpenRouter's details", { reasoning_details: [{ type: "reasoning.text", text: "because", signature: "x" }] }],
    ["OpenRouter's summary", { reasoning_details: [{ type: "reasoning.summary", summary: "because" }] }],
    ["Mistral's blocks", { content: [{ type: "thinking", thinking: [{ type: "text", text: "because" }] }] }]
  ])("reasoning is read from %s", ([, fields]) =>
    Effect.gen(function*() {
      const { parts } = yield* OpenAi.answer(
        OpenAi.events(OpenAi.data(OpenAi.delta(fields), OpenAi.finish("stop", counts)))
      )
      assert.strictEqual(OpenAi.reasoning(parts), "because")
      assert.strictEqual(OpenAi.text(parts), "")
    }))

  it.effect.each<readonly [string, object]>([
    ["blocks", { content: [{ type: "text", text: "no" }] }],
    ["a refusal", { content: null, refusal: "no" }]
  ])("text is read from %s", ([, fields]) =>
    Effect.gen(function*() {
      const { parts } = yield* OpenAi.answer(
        OpenAi.events(OpenAi.data(OpenAi.delta(fields), OpenAi.finish("stop", counts)))
      )
      assert.strictEqual(OpenAi.text(parts), "no")
    }))

  it.effect.each<readonly [string, string]>([
    ["stop", "stop"],
    ["length", "length"],
    ["model_length", "length"],
    ["content_filter", "content-filter"],
    ["tool_calls", "tool-calls"],
    ["function_call", "tool-calls"],
    ["STOP", "stop"],
    ["end_turn", "stop"],
    ["stop_sequence", "stop"],
    ["MAX_TOKENS", "length"],
    ["SAFETY", "content-filter"],
    ["tool_use", "tool-calls"],
    ["constructor", "other"]
  ])("the finish reason %s is %s", ([reason, expected]) =>
    Effect.gen(function*() {
      const { parts } = yield* OpenAi.answer(OpenAi.events(hello, OpenAi.data(OpenAi.finish(reason, counts))))
      assert.strictEqual(OpenAi.finishOf(parts)?.reason, expected)
    }))

  it.effect("fields of wrong types and other choices are ignored", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* OpenAi.answer(OpenAi.events(
        OpenAi.data(
          { choices: "none", usage: 3, created: "yesterday" },
          { id: "x", created: 1_700_000_000_000 },
          { id: 7, choices: [null] },
          { choices: [{ index: 0, delta: { content: 5, tool_calls: {} }, finish_reason: 1 }] },
          { choices: [{ index: 1, delta: { content: "other" }, finish_reason: "stop" }] },
          { type: "ping" }
        ),
        hello,
        OpenAi.data(OpenAi.finish("stop", counts))
      ))
      assert.isUndefined(error)
      assert.strictEqual(OpenAi.text(parts), "Hello")
    }))
})

describe("the end", () => {
  it.effect.each<readonly [string, string]>([
    ["[DONE]", OpenAi.data(OpenAi.finish("stop")) + OpenAi.done],
    ["a finish reason with usage", OpenAi.data(OpenAi.finish("stop", counts))],
    ["a finish reason before usage", OpenAi.data(OpenAi.finish("stop"), OpenAi.usage(counts))],
    ["a finish reason alone", OpenAi.data(OpenAi.finish("stop"))]
  ])(
    "%s ends a call whose socket stays open, and closes it",
    ([, end]) =>
      OpenAi.using(OpenAi.open(hello, end), (server) =>
        Effect.gen(function*() {
          const { error, parts } = yield* OpenAi.outcome()
          assert.isUndefined(error)
          assert.strictEqual(OpenAi.finishOf(parts)?.reason, "stop")
          yield* Deferred.await(server.left)
        }))
  )

  it.effect("pings after the finish reason do not hold up a call", () =>
    Effect.gen(function*() {
      const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      const text = Stream.make(hello + OpenAi.data(OpenAi.finish("stop")))
      const body = Stream.concat(text, Stream.fromEffectRepeat(Effect.as(turn, ": ping\n\n"))).pipe(Stream.encodeText)
      const endpoint = yield* Endpoint.make({ model: "m", baseUrl: "http://pinging.test/v1", apiKey: OpenAi.key })
      const parts = yield* Stream.runCollect(ChatStream.parts(body, endpoint, "text/event-stream", "m-1"))
      assert.strictEqual(parts.at(-1)?.type, "finish")
    }))

  /** The parts of a body that says this and then nothing, and goes on. Waits in real time end when the test says so. */
  const silentAfter = Effect.fnUntraced(function*(said: string, timeLeft = Infinity) {
    yield* Effect.acquireRelease(
      Effect.sync(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] })),
      () => Effect.sync(() => vi.useRealTimers())
    )
    const body = Stream.concat(Stream.make(said), Stream.never).pipe(Stream.encodeText)
    const endpoint = yield* Endpoint.make({ model: "m", baseUrl: "http://silent.test/v1", apiKey: OpenAi.key })
    const parts = yield* Stream.runCollect(ChatStream.parts(body, endpoint, "text/event-stream", "m-1")).pipe(
      Effect.provideService(TimeLeft, () => timeLeft),
      Effect.forkChild({ startImmediately: true })
    )
    assert.strictEqual(vi.getTimerCount(), 1)
    return parts
  })

  it.effect.each<readonly [number, number]>([[Infinity, 2000], [10_000, 2000], [2000, 1800], [100, 90]])(
    "an attempt with %s ms left waits %s ms for the usage of an answer that is whole",
    ([timeLeft, wait]) =>
      Effect.gen(function*() {
        const parts = yield* silentAfter(hello + OpenAi.data(OpenAi.finish("stop")), timeLeft)
        vi.advanceTimersByTime(wait - 1)
        assert.strictEqual(vi.getTimerCount(), 1)
        vi.advanceTimersByTime(1)
        assert.strictEqual((yield* Fiber.join(parts)).at(-1)?.type, "finish")
      })
  )

  /** As gateways send it that put a finish reason on every chunk. */
  const early = (content: string, finish_reason: string | null = "stop", more: object = {}) =>
    OpenAi.data({ choices: [{ index: 0, delta: { content }, finish_reason }], ...more })

  it.effect.each<readonly [number, number]>([[Infinity, 20_000], [10_000, 9000]])(
    "an answer that went on after a finish reason, in an attempt with %s ms left, ends after %s ms of silence",
    ([timeLeft, wait]) =>
      Effect.gen(function*() {
        const parts = yield* silentAfter(early("Hel") + early("lo"), timeLeft)
        vi.advanceTimersByTime(wait - 1)
        assert.strictEqual(vi.getTimerCount(), 1)
        vi.advanceTimersByTime(1)
        const ended = yield* Fiber.join(parts)
        assert.strictEqual(ended.map((part) => part.type === "text-delta" ? part.delta : "").join(""), "Hello")
        assert.strictEqual(ended.at(-1)?.type, "finish")
      })
  )

  it.effect.each<readonly [string, string]>([
    ["[DONE]", OpenAi.data(OpenAi.finish("stop")) + OpenAi.done],
    ["a finish reason with usage", OpenAi.data(OpenAi.finish("stop", counts))]
  ])("what comes after %s is not read", ([, end]) =>
    Effect.gen(function*() {
      const { parts } = yield* OpenAi.answer(OpenAi.events(
        hello + end + OpenAi.data(OpenAi.delta({ content: "more" }))
      ))
      assert.strictEqual(OpenAi.text(parts), "Hello")
      assert.strictEqual(OpenAi.types(parts).at(-1), "finish")
    }))

  it.effect.each<readonly [string, object]>([["without usage", {}], ["with usage", counts]])(
    "content after a finish reason is read, %s on every chunk, and the last reason counts",
    ([, more]) =>
      Effect.gen(function*() {
        const { error, parts } = yield* OpenAi.answer(
          OpenAi.events(early("Hel", "stop", more), early("lo", "stop", more), early("", "length", more), OpenAi.done)
        )
        assert.isUndefined(error)
        assert.strictEqual(OpenAi.text(parts), "Hello")
        assert.strictEqual(OpenAi.finishOf(parts)?.reason, "length")
      })
  )

  it.effect.each<readonly [object]>([
    [{ code: 0, message: "Success", sid: "1" }],
    [{ code: 200, message: "OK" }],
    [{ status: "queued", message: "waiting for a worker" }],
    [{ code: "success", message: "done" }]
  ])("%j says that all is well, and is no error", ([said]) =>
    Effect.gen(function*() {
      const { error, parts } = yield* OpenAi.answer(
        OpenAi.events(OpenAi.data(said), hello, OpenAi.data(OpenAi.finish("stop")), OpenAi.done)
      )
      assert.isUndefined(error)
      assert.strictEqual(OpenAi.text(parts), "Hello")
    }))

  it.effect("an answer that went on after a finish reason is broken by an error, and by a reset", () =>
    Effect.gen(function*() {
      const begun = early("Hel") + early("lo")
      const failed = yield* OpenAi.answer(OpenAi.events(begun, OpenAi.data({ error: { message: "busy", code: 503 } })))
      assert.include(failed.error?.message, "busy")
      const reset = yield* OpenAi.answer(OpenAi.reset(begun))
      assert.isTrue(reset.error !== undefined && AdapterErrors.isTruncated(reset.error))
    }))

  it.effect.each<readonly [string, ReadonlyArray<object>, object]>([
    [
      "details that come after the finish",
      [
        { ...OpenAi.delta({ content: "Hello" }), ...usageOf(10, 2) },
        { ...OpenAi.finish("stop"), ...usageOf(10, 5) },
        { choices: [], ...usageOf(10, 5, { prompt_tokens_details: { cached_tokens: 4 } }) }
      ],
      { input: 10, cached: 4, output: 5 }
    ],
    [
      "details that a later one repeats as nothing",
      [
        { ...OpenAi.delta({ content: "Hello" }), ...usageOf(10, 5, { prompt_tokens_details: { cached_tokens: 4 } }) },
        { ...OpenAi.finish("stop"), ...usageOf(0, 0, { prompt_tokens_details: { cached_tokens: 0 } }) }
      ],
      { input: 10, cached: 4, output: 5 }
    ],
    [
      "what the finish does not count yet",
      [
        OpenAi.delta({ content: "Hello" }),
        { ...OpenAi.finish("stop"), ...usageOf(10, 0) },
        { choices: [], ...usageOf(10, 5) }
      ],
      { input: 10, cached: undefined, output: 5 }
    ],
    [
      "what only the first chunk counts",
      [
        { ...OpenAi.delta({ content: "Hello" }), ...usageOf(10, 1) },
        { ...OpenAi.finish("stop"), ...usageOf(0, 5) }
      ],
      { input: 10, cached: undefined, output: 5 }
    ]
  ])("usage has %s", ([, chunks, expected]) =>
    Effect.gen(function*() {
      const { parts } = yield* OpenAi.answer(OpenAi.events(OpenAi.data(...chunks), OpenAi.done))
      const usage = OpenAi.finishOf(parts)?.usage
      assert.deepStrictEqual(
        { input: usage?.inputTokens.total, cached: usage?.inputTokens.cacheRead, output: usage?.outputTokens.total },
        expected
      )
    }))

  it.effect("a body that ends right after the finish reason is whole", () =>
    Effect.gen(function*() {
      const { error, parts } = yield* OpenAi.answer(OpenAi.events(hello, OpenAi.data(OpenAi.finish("stop"))))
      assert.isUndefined(error)
      assert.strictEqual(OpenAi.finishOf(parts)?.reason, "stop")
    }))

  it.effect("a reset after the finish reason loses nothing", () =>
    OpenAi.using(OpenAi.open(hello + OpenAi.data(OpenAi.finish("stop"))), (server) =>
      Effect.gen(function*() {
        const parts = yield* OpenAi.stream().pipe(
          Stream.tap((part) => part.type === "text-delta" ? server.reset : Effect.void),
          Stream.runCollect
        )
        assert.strictEqual(OpenAi.finishOf(parts)?.reason, "stop")
      })))

  it.effect.each<readonly [string, string]>([
    ["an error", OpenAi.data({ error: { message: "the count was lost", code: 500 } })],
    ["an event named error", "event: error\ndata: {\"message\":\"the count was lost\"}\n\n"],
    ["a line that is not JSON", "data: upstream closed\n\n"]
  ])("%s after the finish reason loses nothing", ([, late]) =>
    Effect.gen(function*() {
      const { error, parts } = yield* OpenAi.answer(OpenAi.events(
        hello + OpenAi.data(OpenAi.toolCalls({ index: 0, id: "a", function: { name: "f", arguments: "{}" } })),
        OpenAi.data(OpenAi.finish("tool_calls")),
        late
      ))
      assert.isUndefined(error)
      assert.deepStrictEqual(OpenAi.types(parts).slice(-2), ["tool-call", "finish"])
    }))

  it.effect("after the finish reason error, the error that follows is the failure", () =>
    Effect.gen(function*() {
      const { error } = yield* OpenAi.answer(OpenAi.events(
        hello + OpenAi.data(OpenAi.finish("error")),
        OpenAi.data({ error: { message: "no credit", code: "insufficient_quota" } })
      ))
      assert.strictEqual(error?.reason._tag, "QuotaExhaustedError")
    }))

  it.effect.each<readonly [string, string]>([
    ["text", hello],
    [
      "a whole tool call",
      OpenAi.data(OpenAi.toolCalls({ index: 0, id: "a", function: { name: "f", arguments: "{}" } }))
    ],
    ["usage without a finish reason", hello + OpenAi.data(OpenAi.usage(counts))],
    ["[DONE] without a finish reason", hello + OpenAi.done],
    ["a finish reason cut in the middle", hello + OpenAi.data(OpenAi.finish("stop")).slice(0, -12)],
    ["nothing", ""]
  ])("a body that ends after %s is truncated", ([, body]) =>
    Effect.gen(function*() {
      const { error, parts } = yield* OpenAi.answer(OpenAi.events(body))
      assert.isTrue(error !== undefined && LanguageModelOpenAi.isTruncated(error))
      assert.isTrue(error?.isRetryable)
      assert.notInclude(OpenAi.types(parts), "tool-call")
      assert.notInclude(OpenAi.types(parts), "finish")
    }))

  it.effect("what came before a truncation is delivered", () =>
    Effect.gen(function*() {
      assert.strictEqual(OpenAi.text((yield* OpenAi.answer(OpenAi.events(hello))).parts), "Hello")
    }))

  it.effect("a truncated stream is still recognised after a round trip through JSON", () =>
    Effect.gen(function*() {
      const codec = Schema.fromJsonString(Schema.toCodecJson(AiError.AiError))
      const error = yield* OpenAi.failure(OpenAi.events(hello))
      const back = yield* Effect.flatMap(Schema.encodeEffect(codec)(error), Schema.decodeEffect(codec))
      assert.isTrue(LanguageModelOpenAi.isTruncated(back))
    }))
})

describe("interruption", () => {
  it.effect("closes the socket while text is coming", () =>
    OpenAi.using(OpenAi.open(hello), (server) =>
      Effect.gen(function*() {
        const seen = yield* Deferred.make<void>()
        const fiber = yield* OpenAi.stream().pipe(
          Stream.runForEach((part) => part.type === "text-delta" ? Deferred.succeed(seen, undefined) : Effect.void),
          Effect.forkChild
        )
        yield* Deferred.await(seen)
        yield* Fiber.interrupt(fiber)
        yield* Deferred.await(server.left)
      })))

  it.effect("closes the socket before anything has come", () =>
    OpenAi.using(OpenAi.silence, (server) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(OpenAi.outcome())
        yield* Deferred.await(server.received)
        yield* Fiber.interrupt(fiber)
        yield* Deferred.await(server.left)
      })))

  it.effect("leaving the stream early closes the socket", () =>
    OpenAi.using(OpenAi.open(hello), (server) =>
      Effect.gen(function*() {
        yield* OpenAi.stream().pipe(Stream.take(2), Stream.runDrain)
        yield* Deferred.await(server.left)
      })))

  it.effect("a call whose response ends after the last part leaves its connection to the next call", () =>
    OpenAi.using(OpenAi.late(hello, OpenAi.data(OpenAi.finish("stop", counts))), (server) =>
      Effect.gen(function*() {
        const call = OpenAi.stream().pipe(Stream.takeUntil((part) => part.type === "finish"), Stream.runDrain)
        yield* call
        // The client frees a connection one turn of the event loop after the response has ended.
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        yield* call
        assert.deepStrictEqual(server.requests.map((_) => _.connection), [1, 1])
      })))
})

describe("generateText and generateObject", () => {
  it.effect("return whole blocks", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(
        OpenAi.events(OpenAi.data(OpenAi.delta({ reasoning: "hm" })), hello, OpenAi.data(OpenAi.finish("stop", counts)))
      )
      const response = yield* Effect.provide(LanguageModel.generateText({ prompt: "hello" }), OpenAi.model(server))
      assert.deepStrictEqual([response.reasoningText, response.text, response.finishReason], ["hm", "Hello", "stop"])
      assert.strictEqual(response.usage.inputTokens.total, 10)
    }))

  it.effect("request an object with a strict schema, and decode null as an absent field", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(OpenAi.events(
        OpenAi.data(OpenAi.delta({ content: "{\"city\":\"Oslo\",\"zip\":null}" }), OpenAi.finish("stop", counts))
      ))
      const schema = Schema.Struct({ city: Schema.String, zip: Schema.optionalKey(Schema.String) })
      const { value } = yield* Effect.provide(
        LanguageModel.generateObject({ prompt: "where?", schema, objectName: "the place" }),
        OpenAi.model(server)
      )
      assert.deepStrictEqual(value, { city: "Oslo" })
      const { json_schema, type } = server.requests[0]!.body.response_format
      assert.deepStrictEqual([type, json_schema.name, json_schema.strict], ["json_schema", "the_place", true])
      assert.deepStrictEqual(json_schema.schema.required, ["city", "zip"])
      assert.isFalse(json_schema.schema.additionalProperties)
    }))
})
