/**
 * What effect/ai reports as an error, as the reason a run knows it by: the table of which failure may be tried again.
 *
 * Does not own what a provider's status and words mean (`ProviderError`), nor when it is tried again (`RetryPolicy`).
 */
import * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"
import * as RunError from "../run/RunError.ts"
import * as Json from "./Json.ts"
import * as OpenAiErrors from "./openai/Errors.ts"
import * as ProviderError from "./ProviderError.ts"

type Retryable = RunError.ProviderReason["_tag"]
type Refusal = RunError.ProviderRefusal["_tag"]

interface Facts {
  readonly message: string
  readonly status?: number
  readonly retryAfter?: number
}

const retryable = (_tag: Exclude<Retryable, "TimedOut">, facts: Facts): RunError.ModelError =>
  new RunError.RetryableError<RunError.ProviderReason>({ _tag, ...facts })

const timedOut = (facts: Facts): RunError.ModelError =>
  new RunError.RetryableError<RunError.ProviderReason>({ _tag: "TimedOut", scope: "provider", ...facts })

const refusal = (_tag: Refusal, facts: Facts): RunError.ModelError =>
  new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag, ...facts })

/** An error of effect/ai. Its message is kept as it is: adapters keep secrets and prompts out of theirs. */
export const fromAiError = (error: AiError.AiError): RunError.ModelError => {
  const { reason } = error
  const facts = factsOf(error)
  if (OpenAiErrors.isTruncated(error)) return retryable("StreamTruncated", facts)
  if (OpenAiErrors.isContextOverflow(error)) return refusal("ContextOverflow", facts)
  switch (reason._tag) {
    case "RateLimitError":
      return retryable("RateLimited", facts)
    case "InternalProviderError":
      return fromKind.server(facts)
    case "NetworkError":
      return reason.reason === "TransportError" ? retryable("Network", facts) : refusal("InvalidRequest", facts)
    case "InvalidResponseError":
    case "InvalidOutputError":
      return retryable("InvalidResponse", facts)
    case "QuotaExhaustedError":
      return refusal("QuotaExhausted", facts)
    case "AuthenticationError":
      return refusal("Authentication", facts)
    case "ContentPolicyError":
      return refusal("ContentPolicy", facts)
    case "InvalidRequestError":
    case "InvalidUserInputError":
    case "UnsupportedSchemaError":
    case "ToolConfigurationError":
    case "ToolkitRequiredError":
      return fromWords(facts, 400)
    default:
      return facts.status === undefined || facts.status < 400
        ? refusal("Unknown", facts)
        : fromWords(facts, facts.status)
  }
}

/** An `error` part inside a stream: counts as if it had been the status that it names. */
export const fromPart = (error: unknown): RunError.ModelError => {
  if (AiError.isAiError(error)) return fromAiError(error)
  const payload = toJson(error)
  const read = ProviderError.read(payload)
  const status = read.status ?? Json.number(Json.object(payload)?.status)
  const words = Array.from(read.message ?? "no reason given").slice(0, 500).join("")
  const facts = {
    message: `the provider reported an error in its answer: ${words}`,
    ...(status === undefined ? {} : { status })
  }
  // an error without a name is told by its words
  const named = read.code === undefined && read.type === undefined ? { ...read, code: words } : read
  return fromKind[ProviderError.kind(named, status)](facts)
}

/** By status and words, where nothing else is known. */
const fromWords = (facts: Facts, status: number): RunError.ModelError =>
  fromKind[ProviderError.kind(ProviderError.fromWords(facts.message), status)](facts)

const fromKind: Record<ProviderError.Kind, (facts: Facts) => RunError.ModelError> = {
  server: (facts) => facts.status === 408 ? timedOut(facts) : retryable("Overloaded", facts),
  rateLimit: (facts) => retryable("RateLimited", facts),
  quota: (facts) => refusal("QuotaExhausted", facts),
  authentication: (facts) => refusal("Authentication", facts),
  permission: (facts) => refusal("Authentication", facts),
  overflow: (facts) => refusal("ContextOverflow", facts),
  policy: (facts) => refusal("ContentPolicy", facts),
  request: (facts) => refusal("InvalidRequest", facts)
}

/** An error of any kind as a payload to read: JSON in a text is JSON. */
const toJson = (error: unknown): Json.Json | undefined => {
  if (typeof error === "string") return Json.parse(error) ?? error
  if (error instanceof Error) return error.message
  try {
    return Json.parse(JSON.stringify(error))
  } catch {
    return undefined
  }
}

const factsOf = (error: AiError.AiError): Facts => {
  const { reason } = error
  const status = "http" in reason ? reason.http?.response?.status : undefined
  const retryAfter = OpenAiErrors.retryAfter(error)
  return {
    message: OpenAiErrors.description(error) ?? error.message,
    ...(status === undefined ? {} : { status }),
    ...(retryAfter === undefined ? {} : { retryAfter: Duration.toMillis(retryAfter) })
  }
}
