/**
 * The failures of a call as `AiError`s: what happened, at which host, and what to check.
 *
 * Owns the words and the fields by which a caller tells them apart; none of them holds the key, the prompt, or more of a
 * body than the provider's own message (500 characters). Does not own retrying.
 */
import * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"
import type * as HttpClientError from "effect/http/HttpClientError"
import * as Advice from "../Advice.ts"
import * as Json from "../Json.ts"
import * as ProviderError from "../ProviderError.ts"
import type { Endpoint } from "./Endpoint.ts"

/** `InvalidRequestError.constraint` of a conversation that is longer than the model can read. */
export const contextLengthExceeded = "context_length_exceeded"

const longestMessage = 500

/** `AiError.module` of the errors made here. */
export const module = "LanguageModelOpenAi"

export const make = (endpoint: Endpoint, reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module, method: `streamText(${endpoint.host})`, reason })

/** The stream ended before the model said that it had finished. */
export const isTruncated = (error: AiError.AiError): boolean =>
  error.reason._tag === "InternalProviderError" && Json.object(error.reason.metadata.openai)?.truncated === true

/** The conversation is longer than the model can read. */
export const isContextOverflow = (error: AiError.AiError): boolean =>
  error.reason._tag === "InvalidRequestError" && error.reason.constraint === contextLengthExceeded

/** How long the provider asks to wait, also where effect/ai has no field for it (`Retry-After` of a 503). */
export const retryAfter = (error: AiError.AiError): Duration.Duration | undefined => {
  if (error.reason._tag !== "InternalProviderError") return error.retryAfter
  const millis = Json.number(Json.object(error.reason.metadata.openai)?.retryAfterMillis)
  return millis === undefined ? undefined : Duration.millis(millis)
}

/** What happened, at which host, and what to check, also where effect/ai has no field for it (quotas and rate limits). */
export const description = ({ reason }: AiError.AiError): string | undefined =>
  "description" in reason
    ? reason.description
    : "metadata" in reason
    ? Json.text(Json.object(reason.metadata.openai)?.description)
    : undefined

export const truncated = (endpoint: Endpoint): AiError.AiError =>
  make(
    endpoint,
    new AiError.InternalProviderError({
      description: `${endpoint.host} ended the stream before the answer was finished; `
        + `the server or a proxy before it closed the connection early; try again later`,
      metadata: { openai: { truncated: true } }
    })
  )

/** The server says in a finish reason that it gave up. */
export const gaveUp = (endpoint: Endpoint): AiError.AiError =>
  make(
    endpoint,
    new AiError.InternalProviderError({
      description: `${endpoint.host} gave up in the middle of the answer; try again`
    })
  )

/** A 200 whose body is not what the protocol says; `what` continues "<host> ...". */
export const invalidResponse = (endpoint: Endpoint, what: string): AiError.AiError =>
  make(endpoint, new AiError.InvalidResponseError({ description: `${endpoint.host} ${what}` }))

/** What was asked is no such API, and does not become one when it is asked again; `what` continues "<host> ...". */
const notTheApi = (endpoint: Endpoint, what: string): AiError.AiError =>
  make(endpoint, new AiError.InvalidRequestError({ description: `${endpoint.host} ${what}` }))

export const notAStream = (endpoint: Endpoint, what: string): AiError.AiError =>
  notTheApi(
    endpoint,
    `answered with ${what} and not with a stream of events; check that the base URL is that of an OpenAI-compatible API `
      + `(most end in /v1) and that the model can stream`
  )

/** A status below 400 that is no 2xx. Where it leads is told without the query, which may hold a secret. */
export const notAnswered = (endpoint: Endpoint, status: number, location: string | undefined): AiError.AiError => {
  const url = location === undefined ? null : URL.parse(location, endpoint.url)
  return notTheApi(
    endpoint,
    url === null
      ? `answered HTTP ${status}, which is no answer; check the base URL`
      : endpoint.redact(
        `redirects to ${url.origin}${url.pathname} (HTTP ${status}), which is not followed; check the base URL, and if the `
          + `API has moved there, name that address in it`
      )
  )
}

const closed = "try again later, and if it stays so, check the port of the base URL and the proxies on the way"

/** By code, or by the name of an error without one. */
const networkWords: ReadonlyArray<readonly [codes: RegExp, words: string]> = [
  [/^ECONNREFUSED$/, "refused the connection; check that the server runs and that the base URL names its port"],
  [/^ENOTFOUND$/, "was not found; check the base URL"],
  [/^EAI_AGAIN$/, "could not be looked up; check the base URL and the network's name server"],
  [/^ECONNRESET$|^EPIPE$/, `reset the connection; ${closed}`],
  [/^UND_ERR_SOCKET$/, `closed the connection; ${closed}`],
  [
    /TIMEDOUT$|TIMEOUT$/,
    "did not answer in time; try again later, and if it stays so, check the base URL and the network"
  ],
  [/^HPE_|^HTTPParserError$/, "does not speak HTTP; check that the base URL names the right port"],
  [/^ERR_SSL_|^EPROTO$/, "does not speak TLS; check whether the base URL begins with http: or https:"],
  [/^redirect count exceeded$/, "redirects again and again; check the base URL"],
  [/^bad port$/, "has a port that fetch does not call; check the base URL, or let the server listen on another port"],
  [
    /CERT|SIGNATURE/,
    "has a certificate that is not trusted here; check the base URL, or name its issuer in NODE_EXTRA_CA_CERTS"
  ]
]

const unknownNetwork =
  "could not be reached, or broke off; try again later, and if it stays so, check the base URL and the network"

/** What `fetch` refuses without a code: a port that the Fetch standard blocks, redirects without an end. */
const refusals: ReadonlySet<string> = new Set(["bad port", "redirect count exceeded"])

/** The code of an error or of one of its causes, such as `ECONNREFUSED`; the message, where that is all there is. */
export const codeOf = (error: unknown, depth = 5): string | undefined => {
  if (typeof error !== "object" || error === null || depth === 0) return undefined
  if ("code" in error && typeof error.code === "string") return error.code
  if ("name" in error && error.name === "HTTPParserError") return error.name
  if ("message" in error && refusals.has(String(error.message))) return String(error.message)
  return "cause" in error ? codeOf(error.cause, depth - 1) : undefined
}

/** A request that got no response, or whose response broke off. The client's own error is not kept: it has the prompt. */
export const network = (endpoint: Endpoint, error: HttpClientError.HttpClientError): AiError.AiError => {
  const { _tag } = error.reason
  const code = codeOf(error)
  const words = networkWords.find(([codes]) => code !== undefined && codes.test(code))?.[1] ?? unknownNetwork
  return make(
    endpoint,
    new AiError.NetworkError({
      reason: _tag === "EncodeError"
        ? _tag
        : _tag === "InvalidUrlError" || refusals.has(code ?? "")
        ? "InvalidUrlError"
        : "TransportError",
      method: "POST",
      url: endpoint.url,
      description: `${endpoint.host} ${words}${code === undefined ? "" : ` (${code})`}`
    })
  )
}

/** Response headers that help support and retrying; no others are kept. */
const keptHeaders = /^(retry-after(-ms)?|(x-)?request-id|cf-ray|x-ratelimit-.*)$/

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly retryAfter: Duration.Duration | undefined
}

/** An error that the provider sent: with its status, or inside a stream as if it had been the status that it names. */
export const fromProvider = (
  endpoint: Endpoint,
  error: ProviderError.ProviderError,
  answer?: Answer
): AiError.AiError => {
  const status = answer?.status ?? error.status
  const retryAfter = answer?.retryAfter
    ?? (error.retryDelay === undefined ? undefined : Duration.millis(error.retryDelay))
  const kind = ProviderError.kind(error, status)
  const clean = (text: string) => {
    const safe = endpoint.redact(text)
    return safe.length > longestMessage ? `${safe.slice(0, longestMessage).toWellFormed()}...` : safe
  }
  const said = error.message === undefined ? "" : `: ${clean(error.message.trimEnd().replace(/(?<!\.)\.$/, ""))}`
  const advice = Advice.of(kind, { status, retryAfter, key: "OPENAI_API_KEY or the option apiKey" })
  const description = `${endpoint.host} answered ${status === undefined ? "with an error" : `HTTP ${status}`}${said} `
    + `(${advice})`
  const openai: Json.JsonObject = {}
  for (const field of ["message", "code", "type", "param"] as const) {
    if (error[field] !== undefined) openai[field] = clean(error[field])
  }
  const headers = Object.entries(answer?.headers ?? {}).filter(([name]) => keptHeaders.test(name))
  const common = {
    description,
    metadata: { openai },
    ...(status === undefined ? {} : { http: { response: { status, headers: Object.fromEntries(headers) } } })
  }
  switch (kind) {
    case "authentication":
      return make(
        endpoint,
        new AiError.AuthenticationError({ kind: endpoint.hasKey ? "InvalidKey" : "MissingKey", ...common })
      )
    case "permission":
      return make(endpoint, new AiError.AuthenticationError({ kind: "InsufficientPermissions", ...common }))
    case "quota":
      openai.description = description
      return make(endpoint, new AiError.QuotaExhaustedError(common))
    case "rateLimit":
      openai.description = description
      return make(endpoint, new AiError.RateLimitError({ ...common, retryAfter }))
    case "policy":
      return make(endpoint, new AiError.ContentPolicyError(common))
    case "overflow":
      return make(endpoint, new AiError.InvalidRequestError({ ...common, constraint: contextLengthExceeded }))
    case "request":
      return make(endpoint, new AiError.InvalidRequestError({ ...common, parameter: Json.text(openai.param) }))
    case "response":
      return make(endpoint, new AiError.InvalidResponseError({ description, metadata: { openai } }))
    case "network":
    case "server": {
      if (retryAfter !== undefined) openai.retryAfterMillis = Duration.toMillis(retryAfter)
      return make(endpoint, new AiError.InternalProviderError(common))
    }
  }
}
