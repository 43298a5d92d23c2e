/** What an answer that breaks off has used by then, as far as its provider reported it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as LanguageModelAiSdk from "../../src/layers/LanguageModelAiSdk.ts"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Watch from "../support/Watch.ts"

const { data, delta, finish, usage } = OpenAi
const counts = { prompt_tokens: 10, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 4 } }
const begun = data(delta({ content: "Hel" }), usage(counts))
const used = { inputTokens: 10, outputTokens: 2, cachedInputTokens: 4 }

/** vLLM's `continuous_usage_stats`: each delta has the usage so far beside it. */
const counting = data(
  { ...delta({ content: "Hel" }), usage: { prompt_tokens: 10, completion_tokens: 1 } },
  { ...delta({ content: "lo" }), usage: counts }
)

const ofOpenAi = ({ baseUrl }: OpenAi.Server) => OpenAi.model({ baseUrl })
const ofGoogle = (server: OpenAi.Server) => LanguageModelAiSdk.layer(Sdk.google(server))
const ofResponses = (server: OpenAi.Server) => LanguageModelAiSdk.layer(Sdk.responses(server))

it.live.each<readonly [string, typeof ofOpenAi, OpenAi.Reply, string, object]>([
  ["that ends before its finish", ofOpenAi, OpenAi.events(begun), "StreamTruncated", used],
  ["that is reset", ofOpenAi, OpenAi.reset(begun), "StreamTruncated", used],
  [
    "that has an error",
    ofOpenAi,
    OpenAi.events(begun, data({ error: { message: "busy", code: 503 } })),
    "Overloaded",
    used
  ],
  [
    "whose finish says that its server gave up",
    ofOpenAi,
    OpenAi.events(begun, data(finish("error"))),
    "Overloaded",
    used
  ],
  [
    "that ends before its finish, over the AI SDK",
    ofGoogle,
    OpenAi.events(data(Sdk.chunk([{ text: "Hel" }]))),
    "StreamTruncated",
    { inputTokens: 7, outputTokens: 5, cachedInputTokens: 0, reasoningTokens: 2 }
  ],
  [
    "that has an error, over the AI SDK",
    ofGoogle,
    OpenAi.events(
      data(Sdk.chunk([{ text: "Hel" }])),
      data({ error: { code: 503, message: "busy", status: "UNAVAILABLE" } })
    ),
    "Overloaded",
    { inputTokens: 7, outputTokens: 5, cachedInputTokens: 0, reasoningTokens: 2 }
  ],
  [
    "that fails, over OpenAI's Responses",
    ofResponses,
    OpenAi.events(
      Sdk.named(Sdk.created, ...Sdk.writes(0, "Hel"), Sdk.broken({ code: "server_error", message: "busy" }))
    ),
    "Overloaded",
    { inputTokens: 7, outputTokens: 5, cachedInputTokens: 0, reasoningTokens: 2 }
  ],
  [
    "without any reported usage",
    ofOpenAi,
    OpenAi.events(data(delta({ content: "Hel" }))),
    "StreamTruncated",
    { inputTokens: 0, outputTokens: 0 }
  ]
])(
  "an answer %s counts what it had used by then",
  ([, modelOf, reply, reason, expected]) =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(reply)
      const model = Layer.provide(ModelLanguageModel.layer, modelOf(server))
      const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, model))
      const agent = yield* Agent.make({ instructions: "Say hello.", retry: RetryPolicy.make({ maxRetries: 0 }) })
        .pipe(Effect.provide(below))
      const { over, seen } = yield* Watch.make(agent.stream({ input: "hello" }))
      yield* over
      const discarded = RunLog.only(seen, "AttemptDiscarded")
      assert.deepStrictEqual(
        discarded.map(({ error, usage }): readonly [string, object] => [error._tag, usage]),
        [[reason, expected]]
      )
      assert.deepStrictEqual(RunLog.only(seen, "RunFailed")[0]?.totals.usage, expected)
    })
)

/** An agent whose answer goes on until it is cut off, and a reader of its run. */
const counted = Effect.fnUntraced(function*(
  reply: OpenAi.Reply,
  options: Pick<Parameters<typeof Agent.make>[0], "limits"> = {}
) {
  const model = ModelOpenAi.layer({ model: "m", baseUrl: (yield* OpenAi.make(reply)).baseUrl, apiKey: OpenAi.key })
  const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, model))
  const agent = yield* Agent.make({ instructions: "Say hello.", ...options }).pipe(Effect.provide(below))
  const run = yield* agent.start({ input: "hello" })
  return { run, watch: yield* Watch.make(run.events) }
})

describe("an answer whose provider counts as it goes", () => {
  it.live("counts what it had used by then when it is aborted", () =>
    Effect.gen(function*() {
      const { run, watch: { over, seen, until } } = yield* counted(OpenAi.open(counting))
      yield* until("TextDelta", 2)
      yield* run.abort
      yield* over
      assert.deepStrictEqual(RunLog.only(seen, "RunAborted")[0]?.totals.usage, used)
    }))

  it.live("counts what it had used by then when it is aborted after its finish reason", () =>
    Effect.gen(function*() {
      const { run, watch: { over, seen, until } } = yield* counted(OpenAi.open(counting + data(finish("stop"))))
      yield* until("TextDelta", 2)
      yield* run.abort
      yield* over
      assert.deepStrictEqual(RunLog.only(seen, "RunAborted")[0]?.totals.usage, used)
    }))

  it.live("counts what it had used by then when its time is over", () =>
    Effect.gen(function*() {
      const { run } = yield* counted(OpenAi.open(counting), { limits: { maxDuration: 1_000 } })
      const result = yield* run.result
      assert.deepStrictEqual([result._tag, result.usage], ["Limited", used])
    }))

  it.live("keeps the last counts when later ones say nothing", () =>
    Effect.gen(function*() {
      const { run, watch: { over, seen, until } } = yield* counted(
        OpenAi.open(counting, data({ ...delta({ content: "!" }), usage: { prompt_tokens: 0, completion_tokens: 0 } }))
      )
      yield* until("TextDelta", 3)
      yield* run.abort
      yield* over
      assert.deepStrictEqual(RunLog.only(seen, "RunAborted")[0]?.totals.usage, used)
    }))

  it.live("counts once when it ends as it should", () =>
    Effect.gen(function*() {
      const whole = { prompt_tokens: 10, completion_tokens: 3 }
      const { run } = yield* counted(OpenAi.events(counting, data(finish("stop"), usage(whole)), OpenAi.done))
      assert.deepStrictEqual((yield* run.result).usage, { inputTokens: 10, outputTokens: 3, cachedInputTokens: 4 })
    }))
})
