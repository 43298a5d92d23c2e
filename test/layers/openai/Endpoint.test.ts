/** Where requests go, and with which key: options, the environment, and what is refused. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Redacted } from "effect"
import * as LanguageModelOpenAi from "../../../src/layers/LanguageModelOpenAi.ts"
import * as Endpoint from "../../../src/layers/openai/Endpoint.ts"
import * as OpenAi from "../../support/OpenAiServer.ts"

const hello = OpenAi.data(OpenAi.delta({ role: "assistant", content: "Hel" }), OpenAi.delta({ content: "lo" }))
const counts = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }

describe("settings", () => {
  const build = (env: Record<string, string>, options: Partial<LanguageModelOpenAi.Options> = {}) =>
    LanguageModelOpenAi.layer({ model: "m", ...options }).pipe(
      Layer.provide(NodeHttpClient.layerUndici),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(env)))
    )
  const refusal = (env: Record<string, string>, options?: Partial<LanguageModelOpenAi.Options>) =>
    Effect.flip(Effect.provide(Effect.void, build(env, options)))

  it.effect.each([{}, { OPENAI_API_KEY: " " }])(
    "api.openai.com without a key is a ConfigError: %o",
    (env) =>
      Effect.gen(function*() {
        const error = yield* refusal(env)
        assert.strictEqual(error._tag, "ConfigError")
        assert.include(error.message, "api.openai.com needs an API key: set OPENAI_API_KEY")
      })
  )

  it.effect.each(["localhost:11434/v1", "ftp://host/v1", "nonsense"])(
    "the base URL %s is a ConfigError",
    (baseUrl) =>
      Effect.gen(function*() {
        assert.include((yield* refusal({ OPENAI_API_KEY: "k" }, { baseUrl })).message, "OPENAI_BASE_URL")
      })
  )

  it.effect("credentials in the base URL are refused without repeating them", () =>
    Effect.gen(function*() {
      const { message } = yield* refusal({ OPENAI_BASE_URL: "http://me:hunter2@localhost:1/v1" })
      assert.include(message, "has a user or a password in it")
      assert.notInclude(message, "hunter2")
    }))

  it.effect.each(["sk-ü", "sk-a\nb", "“sk-a”"])(
    "the key %o, which no header can hold, is refused without repeating it",
    (key) =>
      Effect.gen(function*() {
        const { message } = yield* refusal({ OPENAI_API_KEY: key })
        assert.include(message, "check OPENAI_API_KEY or the option apiKey for spaces, line breaks and quotes")
        assert.notInclude(message, "sk-")
      })
  )

  it.effect("the environment sets server and key, and a base URL may have a trailing slash and a query", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(OpenAi.events(hello, OpenAi.data(OpenAi.finish("stop", counts))))
      const env = { OPENAI_BASE_URL: `${server.baseUrl}/?api-version=1`, OPENAI_API_KEY: "sk-env\n" }
      yield* Effect.provide(OpenAi.outcome(), build(env))
      const request = server.requests[0]
      assert.strictEqual(request?.url, "/v1/chat/completions?api-version=1")
      assert.strictEqual(request?.headers.authorization, "Bearer sk-env")
    }))

  it.effect("another server needs no key, and is sent no header for one", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(OpenAi.events(hello, OpenAi.data(OpenAi.finish("stop", counts))))
      yield* Effect.provide(OpenAi.outcome(), build({}, { baseUrl: server.baseUrl }))
      assert.isUndefined(server.requests[0]?.headers.authorization)
    }))

  it.effect.each([42, Redacted.make(42), { key: "sk-none" }])(
    "the key %o, which is no text, is refused without repeating it",
    (key) =>
      Effect.gen(function*() {
        const { message } = yield* refusal({}, { apiKey: key as never })
        assert.include(
          message,
          "The API key is not a text: check the option apiKey, which takes a text, or Redacted of one"
        )
        assert.notMatch(message, /42|sk-/)
      })
  )

  it.effect.each(["sk-option", Redacted.make("sk-option")])(
    "options take precedence over the environment: %o",
    (apiKey) =>
      Effect.gen(function*() {
        const server = yield* OpenAi.make(OpenAi.events(hello, OpenAi.data(OpenAi.finish("stop", counts))))
        const options = { baseUrl: server.baseUrl, apiKey }
        yield* Effect.provide(
          OpenAi.outcome(),
          build({ OPENAI_BASE_URL: "http://nowhere", OPENAI_API_KEY: "sk-env" }, options)
        )
        assert.strictEqual(server.requests[0]?.headers.authorization, "Bearer sk-option")
      })
  )
})

describe("an address", () => {
  const gateway = "https://gateway.test"
  const vertex = "https://us-central1-aiplatform.googleapis.com/v1/projects/my-project-123/locations/us-central1"

  it.effect.each<readonly [what: string, path: string, said: string, told: string]>([
    ["that is encoded, in both forms", "s3cret%40k3y", "bad: s3cret@k3y, s3cret%40k3y", "bad: <redacted>, <redacted>"],
    ["that begins as another one", "prod-key-1/prod-key-12", "no prod-key-12, prod-key-1", "no <redacted>, <redacted>"]
  ])(
    "has what may be secret in its path taken out of it and of words: %s",
    ([, path, said, told]) =>
      Effect.gen(function*() {
        const { redact, url } = yield* Endpoint.make({ model: "m", baseUrl: `${gateway}/${path}/v1` })
        assert.match(url, /^https:\/\/gateway\.test(\/<redacted>)+\/v1\/chat\/completions$/)
        assert.strictEqual(redact(said), told)
      })
  )

  it.effect("has names in its path that stay in it and in words", () =>
    Effect.gen(function*() {
      const baseUrl = `${vertex}/endpoints/openapi`
      const { redact, url } = yield* Endpoint.make({ model: "google/gemini-9", baseUrl })
      assert.strictEqual(url, `${baseUrl}/chat/completions`)
      const said = "`projects/my-project-123/locations/us-central1/publishers/google/models/gemini-9` was not found"
      assert.strictEqual(redact(said), said)
    }))
})
