/**
 * Where requests go and with which key. Owns the settings `OPENAI_BASE_URL` and `OPENAI_API_KEY` and keeps the key out of
 * every text. Does not own what is sent.
 */
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as HttpBody from "effect/http/HttpBody"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Echo from "../provider/Echo.ts"
import type { Origin } from "../provider/Origin.ts"

export interface Endpoint extends Origin {
  /** The host without its port, since a server on the same machine may get another port next time. */
  readonly hostname: string
  /** Whether it is OpenAI's own API. */
  readonly isOpenAi: boolean
  /** A request with a JSON body, authorised. */
  readonly request: (body: string) => HttpClientRequest.HttpClientRequest
}

const openAiBaseUrl = "https://api.openai.com/v1"

/** `message` says what is wrong with a setting or an option; it must not hold what is secret. */
export const refuse = (message: string): Effect.Effect<never, Config.ConfigError> =>
  Effect.fail(new Config.ConfigError(new ConfigProvider.SourceError({ message })))

/** `<base>/chat/completions`, with the query kept (Azure has its `api-version` there). */
const chatUrl = (baseUrl: string): URL | undefined => {
  const url = URL.parse(baseUrl)
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/chat/completions`
  return url
}

const isOpenAi = (url: URL) => /(^|\.)api\.openai\.com$/.test(url.hostname)

/**
 * Fails when the base URL is not an http(s) URL or holds credentials, when the key cannot be sent, and when api.openai.com is
 * asked without a key. Blank settings count as absent.
 */
export const make = Effect.fnUntraced(function*(options: {
  readonly model: string
  readonly baseUrl?: string | undefined
  readonly apiKey?: string | Redacted.Redacted | undefined
}): Effect.fn.Return<Endpoint, Config.ConfigError> {
  const setting = Option.getOrElse(yield* Config.option(Config.String("OPENAI_BASE_URL")), () => "")
  const url = chatUrl(options.baseUrl ?? (setting.trim() || openAiBaseUrl))
  if (url === undefined) {
    return yield* refuse(
      `The base URL of the OpenAI-compatible API is not an http(s) URL: check the option baseUrl or OPENAI_BASE_URL, `
        + `which should look like ${openAiBaseUrl}`
    )
  }
  if (url.username !== "" || url.password !== "") {
    return yield* refuse(
      `The base URL of the OpenAI-compatible API has a user or a password in it (the option baseUrl, or OPENAI_BASE_URL): `
        + `leave them out, and give the key in OPENAI_API_KEY or the option apiKey`
    )
  }
  const given = options.apiKey ?? Option.getOrUndefined(yield* Config.option(Config.Redacted("OPENAI_API_KEY")))
  const text: unknown = Redacted.isRedacted(given) ? Redacted.value(given) : given ?? ""
  if (typeof text !== "string") {
    return yield* refuse("The API key is not a text: check the option apiKey, which takes a text, or Redacted of one")
  }
  const key = text.trim()
  if (key === "" && isOpenAi(url)) {
    return yield* refuse(
      `${url.host} needs an API key: set OPENAI_API_KEY or pass the option apiKey. For a server that needs none, set `
        + `OPENAI_BASE_URL or the option baseUrl`
    )
  }
  if (!/^[\x21-\x7e]*$/.test(key)) {
    return yield* refuse(
      `The API key holds characters that no header can carry: check OPENAI_API_KEY or the option apiKey for spaces, line breaks and quotes`
    )
  }
  const inQuery = [...url.searchParams.values()].filter((value) => value.length >= 8)
  // for servers without keys, people set one of a letter or two, which is no secret and occurs in many words
  const ofKey = key.length < 4 ? [] : [key]
  const inPath = Echo.ofPath(url, options.model)
  const secrets = [...ofKey, ...inPath, ...inQuery.flatMap((value) => [value, encodeURIComponent(value)])]
    // one may be the beginning of another
    .toSorted((a, b) => b.length - a.length)
  const redact = (text: string) => secrets.reduce((text, secret) => text.replaceAll(secret, "<redacted>"), text)
  const empty = HttpClientRequest.post(url).pipe(HttpClientRequest.accept("text/event-stream"))
  const authorised = key === "" ? empty : HttpClientRequest.bearerToken(empty, key)
  return {
    module: "LanguageModelOpenAi",
    adds: "openai",
    key: "OPENAI_API_KEY or the option apiKey",
    host: url.host,
    hostname: url.hostname,
    url: `${url.origin}${redact(url.pathname)}`,
    isOpenAi: isOpenAi(url),
    hasKey: key !== "",
    request: (body) => HttpClientRequest.setBody(authorised, HttpBody.text(body, "application/json")),
    redact
  }
})
