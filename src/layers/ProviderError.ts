/**
 * Reads the errors that providers send, as a status or inside a stream, and says what kind they are: the one table of it.
 *
 * Owns the shapes, the names and the words of such errors. Does not own the errors that a caller sees.
 */
import * as Json from "./Json.ts"

export interface ProviderError {
  readonly message: string | undefined
  /** `code` and `type` as the provider spells them; `code` may be a number in a string. */
  readonly code: string | undefined
  readonly type: string | undefined
  readonly param: string | undefined
  /** the HTTP status that the error names */
  readonly status: number | undefined
}

/** An error of which only the words are known. */
export const fromWords = (message: string): ProviderError => ({
  message,
  code: undefined,
  type: undefined,
  param: undefined,
  status: undefined
})

export type Kind =
  | "authentication"
  | "permission"
  | "quota"
  | "rateLimit"
  | "overflow"
  | "policy"
  | "request"
  | "server"

const label = (value: Json.Json | undefined): string | undefined =>
  typeof value === "number" ? String(value) : Json.text(value)

const statusOf = (code: string | undefined): number | undefined =>
  code !== undefined && /^[45]\d\d$/.test(code) ? Number(code) : undefined

/** A text, or the list of what a validator found (FastAPI, Mistral): where and what, not the input that it repeats. */
const detail = (value: Json.Json | undefined): string | undefined => {
  const found = Json.array(value).flatMap((item) => {
    const entry = Json.object(item)
    const text = Json.text(entry?.msg)
    return text === undefined
      ? []
      : [`${Json.array(entry?.loc).flatMap((step) => label(step) ?? []).join(".")}: ${text}`]
  })
  return found.length > 0 ? found.join("; ") : Json.text(value)
}

/** The error of a payload: an object or a text under `error`, else the payload itself (`{ message }`, `{ detail }`, text). */
export const read = (payload: Json.Json | undefined): ProviderError => {
  const root = Json.object(Json.array(payload)[0] ?? payload)
  const error = Json.object(root?.error) ?? root
  const code = label(error?.code)
  return {
    message: Json.text(payload)
      ?? Json.text(root?.error)
      ?? Json.text(error?.message)
      ?? detail(error?.detail)
      ?? detail(Json.object(error?.message)?.detail),
    code,
    type: Json.text(error?.type) ?? Json.text(error?.status),
    param: Json.text(error?.param),
    status: statusOf(code) ?? statusOf(label(error?.status_code))
  }
}

/** The error of a body: that of its JSON, or a short plain text; never a web page. */
export const fromBody = (body: string): ProviderError => {
  const json = Json.parse(body)
  const isText = json === undefined && body.length <= 500 && !body.trimStart().startsWith("<")
  return read(isText ? body.trim() : json)
}

/** Whether a payload of a stream is an error and not a chunk. */
export const isError = (payload: Json.JsonObject): boolean =>
  (payload.error !== undefined && payload.error !== null) || payload.object === "error" || payload.type === "error"

/** Codes and types in lower-case letters only, because providers write the same name in every case. */
const names: ReadonlyArray<readonly [RegExp, Kind]> = [
  [/context(length|size|window)/, "overflow"],
  [/quota|billing|balance|credit|paymentrequired/, "quota"],
  [/ratelimit|toomanyrequests|resourceexhausted|throttl/, "rateLimit"],
  [/overload|unavailable|capacity|server|internal|apierror|timeout|insufficientsystem/, "server"],
  [/contentfilter|contentpolicy|moderation|safety/, "policy"],
  [/apikey|authentication|unauthori[sz]ed|unauthenticated/, "authentication"],
  [/permission|forbidden/, "permission"],
  [/invalid|badrequest|notfound|unsupported|unprocessable/, "request"]
]

const kindOfName = (name: string | undefined): Kind | undefined => {
  const letters = name?.toLowerCase().replace(/[^a-z]/g, "")
  return letters === undefined ? undefined : names.find(([pattern]) => pattern.test(letters))?.[1]
}

/** What servers without a code for it say when a conversation is longer than the model can read. */
const overflowWords = new RegExp(
  [
    // OpenAI, vLLM, OpenRouter, DeepSeek, Mistral, xAI, LM Studio
    "(exceed|maximum|greater|longer|larger).{0,60}context.?(length|limit|size|window)",
    "context.?(length|limit|size|window).{0,30}exceed",
    "exceeds the (available )?context", // llama.cpp
    "maximum (context|prompt)", // Mistral, xAI
    "exceeded model token limit", // Moonshot
    "reduce the length of the (messages|prompt|input)", // Groq, vLLM
    "prompt is too long", // Anthropic
    "input.{0,20}too long",
    "too many tokens(?! per|, please)", // Cohere, and not a rate
    "input token count.*exceeds" // Gemini
  ].join("|"),
  "i"
)

const isOneOf = (kind: Kind | undefined, ...kinds: ReadonlyArray<Kind>): kind is Kind =>
  kind !== undefined && kinds.includes(kind)

/**
 * What kind of failure an error is. The status (400 or more) decides where there is one, refined by names: 429 is a quota or
 * a rate, 400 an overflow, a policy or a key. Without a status the names decide; without names it is the server's failure.
 */
export const kind = (error: ProviderError, status: number | undefined): Kind => {
  const named = kindOfName(error.code) ?? kindOfName(error.type)
  if (named === "overflow" || kindOfName(error.type) === "overflow") return "overflow"
  const isOverflow = overflowWords.test(error.message ?? "")
  if (status === undefined) {
    return isOverflow && !isOneOf(named, "rateLimit", "quota") ? "overflow" : named ?? "server"
  }
  if (status >= 500 || status === 408 || status === 409 || status === 425) return "server"
  switch (status) {
    case 401:
      return "authentication"
    case 402:
      return "quota"
    case 403:
      return isOneOf(named, "policy", "quota") ? named : "permission"
    case 429:
      return named === "quota" ? named : "rateLimit"
    default:
      return isOverflow ? "overflow" : isOneOf(named, "policy", "quota", "authentication") ? named : "request"
  }
}
