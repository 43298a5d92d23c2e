/**
 * Reads the errors that providers send, as a status or inside a stream, in all their spellings.
 *
 * Does not own what kind of failure one is (`ProviderErrorKind`), nor the errors that a caller sees.
 */
import * as Json from "./Json.ts"
import * as Masked from "./Masked.ts"
import * as ProviderErrorKind from "./ProviderErrorKind.ts"

export { type Kind, kind } from "./ProviderErrorKind.ts"

export interface ProviderError {
  readonly message: string | undefined
  /** `code` and `type` as the provider spells them; `code` may be a number in a string. */
  readonly code: string | undefined
  readonly type: string | undefined
  readonly param: string | undefined
  /** the HTTP status that the error names */
  readonly status: number | undefined
  /** Other names in it: exceptions, reasons, violated quotas. */
  readonly names?: ReadonlyArray<string>
  /** What the provider behind a gateway said, which is not a message for a caller. */
  readonly raw?: string
  /** milliseconds to wait, where the body says so (`google.rpc.RetryInfo`) */
  readonly retryDelay?: number
}

/** An unsuccessful answer, as far as an adapter knows it; `body` is text or the JSON that was in it. */
export interface Answer {
  readonly status?: number | undefined
  /** an error's name from outside the body: the code of a broken connection, the name of an exception */
  readonly code?: string | undefined
  readonly body?: unknown
  /** names in lower-case letters */
  readonly headers?: Readonly<Record<string, string | undefined>> | undefined
}

/** The error of an answer: from its JSON, also that of an event, or from a short plain text; never from a web page. */
export const fromAnswer = (answer: Answer): ProviderError => {
  const error = read(bodyOf(answer.body))
  const names = [answer.code, answer.headers?.["x-amzn-errortype"]?.split(":")[0]].flatMap((name) => name ?? [])
  return names.length === 0 ? error : { ...error, names: [...names, ...error.names ?? []] }
}

const bodyOf = (body: unknown): Json.Json | undefined => {
  if (typeof body !== "string") return Json.of(body)
  const json = Json.parse(body) ?? Json.parse(/^data: ?(\{.*\})\r?$/m.exec(body)?.[1] ?? "")
  if (json !== undefined) return json
  return body.trim() !== "" && body.length <= 500 && !body.trimStart().startsWith("<") ? body.trim() : undefined
}

const label = (value: Json.Json | undefined): string | undefined =>
  typeof value === "number" ? String(value) : Json.text(value)

const statusOf = (code: string | undefined): number | undefined =>
  code !== undefined && /^[45]\d\d$/.test(code) ? Number(code) : undefined

/** `code`, `status`, `statusCode`, `http_code`, `raw_status_code`, ... */
const statusField = /^((http|raw|original)_?)?(code|status|status_?code)$/i

/** The HTTP status in an object, under any of its names. */
const statusIn = (object: Json.JsonObject | undefined): number | undefined =>
  Object.entries(object ?? {})
    .map(([name, value]) => statusField.test(name) ? statusOf(label(value)) : undefined)
    .find((status) => status !== undefined)

/** A validator's findings (FastAPI, Mistral): where and what, without the input that they repeat. */
const findings = (value: Json.Json | undefined): string | undefined => {
  const found = Json.array(value).flatMap((item) => {
    const entry = Json.object(item)
    const text = Json.text(entry?.msg)
    return text === undefined
      ? []
      : [`${Json.array(entry?.loc).flatMap((step) => label(step) ?? []).join(".")}: ${text}`]
  })
  return found.length > 0 ? found.join("; ") : undefined
}

/** A text, or findings. */
const detail = (value: Json.Json | undefined): string | undefined => findings(value) ?? Json.text(value)

/** The one member of a Bedrock event that is an exception: `{ throttlingException: { message } }`. */
const exceptionOf = (root: Json.JsonObject | undefined): readonly [string, Json.JsonObject] | undefined => {
  for (const [name, member] of Object.entries(root ?? {})) {
    const exception = Json.object(member)
    if (/Exception$/i.test(name) && exception !== undefined) return [name, exception]
  }
  return undefined
}

/** A value, or the first of a list, unless it says nothing. */
const told = (value: Json.Json | undefined): Json.Json | undefined => {
  const first = Array.isArray(value) ? value[0] : value
  if (typeof first !== "object" || first === null) return first || undefined
  // gateways send the error's fields even without an error, all empty
  return Object.values(first).some((value) => value !== null && value !== "" && value !== 0) ? first : undefined
}

/** What MiniMax's numbers mean (https://platform.minimax.io/docs/api-reference/errorcode), in the names that others use. */
const miniMax: Readonly<Record<string, string>> = {
  1002: "rate_limit",
  1004: "authentication",
  1008: "insufficient_balance",
  1026: "content_filter",
  1027: "content_filter",
  2013: "invalid_request",
  2049: "invalid_api_key"
}

/** MiniMax's status of an answer, where it is not success. */
const ofMiniMax = (base: Json.JsonObject | undefined): Json.JsonObject | undefined =>
  base?.status_code
    ? { code: base.status_code, type: miniMax[label(base.status_code) ?? ""] ?? null, message: base.status_msg ?? null }
    : undefined

/**
 * What a payload has under `error`, `errors` (Cloudflare; beside a message they are its details) or `base_resp`, in its first
 * choice (OpenRouter) or in `x_groq`.
 */
const errorOf = (root: Json.JsonObject): Json.Json | undefined =>
  told(root.error)
    ?? (Json.text(root.message) === undefined ? told(Json.array(root.errors)[0]) : undefined)
    ?? told(Json.object(Json.array(root.choices)[0])?.error)
    ?? told(Json.object(root.x_groq)?.error)
    ?? ofMiniMax(Json.object(root.base_resp))

/** What pydantic quotes of its input, with the middle left out, so that nobody finds it by comparing. */
const quotedInput = /\binput_value=.*?(?=, input_type=|$)/gs

/** The error of a payload: an object or text in it, else the payload itself (`{ message }`, `{ detail }`, text). */
export const read = (payload: Json.Json | undefined): ProviderError => {
  const root = Json.object(Json.array(payload)[0] ?? payload)
  const exception = exceptionOf(root)
  const given = root === undefined ? undefined : errorOf(root)
  const error = Json.object(given) ?? exception?.[1] ?? root
  const found = findings(error?.detail) ?? findings(Json.object(error?.message)?.detail)
  const message = Json.text(payload)
    ?? Json.text(given)
    ?? Json.text(error?.message)
    ?? Json.text(error?.Message)
    ?? found
    ?? Json.text(error?.detail)
    ?? Json.text(Json.object(error?.message)?.detail)
  // SDKs put the whole answer into the message; what it does not say, the error around it may
  const inner = message?.trimStart().startsWith("{") ? Json.object(Json.parse(message)) : undefined
  const said: Partial<ProviderError> = inner === undefined ? {} : read(inner)
  const code = label(error?.code)
  const metadata = Json.object(error?.metadata)
  const details = Json.array(error?.details).flatMap((item): ReadonlyArray<Json.JsonObject> => {
    const entry = Json.object(item)
    return entry === undefined ? [] : [entry]
  })
  const names = [
    exception?.[0],
    label(root?.__type),
    Json.text(Json.object(error?.innererror)?.code),
    found === undefined ? undefined : "validation_error",
    // OpenRouter gives reasons for what it did not pass on
    Json.array(metadata?.reasons).length > 0 ? "moderation" : undefined,
    ...details.map((item) => Json.text(item.reason)),
    ...details.flatMap((item) => Json.array(item.violations).map((entry) => Json.text(Json.object(entry)?.quotaId))),
    ...(said.names ?? [])
  ].flatMap((name) => name ?? [])
  const raw = said.raw ?? Json.text(metadata?.raw)
  const retryDelay = said.retryDelay ??
    details.map((item) => millisOf(Json.text(item.retryDelay))).find((delay) => delay !== undefined)
  const words = message === undefined ? undefined : Masked.keys(message.replace(quotedInput, "input_value=<redacted>"))
  return {
    message: inner === undefined ? words : said.message,
    code: said.code ?? code,
    type: said.type ?? Json.text(error?.type) ?? Json.text(error?.status),
    param: said.param ?? Json.text(error?.param),
    status: said.status ?? statusIn(error) ?? statusIn(root),
    ...(names.length === 0 ? {} : { names }),
    ...(raw === undefined ? {} : { raw }),
    ...(retryDelay === undefined ? {} : { retryDelay })
  }
}

/** Milliseconds of a Protocol Buffers duration such as `"32.5s"`. */
const millisOf = (text: string | undefined): number | undefined => {
  const seconds = /^(\d{1,9}(?:\.\d+)?)s$/.exec(text ?? "")?.[1]
  return seconds === undefined ? undefined : Math.ceil(Number(seconds) * 1000)
}

/**
 * The object of a payload of a stream that is an error and not a chunk, also in a list: null, false or an empty error does not count.
 * Without a field for errors, it is words beside something that only errors have, or an exception of AWS.
 */
export const errorIn = (payload: Json.Json | undefined): Json.JsonObject | undefined => {
  const root = Json.object(Json.array(payload)[0] ?? payload)
  return root !== undefined && isError(root) ? root : undefined
}

const isError = (root: Json.JsonObject): boolean =>
  root.object === "error" || root.type === "error" || errorOf(root) !== undefined
  || (root.choices === undefined && (exceptionOf(root) !== undefined || isBare(root)))

const messageOf = (root: Json.JsonObject): string | undefined => Json.text(root.message) ?? Json.text(root.Message)

const isBare = (root: Json.JsonObject): boolean =>
  detail(root.detail) !== undefined
  || (messageOf(root) !== undefined
    && (isName(root.code) || isName(root.__type) || statusIn(root) !== undefined))

/**
 * The object of a payload of a stream that says in a message alone what may be an error: by its words. It is one if it is the last
 * thing said; some servers also say so why the answer has to wait.
 */
export const saidIn = (payload: Json.Json | undefined): Json.JsonObject | undefined => {
  const root = Json.object(payload)
  const message = root === undefined || root.choices !== undefined ? undefined : messageOf(root)
  return message === undefined || ProviderErrorKind.ofMessage(message) === undefined ? undefined : root
}

/** A name of an error, and neither a number nor the word that all is well. */
const isName = (value: Json.Json | undefined): boolean => {
  const name = Json.text(value)
  return name !== undefined && !/^(?:\d+|ok|success(?:ful)?)?$/i.test(name)
}
