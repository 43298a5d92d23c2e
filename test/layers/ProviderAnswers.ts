/**
 * What providers answer when something is wrong, in documented or observed shapes, and the reason
 * that each is classified as.
 */
import type * as RunError from "../../src/run/RunError.ts"

type Reason = (RunError.ProviderReason | RunError.ProviderRefusal)["_tag"]

export interface Answer {
  readonly provider: string
  readonly status: number
  readonly body: object | string
  readonly reason: Reason
  readonly headers?: Readonly<Record<string, string>>
  /** the reason of the same body inside a 200 stream, if it differs; `null`: never sent there */
  readonly inStream?: Reason | null
}

const html = "<!doctype html>\n<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"

/** `[status, body, reason]` of each provider. */
type Row = readonly [
  status: number,
  body: object | string,
  reason: Reason,
  more?: Pick<Answer, "headers" | "inStream">
]

const openai = (message: string, type: string | null, code: string | null = null) => ({
  error: { message, type, param: null, code }
})
const anthropic = (type: string, message: string) => ({ type: "error", error: { type, message }, request_id: "req_1" })
const google = (code: number, status: string, message: string, ...details: ReadonlyArray<object>) => ({
  error: { code, message, status, ...(details.length === 0 ? {} : { details }) }
})
const violations = (...quotaIds: ReadonlyArray<string>) => ({
  "@type": "type.googleapis.com/google.rpc.QuotaFailure",
  violations: quotaIds.map((quotaId) => ({
    quotaMetric: "generativelanguage.googleapis.com/generate_content_free_tier_requests",
    quotaId,
    quotaValue: "50"
  }))
})
const info = (reason: string) => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason,
  domain: "googleapis.com"
})
const mistral = (message: string, type: string, code: string | null = null) => ({
  object: "error",
  message,
  type,
  param: null,
  code
})
const aws = (name: string) => ({
  headers: { "x-amzn-errortype": `${name}:http://internal.amazon.com/coral/com.amazon.bedrock/` },
  inStream: null
})
const exceeded =
  "You exceeded your current quota, please check your plan and billing details. For more information on this error, head " +
  "to: https://ai.google.dev/gemini-api/docs/rate-limits."

const byProvider: Readonly<Record<string, ReadonlyArray<Row>>> = {
  "any proxy": [
    [502, html, "Overloaded"],
    [503, html, "Overloaded"],
    [504, "", "Overloaded"],
    [500, "", "Overloaded"],
    [429, html, "RateLimited"],
    [429, "", "RateLimited"],
    [401, "", "Authentication"],
    [403, html, "Authentication"],
    [404, html, "InvalidRequest"],
    [413, "<html><h1>413 Request Entity Too Large</h1></html>", "InvalidRequest"],
    [400, "", "InvalidRequest"],
    [408, "", "TimedOut"],
    [409, "", "Overloaded"],
    [425, "", "Overloaded"],
    [501, "Not Implemented", "InvalidRequest"],
    [522, html, "Overloaded"]
  ],
  OpenAI: [
    [
      429,
      openai(
        "Rate limit reached for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Used 29500, Requested " +
          "1200. Please try again in 1.4s.",
        "tokens",
        "rate_limit_exceeded"
      ),
      "RateLimited"
    ],
    [
      429,
      openai(
        "Rate limit reached for gpt-4o in organization org-1 on requests per day (RPD): Limit 200, Used 200, Requested 1. " +
          "Please try again in 7m12s.",
        "requests",
        "rate_limit_exceeded"
      ),
      "RateLimited"
    ],
    [
      429,
      openai(
        "Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 41234. The " +
          "input or output tokens must be reduced in order to run successfully.",
        "tokens",
        "rate_limit_exceeded"
      ),
      "ContextOverflow"
    ],
    [
      429,
      openai(
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota"
      ),
      "QuotaExhausted"
    ],
    [
      400,
      openai("Billing hard limit has been reached", "invalid_request_error", "billing_hard_limit_reached"),
      "QuotaExhausted"
    ],
    [
      401,
      openai("Incorrect API key provided: sk-a***b.", "invalid_request_error", "invalid_api_key"),
      "Authentication"
    ],
    [
      403,
      openai(
        "Country, region, or territory not supported",
        "request_forbidden",
        "unsupported_country_region_territory"
      ),
      "Authentication"
    ],
    [
      404,
      openai(
        "The model `gpt-9` does not exist or you do not have access to it.",
        "invalid_request_error",
        "model_not_found"
      ),
      "InvalidRequest"
    ],
    [
      400,
      openai(
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens. Please " +
          "reduce the length of the messages.",
        "invalid_request_error",
        "context_length_exceeded"
      ),
      "ContextOverflow"
    ],
    [
      400,
      openai(
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 280000 tokens.",
        null
      ),
      "ContextOverflow"
    ],
    [
      400,
      openai(
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
        "invalid_request_error",
        "invalid_prompt"
      ),
      "ContentPolicy"
    ],
    [
      400,
      openai("Unsupported parameter: 'max_tokens'", "invalid_request_error", "unsupported_parameter"),
      "InvalidRequest"
    ],
    [500, openai("The server had an error while processing your request.", "server_error"), "Overloaded"],
    [503, openai("The engine is currently overloaded, please try again later", "service_unavailable"), "Overloaded"]
  ],
  Azure: [
    [
      400,
      {
        error: {
          message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
          type: null,
          param: "prompt",
          code: "content_filter",
          status: 400,
          innererror: { code: "ResponsibleAIPolicyViolation" }
        }
      },
      "ContentPolicy"
    ],
    [
      429,
      {
        error: {
          code: "429",
          message:
            "Requests have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 6 seconds."
        }
      },
      "RateLimited"
    ],
    [404, openai("The API deployment for this resource does not exist.", null, "DeploymentNotFound"), "InvalidRequest"]
  ],
  Anthropic: [
    [400, anthropic("invalid_request_error", "messages: roles must alternate"), "InvalidRequest"],
    [
      400,
      anthropic(
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
      ),
      "QuotaExhausted"
    ],
    [
      400,
      anthropic(
        "invalid_request_error",
        "You have reached your specified API usage limits. You will regain access on 2026-01-01 at 00:00 UTC."
      ),
      "QuotaExhausted"
    ],
    [
      400,
      anthropic("invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"),
      "ContextOverflow"
    ],
    [
      400,
      anthropic(
        "invalid_request_error",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or " +
          "`max_tokens` and try again"
      ),
      "ContextOverflow"
    ],
    [400, anthropic("invalid_request_error", "Output blocked by content filtering policy"), "ContentPolicy"],
    [401, anthropic("authentication_error", "invalid x-api-key"), "Authentication"],
    [402, anthropic("billing_error", "There is a problem with your billing"), "QuotaExhausted"],
    [403, anthropic("permission_error", "Your API key does not have permission"), "Authentication"],
    [404, anthropic("not_found_error", "model: claude-9"), "InvalidRequest"],
    [413, anthropic("request_too_large", "Request exceeds the maximum size"), "InvalidRequest"],
    [429, anthropic("rate_limit_error", "This request would exceed your organization's rate limit"), "RateLimited"],
    [500, anthropic("api_error", "Internal server error"), "Overloaded"],
    [504, anthropic("timeout_error", "Request timed out"), "Overloaded"],
    [529, anthropic("overloaded_error", "Overloaded"), "Overloaded"]
  ],
  Google: [
    [
      400,
      google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", info("API_KEY_INVALID")),
      "Authentication"
    ],
    [400, google(400, "INVALID_ARGUMENT", "Request contains an invalid argument."), "InvalidRequest"],
    [
      400,
      google(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1196265) exceeds the maximum number of tokens allowed (1048576)."
      ),
      "ContextOverflow"
    ],
    [
      400,
      google(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
      "InvalidRequest"
    ],
    [403, google(403, "PERMISSION_DENIED", "The caller does not have permission"), "Authentication"],
    [
      403,
      google(403, "PERMISSION_DENIED", "This API method requires billing to be enabled.", info("BILLING_DISABLED")),
      "QuotaExhausted"
    ],
    [404, google(404, "NOT_FOUND", "models/gemini-9 is not found for API version v1beta"), "InvalidRequest"],
    [429, google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."), "RateLimited"],
    [
      429,
      google(429, "RESOURCE_EXHAUSTED", exceeded, violations("GenerateRequestsPerMinutePerProjectPerModel-FreeTier")),
      "RateLimited"
    ],
    [
      429,
      google(
        429,
        "RESOURCE_EXHAUSTED",
        exceeded,
        violations(
          "GenerateContentInputTokensPerModelPerMinute-FreeTier",
          "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
        )
      ),
      "QuotaExhausted"
    ],
    [
      429,
      [google(429, "RESOURCE_EXHAUSTED", exceeded, violations("GenerateRequestsPerDayPerProjectPerModel"))],
      "QuotaExhausted",
      { inStream: null }
    ],
    [
      429,
      openai(JSON.stringify(google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted")), null),
      "RateLimited"
    ],
    [499, google(499, "CANCELLED", "The operation was cancelled."), "Overloaded"],
    [500, google(500, "INTERNAL", "An internal error has occurred."), "Overloaded"],
    [503, google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."), "Overloaded"],
    [504, google(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."), "Overloaded"]
  ],
  Bedrock: [
    [400, { message: "Input is too long for requested model." }, "ContextOverflow", aws("ValidationException")],
    [400, { message: "Malformed input request" }, "InvalidRequest", aws("ValidationException")],
    [400, { message: "Rate exceeded" }, "RateLimited", aws("ThrottlingException")],
    [400, { __type: "ServiceQuotaExceededException", message: "Too much" }, "QuotaExhausted", { inStream: null }],
    [
      403,
      { message: "The security token included in the request is invalid." },
      "Authentication",
      aws("UnrecognizedClientException")
    ],
    [403, { Message: "You don't have access to the model" }, "Authentication", aws("AccessDeniedException")],
    [404, { message: "Could not resolve the foundation model" }, "InvalidRequest", aws("ResourceNotFoundException")],
    [408, { message: "Model has timed out" }, "TimedOut", aws("ModelTimeoutException")],
    [424, { message: "The model failed", originalStatusCode: 500 }, "Overloaded", aws("ModelErrorException")],
    [429, { message: "Too many requests, please wait" }, "RateLimited", aws("ThrottlingException")],
    [429, { message: "Too many tokens, please wait before trying again." }, "RateLimited", aws("ThrottlingException")],
    [
      429,
      { message: "Too many tokens per day, please wait before trying again." },
      "QuotaExhausted",
      aws("Throttling")
    ],
    [429, { message: "Model is not ready" }, "RateLimited", aws("ModelNotReadyException")],
    [500, { message: "Internal" }, "Overloaded", aws("InternalServerException")],
    [503, { message: "Unavailable" }, "Overloaded", aws("ServiceUnavailableException")]
  ],
  Groq: [
    [
      413,
      openai(
        "Request too large for model `llama-3.3-70b` in organization `org_1` service tier `on_demand` on tokens per minute " +
          "(TPM): Limit 6000, Requested 9000, please reduce your message size and try again.",
        "tokens",
        "rate_limit_exceeded"
      ),
      "ContextOverflow"
    ],
    [
      429,
      openai(
        "Rate limit reached for model `llama-3.3-70b` in organization `org_1` on tokens per day (TPD): Limit 100000, Used " +
          "99800, Requested 1000. Please try again in 11m31.2s.",
        "tokens",
        "rate_limit_exceeded"
      ),
      "RateLimited"
    ],
    [
      400,
      openai(
        "Please reduce the length of the messages or completion.",
        "invalid_request_error",
        "context_length_exceeded"
      ),
      "ContextOverflow"
    ],
    [
      400,
      openai(
        "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        "invalid_request_error",
        "tool_use_failed"
      ),
      "InvalidResponse"
    ],
    [401, openai("Invalid API Key", "invalid_request_error", "invalid_api_key"), "Authentication"],
    [404, openai("The model `x` does not exist", "invalid_request_error", "model_not_found"), "InvalidRequest"],
    [424, openai("Failed dependency", "invalid_request_error"), "Overloaded", { inStream: null }],
    [498, openai("Flex tier capacity exceeded", "internal_server_error", "capacity_exceeded"), "Overloaded"],
    [503, openai("Service Unavailable", "internal_server_error"), "Overloaded"]
  ],
  Mistral: [
    [401, { message: "Unauthorized", request_id: "1" }, "Authentication"],
    [401, { detail: "Unauthorized" }, "Authentication"],
    [400, mistral("Invalid model: mistral-9", "invalid_model", "1500"), "InvalidRequest"],
    [
      400,
      mistral(
        "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        "invalid_request_prompt",
        "3051"
      ),
      "ContextOverflow"
    ],
    [
      422,
      { detail: [{ type: "missing", loc: ["body", "messages"], msg: "Field required", input: "SECRET" }] },
      "InvalidRequest"
    ],
    [429, mistral("Rate limit exceeded", "rate_limited", "1300"), "RateLimited"],
    [429, { message: "Requests rate limit exceeded" }, "RateLimited"],
    [
      429,
      mistral("Service tier capacity exceeded for this model.", "service_tier_capacity_exceeded", "3505"),
      "RateLimited",
      { inStream: "Overloaded" }
    ],
    [500, mistral("Internal server error", "internal_server_error", "1000"), "Overloaded"]
  ],
  OpenRouter: [
    [400, { error: { code: 400, message: "x is not a valid model ID" } }, "InvalidRequest"],
    [
      400,
      {
        error: {
          code: 400,
          message: "Provider returned error",
          metadata: {
            provider_name: "Together",
            raw:
              "{\"error\":{\"message\":\"This endpoint's maximum context length is 32768 tokens. However, you requested 40000\"}}"
          }
        }
      },
      "ContextOverflow"
    ],
    [401, { error: { code: 401, message: "No auth credentials found" } }, "Authentication"],
    [
      402,
      { error: { code: 402, message: "Insufficient credits. Add more using https://openrouter.ai/settings/credits" } },
      "QuotaExhausted"
    ],
    [
      403,
      {
        error: {
          code: 403,
          message: "Your chosen model requires moderation and your input was flagged",
          metadata: { reasons: ["violence"], flagged_input: "…", provider_name: "OpenAI", model_slug: "o" }
        }
      },
      "ContentPolicy"
    ],
    [403, { error: { code: 403, message: "Key limit exceeded" } }, "Authentication"],
    [408, { error: { code: 408, message: "Your request timed out" } }, "TimedOut"],
    [
      429,
      { error: { code: 429, message: "Rate limit exceeded: free-models-per-min." } },
      "RateLimited"
    ],
    [
      429,
      {
        error: {
          code: 429,
          message: "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day"
        }
      },
      "QuotaExhausted"
    ],
    [502, { error: { code: 502, message: "Your chosen model is down" } }, "Overloaded"],
    [503, { error: { code: 503, message: "There is no available model provider" } }, "Overloaded"]
  ],
  Ollama: [
    [404, openai("model \"llama9\" not found, try pulling it first", "api_error"), "InvalidRequest"],
    [404, { error: "model 'llama9' not found" }, "InvalidRequest"],
    [400, openai("registry.ollama.ai/library/gemma:latest does not support tools", "api_error"), "InvalidRequest"],
    [
      400,
      { error: "prompt too long; exceeded max context length by 4 tokens" },
      "ContextOverflow"
    ],
    [500, { error: "llama runner process has terminated: exit status 2" }, "Overloaded"],
    [503, { error: "server busy, please try again.  maximum pending requests exceeded" }, "Overloaded"]
  ],
  vLLM: [
    [
      400,
      {
        object: "error",
        message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        type: "BadRequestError",
        param: null,
        code: 400
      },
      "ContextOverflow"
    ],
    [
      400,
      {
        error: {
          message: "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
          type: "BadRequestError",
          param: null,
          code: 400
        }
      },
      "ContextOverflow"
    ],
    [401, { error: "Unauthorized" }, "Authentication"],
    [
      404,
      { error: { message: "The model `x` does not exist.", type: "NotFoundError", param: null, code: 404 } },
      "InvalidRequest"
    ],
    [
      500,
      { error: { message: "EngineCore encountered an issue", type: "InternalServerError", code: 500 } },
      "Overloaded"
    ]
  ],
  "llama.cpp": [
    [
      400,
      {
        error: {
          code: 400,
          message: "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
          type: "exceed_context_size_error",
          n_prompt_tokens: 4390,
          n_ctx: 4096
        }
      },
      "ContextOverflow"
    ],
    [
      500,
      { error: { code: 500, message: "Context size has been exceeded.", type: "server_error" } },
      "ContextOverflow"
    ],
    [401, { error: { code: 401, message: "Invalid API Key", type: "authentication_error" } }, "Authentication"],
    [
      501,
      { error: { code: 501, message: "This server does not support it", type: "not_supported_error" } },
      "InvalidRequest"
    ],
    [503, { error: { code: 503, message: "Loading model", type: "unavailable_error" } }, "Overloaded"]
  ],
  "DeepSeek and xAI": [
    [402, openai("Insufficient Balance", "unknown_error", "invalid_request_error"), "QuotaExhausted"],
    [
      400,
      { code: "Client specified an invalid argument", error: "Incorrect API key provided: xa***y." },
      "Authentication"
    ],
    [
      429,
      {
        code: "Some resource has been exhausted",
        error: "Your team has either used all available credits or reached its monthly spending limit."
      },
      "QuotaExhausted"
    ],
    [
      400,
      {
        code: "400",
        error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens"
      },
      "ContextOverflow"
    ]
  ]
}

export const all: ReadonlyArray<Answer> = Object.entries(byProvider).flatMap(([provider, rows]) =>
  rows.map(([status, body, reason, more]) => ({ provider, status, body, reason, ...more }))
)

const retryable: ReadonlySet<Reason> = new Set<RunError.ProviderReason["_tag"]>([
  "RateLimited",
  "Overloaded",
  "Network",
  "TimedOut",
  "StreamTruncated",
  "InvalidResponse"
])

export const isRetryable = (reason: Reason): boolean => retryable.has(reason)

/** Names an answer in the title of a test. */
export const titleOf = ({ body, provider, status }: Answer): string => {
  const text = typeof body === "string" ? body.replaceAll("\n", "") : JSON.stringify(body)
  return `${provider}, ${status}, ${text.length > 90 ? `${text.slice(0, 89)}…` : text || "nothing"}`
}
