/**
 * What a model of the AI SDK throws, or reports in its stream, as an `AiError`: the same words and kinds as those of the
 * built-in provider (`provider/AdapterErrors`).
 *
 * Owns the shapes of the SDK's errors, recognised by fields and names, because a program may hold several versions of their
 * classes. They hold the prompt, so none is kept.
 */
import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider"
import * as AiError from "effect/ai/AiError"
import * as AdapterErrors from "../provider/AdapterErrors.ts"
import * as Echo from "../provider/Echo.ts"
import * as Json from "../provider/Json.ts"
import * as NetworkErrors from "../provider/NetworkErrors.ts"
import type { Origin } from "../provider/Origin.ts"
import * as ProviderError from "../provider/ProviderError.ts"
import * as RetryAfter from "../provider/RetryAfter.ts"
import * as ModelConfig from "./ModelConfig.ts"
import * as Sent from "./Sent.ts"

/** An `APICallError`, a provider's error inside a stream, or any other. */
interface Thrown {
  readonly name?: unknown
  readonly message?: unknown
  readonly url?: unknown
  readonly statusCode?: unknown
  readonly responseHeaders?: Readonly<Record<string, string>>
  readonly responseBody?: unknown
  readonly data?: unknown
  /** what a stream had in a chunk's place: as JSON, or as text where that is none */
  readonly value?: unknown
  readonly text?: unknown
}

/** Whose failures these are: `key` names where the model's key is set, and `sent` is the call, once there is one. */
export interface Caller {
  readonly model: LanguageModelV4
  readonly key: string | undefined
  readonly sent?: LanguageModelV4CallOptions
}

/** What was thrown before there was an answer, or what its stream reported or broke with, as the SDK has it. */
export class Broken {
  readonly by: "call" | "answer"
  readonly cause: unknown
  constructor(by: "call" | "answer", cause: unknown) {
    this.by = by
    this.cause = cause
  }
}

/** Where a call went: the host where that is known, else the provider. */
export const originOf = ({ key, model, sent }: Caller, url?: unknown): Origin => {
  const known = typeof url === "string" ? url : ModelConfig.baseUrl(model)
  const address = known === undefined ? null : URL.parse(known)
  const inPath = address === null ? [] : Echo.ofPath(address, model.modelId)
  return {
    module: "LanguageModelAiSdk",
    adds: "aisdk",
    host: address?.host ?? model.provider,
    url: address === null ? "" : `${address.origin}${Echo.without(address.pathname, inPath)}`,
    hasKey: true,
    key: key ?? `the API key that ${model.provider} was given`,
    redact: Echo.redacting(
      () => [...ModelConfig.secrets(model), ...inPath, ...(sent === undefined ? [] : Sent.texts(sent))]
    )
  }
}

/** Errors about a prompt or an answer that violates the provider's protocol. Their messages repeat it. */
const notTheProtocol = new Set([
  "AI_EmptyResponseBodyError",
  "AI_InvalidResponseDataError",
  "AI_JSONParseError",
  "AI_NoContentGeneratedError",
  "AI_TypeValidationError"
])

/**
 * How packages say in a plain error that they cannot write a part of the request. Other plain errors of a call may come from the
 * answer, whose first event some packages read before the call returns.
 */
const notWritable = /^unsupported\b(?!.*\b(chunk|delta|block|event)\b)/i

const textOf = (value: unknown): string | undefined => typeof value === "string" && value !== "" ? value : undefined

const statusOf = ({ statusCode }: Thrown): number | undefined =>
  typeof statusCode === "number" && statusCode >= 300 ? statusCode : undefined

/**
 * Whether this came inside a stream: as a part of it, or as one of its events (OpenAI's are numbered) before the first part.
 * The HTTP status was 200; the status in the error derives from its name, and is 500 for a name that the package does not know.
 */
const isOfStream = (cause: unknown, { responseBody, url }: Thrown): boolean =>
  typeof responseBody === "string"
    ? Json.object(Json.parse(responseBody))?.sequence_number !== undefined
    : url === undefined && !(cause instanceof Error)

/** The provider's own error: from the body, else from the data of a stream's error, else the error itself without its status. */
const providerError = ({ data, responseBody, ...thrown }: Thrown): ProviderError.ProviderError =>
  ProviderError.fromAnswer({
    body: responseBody ?? (typeof data === "object" && data !== null ? data : { ...thrown, statusCode: undefined }),
    headers: thrown.responseHeaders
  })

/** The provider's error that was in a chunk's place, also in a line among others; packages only say that it is no chunk. */
const inChunksPlace = ({ text, value }: Thrown): ProviderError.ProviderError | undefined => {
  const said = typeof text === "string" ? text.split("\n").map(Json.parse) : [Json.of(value)]
  const [error] = said.flatMap((json) => ProviderError.errorIn(json) ?? ProviderError.saidIn(json) ?? [])
  return error === undefined ? undefined : ProviderError.read(error)
}

/** `now` in milliseconds, because providers may name a date at which to try again. */
export const toAiError = ({ by, cause }: Broken, caller: Caller, now: number): AiError.AiError => {
  if (AiError.isAiError(cause)) return cause
  const thrown: Thrown = typeof cause === "object" && cause !== null ? cause : {}
  const origin = originOf(caller, thrown.url)
  const status = statusOf(thrown)
  const name = textOf(thrown.name) ?? ""
  if (isOfStream(cause, thrown)) {
    const error = typeof cause === "string" ? ProviderError.fromAnswer({ body: cause }) : providerError(thrown)
    return AdapterErrors.fromProvider(origin, status === undefined || status === 500 ? error : { ...error, status })
  }
  if (status !== undefined) {
    const headers = thrown.responseHeaders ?? {}
    if (status < 400) return AdapterErrors.notAnswered(origin, status, headers["location"])
    const retryAfter = RetryAfter.fromHeaders(headers, now)
    return AdapterErrors.fromProvider(origin, providerError({ message: thrown.message, ...thrown }), {
      status,
      headers,
      retryAfter
    })
  }
  const code = NetworkErrors.codeOf(cause)
  if (by === "call" && (notTheProtocol.has(name) || name === "ZodError")) return notSendable(origin)
  const reported = notTheProtocol.has(name) ? inChunksPlace(thrown) : undefined
  if (reported !== undefined) return AdapterErrors.fromProvider(origin, reported)
  if (notTheProtocol.has(name) || (thrown.statusCode !== undefined && code === undefined)) return unreadable(origin)
  if (thrown.url !== undefined || code !== undefined || /^(Abort|Timeout)Error$/.test(name)) {
    const error = NetworkErrors.unreachable(origin, cause)
    return by === "call" && !isTerminated(cause) ? error : AdapterErrors.inAnswer(origin, error)
  }
  const message = textOf(thrown.message) ?? ""
  if (name !== "Error" && (by === "call" || name.startsWith("AI_"))) return notCalled(origin, name, message)
  if (by === "call" && /\bcredentials?\b/i.test(message)) return noCredentials(origin)
  if (by === "call" && notWritable.test(message)) return notSendable(origin)
  return /^Incomplete\b.*\bend of stream\b/.test(message) ? AdapterErrors.truncated(origin) : unreadable(origin)
}

/** How `fetch` says that a body broke off: some models read the first event before the call returns. */
const isTerminated = (cause: unknown, depth = 5): boolean =>
  cause instanceof Error && depth > 0 && (cause.message === "terminated" || isTerminated(cause.cause, depth - 1))

/** An answer that does not keep to the SDK's protocol. */
export const unreadable = (origin: Origin): AiError.AiError =>
  AdapterErrors.invalidResponse(origin, "sent an answer that cannot be read; check the base URL, or try again")

/** A signature could not be made (Bedrock, Vertex). The original message is dropped, since it may hold credentials. */
const noCredentials = (origin: Origin): AiError.AiError => {
  const description =
    `${origin.host} could not be called: no credentials that it accepts were found; check ${origin.key}`
  return AdapterErrors.make(origin, new AiError.AuthenticationError({ kind: "MissingKey", description }))
}

/** A package found no way to write the request. Its words are dropped, since they repeat what it could not write. */
const notSendable = (origin: Origin): AiError.AiError => {
  const description =
    `${origin.host} was not called: its protocol cannot express something in the conversation or the settings`
    + `, such as a file, or the result of a tool that a provider ran itself`
  return AdapterErrors.make(origin, new AiError.InvalidRequestError({ description }))
}

/** What the SDK refused before it called the provider, in its own words; or an unknown failure, whose words may be anything. */
const notCalled = (origin: Origin, name: string, message: string): AiError.AiError => {
  const isOfSdk = name.startsWith("AI_")
  const description = `${origin.host} could not be called: ${isOfSdk ? AdapterErrors.clean(origin, message) : name}`
  return AdapterErrors.make(
    origin,
    name === "AI_LoadAPIKeyError"
      ? new AiError.AuthenticationError({ kind: "MissingKey", description })
      : isOfSdk
      ? new AiError.InvalidRequestError({ description })
      : new AiError.UnknownError({ description })
  )
}
