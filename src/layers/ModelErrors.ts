/**
 * Translates an error of effect/ai to the reason that a run knows it by: the table of which failures may be tried again.
 *
 * Does not own what a provider's status and words mean (`ProviderError`), nor when it is tried again (`RetryPolicy`).
 */
import * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"
import * as RunError from "../run/RunError.ts"
import * as AdapterErrors from "./provider/AdapterErrors.ts"
import * as Json from "./provider/Json.ts"
import * as Masked from "./provider/Masked.ts"
import * as NetworkErrors from "./provider/NetworkErrors.ts"
import * as ProviderError from "./provider/ProviderError.ts"
import * as RetryAfter from "./provider/RetryAfter.ts"
import * as Sentence from "./provider/Sentence.ts"

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

/** The reason for each kind of failure, which decides whether it may be tried again. */
const fromKind: Record<ProviderError.Kind, (facts: Facts) => RunError.ModelError> = {
  server: (facts) => facts.status === 408 ? timedOut(facts) : retryable("Overloaded", facts),
  network: (facts) => retryable("Network", facts),
  response: (facts) => retryable("InvalidResponse", facts),
  rateLimit: (facts) => retryable("RateLimited", facts),
  quota: (facts) => refusal("QuotaExhausted", facts),
  authentication: (facts) => refusal("Authentication", facts),
  permission: (facts) => refusal("Authentication", facts),
  overflow: (facts) => refusal("ContextOverflow", facts),
  policy: (facts) => refusal("ContentPolicy", facts),
  request: (facts) => refusal("InvalidRequest", facts)
}

/** An unsuccessful answer, and who gave it. */
export interface Answer extends ProviderError.Answer {
  /** names the provider in the message: its host */
  readonly host?: string | undefined
  /** where its key is set, as the thing to check; default "the API key" */
  readonly key?: string | undefined
}

/**
 * What an unsuccessful answer means, by its status, its body (text or JSON), its headers, or the code of a broken connection:
 * one table for all providers and adapters. An error in an answer of status 200 counts as if it had the status that it names. Of the
 * body, it keeps at most 500 characters of the provider's own message, without what looks like a key. A `Retry-After` date is compared
 * with `now`, in milliseconds since the epoch; default: the answer's `date`.
 */
export const fromAnswer = (answer: Answer, now?: number): RunError.ModelError => {
  const error = ProviderError.fromAnswer(answer)
  const isSuccess = answer.status !== undefined && answer.status < 300
  const isOdd = isSuccess && saysNothing(error)
  // a success says nothing of the error
  const status = isOdd || !isSuccess ? answer.status ?? error.status : error.status
  const kind = isOdd ? "response" : ProviderError.kind(error, status)
  const delay = RetryAfter.fromHeaders(answer.headers ?? {}, now)
  const retryAfter = delay === undefined ? error.retryDelay : Duration.toMillis(delay)
  const isBroken = kind === "network"
  const message = Sentence.of(kind, {
    host: answer.host ?? "the provider",
    how: isBroken && status === undefined
      ? `could not be reached, or the connection broke (${answer.code})`
      : undefined,
    message: isBroken ? undefined : error.message,
    status,
    retryAfter: retryAfter === undefined ? undefined : Duration.millis(retryAfter),
    key: answer.key ?? "the API key"
  })
  return fromKind[kind]({
    message,
    ...(status === undefined ? {} : { status }),
    ...(retryAfter === undefined ? {} : { retryAfter })
  })
}

/**
 * Translates an error of effect/ai. Keeps its message as it is: adapters keep secrets and prompts out of theirs. `now` in milliseconds,
 * for providers that name a date at which to try again.
 */
export const fromAiError = (error: AiError.AiError, now?: number): RunError.ModelError => {
  const { reason } = error
  const facts = factsOf(error, now)
  if (AdapterErrors.isTruncated(error)) return retryable("StreamTruncated", facts)
  if (AdapterErrors.isContextOverflow(error)) return refusal("ContextOverflow", facts)
  switch (reason._tag) {
    case "RateLimitError":
      return fromKind[kindOf(error, "rateLimit", facts.status ?? 429)](facts)
    case "InternalProviderError":
      return fromKind[kindOf(error, "server", facts.status ?? 500)](facts)
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
      return fromKind[kindOf(error, "request", facts.status ?? 400)](facts)
    default:
      return facts.status === undefined || facts.status < 400
        ? refusal("Unknown", facts)
        : fromKind[kindOf(error, "request", facts.status)](facts)
  }
}

/** An `error` part inside a stream counts as if it had been the status that it names. */
export const fromPart = (error: unknown, now?: number): RunError.ModelError => {
  if (AiError.isAiError(error)) return fromAiError(error, now)
  const answer = answerOf(error)
  if (answer !== undefined) return fromAnswer(answer, now)
  const payload = typeof error === "string"
    ? Json.parse(error) ?? error
    : error instanceof Error
    ? error.message
    : Json.of(error)
  const read = ProviderError.read(payload)
  const { status } = read
  return fromKind[ProviderError.kind(read, status)]({
    message: `the provider reported an error in its answer: ${Sentence.cut(read.message ?? "no reason given")}`,
    ...(status === undefined ? {} : { status }),
    ...(read.retryDelay === undefined ? {} : { retryAfter: read.retryDelay })
  })
}

/** Whether a body is that of no error: an HTML page, or an answer. */
const saysNothing = ({ code, message, names, status, type }: ProviderError.ProviderError): boolean =>
  [code, message, names, status, type].every((said) => said === undefined)

/** What an `Error` of an HTTP client, or of the AI SDK (`APICallError`), knows of the answer behind it. */
const answerOf = (error: unknown): ProviderError.Answer | undefined => {
  if (!(error instanceof Error)) return undefined
  const known = error as {
    readonly statusCode?: unknown
    readonly responseBody?: unknown
    readonly responseHeaders?: {}
  }
  if (typeof known.statusCode === "number") {
    return { status: known.statusCode, body: known.responseBody ?? error.message, headers: known.responseHeaders }
  }
  const code = NetworkErrors.codeOf(error)
  return code === undefined ? undefined : { code, body: error.message }
}

/**
 * The kind of an error. Adapters of effect/ai judge by the status alone, so the body says more, where it was kept, or else
 * the words. Our own adapters have read them already.
 */
const kindOf = (error: AiError.AiError, byReason: ProviderError.Kind, status: number): ProviderError.Kind => {
  const { reason } = error
  if (AdapterErrors.isOurs(error)) return byReason
  const http = "http" in reason ? reason.http : undefined
  const read = ProviderError.fromAnswer({ body: http?.body })
  const names = Object.values("metadata" in reason ? reason.metadata : {}).flatMap((metadata) => {
    const { code, errorCode, errorType, type } = Json.object(Json.of(metadata)) ?? {}
    return [errorCode, code, errorType, type].flatMap((name) => Json.text(name) ?? [])
  })
  const message = read.message ?? AdapterErrors.description(error) ?? error.message
  return ProviderError.kind({ ...read, message, names: [...read.names ?? [], ...names] }, status)
}

const factsOf = (error: AiError.AiError, now: number | undefined): Facts => {
  const { reason } = error
  const http = "http" in reason ? reason.http : undefined
  const response = http?.response
  const asked = AdapterErrors.retryAfter(error) ?? RetryAfter.fromHeaders(textsOf(response?.headers ?? {}), now)
  const retryAfter = asked === undefined
    ? ProviderError.fromAnswer({ body: http?.body }).retryDelay
    : Duration.toMillis(asked)
  return {
    message: Masked.keys(AdapterErrors.description(error) ?? error.message),
    ...(response === undefined ? {} : { status: response.status }),
    ...(retryAfter === undefined ? {} : { retryAfter })
  }
}

/** The headers that are not redacted. */
const textsOf = (headers: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => typeof value === "string" ? [[name, value]] : [])
  )
