/** How often a provider is asked: never more than the loop's policy says, in every layering and over every client. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import type * as Config from "effect/Config"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as LanguageModelOpenAi from "../../src/layers/LanguageModelOpenAi.ts"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as ModelFallback from "../../src/layers/ModelFallback.ts"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as Model from "../../src/services/Model.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Watch from "../support/Watch.ts"

const replies: Readonly<Record<string, OpenAi.Reply>> = {
  "a 500": OpenAi.status(500, ""),
  "a 429 that asks to wait": OpenAi.status(429, "", { "retry-after": "1" }),
  "a 503": OpenAi.status(503, "", { "retry-after-ms": "10" }),
  "half an answer": OpenAi.events(OpenAi.data(OpenAi.delta({ content: "half" }))),
  "a reset": OpenAi.reset(OpenAi.data(OpenAi.delta({ content: "half" }))),
  "a reset before any byte": OpenAi.reset()
}

const clients = {
  fetch: FetchHttpClient.layer,
  undici: NodeHttpClient.layerUndici,
  "node:http": NodeHttpClient.layerNodeHttp
}

const options = ({ baseUrl }: OpenAi.Server) => ({ model: "m", baseUrl, apiKey: OpenAi.key })

/** The adapter over a client, as a `Model`. */
const over = (client: typeof FetchHttpClient.layer) => (server: OpenAi.Server) =>
  ModelLanguageModel.layer.pipe(Layer.provide(LanguageModelOpenAi.layer(options(server))), Layer.provide(client))

const layerings = {
  ...Object.fromEntries(Object.entries(clients).map(([name, client]) => [`over ${name}`, over(client)])),
  "by ModelOpenAi": (server: OpenAi.Server) => ModelOpenAi.layer(options(server)),
  "by ModelAiSdk": (server: OpenAi.Server) => ModelAiSdk.layer({ model: Sdk.anthropic(server) }),
  "by ModelFallback, alone": (server: OpenAi.Server) => ModelFallback.layer([ModelOpenAi.layer(options(server))])
}

describe("without retries a provider is asked exactly once", () => {
  for (const [what, reply] of Object.entries(replies)) {
    for (const [name, client] of Object.entries(clients)) {
      it.effect(`by the language model alone, over ${name}: ${what}`, () =>
        Effect.gen(function*() {
          const server = yield* OpenAi.make(reply)
          const model = LanguageModelOpenAi.layer(options(server)).pipe(Layer.provide(client))
          const { error } = yield* Effect.provide(OpenAi.outcome(), model)
          assert.isDefined(error)
          assert.strictEqual(server.requests.length, 1)
        }))
    }

    for (const [name, layered] of Object.entries(layerings)) {
      it.effect(`by an agent, ${name}: ${what}`, () =>
        Effect.gen(function*() {
          const server = yield* OpenAi.make(reply)
          const { agent } = yield* TestAgent.make([], {
            model: Layer.orDie(layered(server)),
            agent: { retry: RetryPolicy.make({ maxRetries: 0 }) }
          })
          const { reason } = yield* Effect.flip(agent.run({ input: "go" }))
          assert.strictEqual(reason._tag, "RetriesExhausted")
          assert.strictEqual(server.requests.length, 1)
        }))
    }
  }
})

const role = OpenAi.data(OpenAi.delta({ role: "assistant", content: "" }))
const ping = Sdk.named({ type: "ping" })

describe.each<readonly [string, OpenAi.Reply, (server: OpenAi.Server) => Layer.Layer<Model.Model, Config.ConfigError>]>(
  [
    [
      "by ModelOpenAi",
      OpenAi.open(": ping\n\n", role, ": ping\n\n", OpenAi.data(OpenAi.delta({}))),
      layerings["by ModelOpenAi"]
    ],
    ["by ModelAiSdk", OpenAi.open(Sdk.named(Sdk.begin()), ping, ": ping\n\n", ping), layerings["by ModelAiSdk"]]
  ]
)("a server that only sends signs of life, %s,", (_, reply, layered) => {
  it.effect("has 60 seconds for its first part, then is left", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(reply)
      const heard = yield* Deferred.make<void>()
      const listened = Layer.effect(
        Model.Model,
        Effect.map(Model.Model, (model) => ({
          ...model,
          stream: (request: Model.ModelRequest) =>
            Stream.tap(model.stream(request), () => Deferred.succeed(heard, undefined))
        }))
      ).pipe(Layer.provide(layered(server)), Layer.orDie)
      const { agent } = yield* TestAgent.make([], {
        model: listened,
        agent: { retry: RetryPolicy.make({ maxRetries: 0 }) }
      })
      const watch = yield* Watch.make(agent.stream({ sessionId: "s", input: "go" }))
      yield* Deferred.await(heard)
      yield* TestClock.adjust("59999 millis")
      assert.deepStrictEqual(RunLog.only(watch.seen, "AttemptDiscarded"), [])
      yield* TestClock.adjust("1 millis")
      yield* watch.over
      yield* Deferred.await(server.left)
      const [discarded] = RunLog.only(watch.seen, "AttemptDiscarded")
      assert.deepStrictEqual(
        discarded?.error._tag === "TimedOut" ? discarded.error.scope : discarded?.error,
        "firstPart"
      )
    }))
})
