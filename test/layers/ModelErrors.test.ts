/** A table: which failures of a provider are retryable, and the name by which a run knows each. */
import { assert, describe, it } from "@effect/vitest"
import * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ModelErrors from "../../src/layers/ModelErrors.ts"
import * as Endpoint from "../../src/layers/openai/Endpoint.ts"
import * as AdapterErrors from "../../src/layers/provider/AdapterErrors.ts"
import type * as RunError from "../../src/run/RunError.ts"

const make = (reason: AiError.AiErrorReason) => AiError.make({ module: "Test", method: "streamText", reason })
const http = (status: number) => ({ response: { status, headers: {} } })

/** The tag of the error, and of its reason. */
const kind = (error: RunError.ModelError) => [error._tag, error.reason._tag] as const
const retryable = (reason: RunError.ProviderReason["_tag"]) => ["RetryableError", reason] as const
const refusal = (reason: RunError.ProviderRefusal["_tag"]) => ["NonRetryableError", reason] as const

const now = Date.parse("Wed, 21 Oct 2026 07:28:00 GMT")

describe("a status, as effect/ai's own adapters report it,", () => {
  it.each<readonly [number, ReturnType<typeof kind>]>([
    [400, refusal("InvalidRequest")],
    [401, refusal("Authentication")],
    [403, refusal("Authentication")],
    [404, refusal("InvalidRequest")],
    [408, retryable("TimedOut")],
    [409, retryable("Overloaded")],
    [413, refusal("InvalidRequest")],
    [422, refusal("InvalidRequest")],
    [429, retryable("RateLimited")],
    [500, retryable("Overloaded")],
    [502, retryable("Overloaded")],
    [503, retryable("Overloaded")],
    [504, retryable("Overloaded")],
    [529, retryable("Overloaded")],
    [402, refusal("QuotaExhausted")],
    [418, refusal("InvalidRequest")],
    [425, retryable("Overloaded")],
    [304, refusal("Unknown")]
  ])("%i is %j", (status, expected) => {
    const error = ModelErrors.fromAiError(make(AiError.reasonFromHttpStatus({ status, http: http(status) })))
    assert.deepStrictEqual(kind(error), expected)
    assert.strictEqual(error.reason.status, status)
  })
})

describe("a reason of effect/ai", () => {
  const description = "what happened"
  const network = { method: "POST", url: "https://example.com", description } as const

  const reasons: ReadonlyArray<readonly [AiError.AiErrorReason, ReturnType<typeof kind>]> = [
    [new AiError.RateLimitError({}), retryable("RateLimited")],
    [new AiError.InternalProviderError({ description }), retryable("Overloaded")],
    [new AiError.InternalProviderError({ description: "invalid api key of the shard" }), retryable("Overloaded")],
    [new AiError.NetworkError({ reason: "TransportError", ...network }), retryable("Network")],
    [new AiError.InvalidResponseError({ description }), retryable("InvalidResponse")],
    [new AiError.InvalidOutputError({ description }), retryable("InvalidResponse")],
    [new AiError.NetworkError({ reason: "InvalidUrlError", ...network }), refusal("InvalidRequest")],
    [new AiError.NetworkError({ reason: "EncodeError", ...network }), refusal("InvalidRequest")],
    [new AiError.QuotaExhaustedError({}), refusal("QuotaExhausted")],
    [new AiError.AuthenticationError({ kind: "InvalidKey" }), refusal("Authentication")],
    [new AiError.ContentPolicyError({ description }), refusal("ContentPolicy")],
    [new AiError.InvalidRequestError({}), refusal("InvalidRequest")],
    [new AiError.InvalidUserInputError({ description }), refusal("InvalidRequest")],
    [new AiError.UnsupportedSchemaError({ description }), refusal("InvalidRequest")],
    [new AiError.ToolConfigurationError({ toolName: "t", description }), refusal("InvalidRequest")],
    [new AiError.UnknownError({}), refusal("Unknown")]
  ]

  it.each(reasons.map(([reason, expected]) => [reason._tag, expected, reason] as const))(
    "%s is %j",
    (_, expected, reason) => {
      const error = ModelErrors.fromAiError(make(reason))
      assert.deepStrictEqual(kind(error), expected)
      assert.isNotEmpty(error.message)
    }
  )

  it("keeps the provider's own words", () => {
    assert.strictEqual(
      ModelErrors.fromAiError(make(new AiError.ContentPolicyError({ description }))).message,
      description
    )
  })

  it("keeps the delay that the provider asks for", () => {
    const { reason } = ModelErrors.fromAiError(make(new AiError.RateLimitError({ retryAfter: Duration.seconds(7) })))
    assert.strictEqual(reason.retryAfter, 7000)
  })

  it("has no delay and no status when there was none", () => {
    const { reason } = ModelErrors.fromAiError(make(new AiError.RateLimitError({})))
    assert.notProperty(reason, "retryAfter")
    assert.notProperty(reason, "status")
  })

  it.each([
    "This model's maximum context length is 4096 tokens",
    "prompt is too long: 213000 tokens > 200000 maximum",
    "Your input exceeds the context window of this model",
    "input is too long for requested model",
    "Requested tokens (9000) exceed context_length_exceeded",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)",
    "Request too large: too many tokens",
    "the request exceeds the available context size",
    "Please reduce the length of the messages"
  ])("that says %j is a context overflow", (description) => {
    const error = ModelErrors.fromAiError(make(new AiError.InvalidRequestError({ description })))
    assert.deepStrictEqual(kind(error), refusal("ContextOverflow"))
  })

  it("that mentions the context otherwise is no context overflow", () => {
    const description = "Unknown parameter: context"
    const error = ModelErrors.fromAiError(make(new AiError.InvalidRequestError({ description })))
    assert.deepStrictEqual(kind(error), refusal("InvalidRequest"))
  })
})

describe("an error of our own OpenAI adapter", () => {
  const endpoint = Effect.runSync(Endpoint.make({ model: "m", baseUrl: "https://example.com/v1" }))
  const said = { message: undefined, code: undefined, type: undefined, param: undefined, status: undefined }

  it("that ended the stream early is a truncated stream", () => {
    assert.deepStrictEqual(
      kind(ModelErrors.fromAiError(AdapterErrors.truncated(endpoint))),
      retryable("StreamTruncated")
    )
  })

  it("of a conversation that is too long is a context overflow", () => {
    const error = AdapterErrors.fromProvider(endpoint, { ...said, code: "context_length_exceeded" })
    assert.deepStrictEqual(kind(ModelErrors.fromAiError(error)), refusal("ContextOverflow"))
  })

  it.each([408, 425, 402, 418])("of status %i is classified as for any other adapter", (status) => {
    const answer = { status, headers: {}, retryAfter: undefined }
    const ours = ModelErrors.fromAiError(AdapterErrors.fromProvider(endpoint, said, answer))
    const other = ModelErrors.fromAiError(make(AiError.reasonFromHttpStatus({ status, http: http(status) })))
    assert.deepStrictEqual(kind(ours), kind(other))
  })

  it("keeps the delay of a 503", () => {
    const answer = { status: 503, headers: {}, retryAfter: Duration.seconds(3) }
    const error = ModelErrors.fromAiError(AdapterErrors.fromProvider(endpoint, { ...said, message: "loading" }, answer))
    assert.deepStrictEqual([...kind(error), error.reason.status, error.reason.retryAfter], [
      ...retryable("Overloaded"),
      503,
      3000
    ])
  })
})

describe("an error part counts as the status it names:", () => {
  it.each<readonly [unknown, ReturnType<typeof kind>]>([
    // Anthropic
    [{ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }, retryable("Overloaded")],
    [{ type: "error", error: { type: "api_error", message: "Internal server error" } }, retryable("Overloaded")],
    [{ type: "error", error: { type: "rate_limit_error", message: "slow down" } }, retryable("RateLimited")],
    [
      { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } },
      refusal("Authentication")
    ],
    [{ type: "error", error: { type: "permission_error", message: "no access" } }, refusal("Authentication")],
    [{ type: "error", error: { type: "not_found_error", message: "no such model" } }, refusal("InvalidRequest")],
    [
      { type: "error", error: { type: "invalid_request_error", message: "messages: roles must alternate" } },
      refusal("InvalidRequest")
    ],
    [
      { type: "error", error: { type: "invalid_request_error", message: "prompt is too long: 213000 tokens" } },
      refusal("ContextOverflow")
    ],
    [{ type: "error", error: { type: "billing_error", message: "no credit" } }, refusal("QuotaExhausted")],
    // OpenAI
    [{ code: "server_error", message: "The server had an error" }, retryable("Overloaded")],
    [{ code: "rate_limit_exceeded", message: "Rate limit reached" }, retryable("RateLimited")],
    [{ code: "insufficient_quota", message: "You exceeded your current quota" }, refusal("QuotaExhausted")],
    [{ code: "context_length_exceeded", message: "too long" }, refusal("ContextOverflow")],
    [{ code: "invalid_api_key", message: "Incorrect API key" }, refusal("Authentication")],
    [{ code: "content_policy_violation", message: "flagged" }, refusal("ContentPolicy")],
    [{ code: "invalid_prompt", type: "invalid_request_error", message: "bad" }, refusal("InvalidRequest")],
    // by status number
    [{ error: { code: 503, status: "UNAVAILABLE", message: "overloaded" } }, retryable("Overloaded")],
    [{ error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "quota" } }, retryable("RateLimited")],
    [{ error: { code: 400, message: "bad" } }, refusal("InvalidRequest")],
    [{ error: { code: 401, message: "who" } }, refusal("Authentication")],
    [{ status: 529, message: "busy" }, retryable("Overloaded")],
    [{ status: 400, message: "bad" }, refusal("InvalidRequest")],
    // of the model behind a gateway
    [{ modelStreamErrorException: { message: "bad", originalStatusCode: 400 } }, refusal("InvalidRequest")],
    // by words only
    ["Overloaded", retryable("Overloaded")],
    ["Too many requests", retryable("RateLimited")],
    ["Too many tokens, please wait before trying again", retryable("Overloaded")],
    ["the request exceeds the available context size", refusal("ContextOverflow")],
    [{ code: "rate_limit_exceeded", message: "the maximum of your context window a minute" }, retryable("RateLimited")]
  ])("%j is %j", (error, expected) => assert.deepStrictEqual(kind(ModelErrors.fromPart(error)), expected))

  it.each([
    { type: "error", error: { type: "invalid_request_error", message: "tools.0.name: 'internal_search' is used" } },
    { validationException: { message: "tools.0.name: 'throttle' is used" } }
  ])("an invalid request stays one even if its message mentions something else: %j", (error) => {
    assert.deepStrictEqual(kind(ModelErrors.fromPart(error)), refusal("InvalidRequest"))
  })

  it("an AiError keeps its own reason", () => {
    const error = make(new AiError.QuotaExhaustedError({}))
    assert.deepStrictEqual(kind(ModelErrors.fromPart(error)), refusal("QuotaExhausted"))
  })

  it("one that names none is retryable", () => {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    for (const error of [new Error("socket hang up"), undefined, null, {}, circle]) {
      assert.strictEqual(ModelErrors.fromPart(error)._tag, "RetryableError")
    }
  })

  it("a long one is cut without splitting a character", () => {
    const { message } = ModelErrors.fromPart(`${"x".repeat(499)}${"\u{1f600}".repeat(300)}`)
    assert.isBelow(message.length, 700)
    assert.isTrue(message.isWellFormed())
  })
})

describe("an error of another adapter of effect/ai", () => {
  const spent = JSON.stringify({ error: { message: "You exceeded it", type: "insufficient_quota" } })

  it.each<readonly [number, string, ReturnType<typeof kind>]>([
    [429, spent, refusal("QuotaExhausted")],
    [429, "", retryable("RateLimited")],
    [
      400,
      JSON.stringify({ type: "error", error: { type: "x", message: "prompt is too long" } }),
      refusal("ContextOverflow")
    ],
    [500, JSON.stringify({ error: { message: "Context size has been exceeded." } }), refusal("ContextOverflow")],
    [418, JSON.stringify({ error: { code: "invalid_api_key" } }), refusal("Authentication")]
  ])("of status %i is read by its body: %s", (status, body, expected) => {
    const error = ModelErrors.fromAiError(
      make(AiError.reasonFromHttpStatus({ status, http: { ...http(status), body } }))
    )
    assert.deepStrictEqual([...kind(error), error.reason.status], [...expected, status])
  })

  it("is read by the codes in its metadata", () => {
    const reason = new AiError.RateLimitError({ metadata: { openai: { errorCode: "insufficient_quota" } } })
    assert.deepStrictEqual(kind(ModelErrors.fromAiError(make(reason))), refusal("QuotaExhausted"))
  })

  it("keeps the delay of a 503 from its headers", () => {
    const response = { status: 503, headers: { "retry-after": "7" } }
    const error = ModelErrors.fromAiError(make(AiError.reasonFromHttpStatus({ status: 503, http: { response } })))
    assert.strictEqual(error.reason.retryAfter, 7000)
  })

  it.each<readonly [object, string | undefined, number | undefined]>([
    [{ "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT" }, undefined, 30_000],
    [{}, JSON.stringify({ error: { details: [{ retryDelay: "45s" }] } }), 45_000],
    [{ "retry-after": "7" }, JSON.stringify({ error: { details: [{ retryDelay: "45s" }] } }), 7_000],
    [{ "retry-after": "soon" }, "no JSON", undefined]
  ])("has the delay that the provider asked an adapter of others for, by %j and %s", (headers, body, expected) => {
    const http = { response: { status: 429, headers }, ...(body === undefined ? {} : { body }) }
    const error = make(AiError.reasonFromHttpStatus({ status: 429, http: http as never }))
    assert.strictEqual(ModelErrors.fromAiError(error, now).reason.retryAfter, expected)
  })

  it("does not keep a key that the provider repeats", () => {
    const description = "Incorrect API key provided: sk-proj-abc123def456ghi"
    const error = ModelErrors.fromAiError(make(new AiError.AuthenticationError({ kind: "InvalidKey", description })))
    assert.strictEqual(error.message.includes("abc123"), false)
  })
})

describe("an error of a library", () => {
  it("from the AI SDK is classified by the answer in it", () => {
    const error = Object.assign(new Error("Too Many Requests"), {
      statusCode: 429,
      responseBody: JSON.stringify({ error: { message: "You exceeded it", code: "insufficient_quota" } }),
      responseHeaders: {}
    })
    assert.deepStrictEqual(kind(ModelErrors.fromPart(error)), refusal("QuotaExhausted"))
  })

  it("from the AI SDK without the answer's body is classified by its words", () => {
    const error = Object.assign(new Error("prompt is too long: 9 tokens"), { statusCode: 400 })
    assert.deepStrictEqual(kind(ModelErrors.fromPart(error)), refusal("ContextOverflow"))
  })

  it("from a connection is a network failure with its code", () => {
    const error = new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ECONNRESET" }) })
    const found = ModelErrors.fromPart(error)
    assert.deepStrictEqual(kind(found), retryable("Network"))
    assert.include(found.message, "(ECONNRESET)")
  })
})

describe("an answer", () => {
  it.each<readonly [Record<string, string>, object, number | undefined]>([
    [{ "retry-after": "3" }, {}, 3000],
    [{ "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT" }, {}, 30_000],
    [{ "retry-after": "999999999999" }, {}, undefined],
    [{}, { error: { details: [{ "@type": "google.rpc.RetryInfo", retryDelay: "32.5s" }] } }, 32_500],
    [{ "retry-after": "3" }, { error: { details: [{ retryDelay: "32s" }] } }, 3000],
    // Gemini's order
    [{}, { error: { details: [{ violations: [] }, { links: [] }, { retryDelay: "32s" }] } }, 32_000],
    [{}, { error: { details: [{ retryDelay: "-1s" }] } }, undefined]
  ])("with %j and %j asks to wait %s ms", (headers, body, expected) => {
    assert.strictEqual(ModelErrors.fromAnswer({ status: 429, headers, body }, now).reason.retryAfter, expected)
  })

  it.each<readonly [number | undefined, string | undefined]>([
    [30_000, "Wed, 21 Oct 2026 07:28:00 GMT"],
    [undefined, undefined],
    [undefined, "today"]
  ])("with a date to wait for has %s ms left where the time is not given, and its own date is %s", (expected, date) => {
    const headers = { "retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", date }
    assert.strictEqual(ModelErrors.fromAnswer({ status: 429, headers }).reason.retryAfter, expected)
  })

  it.each<readonly [string, object | string, string, number | undefined]>([
    ["name", { error: { type: "overloaded_error", message: "Overloaded" } }, "Overloaded", undefined],
    ["status", { error: { code: 502, message: "Provider returned error" } }, "Overloaded", 502],
    ["status", { error: { code: 401, message: "no" } }, "Authentication", 401],
    ["words", { error: { message: "Rate limit reached" } }, "RateLimited", undefined],
    ["words", { error: { message: "prompt is too long: 9 tokens > 8 maximum" } }, "ContextOverflow", undefined],
    ["emptiness", "", "InvalidResponse", 200],
    ["page", "<html>a login page</html>", "InvalidResponse", 200]
  ])("with a status of success is judged by the %s of its body: %j", (_, body, reason, status) => {
    const error = ModelErrors.fromAnswer({ status: 200, body: typeof body === "string" ? body : JSON.stringify(body) })
    assert.deepStrictEqual([error.reason._tag, error.reason.status], [reason, status])
  })

  it("that leads elsewhere is a wrong request, whatever its body", () => {
    const error = ModelErrors.fromAnswer({ status: 302, body: "Found. Redirecting to /login" })
    assert.deepStrictEqual([error.reason._tag, error.reason.status], ["InvalidRequest", 302])
  })

  it.each<readonly [string, object | string]>([
    ["OpenAI", { error: { message: "no" } }],
    ["Google", [{ error: { message: "no" } }]],
    ["Ollama", { error: "no" }],
    ["AWS", { Message: "no" }],
    ["FastAPI", { detail: "no" }],
    ["Cloudflare", { success: false, errors: [{ code: 5007, message: "no" }] }],
    ["MiniMax", { base_resp: { status_code: 1004, status_msg: "no" } }],
    ["OpenRouter", { choices: [{ error: { code: 400, message: "no" } }] }],
    ["Groq", { x_groq: { error: { message: "no" } } }],
    ["Bedrock", { validationException: { message: "no" } }],
    ["an SDK that puts it all in its message", { message: "{\"error\":{\"message\":\"no\"}}" }],
    ["an event", "event: error\r\ndata: {\"error\":{\"message\":\"no\"}}\r\n\r\n"],
    ["a plain text", " no\n"]
  ])("is reported in the provider's words, in the shape of %s", (_, body) => {
    assert.include(ModelErrors.fromAnswer({ status: 400, body }).message, "answered HTTP 400: no (check")
  })

  it.each<readonly [string, object, string]>([
    ["code", { error: { code: "insufficient_quota", message: "{\"message\":\"slow\"}" } }, "QuotaExhausted"],
    ["type", { error: { type: "authentication_error", message: "{\"detail\":\"no\"}" } }, "Authentication"],
    ["status", { error: { code: 401, message: "{\"detail\":\"no\"}" } }, "Authentication"],
    [
      "name of what is inside first",
      { error: { code: 500, message: "{\"error\":{\"code\":429,\"message\":\"no\"}}" } },
      "RateLimited"
    ]
  ])("that is JSON in an error's message counts with the %s of the error around it", (_, body, reason) => {
    assert.strictEqual(ModelErrors.fromPart(body).reason._tag, reason)
  })

  it("that is JSON in an error's message has the delay of the error around it", () => {
    const body = { error: { message: "{\"detail\":\"slow\"}", details: [{ retryDelay: "32s" }] } }
    assert.strictEqual(ModelErrors.fromAnswer({ status: 429, body }, now).reason.retryAfter, 32_000)
  })

  it("is reported on one line, with the host, its words and what to check, without a key", () => {
    const body = "{\"error\":{\"message\":\"No access with key gsk_abcdefgh12345678.\",\"code\":\"invalid_api_key\"}}"
    const { message } = ModelErrors.fromAnswer({ status: 401, body, host: "api.groq.com", key: "GROQ_API_KEY" })
    assert.strictEqual(message, "api.groq.com answered HTTP 401: No access with key <redacted> (check GROQ_API_KEY)")
  })

  it("that never came is reported by the connection's error code", () => {
    const error = ModelErrors.fromAnswer({ code: "ECONNREFUSED", body: "connect ECONNREFUSED" })
    assert.deepStrictEqual(kind(error), retryable("Network"))
    assert.strictEqual(
      error.message,
      "the provider could not be reached, or the connection broke (ECONNREFUSED) (try again later)"
    )
  })
})
