/**
 * The table of classification: each provider's answer gets the right reason, as a status and inside a
 * stream, and is retried as often as it deserves.
 */
import { assert, describe, it } from "@effect/vitest"
import type * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as ModelErrors from "../../src/layers/ModelErrors.ts"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import type * as Model from "../../src/services/Model.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as ProviderAnswers from "./ProviderAnswers.ts"

const retries = 2

type MakeModel = (server: OpenAi.Server) => Layer.Layer<Model.Model, Config.ConfigError>

const overChat: MakeModel = ({ baseUrl }) => ModelOpenAi.layer({ model: "m", baseUrl, apiKey: OpenAi.key })

/** A run of an agent against a server that always gives this reply: why it failed, and how often it asked. */
const runOn = Effect.fnUntraced(function*(reply: OpenAi.Reply, model: MakeModel = overChat) {
  const server = yield* OpenAi.make(reply)
  const below = Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, model(server))
  const error = yield* Effect.gen(function*() {
    const agent = yield* Agent.make({ instructions: "", retry: RetryPolicy.make({ base: 0, maxRetries: retries }) })
    return yield* Effect.flip(agent.run({ input: "hello" }))
  }).pipe(Effect.provide(below))
  const reason = error.reason._tag === "RetriesExhausted" ? error.reason.last : error.reason
  return { requests: server.requests.length, reason: reason._tag, message: reason.message, host: server.host }
})

const requestsFor = (reason: ProviderAnswers.Answer["reason"]) => ProviderAnswers.isRetryable(reason) ? 1 + retries : 1

describe("an answer is classified by status, body and headers", () => {
  for (const answer of ProviderAnswers.all) {
    it(`${answer.reason}: ${ProviderAnswers.titleOf(answer)}`, () => {
      const { body, headers, reason, status } = answer
      const error = ModelErrors.fromAnswer({
        status,
        headers,
        body: typeof body === "string" ? body : JSON.stringify(body)
      })
      assert.deepStrictEqual([error.reason._tag, error.reason.status], [reason, status])
      assert.strictEqual(error._tag, ProviderAnswers.isRetryable(reason) ? "RetryableError" : "NonRetryableError")
      assert.notInclude(error.message, "<html")
    })
  }
})

describe("a server that answers", () => {
  for (const answer of ProviderAnswers.all) {
    it.effect(`is asked ${requestsFor(answer.reason)} times: ${ProviderAnswers.titleOf(answer)}`, () =>
      Effect.gen(function*() {
        const { host, message, reason, requests } = yield* runOn(
          OpenAi.status(answer.status, answer.body, answer.headers)
        )
        assert.deepStrictEqual([reason, requests], [answer.reason, requestsFor(answer.reason)])
        assert.isTrue(message.startsWith(`${host} answered HTTP ${answer.status}`), message)
        assert.notInclude(message, "SECRET")
      }))
  }
})

/** The AI SDK package that asks a server which answers as this provider does. */
const makers: Readonly<Record<string, Sdk.Maker>> = {
  "any proxy": Sdk.google,
  Anthropic: Sdk.anthropic,
  Google: Sdk.google,
  OpenAI: Sdk.responses
}

describe("a server that answers, over the AI SDK,", () => {
  for (const answer of ProviderAnswers.all) {
    const make = makers[answer.provider]
    if (make === undefined) continue
    it.effect(`is asked ${requestsFor(answer.reason)} times: ${ProviderAnswers.titleOf(answer)}`, () =>
      Effect.gen(function*() {
        const { host, message, reason, requests } = yield* runOn(
          OpenAi.status(answer.status, answer.body, answer.headers),
          (server) => ModelAiSdk.layer({ model: make(server) })
        )
        assert.deepStrictEqual([reason, requests], [answer.reason, requestsFor(answer.reason)], message)
        assert.isTrue(message.startsWith(`${host} answered HTTP ${answer.status}`), message)
      }))
  }
})

describe("an error inside a 200 stream is classified", () => {
  for (const answer of ProviderAnswers.all) {
    const { body, inStream = answer.reason } = answer
    if (typeof body === "string" || inStream === null) continue
    it.effect.each([["named so", "event: error\n"], ["without a name", ""]])(
      `${inStream}, as an event %s: ${ProviderAnswers.titleOf(answer)}`,
      ([, name]) =>
        Effect.gen(function*() {
          const text = OpenAi.data(OpenAi.delta({ content: "Hello" }))
          const { reason, requests } = yield* runOn(OpenAi.events(text, `${name}${OpenAi.data(body)}`))
          assert.deepStrictEqual([reason, requests], [inStream, requestsFor(inStream)])
          assert.strictEqual(ModelErrors.fromPart(body).reason._tag, inStream)
        })
    )
  }
})

/** The body as the error event of a stream, and what may come before it. */
const streams: Readonly<Record<string, { readonly said: string; readonly event: (body: any) => string }>> = {
  Anthropic: { said: Sdk.named(Sdk.begin(), ...Sdk.says(0, "Hello")), event: (body) => Sdk.named(body) },
  Google: { said: OpenAi.data(Sdk.chunk([{ text: "Hello" }])), event: (body) => OpenAi.data(body) },
  OpenAI: {
    said: Sdk.named(Sdk.created, ...Sdk.writes(0, "Hello")),
    event: ({ error }) => Sdk.named(Sdk.failed({ ...error, type: error.type ?? "error" }))
  }
}

describe("an error inside a 200 stream is classified, over the AI SDK,", () => {
  for (const answer of ProviderAnswers.all) {
    const { body, inStream = answer.reason, provider } = answer
    const [make, stream] = [makers[provider], streams[provider]]
    // Google sends errors of OpenAI's shape only from its chat completions endpoint
    const isForeign = provider === "Google" && JSON.stringify(body).includes("\"param\"")
    if (make === undefined || stream === undefined || inStream === null || isForeign) continue
    for (const said of [stream.said, ""]) {
      const place = said === "" ? "at its beginning" : "after a text"
      it.effect(`${inStream} ${place}: ${ProviderAnswers.titleOf(answer)}`, () =>
        Effect.gen(function*() {
          const { message, reason, requests } = yield* runOn(
            OpenAi.events(said + stream.event(body)),
            (server) => ModelAiSdk.layer({ model: make(server) })
          )
          assert.deepStrictEqual([reason, requests], [inStream, requestsFor(inStream)], message)
        }))
    }
  }
})

describe("a 200 that is no stream", () => {
  it.effect.each<readonly [object, string]>([
    [[{ error: { code: 503, message: "busy", status: "UNAVAILABLE" } }], "Overloaded"],
    [{ code: "Throttling", message: "slow down" }, "RateLimited"],
    [{ validationException: { message: "Input is too long for requested model." } }, "ContextOverflow"],
    [{ message: "Unauthorized", code: 401 }, "Authentication"],
    [{ message: "Unauthorized" }, "Authentication"],
    [{ id: "chatcmpl-1", choices: [{ message: { role: "assistant", content: "Hi" } }] }, "InvalidRequest"]
  ])("and says %j is classified by what it says: %s", ([body, expected]) =>
    Effect.gen(function*() {
      const { reason } = yield* runOn(OpenAi.status(200, body))
      assert.strictEqual(reason, expected)
    }))
})
