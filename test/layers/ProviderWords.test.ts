/** What providers say of a conversation that is too long, of content that they refuse, and of an empty account, in observed words. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ModelErrors from "../../src/layers/ModelErrors.ts"
import * as OpenAi from "../support/OpenAiServer.ts"

const says = (message: string, code?: string | number, type?: string) => ({ error: { message, code, type } })

const answers: ReadonlyArray<readonly [provider: string, status: number, body: object, reason: string]> = [
  [
    "Alibaba",
    400,
    says(
      "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]",
      "invalid_parameter_error",
      "invalid_request_error"
    ),
    "ContextOverflow"
  ],
  ["Alibaba", 400, says("Range of max_tokens should be [1, 8192]", "invalid_parameter_error"), "InvalidRequest"],
  ["Z.ai", 400, says("Prompt exceeds max length", "1261"), "ContextOverflow"],
  [
    "Volcengine",
    400,
    says("Input length 203743 exceeds the maximum length 202752", "InvalidParameter"),
    "ContextOverflow"
  ],
  [
    "GitHub Models",
    413,
    says("Request body too large for gpt-4o model. Max size: 8000 tokens.", "tokens_limit_reached"),
    "ContextOverflow"
  ],
  [
    "Vertex AI",
    400,
    says(
      "Unable to submit request because the input token count is 32772 but model only supports up to 32768. Reduce the "
        + "input token count and try again.",
      400
    ),
    "ContextOverflow"
  ],
  ["DeepSeek", 400, says("Content Exists Risk", "invalid_request_error", "invalid_request_error"), "ContentPolicy"],
  [
    "xAI",
    403,
    {
      code: "The caller does not have permission to execute the specified operation",
      error: "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"
    },
    "ContentPolicy"
  ],
  [
    "xAI",
    403,
    {
      code: "The caller does not have permission to execute the specified operation",
      error: "Your newly created team doesn't have any credits yet. You can purchase those on https://console.x.ai."
    },
    "QuotaExhausted"
  ],
  [
    "OpenAI",
    400,
    says(
      "Invalid prompt: we've limited access to this content for safety reasons.",
      "invalid_prompt",
      "invalid_request_error"
    ),
    "ContentPolicy"
  ],
  [
    "Alibaba",
    400,
    says(
      "<400> InternalError.Algo.DataInspectionFailed: Input data may contain inappropriate content.",
      "data_inspection_failed",
      "data_inspection_failed"
    ),
    "ContentPolicy"
  ],
  [
    "Alibaba",
    400,
    says("Access denied, please make sure your account is in good standing.", "Arrearage", "Arrearage"),
    "QuotaExhausted"
  ],
  [
    "LiteLLM",
    400,
    says("Budget has been exceeded! Current cost: 10.1, Max budget: 10.0", "400", "budget_exceeded"),
    "QuotaExhausted"
  ]
]

describe("a refusal is classified", () => {
  it.each(answers)("of %s, %i, %o: %s", (_, status, body, reason) => {
    assert.strictEqual(ModelErrors.fromAnswer({ status, body }).reason._tag, reason)
  })
})

describe("a 429 that speaks of a quota", () => {
  const quota = (message: string) => says(message, "quota_exceeded", "quota_exceeded")

  it.each<readonly [string, object, string]>([
    [
      "Cerebras, of a minute",
      {
        message: "Tokens per minute limit exceeded - too many tokens processed.",
        type: "too_many_tokens_error",
        param: "quota",
        code: "token_quota_exceeded"
      },
      "RateLimited"
    ],
    [
      "Cerebras, of a day",
      {
        message: "Tokens per day limit exceeded - too many tokens processed.",
        type: "too_many_tokens_error",
        param: "quota",
        code: "token_quota_exceeded"
      },
      "QuotaExhausted"
    ],
    ["anyone, of a minute", quota("You exceeded your current quota of 60 requests/min."), "RateLimited"],
    ["anyone, of 10 seconds", quota("Quota: 5 requests per 10 seconds"), "RateLimited"],
    ["anyone, by a name", says("Quota exceeded", "requests_per_minute", "quota_exceeded"), "RateLimited"],
    ["anyone, in short", quota("TPM quota exceeded. See https://example.com/settings/billing"), "RateLimited"],
    ["Alibaba, throttled", says("Requests throttled", "Throttling.RateQuota"), "RateLimited"],
    ["anyone, of a month", quota("Monthly quota exceeded; the limit per minute is 60."), "QuotaExhausted"],
    ["anyone, of a day and a minute", quota("Limits: 10 RPM, 500 RPD"), "QuotaExhausted"],
    ["anyone, of 86400 seconds", quota("50 requests per 86400s"), "QuotaExhausted"],
    ["anyone, of money", quota("Add a payment method; without one you have 0 requests per minute"), "QuotaExhausted"],
    ["anyone, of money by a name", says("3 requests per minute", "insufficient_balance"), "QuotaExhausted"],
    ["anyone, of tokens a second", quota("Quota of 900 tokens/s exceeded"), "RateLimited"],
    ["anyone, of 5 a second", quota("Quota: 5/s"), "RateLimited"],
    [
      "anyone, of no time, with an address",
      quota("Quota exceeded. Raise it at https://example.com/us-east/per-minute or example.com/us-east/quotas"),
      "QuotaExhausted"
    ],
    ["anyone, of money, with an address", quota("insufficient funds, see https://x.y/docs/js#quota"), "QuotaExhausted"],
    ["anyone, of money, and a minute", quota("Insufficient funds. 60 requests per minute"), "QuotaExhausted"],
    [
      "anyone, of a trial",
      quota("Trial quota is exhausted. Paid accounts have 60 requests per minute."),
      "QuotaExhausted"
    ],
    ["anyone, of a trial by a name", says("Allowed: 60 RPM", "trial_quota_exceeded"), "QuotaExhausted"],
    ["anyone, of a plan", quota("The quota of your plan is used up. Allowed: 30 RPM."), "QuotaExhausted"],
    ["anyone, of a free tier", quota("Your free-tier quota is used up. Others have 60 RPM."), "QuotaExhausted"],
    ["anyone, of 5 hours", quota("Quota is used up for 5 hours. Allowed: 30 RPM."), "QuotaExhausted"],
    [
      "anyone, of an hour and a minute",
      quota("Quota of 100 requests per hour exceeded; 10 requests per minute allowed"),
      "QuotaExhausted"
    ],
    ["anyone, of a year", quota("Yearly quota exceeded; 10 requests per minute allowed"), "QuotaExhausted"],
    ["anyone, of no time", quota("Quota exceeded"), "QuotaExhausted"]
  ])("is a rate where it is over in a moment, as an answer and in a stream: %s", (_, body, reason) => {
    assert.strictEqual(ModelErrors.fromAnswer({ status: 429, body }).reason._tag, reason)
    assert.strictEqual(ModelErrors.fromPart(body).reason._tag, reason)
  })
})

describe("an error inside a 200 stream", () => {
  const permission = "The caller does not have permission to execute the specified operation"
  const read = (body: object, name: string) =>
    Effect.gen(function*() {
      const begun = OpenAi.data(OpenAi.delta({ content: "Hel" }))
      const { error } = yield* OpenAi.answer(OpenAi.events(begun, `${name}${OpenAi.data(body)}`))
      assert.isDefined(error)
      return ModelErrors.fromAiError(error!).reason._tag
    })

  it.effect.each<readonly [string, object, string]>([
    // by the status that it names
    ["Azure", { statusCode: 401, message: "Access token is missing" }, "Authentication"],
    ["a gateway", { statusCode: 429, error: "Too Many Requests", message: "no" }, "RateLimited"],
    ["a gateway", { status: 404, error: { message: "no" } }, "InvalidRequest"],
    ["a gateway", { error: { message: "no", http_code: "402" } }, "QuotaExhausted"],
    ["Mistral", { object: "error", message: "no", code: "1", raw_status_code: 429 }, "RateLimited"],
    // by its name
    ["a gateway", { type: "error", error: { type: "payload_too_large", message: "no" } }, "InvalidRequest"],
    ["a gateway", { error: { type: "not_supported_error", message: "no" } }, "InvalidRequest"],
    // by words that say more than its name
    ["xAI", { code: permission, error: "Your team doesn't have any credits yet." }, "QuotaExhausted"],
    ["xAI", { code: permission, error: "Content violates usage guidelines." }, "ContentPolicy"],
    ["a gateway", { error: { type: "forbidden", message: "Your account has run out of credits" } }, "QuotaExhausted"],
    ["a gateway", { error: { code: "rate_limited", message: "200 requests per day" } }, "QuotaExhausted"],
    // by words alone
    [
      "Hugging Face",
      { error: "You have exceeded your monthly included credits for Inference Providers." },
      "QuotaExhausted"
    ],
    [
      "Cloudflare",
      { errors: [{ message: "AiError: you have used up your daily free allocation of 10,000 neurons", code: 4006 }] },
      "QuotaExhausted"
    ],
    ["Alibaba", { code: "limit_requests", message: "You exceeded your current requests list." }, "RateLimited"],
    ["Cohere", { message: "too many tokens: the prompt cannot exceed 128000" }, "ContextOverflow"],
    ["Cohere", { message: "invalid api token" }, "Authentication"],
    ["a gateway", { message: "Forbidden" }, "Authentication"],
    ["a gateway", { message: "Payment Required" }, "QuotaExhausted"],
    ["a gateway", { message: "Too Many Requests" }, "RateLimited"],
    ["a gateway", { message: "You exceeded your current quota of 9 requests per minute" }, "RateLimited"],
    ["a gateway", { message: "Service Unavailable" }, "Overloaded"],
    ["a gateway", { message: "The authentication service is temporarily unavailable" }, "Overloaded"],
    ["a gateway", { message: "Invalid response from the load balancer, internal error" }, "Overloaded"],
    ["a gateway", { message: "Host of the upstream not found" }, "Overloaded"],
    ["a gateway", { message: "Unauthorized: sign in and try again" }, "Authentication"],
    ["a gateway", { error: "The model `x` does not exist" }, "InvalidRequest"],
    ["a gateway", { error: { message: "Invalid value for 'temperature'", type: null } }, "InvalidRequest"]
  ])("is classified as the status would be: of %s, %j", ([, body, reason]) =>
    Effect.gen(function*() {
      assert.deepStrictEqual([yield* read(body, "event: error\n"), yield* read(body, "")], [reason, reason])
      assert.strictEqual(ModelErrors.fromPart(body).reason._tag, reason)
    }))

  it.effect("is none where only a message came, and the answer after it", () =>
    Effect.gen(function*() {
      const waiting = OpenAi.data({ message: "The model is at capacity, waiting" })
      const rest = OpenAi.data(OpenAi.delta({ content: "Hello" }), OpenAi.finish("stop"))
      const { error, parts } = yield* OpenAi.answer(OpenAi.events(waiting + rest + OpenAi.done))
      assert.deepStrictEqual([error, OpenAi.text(parts)], [undefined, "Hello"])
    }))

  it.effect("is not made of a message that says nothing of one, where the stream was cut after it", () =>
    Effect.gen(function*() {
      const { error } = yield* OpenAi.answer(OpenAi.events(OpenAi.data({ message: "queued" })))
      assert.strictEqual(ModelErrors.fromAiError(error!).reason._tag, "StreamTruncated")
    }))
})

describe("a finish reason", () => {
  const hello = OpenAi.data(OpenAi.delta({ content: "Hel" }))

  it.effect.each([
    ["model_context_window_exceeded", "length"], // Z.ai, Anthropic
    ["sensitive", "content-filter"], // Z.ai
    ["PROHIBITED_CONTENT", "content-filter"], // Gemini
    ["RECITATION", "content-filter"] // Gemini
  ])("%s is read as %s", ([given, expected]) =>
    Effect.gen(function*() {
      const { parts } = yield* OpenAi.answer(OpenAi.events(hello, OpenAi.data(OpenAi.finish(given!))))
      assert.strictEqual(OpenAi.finishOf(parts)?.reason, expected)
    }))

  it.effect.each(["network_error", "MALFORMED_FUNCTION_CALL"])(
    "%s is a failure, and half an answer no whole one",
    (given) =>
      Effect.gen(function*() {
        const { error } = yield* OpenAi.answer(OpenAi.events(hello, OpenAi.data(OpenAi.finish(given))))
        assert.isDefined(error)
        assert.strictEqual(ModelErrors.fromAiError(error!)._tag, "RetryableError")
      })
  )
})
