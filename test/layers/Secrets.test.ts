/** A secret in the key, a header, the URL, a setting or a tool's argument never leaks, whatever a provider repeats. */
import { createAnthropic } from "@ai-sdk/anthropic"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as References from "effect/References"
import * as Stream from "effect/Stream"
import { inspect } from "node:util"
import * as LanguageModelOpenAi from "../../src/layers/LanguageModelOpenAi.ts"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type * as Model from "../../src/services/Model.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Traces from "../support/Traces.ts"

/** Not shaped like keys: only where they are put shows that they are secret. */
const secrets = {
  key: "kkkk-11112222",
  header: "hhhh-33334444",
  url: "uuuu-55556666",
  path: "pppp-12345678",
  setting: "ssss-7777888899990000",
  short: "s-7777-8888",
  argument: "aaaa-99990000",
  word: "wwww-00001111"
}

const repeated = `you sent ${Object.values(secrets).join(", ")} and Bearer ${secrets.key}`

const params = `{"n":1,"note":"${secrets.argument}","more":"so the token is ${secrets.word}, as always"}`

/** The address of a gateway that has a key in its path. */
const behind = (baseUrl: string) => baseUrl.replace("/v1", `/${secrets.path}/v1`)

/** A way to a provider: a model with the secrets, an answer with a call, and answers that repeat what was sent. */
interface Way {
  readonly model: (server: OpenAi.Server) => Layer.Layer<Model.Model>
  readonly calls: OpenAi.Reply
  readonly replies: Readonly<Record<string, OpenAi.Reply>>
  /** The key and the settings in a request. */
  readonly sent: (request: OpenAi.Request) => readonly [key: unknown, setting: unknown, short: unknown]
}

const { data, delta, finish, toolCalls } = OpenAi

const chatReplies: Way["replies"] = {
  "as the message of a 400": OpenAi.status(400, { error: { message: repeated, code: repeated, param: repeated } }),
  "as the message of a 500": OpenAi.status(500, { error: { message: repeated } }),
  "as plain text": OpenAi.status(404, repeated),
  "as what a validator found": OpenAi.status(422, { detail: [{ loc: ["body", secrets.argument], msg: repeated }] }),
  "behind a gateway": OpenAi.status(400, { error: { message: "no", metadata: { raw: repeated } } }),
  "inside of a stream": OpenAi.events(data(delta({ content: "so" }), { error: { message: repeated } })),
  "in a redirect": OpenAi.status(302, "", {
    location: `/${secrets.path}/login?key=${secrets.key}&token=${secrets.url}`
  }),
  "in its headers": OpenAi.status(429, "", { "x-request-id": secrets.key, "x-ratelimit-reason": secrets.header }),
  "in half an answer": OpenAi.reset(data(delta({ content: "so" })))
}

const chat: Way = {
  model: ({ baseUrl }) => {
    const client = Layer.effect(
      HttpClient.HttpClient,
      Effect.map(
        HttpClient.HttpClient,
        HttpClient.mapRequest(HttpClientRequest.setHeader("x-gateway", secrets.header))
      )
    ).pipe(Layer.provide(NodeHttpClient.layerUndici))
    return ModelLanguageModel.layer.pipe(
      Layer.provide(LanguageModelOpenAi.layer({
        model: "m",
        baseUrl: `${behind(baseUrl)}?token=${secrets.url}`,
        apiKey: Redacted.make(secrets.key),
        body: { user: secrets.setting, metadata: { account: secrets.short } }
      })),
      Layer.provide(client),
      Layer.orDie
    )
  },
  calls: OpenAi.events(
    data(toolCalls({ index: 0, id: "a", function: { name: "work", arguments: params } }), finish("tool_calls"))
  ),
  replies: chatReplies,
  sent: ({ body, headers }) => [headers.authorization?.replace("Bearer ", ""), body.user, body.metadata.account]
}

const refused = Sdk.apiError("invalid_request_error", repeated)
const half = [Sdk.begin(), ...Sdk.says(0, "so")]

/** `headers` that its provider was made with, and that each call has. */
const bridge = (ofProvider: Record<string, string>, ofCalls: Record<string, string>): Way => ({
  model: ({ baseUrl }) =>
    ModelAiSdk.layer({
      model: createAnthropic({
        apiKey: secrets.key,
        baseURL: `${behind(baseUrl)}?token=${secrets.url}`,
        headers: ofProvider
      })(
        "claude-x"
      ),
      settings: {
        headers: ofCalls,
        stopSequences: [secrets.short],
        providerOptions: { anthropic: { metadata: { userId: secrets.setting } } }
      }
    }),
  calls: Sdk.message("tool_use", Sdk.calls(0, "toolu_1", "work", params)),
  replies: {
    "as the message of a 400": OpenAi.status(400, refused),
    "as the message of a 500": OpenAi.status(500, refused),
    "as plain text": OpenAi.status(404, repeated),
    "as what a validator found": OpenAi.status(422, { detail: [{ loc: ["body", secrets.argument], msg: repeated }] }),
    "inside of a stream": OpenAi.events(Sdk.named(...half, refused)),
    "in all there is of a stream": OpenAi.events(Sdk.named(refused)),
    "in an event that is none": OpenAi.events(`${Sdk.named(...half)}data: {"nonsense":"${repeated}"}\n\n`),
    "in its headers": OpenAi.status(429, "", { "x-request-id": secrets.key, "x-ratelimit-reason": secrets.header }),
    "in half an answer": OpenAi.reset(Sdk.named(...half))
  },
  sent: ({ body, headers }) => [headers["x-api-key"], body.metadata.user_id, body.stop_sequences[0]]
})

const gateway = { "x-gateway": secrets.header }

/** A run whose second model call gets this reply: its events, and everything in logs, spans and its failure. */
const observed = Effect.fnUntraced(function*({ calls, model }: Way, reply: OpenAi.Reply) {
  const server = yield* OpenAi.make(calls, reply)
  const lines: Array<string> = []
  const { spans, tracer } = Traces.make()
  const events: Array<RunEvent.RunEvent> = []
  const exit = yield* Effect.gen(function*() {
    const { agent } = yield* TestAgent.make([], {
      model: model(server),
      agent: { retry: RetryPolicy.make({ base: 0, maxRetries: 1 }) }
    })
    const seen = Stream.runForEach(
      agent.stream({ sessionId: "s", input: "go" }),
      (event) => Effect.sync(() => events.push(event))
    )
    return yield* Effect.exit(Effect.tapCause(seen, (cause) => Effect.logError("failed", cause)))
  }).pipe(
    Effect.withSpan("app"),
    Effect.provide(Logger.layer([Logger.make((options) => {
      lines.push(Logger.formatJson.log(options), inspect(options.message, { depth: 20 }))
    })])),
    Effect.provideService(References.MinimumLogLevel, "Trace"),
    Effect.withTracer(tracer)
  )
  assert.isTrue(Exit.isFailure(exit))
  if (Exit.isFailure(exit)) lines.push(inspect(exit, { depth: 20 }), JSON.stringify(exit), Cause.pretty(exit.cause))
  for (const { attributes, events, name, status } of spans) {
    lines.push(inspect([name, attributes, events, status], { depth: 20 }))
  }
  return { events, said: lines.join("\n"), server, spans }
})

const found = (text: string) =>
  Object.entries(secrets).filter(([, secret]) => text.includes(secret)).map(([name]) => name)

describe.each(
  [
    ["over chat completions", chat],
    ["over the AI SDK", bridge({}, gateway)],
    ["over the AI SDK with headers of its own", bridge(gateway, {})]
  ] as const
)("a provider %s", (_, way) => {
  for (const [how, reply] of Object.entries(way.replies)) {
    it.effect(`that repeats what it was sent ${how} leaks no secret`, () =>
      Effect.gen(function*() {
        const { events, said, server, spans } = yield* observed(way, reply)
        const [first, second] = server.requests
        assert.isDefined(first)
        assert.deepStrictEqual(way.sent(first!), [secrets.key, secrets.setting, secrets.short])
        assert.strictEqual(first?.headers["x-gateway"], secrets.header)
        assert.include(first?.url, secrets.url)
        assert.include(first?.url, `/${secrets.path}/`)
        assert.include(second?.text, secrets.argument)
        assert.include(second?.text, secrets.word)
        assert.isAbove(spans.length, 2)
        assert.deepStrictEqual(found(said), [])
        // the log of a run holds the arguments of its tools, and no other secret
        assert.deepStrictEqual(found(JSON.stringify(events)), ["argument", "word"])
        const failures = events.filter(({ _tag }) => _tag === "AttemptDiscarded" || _tag === "RunFailed")
        assert.isAbove(failures.length, 1)
        assert.deepStrictEqual(found(JSON.stringify(failures)), [])
      }))
  }
})

describe("a key that is also in the address of its server", () => {
  /** A run over chat completions that is answered so: its end, and the spans. */
  const ended = Effect.fnUntraced(function*(keyOf: (host: string) => string, reply: OpenAi.Reply) {
    const server = yield* OpenAi.make(reply)
    const traces = Traces.make()
    const model = Layer.orDie(ModelOpenAi.layer({
      model: "m",
      baseUrl: `${server.baseUrl}/${keyOf(server.host)}`,
      apiKey: keyOf(server.host)
    }))
    const { agent } = yield* TestAgent.make([], { model })
    const exit = yield* Effect.withTracer(Effect.exit(agent.run({ sessionId: "s", input: "go" })), traces.tracer)
    return { exit, host: server.host, url: traces.named("POST").attributes.get("url.full") }
  })

  const parts = [
    ["host", (host: string) => host.split(":")[0]!],
    ["port", (host: string) => host.split(":")[1]!],
    ["scheme", () => "http"]
  ] as const

  it.effect.each(parts)(
    "as its %s leaves that as it is, and is taken out of the path",
    ([, keyOf]) =>
      Effect.gen(function*() {
        const reply = OpenAi.events(data(delta({ content: "Hi." }), finish("stop")), OpenAi.done)
        const { exit, host, url } = yield* ended(keyOf, reply)
        assert.strictEqual(Exit.isSuccess(exit) ? exit.value.text : inspect(exit, { depth: 9 }), "Hi.")
        assert.strictEqual(url, `http://${host}/v1/<redacted>/chat/completions`)
      })
  )

  it.effect.each(parts)("as its %s does not keep a redirect from being named", ([, keyOf]) =>
    Effect.gen(function*() {
      const { exit, host } = yield* ended(keyOf, OpenAi.status(307, "", { location: "/login" }))
      assert.include(inspect(exit, { depth: 9 }), `${host} redirects to http://${host}/login (HTTP 307)`)
    }))

  it.effect("is taken out of the name of another host to which that redirects", () =>
    Effect.gen(function*() {
      const location = "http://127.0.0.1.test/login"
      const { exit, host } = yield* ended(() => "127.0.0.1", OpenAi.status(307, "", { location }))
      assert.include(inspect(exit, { depth: 9 }), `${host} redirects to http://<redacted>.test/login (HTTP 307)`)
    }))
})
