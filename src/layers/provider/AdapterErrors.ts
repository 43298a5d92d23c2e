/**
 * The failures of a call by one of our adapters as `AiError`s: what happened, at which host, and what to check.
 *
 * Owns their words, and the fields by which a caller tells them apart; none of them holds the key, the prompt, or more of a
 * body than the provider's own message (500 characters). Does not own what broke on the way to the provider
 * (`NetworkErrors`), nor retrying.
 */
import * as AiError from "effect/ai/AiError"
import * as Duration from "effect/Duration"
import * as Json from "./Json.ts"
import type { Origin } from "./Origin.ts"
import * as ProviderError from "./ProviderError.ts"
import * as Sentence from "./Sentence.ts"

/** `InvalidRequestError.constraint` of a conversation that is longer than the model can read. */
const contextLengthExceeded = "context_length_exceeded"

const modules: Record<Origin["module"], true> = { LanguageModelOpenAi: true, LanguageModelAiSdk: true }

/** Whether an error was made here, and not by another adapter of effect/ai. */
export const isOurs = ({ module }: AiError.AiError): boolean => Object.hasOwn(modules, module)

export const make = (origin: Origin, reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module: origin.module, method: `streamText(${origin.host})`, reason })

/** What an adapter added to an error. */
const added = ({ reason }: AiError.AiError): Json.JsonObject | undefined =>
  "metadata" in reason ? Json.object(reason.metadata.openai ?? reason.metadata.aisdk) : undefined

const said = new WeakMap<AiError.AiError, string>()

/**
 * What the provider, or the one behind a gateway, says of a wrong request, and of which parameter, in its own words, for an
 * adapter that searches them for what is refused. The words may quote the request, so nobody else is told.
 */
export const wordsOfRefusal = (error: AiError.AiError): string | undefined =>
  error.reason._tag === "InvalidRequestError" ? said.get(error) : undefined

/** The stream ended before the model said that it had finished. */
export const isTruncated = (error: AiError.AiError): boolean =>
  error.reason._tag === "InternalProviderError" && added(error)?.truncated === true

/** The conversation is longer than the model can read. */
export const isContextOverflow = (error: AiError.AiError): boolean =>
  error.reason._tag === "InvalidRequestError" && error.reason.constraint === contextLengthExceeded

/** How long the provider asks to wait, also where effect/ai has no field for it (`Retry-After` of a 503). */
export const retryAfter = (error: AiError.AiError): Duration.Duration | undefined => {
  if (error.reason._tag !== "InternalProviderError") return error.retryAfter
  const millis = Json.number(added(error)?.retryAfterMillis)
  return millis === undefined ? undefined : Duration.millis(millis)
}

/** What happened, at which host, and what to check, also where effect/ai has no field for it (quotas and rate limits). */
export const description = (error: AiError.AiError): string | undefined =>
  "description" in error.reason ? error.reason.description : Json.text(added(error)?.description)

/** A text from elsewhere as a message may repeat it: without the key, 500 characters at most. */
export const clean = (origin: Origin, text: string): string => Sentence.cut(origin.redact(text))

export const truncated = (origin: Origin): AiError.AiError =>
  make(
    origin,
    new AiError.InternalProviderError({
      description: `${origin.host} ended the stream before the answer was finished; `
        + `the server or a proxy in front of it closed the connection early; try again later`,
      metadata: { [origin.adds]: { truncated: true } }
    })
  )

/** A failure in the middle of an answer: a network failure becomes a truncated stream, in the network's words. */
export const inAnswer = (origin: Origin, error: AiError.AiError): AiError.AiError =>
  error.reason._tag !== "NetworkError" ? error : make(
    origin,
    new AiError.InternalProviderError({
      description: description(error) ?? error.message,
      metadata: { [origin.adds]: { truncated: true } }
    })
  )

/**
 * The server says in a finish reason that it gave up, which it may not do again. The finish `error` of a model that says no more
 * than that is final (`AttemptResult.gaveUp`).
 */
export const gaveUp = (origin: Origin): AiError.AiError =>
  make(
    origin,
    new AiError.InternalProviderError({
      description: `${origin.host} gave up in the middle of the answer; try again`
    })
  )

/** A 200 whose body is not what the protocol says; `what` continues "<host> ...". */
export const invalidResponse = (origin: Origin, what: string): AiError.AiError =>
  make(origin, new AiError.InvalidResponseError({ description: `${origin.host} ${what}` }))

/** The address is not such an API, and asking again will not change that; `what` continues "<host> ...". */
export const notTheApi = (origin: Origin, what: string): AiError.AiError =>
  make(origin, new AiError.InvalidRequestError({ description: `${origin.host} ${what}` }))

/**
 * A status below 400 that is not 2xx. The address that it redirects to is named without its query, which may hold a secret; the host
 * that was called stays in it.
 */
export const notAnswered = (origin: Origin, status: number, location: string | undefined): AiError.AiError => {
  const url = location === undefined ? null : URL.parse(location, origin.url)
  if (url === null) return notTheApi(origin, `answered HTTP ${status} without an answer; check the base URL`)
  const isSameHost = url.hostname === URL.parse(origin.url)?.hostname
  const target = (isSameHost ? url.origin : origin.redact(url.origin)) + origin.redact(url.pathname)
  return notTheApi(
    origin,
    `redirects to ${target} (HTTP ${status}), which is not followed; check the base URL, and if the API has moved there, `
      + `use that address`
  )
}

/** Response headers that help support and retrying; others are dropped. */
const keptHeaders = /^(retry-after(-ms)?|(x-)?request-id|cf-ray|x-ratelimit-.*)$/

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly retryAfter: Duration.Duration | undefined
}

/** An error that the provider sent, with its status; inside a stream, it counts as if it had been the status that it names. */
export const fromProvider = (
  origin: Origin,
  error: ProviderError.ProviderError,
  answer?: Answer
): AiError.AiError => {
  const status = answer?.status ?? error.status
  const retryAfter = answer?.retryAfter
    ?? (error.retryDelay === undefined ? undefined : Duration.millis(error.retryDelay))
  const kind = ProviderError.kind(error, status)
  const { host, key } = origin
  const description = Sentence.of(kind, { host, key, status, retryAfter, message: error.message }, origin.redact)
  const told: Json.JsonObject = {}
  for (const field of ["message", "code", "type", "param"] as const) {
    if (error[field] !== undefined) told[field] = clean(origin, error[field])
  }
  const headers = Object.entries(answer?.headers ?? {}).filter(([name]) => keptHeaders.test(name))
  const common = {
    description,
    metadata: { [origin.adds]: told },
    ...(status === undefined ? {} : { http: { response: { status, headers: Object.fromEntries(headers) } } })
  }
  switch (kind) {
    case "authentication":
      return make(
        origin,
        new AiError.AuthenticationError({ kind: origin.hasKey ? "InvalidKey" : "MissingKey", ...common })
      )
    case "permission":
      return make(origin, new AiError.AuthenticationError({ kind: "InsufficientPermissions", ...common }))
    case "quota":
      told.description = description
      return make(origin, new AiError.QuotaExhaustedError(common))
    case "rateLimit":
      told.description = description
      return make(origin, new AiError.RateLimitError({ ...common, retryAfter }))
    case "policy":
      return make(origin, new AiError.ContentPolicyError(common))
    case "overflow":
      return make(origin, new AiError.InvalidRequestError({ ...common, constraint: contextLengthExceeded }))
    case "request": {
      const refused = make(origin, new AiError.InvalidRequestError({ ...common, parameter: Json.text(told.param) }))
      said.set(refused, [error.param, error.message, error.raw].join(" "))
      return refused
    }
    case "response":
      return make(origin, new AiError.InvalidResponseError({ description, metadata: { [origin.adds]: told } }))
    case "network":
    case "server": {
      if (retryAfter !== undefined) told.retryAfterMillis = Duration.toMillis(retryAfter)
      return make(origin, new AiError.InternalProviderError(common))
    }
  }
}
