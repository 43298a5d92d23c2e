/** What goes wrong: statuses, errors inside a stream, bodies that are not streams, networks; and that no secret gets out. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Deferred, Duration, Effect, Exit, Layer, Logger, Redacted } from "effect"
import type { AiError } from "effect/ai"
import { HttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import * as Net from "node:net"
import { inspect } from "node:util"
import * as LanguageModelOpenAi from "../../src/layers/LanguageModelOpenAi.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as Traces from "../support/Traces.ts"

type Tag = AiError.AiErrorReason["_tag"]
const hello = OpenAi.data(OpenAi.delta({ content: "Hello" }))
const statusOf = ({ reason }: AiError.AiError) => "http" in reason ? reason.http?.response?.status : undefined

describe("statuses", () => {
  it.effect.each<readonly [number, object | string, Tag, boolean]>([
    [400, { error: { message: "bad", type: "invalid_request_error" } }, "InvalidRequestError", false],
    [401, { error: { message: "bad key", code: "invalid_api_key" } }, "AuthenticationError", false],
    [402, { error: { message: "Insufficient Balance" } }, "QuotaExhaustedError", false],
    [403, { error: { message: "no access" } }, "AuthenticationError", false],
    [404, { error: { message: "no such model" } }, "InvalidRequestError", false],
    [404, "404 page not found", "InvalidRequestError", false],
    [405, "", "InvalidRequestError", false],
    [408, "", "InternalProviderError", true],
    [409, "", "InternalProviderError", true],
    [413, { error: { message: "too large" } }, "InvalidRequestError", false],
    [422, { detail: "unprocessable" }, "InvalidRequestError", false],
    [429, { error: { message: "slow down", type: "tokens", code: "rate_limit_exceeded" } }, "RateLimitError", true],
    [429, { error: { code: "insufficient_quota", type: "insufficient_quota" } }, "QuotaExhaustedError", false],
    [429, [{ error: { code: 429, status: "RESOURCE_EXHAUSTED" } }], "RateLimitError", true],
    [500, { error: { message: "oops" } }, "InternalProviderError", true],
    [502, "<html>bad gateway</html>", "InternalProviderError", true],
    [503, { error: { message: "loading model", type: "unavailable_error", code: 503 } }, "InternalProviderError", true],
    [504, "", "InternalProviderError", true],
    [529, { error: { type: "overloaded_error" } }, "InternalProviderError", true],
    [400, { error: { message: "flagged", code: "content_policy_violation" } }, "ContentPolicyError", false],
    [400, { error: { code: "billing_hard_limit_reached" } }, "QuotaExhaustedError", false]
  ])("%s with %o is %s", ([code, body, tag, isRetryable]) =>
    Effect.gen(function*() {
      const error = yield* OpenAi.failure(OpenAi.status(code, body))
      assert.deepStrictEqual([error.reason._tag, error.isRetryable, statusOf(error)], [tag, isRetryable, code])
    }))

  it.effect.each<readonly [number, object]>([
    [400, { error: { message: "Please reduce", type: "invalid_request_error", code: "context_length_exceeded" } }],
    [400, { message: "This model's maximum context length is 4096 tokens. However, you requested 5000", code: 400 }],
    [400, { error: { code: 400, message: "request exceeds", type: "exceed_context_size_error" } }],
    [400, { error: { message: "Your input exceeds the context window of this model" } }],
    [422, {
      error: {
        message: "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` "
          + "tokens and 100 `max_new_tokens`",
        type: "invalid_request_error"
      }
    }],
    [422, {
      error: "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000",
      error_type: "validation"
    }],
    [400, { error: { message: "too many tokens: total number of tokens in the prompt cannot exceed 4081" } }],
    [400, {
      code: "400",
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens"
    }],
    [422, { object: "error", message: "Prompt contains 9 tokens, too large for model with 8 maximum context length" }]
  ])("%s with %o is a context overflow", ([code, body]) =>
    Effect.gen(function*() {
      const error = yield* OpenAi.failure(OpenAi.status(code, body))
      assert.isTrue(LanguageModelOpenAi.isContextOverflow(error))
      assert.isFalse(error.isRetryable)
    }))

  it.effect("a message names the host, the status, the provider's words and what to check", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(OpenAi.status(404, { error: { message: "The model m-1 does not exist" } }))
      const { error } = yield* Effect.provide(OpenAi.outcome(), OpenAi.model(server))
      assert.include(
        error?.message,
        `${server.host} answered HTTP 404: The model m-1 does not exist (check the base URL and the name of the model)`
      )
    }))

  it.effect.each<readonly [string, (detail: ReadonlyArray<object>) => object]>([
    ["FastAPI", (detail) => ({ detail })],
    ["Mistral", (detail) => ({ object: "error", message: { detail }, type: "invalid_request_error" })]
  ])("what the validator of %s found is reported without the input", ([, body]) =>
    Effect.gen(function*() {
      const found = { type: "extra_forbidden", loc: ["body", "seed"], msg: "Extra inputs", input: "the prompt" }
      const { message } = yield* OpenAi.failure(OpenAi.status(422, body([found, { loc: ["body", "n"] }])))
      assert.include(message, "HTTP 422: body.seed: Extra inputs (check")
      assert.notInclude(message, "the prompt")
    }))

  it.effect("a failure stays one that is tried again, though a text that was sent is JSON nested more deeply than a stack holds", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(OpenAi.status(503, { error: { message: "Overloaded, try later" } }))
      const prompt = `${"[".repeat(20_000)}${"]".repeat(20_000)}`
      const { error } = yield* Effect.provide(OpenAi.outcome({ prompt }), OpenAi.model(server))
      assert.deepStrictEqual([error?.reason._tag, error?.isRetryable], ["InternalProviderError", true])
    }))

  it.effect("errors without a message name the host too", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(OpenAi.status(429, ""), OpenAi.status(402, ""))
      const [limited, spent] = yield* Effect.provide(
        Effect.all([OpenAi.outcome(), OpenAi.outcome()]),
        OpenAi.model(server)
      )
      assert.include(limited.error?.message, server.host)
      assert.include(spent.error?.message, server.host)
    }))

  it.effect("the provider's message is cut at 500 characters, and a web page is not repeated", () =>
    Effect.gen(function*() {
      const long = yield* OpenAi.failure(OpenAi.status(400, { error: { message: "x".repeat(5000) } }))
      assert.isBelow(long.message.length, 800)
      assert.include(long.message, `${"x".repeat(500)}...`)
      assert.notInclude((yield* OpenAi.failure(OpenAi.status(502, "<html>nginx</html>"))).message, "nginx")
    }))

  it.effect("a short plain text is reported, a long one is left out", () =>
    Effect.gen(function*() {
      const page = yield* OpenAi.failure(OpenAi.status(404, "404 page not found\n"))
      assert.include(page.message, "answered HTTP 404: 404 page not found (check")
      const dump = yield* OpenAi.failure(OpenAi.status(500, "at handler ".repeat(100)))
      assert.notInclude(dump.message, "handler")
    }))

  it.effect.each([["sk-wrong", "InvalidKey"], [undefined, "MissingKey"]] as const)(
    "a refused key of %s is reported as %s",
    ([key, kind]) =>
      Effect.gen(function*() {
        const server = yield* OpenAi.make(OpenAi.status(401, { error: { message: "who are you?" } }))
        const apiKey = key === undefined ? undefined : Redacted.make(key)
        const { error } = yield* Effect.provide(OpenAi.outcome(), OpenAi.model(server, { apiKey }))
        assert.strictEqual(error?.reason._tag === "AuthenticationError" ? error.reason.kind : undefined, kind)
      })
  )

  it.effect("code, type, parameter and the request's id are kept as data", () =>
    Effect.gen(function*() {
      const { reason } = yield* OpenAi.failure(OpenAi.status(
        400,
        { error: { message: "bad", type: "invalid_request_error", code: "invalid_value", param: "tools[0]" } },
        { "x-request-id": "req_1", "set-cookie": "session=secret" }
      ))
      assert.isTrue(reason._tag === "InvalidRequestError")
      if (reason._tag !== "InvalidRequestError") return
      assert.strictEqual(reason.parameter, "tools[0]")
      assert.deepStrictEqual(reason.metadata.openai, {
        message: "bad",
        type: "invalid_request_error",
        code: "invalid_value",
        param: "tools[0]"
      })
      assert.deepStrictEqual(reason.http?.response?.headers, { "x-request-id": "req_1" })
    }))

  it.effect("a body that breaks off or never ends still leaves the status", () =>
    Effect.gen(function*() {
      const broken = { ...OpenAi.status(429, ""), pieces: ["{\"error\":"], ending: "reset" as const }
      assert.strictEqual((yield* OpenAi.failure(broken)).reason._tag, "RateLimitError")
      const endless = { ...OpenAi.status(400, { error: { message: "bad" } }), ending: "open" as const }
      assert.include((yield* OpenAi.failure(endless)).message, "bad")
    }))

  it.effect("a redirect is reported without its query", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(OpenAi.status(302, "", { location: "/login?token=secret" }))
      const { error } = yield* Effect.provide(OpenAi.outcome(), OpenAi.model(server))
      assert.deepStrictEqual([error?.reason._tag, error?.isRetryable], ["InvalidRequestError", false])
      assert.include(error?.message, `${server.host} redirects to http://${server.host}/login (HTTP 302), which is not`)
      assert.notInclude(error?.message, "secret")
    }))

  it.effect.each([300, 204, 205])(
    "status %s, which carries no answer, says to check the base URL",
    (status) =>
      Effect.gen(function*() {
        const error = yield* OpenAi.failure(OpenAi.status(status, ""))
        assert.deepStrictEqual([error.reason._tag, error.isRetryable], ["InvalidRequestError", false])
        assert.include(error.message, `answered HTTP ${status} without an answer; check the base URL`)
      })
  )

  it.effect("the connection of a body that nobody reads is closed", () =>
    OpenAi.using({ ...OpenAi.status(301, "moved"), ending: "open" }, (server) =>
      Effect.gen(function*() {
        yield* OpenAi.outcome()
        yield* Deferred.await(server.left)
      })))

  it.effect("a client that itself fails on statuses changes nothing", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(OpenAi.status(429, { error: { message: "slow down" } }, { "retry-after": "2" }))
      const client = Layer.effect(HttpClient.HttpClient, Effect.map(HttpClient.HttpClient, HttpClient.filterStatusOk))
      const model = LanguageModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key }).pipe(
        Layer.provide(client),
        Layer.provide(NodeHttpClient.layerUndici)
      )
      const { error } = yield* Effect.provide(OpenAi.outcome(), model)
      assert.strictEqual(error?.reason._tag, "RateLimitError")
    }))
})

describe("retry after", () => {
  const after = (headers: Record<string, string>, code = 429) =>
    Effect.map(OpenAi.failure(OpenAi.status(code, "", headers)), (error) => {
      const duration = LanguageModelOpenAi.retryAfter(error)
      return duration === undefined ? undefined : Duration.toMillis(duration)
    })
  const now = Date.parse("Wed, 21 Oct 2026 07:28:00 GMT")

  it.effect.each<readonly [Record<string, string>, number | undefined]>([
    [{ "retry-after": "3" }, 3000],
    [{ "retry-after": "0.25" }, 250],
    [{ "retry-after": "0" }, 0],
    [{ "retry-after-ms": "1500", "retry-after": "9" }, 1500],
    [{ "retry-after-ms": "soon", "retry-after": "9" }, 9000],
    [{ "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT" }, 30_000],
    [{ "retry-after": "Wednesday, 21-Oct-26 07:28:30 GMT" }, 30_000],
    [{ "retry-after": "Wed Oct 21 07:28:30 2026" }, 30_000],
    [{ "retry-after": "Sun Nov  1 00:00:00 2026" }, 923_520_000],
    [{ "retry-after": "Wed, 21 Oct 2015 07:28:00 GMT" }, 0],
    [{ "retry-after": "Wed, 99 Oct 2026 07:28:30 GMT" }, undefined],
    [{ "retry-after": "-5" }, undefined],
    [{ "retry-after": "1e999" }, undefined],
    [{ "retry-after": "9".repeat(400) }, undefined],
    [{ "retry-after": "NaN" }, undefined],
    [{ "retry-after": "in 5 minutes" }, undefined],
    [{ "retry-after": " " }, undefined],
    [{}, undefined]
  ])("%o is %s ms", ([headers, expected]) =>
    Effect.gen(function*() {
      yield* TestClock.setTime(now)
      assert.strictEqual(yield* after(headers), expected)
    }))

  it.effect("is read from the body when no header has it", () =>
    Effect.gen(function*() {
      const body = [{ error: { code: 429, message: "slow down", details: [{ retryDelay: "32s" }] } }]
      assert.deepStrictEqual((yield* OpenAi.failure(OpenAi.status(429, body))).retryAfter, Duration.seconds(32))
      const both = OpenAi.status(429, body, { "retry-after": "2" })
      assert.deepStrictEqual((yield* OpenAi.failure(both)).retryAfter, Duration.seconds(2))
    }))

  it.effect("is on effect/ai's own error for a rate limit, and also kept for a 503", () =>
    Effect.gen(function*() {
      const error = yield* OpenAi.failure(OpenAi.status(429, "", { "retry-after": "2" }))
      assert.deepStrictEqual(error.retryAfter, Duration.seconds(2))
      assert.strictEqual(yield* after({ "retry-after": "2" }, 503), 2000)
    }))
})

describe("errors inside a stream", () => {
  it.effect.each<readonly [object, Tag]>([
    [{ error: { message: "slow down", type: "rate_limit_error" } }, "RateLimitError"],
    [{ error: { message: "slow down", code: 429 } }, "RateLimitError"],
    [{ error: { message: "no money", code: "insufficient_quota" } }, "QuotaExhaustedError"],
    [{ error: { message: "no money", code: 402 } }, "QuotaExhaustedError"],
    [{ error: { message: "busy", type: "overloaded_error" } }, "InternalProviderError"],
    [{ error: { message: "busy", code: "502" } }, "InternalProviderError"],
    [{ error: { message: "oops", type: "server_error", code: null } }, "InternalProviderError"],
    [{ error: { message: "oops" } }, "InternalProviderError"],
    [{ error: "oops" }, "InternalProviderError"],
    [{ error: { message: "bad key", code: "invalid_api_key" } }, "AuthenticationError"],
    [{ error: { message: "bad key", type: "authentication_error" } }, "AuthenticationError"],
    [{ error: { message: "not yours", type: "permission_error" } }, "AuthenticationError"],
    [{ error: { message: "bad", type: "invalid_request_error" } }, "InvalidRequestError"],
    [{ error: { message: "flagged", code: "content_filter" } }, "ContentPolicyError"],
    [{ object: "error", message: "bad", type: "BadRequestError", code: 400 }, "InvalidRequestError"],
    [{ type: "error", error: { type: "overloaded_error", message: "busy" } }, "InternalProviderError"],
    [{ ...OpenAi.finish("error"), error: { message: "upstream failed", code: 502 } }, "InternalProviderError"]
  ])("%o is %s, after the text before it", ([payload, tag]) =>
    Effect.gen(function*() {
      const { error, parts } = yield* OpenAi.answer(OpenAi.events(hello, OpenAi.data(payload), OpenAi.done))
      assert.strictEqual(error?.reason._tag, tag)
      assert.isFalse(error !== undefined && LanguageModelOpenAi.isTruncated(error))
      assert.strictEqual(OpenAi.text(parts), "Hello")
      assert.notInclude(OpenAi.types(parts), "finish")
    }))

  it.effect("the status that an error names becomes its status", () =>
    Effect.gen(function*() {
      assert.strictEqual(statusOf(yield* OpenAi.failure(OpenAi.events(OpenAi.data({ error: { code: 503 } })))), 503)
    }))

  it.effect("a context overflow is recognised by its code or its words", () =>
    Effect.gen(function*() {
      const errors = [{ code: "context_length_exceeded" }, {
        message: "the request exceeds the available context size"
      }]
      for (const error of errors) {
        const failure = yield* OpenAi.failure(OpenAi.events(OpenAi.data({ error })))
        assert.isTrue(LanguageModelOpenAi.isContextOverflow(failure))
      }
    }))

  it.effect.each(["event: error\ndata: {\"message\":\"oops\"}\n\n", "event: error\ndata: oops\n\n"])(
    "an event named error is an error: %o",
    (event) =>
      Effect.gen(function*() {
        const error = yield* OpenAi.failure(OpenAi.events(hello, event))
        assert.strictEqual(error.reason._tag, "InternalProviderError")
        assert.include(error.message, "oops")
      })
  )

  it.effect.each([
    "error",
    "ERROR",
    "insufficient_system_resource",
    "malformed_tool_use",
    "malformed_model_output",
    "UNEXPECTED_TOOL_CALL",
    "MALFORMED_RESPONSE",
    "MISSING_THOUGHT_SIGNATURE"
  ])(
    "the finish reason %s is a failure of the provider",
    (reason) =>
      Effect.gen(function*() {
        const { error, parts } = yield* OpenAi.answer(
          OpenAi.events(hello, OpenAi.data(OpenAi.finish(reason)), OpenAi.done)
        )
        assert.strictEqual(error?.reason._tag, "InternalProviderError")
        assert.notInclude(OpenAi.types(parts), "finish")
      })
  )

  it.effect.each([null, "", false])("an error field of %o is no error", (error) =>
    Effect.gen(function*() {
      const chunk = { ...OpenAi.finish("stop"), error }
      assert.isUndefined((yield* OpenAi.answer(OpenAi.events(hello, OpenAi.data(chunk)))).error)
    }))
})

describe("bodies that are not streams", () => {
  const as = (contentType: string, body: string, ending: OpenAi.Reply["ending"] = "end"): OpenAi.Reply => ({
    status: 200,
    headers: { "content-type": contentType },
    pieces: [body],
    ending
  })

  it.effect.each<readonly [string, OpenAi.Reply]>([
    ["a web page", as("text/html", "<!doctype html><title>Sign in</title>")],
    ["a web page that says it is a stream", as("text/event-stream", "\n<html></html>")],
    ["a web page that never ends", as("text/html", "<html>", "open")],
    ["an answer that was not streamed", as("application/json", "{\"object\":\"chat.completion\",\"choices\":[]}")],
    ["JSON that never ends", as("application/json", "{\"object\":\"chat.completion\"}", "open")],
    ["lines of JSON", as("application/x-ndjson", "{\"message\":{}}\n{\"done\":true}\n")],
    ["a list", as("application/json", "[1]")],
    ["plain text", as("text/plain", "It works!")],
    ["nothing", as("text/html", "")]
  ])("%s is a non-retryable failure that names the host", ([, reply]) =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(reply)
      const { error } = yield* Effect.provide(OpenAi.outcome(), OpenAi.model(server))
      assert.deepStrictEqual([error?.reason._tag, error?.isRetryable], ["InvalidRequestError", false])
      assert.include(error?.message, `${server.host} answered with`)
      assert.include(error?.message, "check that the base URL")
    }))

  it.effect("an error with status 200 is read as that error", () =>
    Effect.gen(function*() {
      const body = JSON.stringify({ error: { message: "slow down", code: 429 } })
      assert.strictEqual((yield* OpenAi.failure(as("application/json", body))).reason._tag, "RateLimitError")
    }))

  it.effect("a stream with another content type is read", () =>
    Effect.gen(function*() {
      const { error } = yield* OpenAi.answer(as("text/plain", hello + OpenAi.data(OpenAi.finish("stop"))))
      assert.isUndefined(error)
    }))

  it.effect("a document that breaks off is a truncated stream", () =>
    Effect.gen(function*() {
      const error = yield* OpenAi.failure(as("application/json", "{\"a\":", "reset"))
      assert.isTrue(LanguageModelOpenAi.isTruncated(error))
    }))
})

describe("networks", () => {
  const network = (error: AiError.AiError | undefined) =>
    error?.reason._tag === "NetworkError" ? [error.reason.reason, error.isRetryable] : error?.reason._tag

  it.effect("a refused connection names the host and what to check", () =>
    Effect.gen(function*() {
      const { port } = yield* Effect.acquireUseRelease(
        Effect.promise(() =>
          new Promise<Net.Server>((resolve) => {
            const server = Net.createServer().listen(0, "127.0.0.1", () => resolve(server))
          })
        ),
        (server) => Effect.sync(() => server.address() as Net.AddressInfo),
        (server) => Effect.promise(() => new Promise<void>((resolve) => server.close(() => resolve())))
      )
      const { error } = yield* Effect.provide(
        OpenAi.outcome(),
        OpenAi.model({ baseUrl: `http://127.0.0.1:${port}/v1` })
      )
      assert.deepStrictEqual(network(error), ["TransportError", true])
      assert.include(error?.message, `127.0.0.1:${port} refused the connection; check that the server runs`)
      assert.include(error?.message, "ECONNREFUSED")
    }))

  it.effect.each<readonly [string, OpenAi.Reply]>([
    ["in the middle of a stream", OpenAi.reset(hello)],
    ["before any event", OpenAi.reset(": ping\n\n")]
  ])("a reset %s is a truncated stream that says how it broke", ([, reply]) =>
    Effect.gen(function*() {
      const { error, parts } = yield* OpenAi.answer(reply)
      assert.isTrue(error?.isRetryable)
      assert.isUndefined(error?.reason.cause, "the client's error holds the request")
      assert.isTrue(error !== undefined && LanguageModelOpenAi.isTruncated(error))
      assert.include(error?.message, "reset the connection")
      assert.notInclude(OpenAi.types(parts), "finish")
    }))
})

describe("secrets", () => {
  const secret = "sk-secret-0123456789"
  const prompt = "the launch code is 0000"

  it.effect("errors, logs and spans contain neither key nor prompt, even when the provider repeats the key", () =>
    Effect.gen(function*() {
      const lines: Array<unknown> = []
      const { spans, tracer } = Traces.make()
      const server = yield* OpenAi.make(
        OpenAi.status(401, { error: { message: `Incorrect API key provided: ${secret}`, code: `no:${secret}` } }),
        OpenAi.events(OpenAi.data({ error: { message: `key ${secret}` } })),
        OpenAi.reset(hello),
        OpenAi.status(400, `plain ${secret}`)
      )
      const model = OpenAi.model(server)
      const call = Effect.gen(function*() {
        const exit = yield* Effect.exit(
          Effect.flatMap(
            OpenAi.outcome({ prompt }),
            ({ error }) => error === undefined ? Effect.void : Effect.fail(error)
          )
        )
        assert.isTrue(Exit.isFailure(exit))
        if (Exit.isSuccess(exit)) return
        yield* Effect.logError("failed", exit.cause)
        lines.push(inspect(exit, { depth: 20 }), JSON.stringify(exit), String(exit), Cause.pretty(exit.cause))
      })
      yield* Effect.repeat(call, { times: 3 }).pipe(
        Effect.provide(model),
        Effect.provide(Logger.layer([Logger.make((options) => {
          lines.push(Logger.formatJson.log(options), inspect(options.message, { depth: 20 }))
        })])),
        Effect.withTracer(tracer)
      )
      lines.push(...spans.map((span) => inspect([span.name, span.attributes, span.events], { depth: 10 })))
      lines.push(inspect(yield* Layer.build(model), { depth: 20 }), inspect(OpenAi.key))
      const seen = lines.join("\n")
      assert.strictEqual(server.requests.length, 4)
      assert.strictEqual(server.requests[0]?.headers.authorization, `Bearer ${secret}`)
      assert.isTrue(spans.length > 0 && lines.length > 16)
      assert.notInclude(seen, secret)
      assert.notInclude(seen, "launch code")
      assert.include(seen, "Incorrect API key provided: <redacted>")
    }))
})
