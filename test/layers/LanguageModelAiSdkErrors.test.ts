/** What goes wrong with models of the AI SDK: statuses, errors inside a stream, bodies that are not streams, networks. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { APICallError, type LanguageModelV4, type LanguageModelV4StreamPart, LoadAPIKeyError } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Logger, References } from "effect"
import { type AiError, Prompt, Toolkit } from "effect/ai"
import { TestClock } from "effect/testing"
import { inspect } from "node:util"
import * as LanguageModelAiSdk from "../../src/layers/LanguageModelAiSdk.ts"
import * as ModelErrors from "../../src/layers/ModelErrors.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as Traces from "../support/Traces.ts"

const { apiError, begin, named, says } = Sdk

const failure = (make: Sdk.Maker, reply: OpenAi.Reply) =>
  Effect.flatMap(
    Sdk.answer(make, reply),
    ({ error, server }) => error === undefined ? Effect.die("the call succeeded") : Effect.succeed({ error, server })
  )

/** The tag by which a run knows it. */
const tagOf = (error: AiError.AiError) => ModelErrors.fromAiError(error).reason._tag

/** A model that keeps its address as that of Bedrock does. */
const bedrock = (call: Pick<LanguageModelV4, "doStream">): LanguageModelV4 => {
  const model = {
    specificationVersion: "v4" as const,
    provider: "amazon-bedrock",
    modelId: "anthropic.claude-x",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("streams only")),
    config: { baseUrl: () => "https://bedrock.test" },
    ...call
  }
  return model
}

const googleError = (code: number, status: string, message: string) => ({ error: { code, status, message } })

describe("a status", () => {
  it.effect.each<readonly [Sdk.Maker, number, object | string, string]>([
    [Sdk.anthropic, 400, apiError("invalid_request_error", "bad"), "InvalidRequest"],
    [
      Sdk.anthropic,
      400,
      apiError("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum"),
      "ContextOverflow"
    ],
    [Sdk.anthropic, 401, apiError("authentication_error", "invalid x-api-key"), "Authentication"],
    [Sdk.anthropic, 403, apiError("permission_error", "no"), "Authentication"],
    [Sdk.anthropic, 404, apiError("not_found_error", "model: claude-x"), "InvalidRequest"],
    [Sdk.anthropic, 408, "", "TimedOut"],
    [Sdk.anthropic, 413, apiError("request_too_large", "too large"), "InvalidRequest"],
    [Sdk.anthropic, 429, apiError("rate_limit_error", "slow down"), "RateLimited"],
    [Sdk.anthropic, 500, apiError("api_error", "oops"), "Overloaded"],
    [Sdk.anthropic, 502, "<html>bad gateway</html>", "Overloaded"],
    [Sdk.anthropic, 529, apiError("overloaded_error", "Overloaded"), "Overloaded"],
    [Sdk.google, 400, googleError(400, "INVALID_ARGUMENT", "bad"), "InvalidRequest"],
    [Sdk.google, 400, googleError(400, "INVALID_ARGUMENT", "The input token count (9) exceeds 8"), "ContextOverflow"],
    [Sdk.google, 403, googleError(403, "PERMISSION_DENIED", "no"), "Authentication"],
    [Sdk.google, 429, googleError(429, "RESOURCE_EXHAUSTED", "slow down"), "RateLimited"],
    [Sdk.google, 503, googleError(503, "UNAVAILABLE", "overloaded"), "Overloaded"]
  ])("of %o with %o is classified", ([make, code, body, tag]) =>
    Effect.gen(function*() {
      const { error, server } = yield* failure(make, OpenAi.status(code, body))
      assert.strictEqual(tagOf(error), tag, error.message)
      assert.lengthOf(server.requests, 1)
    }))

  it.effect("is reported with the host, the provider's words and what to check", () =>
    Effect.gen(function*() {
      const { error, server } = yield* failure(
        Sdk.anthropic,
        OpenAi.status(404, apiError("not_found_error", "no such"))
      )
      assert.include(
        error.message,
        `${server.host} answered HTTP 404: no such (check the base URL and the name of the model)`
      )
    }))

  it.effect.each<readonly [number, Record<string, string>, number]>([
    [429, { "retry-after": "7" }, 7000],
    [529, { "retry-after": "7" }, 7000],
    [429, { "retry-after-ms": "250", "retry-after": "7" }, 250],
    [503, { "retry-after": "Thu, 01 Jan 1970 00:00:10 GMT" }, 10_000]
  ])("%s with %o says when to try again", ([code, headers, millis]) =>
    Effect.gen(function*() {
      yield* TestClock.setTime(0)
      const { error } = yield* failure(Sdk.anthropic, OpenAi.status(code, apiError("overloaded_error", "no"), headers))
      const retryAfter = LanguageModelAiSdk.retryAfter(error)
      assert.strictEqual(retryAfter === undefined ? undefined : Duration.toMillis(retryAfter), millis)
    }))
})

describe("an error inside a stream", () => {
  const chat: Sdk.Maker = ({ baseUrl }) => createOpenAI({ apiKey: Sdk.key, baseURL: baseUrl }).chat("m-1")
  const hi = OpenAi.delta({ content: "Hi" })
  const mistral = (type: string, message: string) => ({ object: "error", type, message, param: null, code: "3000" })
  const full = mistral("service_tier_capacity_exceeded", "Service tier capacity exceeded for this model.")
  const long = mistral(
    "invalid_request_prompt",
    "Prompt contains 9 tokens, too large for model with 8 maximum context length"
  )

  it.effect.each<readonly [string, Sdk.Maker, string, string]>([
    [
      "that has begun",
      Sdk.anthropic,
      named(begin(), says(0, "Hi")[0]!, apiError("overloaded_error", "no")),
      "Overloaded"
    ],
    ["of a new type", Sdk.anthropic, named(begin(), says(0, "Hi")[0]!, apiError("strange_event", "no")), "Overloaded"],
    ["that is the whole stream", Sdk.anthropic, named(apiError("rate_limit_error", "no")), "RateLimited"],
    ["of Google", Sdk.google, OpenAi.data(googleError(503, "UNAVAILABLE", "no")), "Overloaded"],
    [
      "after Google's text",
      Sdk.google,
      OpenAi.data(Sdk.chunk([{ text: "Hi" }]), googleError(429, "X", "no")),
      "RateLimited"
    ],
    ["in a chunk's place", chat, OpenAi.data(hi, full), "Overloaded"],
    ["in a chunk's place that is the whole stream", chat, OpenAi.data(long), "ContextOverflow"],
    [
      "with a name only",
      chat,
      OpenAi.data(hi, { message: "invalid api key", code: "invalid_api_key" }),
      "Authentication"
    ],
    ["with a message only", chat, OpenAi.data(hi, { message: "Unauthorized" }), "Authentication"],
    ["with a status of its own", chat, OpenAi.data(hi, { statusCode: 402, message: "no" }), "QuotaExhausted"],
    ["in the lines of a chunk", chat, OpenAi.data(hi, full).replaceAll("\n\n", "\n") + "\n", "Overloaded"],
    ["that is not of the protocol", Sdk.anthropic, named(begin(), { type: "surprise" }), "InvalidResponse"],
    ["that is not JSON", Sdk.google, "data: nonsense\n\n", "InvalidResponse"],
    ["that is not JSON and is the whole stream", Sdk.anthropic, "data: nonsense\n\n", "InvalidResponse"]
  ])("%s fails the stream", ([, make, body, tag]) =>
    Effect.gen(function*() {
      const { error } = yield* failure(make, OpenAi.events(body))
      assert.strictEqual(tagOf(error), tag, error.message)
    }))

  it.effect("in a chunk's place is reported in the provider's words, without key and prompt", () =>
    Effect.gen(function*() {
      const refused = mistral("invalid_request", `no: ${Sdk.key} said the launch code`)
      const reply = OpenAi.events(OpenAi.data(refused))
      const { error, server } = yield* Sdk.answer(chat, reply, { prompt: "the launch code" })
      assert.include(error?.message, `${server.host} answered with an error: no: <redacted> said <redacted> (`)
      assert.notMatch(inspect(error, { depth: 9 }), /secret|launch code/)
    }))

  it.effect("counts by its name, and not by the status that a package has for names that it does not know", () =>
    Effect.gen(function*() {
      const error = { message: "no", code: "invalid_api_key", statusCode: 500 }
      const stream = new ReadableStream({ pull: (controller) => controller.enqueue({ type: "error", error }) })
      const model = bedrock({ doStream: () => Promise.resolve({ stream }) })
      const outcome = yield* Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(model))
      assert.strictEqual(outcome.error === undefined ? undefined : tagOf(outcome.error), "Authentication")
    }))

  it.effect("does not lose the parts before it", () =>
    Effect.gen(function*() {
      const body = named(begin(), ...says(0, "Hi"), apiError("overloaded_error", "no"))
      const { error, parts } = yield* Sdk.answer(Sdk.anthropic, OpenAi.events(body))
      assert.deepStrictEqual([OpenAi.text(parts), error?.reason._tag], ["Hi", "InternalProviderError"])
    }))
})

describe("without an answer", () => {
  it.effect("a connection reset during an answer is a truncated stream, and says so", () =>
    Effect.gen(function*() {
      const { error, server } = yield* failure(Sdk.anthropic, OpenAi.reset(named(begin(), ...says(0, "Hi"))))
      assert.deepStrictEqual([tagOf(error), error.isRetryable], ["StreamTruncated", true])
      assert.include(error.message, `${server.host} reset the connection`)
    }))

  it.effect("a refused connection is reported with host, port and what to check", () =>
    Effect.gen(function*() {
      const { baseUrl, host } = yield* Effect.scoped(OpenAi.make(OpenAi.silence))
      const { error } = yield* Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(Sdk.anthropic({ baseUrl })))
      assert.strictEqual(error === undefined ? undefined : tagOf(error), "Network")
      assert.include(error?.message, `${host} refused the connection; check that the server runs`)
    }))

  it.effect("a connection that breaks during an answer is a truncated stream, whatever reports it", () =>
    Effect.gen(function*() {
      const broken = Object.assign(new Error("the launch code"), { code: "ECONNRESET" })
      const stream = new ReadableStream({ pull: (controller) => controller.error(broken) })
      const model = bedrock({ doStream: () => Promise.resolve({ stream }) })
      const { error } = yield* Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(model))
      assert.strictEqual(error === undefined ? undefined : tagOf(error), "StreamTruncated")
      assert.include(error?.message, "bedrock.test reset the connection")
    }))

  it.effect("a failure that is its own cause is reported", () =>
    Effect.gen(function*() {
      const circle = new Error("the launch code")
      circle.cause = circle
      const fetch = () => Promise.reject(new TypeError("fetch failed", { cause: circle }))
      const model = createAnthropic({ baseURL: "http://127.0.0.1:9/v1", apiKey: Sdk.key, fetch })("claude-x")
      const { error } = yield* Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(model))
      assert.strictEqual(error === undefined ? undefined : tagOf(error), "Network")
      assert.include(error?.message, "127.0.0.1:9 could not be reached")
    }))

  it.effect.each<readonly [number, string, string]>([
    [503, "Overloaded", "community answered HTTP 503: no (try again later)"],
    [302, "InvalidRequest", "community answered HTTP 302 without an answer"]
  ])(
    "status %s of a model that shows neither address nor headers is reported with its provider",
    ([status, tag, words]) =>
      Effect.gen(function*() {
        const refused = new APICallError({ message: "no", url: "", requestBodyValues: {}, statusCode: status })
        const model = Object.assign(bedrock({ doStream: () => Promise.reject(refused) }), {
          provider: "community",
          config: undefined
        })
        const { error } = yield* Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(model))
        assert.strictEqual(error === undefined ? undefined : tagOf(error), tag)
        assert.include(error?.message, words)
      })
  )

  it.effect.each<readonly [Sdk.Maker]>([[Sdk.anthropic], [Sdk.google]])(
    "a web page is not a stream: %o",
    ([make]) =>
      Effect.gen(function*() {
        const { error, server } = yield* failure(
          make,
          OpenAi.status(200, "<html></html>", { "content-type": "text/html" })
        )
        assert.strictEqual(tagOf(error), "InvalidRequest")
        assert.include(error.message, `${server.host} answered with a web page`)
      })
  )

  const json = { "content-type": "application/json; charset=utf-8" }

  it.effect.each<readonly [string, Sdk.Maker, object | string]>([
    ["an error, to Anthropic's package", Sdk.anthropic, apiError("authentication_error", "invalid x-api-key")],
    ["an error, to Google's", Sdk.google, googleError(401, "UNAUTHENTICATED", "no")],
    ["an error, to OpenAI's", Sdk.responses, { error: { code: "insufficient_quota", message: "no" } }],
    ["nothing", Sdk.anthropic, ""]
  ])("JSON is not a stream, and asking again does not help: with %s", ([, make, body]) =>
    Effect.gen(function*() {
      const { error, server } = yield* failure(make, OpenAi.status(200, body, json))
      assert.deepStrictEqual([tagOf(error), error.isRetryable], ["InvalidRequest", false])
      assert.include(
        error.message,
        `${server.host} answered with application/json instead of an event stream, perhaps with an error`
      )
    }))

  it.effect.each<readonly [string, OpenAi.Reply]>([
    ["JSON that has begun", { ...OpenAi.events(named(begin())), headers: json }],
    ["an event stream without an event", OpenAi.events("")]
  ])("%s is a stream, which was cut", ([, reply]) =>
    Effect.gen(function*() {
      const { error } = yield* failure(Sdk.anthropic, reply)
      assert.strictEqual(tagOf(error), "StreamTruncated")
    }))

  const finish = {
    type: "finish",
    finishReason: { unified: "stop", raw: "end" },
    usage: { inputTokens: {}, outputTokens: {} }
  }

  it.effect.each<readonly [string, ReadonlyArray<object>, Record<string, string> | undefined]>([
    ["JSON", [{ type: "stream-start", warnings: [] }, { type: "text-start", id: "1" }, finish], json],
    ["JSON without a text", [finish], json],
    ["an answer without headers", [finish], undefined]
  ])("a stream that a package makes of a whole answer is heard: of %s", ([, parts, headers]) =>
    Effect.gen(function*() {
      const stream = ReadableStream.from(parts as ReadonlyArray<LanguageModelV4StreamPart>)
      const response = headers === undefined ? {} : { headers }
      const model = bedrock({ doStream: () => Promise.resolve({ stream, response }) })
      const outcome = yield* Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(model))
      assert.strictEqual(outcome.error, undefined)
      assert.strictEqual(OpenAi.finishOf(outcome.parts)?.reason, "stop")
    }))

  it.effect("a missing key is reported with what to set", () =>
    Effect.gen(function*() {
      const message = "API key is missing: set ANTHROPIC_API_KEY"
      const fetch = () => Promise.reject(new LoadAPIKeyError({ message }))
      const model = createAnthropic({ baseURL: "http://127.0.0.1:9/v1", apiKey: Sdk.key, fetch })("claude-x")
      const { error } = yield* Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(model))
      assert.strictEqual(error === undefined ? undefined : tagOf(error), "Authentication")
      assert.include(error?.message, `127.0.0.1:9 could not be called: ${message}`)
    }))

  it.effect("an impossible result of a provider's own tool is not sent", () =>
    Effect.gen(function*() {
      const part = { id: "srvtoolu_1", name: "web_search", providerExecuted: true }
      const content = [
        Prompt.toolCallPart({ ...part, params: { query: "a" } }),
        Prompt.toolResultPart({ ...part, result: [{ nonsense: "the launch code" }], isFailure: false })
      ]
      const prompt = Prompt.fromMessages([Prompt.assistantMessage({ content })])
      const toolkit = yield* Toolkit.make(Sdk.WebSearch({ maxUses: 2 }))
      const { error, server } = yield* Sdk.answer(Sdk.anthropic, OpenAi.silence, { prompt, toolkit })
      assert.strictEqual(error === undefined ? undefined : tagOf(error), "InvalidRequest")
      assert.include(
        error?.message,
        `${server.host} was not called: its protocol cannot express something in the conversation or the settings`
      )
      assert.notInclude(error?.message, "launch code")
      assert.lengthOf(server.requests, 0)
    }))

  it.effect.each([
    ["a plain error", new Error("Unsupported content type in assistant message: the launch code")],
    ["a finding of Zod", Object.assign(new Error("[{ \"received\": \"the launch code\" }]"), { name: "ZodError" })]
  ])(
    "a conversation that a provider's package does not take, with %s, is not tried again",
    ([, thrown]) =>
      Effect.gen(function*() {
        const model = bedrock({ doStream: () => Promise.reject(thrown) })
        const { error } = yield* Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(model))
        assert.deepStrictEqual(error && [tagOf(error), error.isRetryable], ["InvalidRequest", false])
        assert.include(error?.message, "bedrock.test was not called: its protocol cannot express something in the")
        assert.notInclude(inspect(error, { depth: 9 }), "launch code")
      })
  )

  it.effect("an unexpected exception is reported by its name only, as its message may be anything", () =>
    Effect.gen(function*() {
      const fetch = () => Promise.reject(new RangeError("the launch code"))
      const model = createAnthropic({ baseURL: "http://127.0.0.1:9/v1", apiKey: Sdk.key, fetch })("claude-x")
      const { error } = yield* Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(model))
      assert.deepStrictEqual([error?.reason._tag, error?.isRetryable], ["UnknownError", false])
      assert.include(error?.message, "127.0.0.1:9 could not be called: RangeError")
      assert.notInclude(error?.message, "launch code")
    }))

  it.effect("an unexpected exception in mid-answer is an answer that cannot be read", () =>
    Effect.gen(function*() {
      const stream = new ReadableStream({ pull: (controller) => controller.error(new RangeError("the launch code")) })
      const model = bedrock({ doStream: () => Promise.resolve({ stream }) })
      const { error } = yield* Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(model))
      assert.strictEqual(error === undefined ? undefined : tagOf(error), "InvalidResponse")
      assert.include(error?.message, "bedrock.test sent an answer that cannot be read")
      assert.notInclude(error?.message, "launch code")
    }))

  it.effect("credentials that Bedrock's package did not find are reported and not retried", () =>
    Effect.gen(function*() {
      const message =
        "AWS SigV4 authentication requires AWS credentials. Please provide either: ...\nOriginal error: AKIA1"
      const model = bedrock({ doStream: () => Promise.reject(new Error(message)) })
      const { error } = yield* Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(model))
      assert.deepStrictEqual([error?.reason._tag, error?.isRetryable], ["AuthenticationError", false])
      assert.include(
        error?.message,
        "bedrock.test could not be called: no credentials that it accepts were found; check the API key that amazon-bedrock"
      )
      assert.notInclude(error?.message, "AKIA1")
    }))

  it.effect("half an event of Bedrock's binary stream is a truncated stream", () =>
    Effect.gen(function*() {
      const said = "Incomplete Amazon Bedrock event-stream frame: 7 buffered bytes remain at end of stream."
      const stream = new ReadableStream({ pull: (controller) => controller.error(new Error(said)) })
      const model = bedrock({ doStream: () => Promise.resolve({ stream }) })
      const { error } = yield* Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(model))
      assert.strictEqual(error === undefined ? undefined : tagOf(error), "StreamTruncated")
      assert.include(error?.message, "bedrock.test ended the stream before the answer was finished")
    }))

  it.effect("a model for another version of the SDK is not called", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(OpenAi.silence)
      const model: LanguageModelV4 = Object.create(Sdk.anthropic(server), {
        specificationVersion: { value: "v3" },
        provider: { value: "old.chat" }
      })
      const { error } = yield* Effect.provide(OpenAi.outcome(), LanguageModelAiSdk.layer(model))
      assert.strictEqual(error === undefined ? undefined : tagOf(error), "InvalidRequest")
      assert.include(error?.message, "the package of old.chat has models of AI SDK version v3, but v4 is needed")
    }))
})

it.live("errors, logs and spans contain no secret", () => {
  const told: Array<unknown> = []
  return Effect.gen(function*() {
    const { spans, tracer } = Traces.make()
    const token = "sk-header-0123456789"
    const header = `Bearer ${token}`
    const echo = `key ${Sdk.key}, header ${header}, asked: the launch code`
    for (
      const reply of [
        OpenAi.status(401, apiError("authentication_error", `key ${Sdk.key}, ${token}`)),
        OpenAi.status(400, `key ${Sdk.key}, ${header}`),
        OpenAi.events(named(begin(), apiError("api_error", `key ${Sdk.key}, ${header}`))),
        OpenAi.events(`data: {"nonsense":"${echo}"}\n\n`),
        OpenAi.reset(named(begin()))
      ]
    ) {
      const { error } = yield* Sdk.answer(Sdk.anthropic, reply, { prompt: "the launch code" }, {
        settings: { headers: { "x-own-auth": header } }
      }).pipe(Effect.withTracer(tracer))
      told.push(error, ModelErrors.fromAiError(error!))
    }
    const text = inspect([...told, ...spans], { depth: 12 })
    for (const secret of [Sdk.key, token, "launch code"]) assert.notInclude(text, secret)
  }).pipe(
    Effect.provide(Logger.layer([Logger.make((options) => {
      told.push(Logger.formatJson.log(options), options.message, options.cause)
    })])),
    Effect.provideService(References.MinimumLogLevel, "All")
  )
})
