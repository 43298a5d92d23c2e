/** Options that a layer does not have, or not of their type: they would be ignored or misread, and so the layer is not built. */
import { assert, describe, it } from "@effect/vitest"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Cause from "effect/Cause"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as ContextChain from "../../src/layers/ContextChain.ts"
import * as ContextKeyFacts from "../../src/layers/ContextKeyFacts.ts"
import * as ContextPruning from "../../src/layers/ContextPruning.ts"
import * as ContextSummary from "../../src/layers/ContextSummary.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as LanguageModelAiSdk from "../../src/layers/LanguageModelAiSdk.ts"
import * as LanguageModelOpenAi from "../../src/layers/LanguageModelOpenAi.ts"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as ModelFallback from "../../src/layers/ModelFallback.ts"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as TokenizerGpt from "../../src/layers/TokenizerGpt.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Scripted from "../support/ScriptedLanguageModel.ts"

const model = ScriptedModel.layer([])
const language = Layer.effect(
  LanguageModel.LanguageModel,
  Effect.map(Scripted.make([]), ({ model }) => model)
)
const aiSdk = { specificationVersion: "v4", provider: "p", modelId: "m", doStream: () => {} } as never
const keyed = Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ OPENAI_API_KEY: "sk-none" })))

/** What building a layer failed with, or died of. */
const refusal = Effect.fnUntraced(function*(layer: Layer.Layer<never, unknown>) {
  const exit = yield* Effect.exit(Effect.scoped(Layer.build(layer)))
  if (Exit.isSuccess(exit)) return assert.fail("it was built")
  const error = Cause.squash(exit.cause) as { readonly _tag?: string; readonly name: string; readonly message: string }
  return { by: error._tag ?? error.name, message: error.message }
})

/** By layer: it with options, how it refuses, an option that it does not have, and those that it has. */
const layers: Record<string, readonly [(options: any) => Layer.Layer<never, unknown>, string, string, string]> = {
  ContextWindow: [ContextWindow.layerWith, "RangeError", "treshold", "keep, compactThreshold, maxTokens, automatic"],
  ContextPruning: [ContextPruning.layerWith, "RangeError", "Keep", "keep, compactThreshold, maxTokens, automatic"],
  ContextSummary: [
    (options) => Layer.provide(ContextSummary.layerWith(options), model),
    "RangeError",
    "maxToken",
    "instructions, budget, keep, compactThreshold, maxTokens, automatic"
  ],
  ContextKeyFacts: [
    (options) => Layer.provide(ContextKeyFacts.layerWith(options), model),
    "RangeError",
    "instructions",
    "budget, keep, compactThreshold, maxTokens, automatic"
  ],
  ModelLanguageModel: [
    (options) => Layer.provide(ModelLanguageModel.layerWith(options), language),
    "RangeError",
    "context_window",
    "provider, name, contextWindow, maxOutput"
  ],
  ModelFallback: [(options) => ModelFallback.layer([model], options), "RangeError", "if", "when"],
  LanguageModelAiSdk: [
    (options) => LanguageModelAiSdk.layer(aiSdk, options),
    "RangeError",
    "temperature",
    "settings, key, structuredOutput, cache"
  ],
  ModelAiSdk: [
    (options) => ModelAiSdk.layer({ model: aiSdk, ...options }),
    "RangeError",
    "maxTokens",
    "model, contextWindow, maxOutput, settings, key, structuredOutput, cache"
  ],
  TokenizerGpt: [TokenizerGpt.layerWith, "RangeError", "model", "encoding"],
  LanguageModelOpenAi: [
    (options) => Layer.provide(LanguageModelOpenAi.layer({ model: "m", ...options }), FetchHttpClient.layer),
    "ConfigError",
    "contextWindow",
    "model, baseUrl, apiKey, body, sendReasoning, structuredOutput"
  ],
  ModelOpenAi: [
    (options) => ModelOpenAi.layer({ model: "m", ...options }),
    "ConfigError",
    "baseURL",
    "model, baseUrl, apiKey, body, sendReasoning, structuredOutput, provider, contextWindow, maxOutput"
  ],
  SessionStorePg: [
    (options) => SessionStorePg.layer({ url: "postgres://me@localhost:1/none", ...options }),
    "NonRetryableError",
    "pool",
    "url, maxConnections, idleTimeout, connectTimeout, timeout, pooled"
  ],
  SessionStoreSqlite: [
    (options) => SessionStoreSqlite.layer({ filename: ":memory:", ...options }),
    "NonRetryableError",
    "ownTable",
    "filename, durability, busyTimeout"
  ]
}

describe.each(Object.entries(layers))("%s", (name, [layer, by, option, has]) => {
  it.effect("refuses an option that it does not have, and says which it has", () =>
    Effect.gen(function*() {
      const given = yield* refusal(keyed(layer({ [option]: "SECRET" })))
      assert.strictEqual(given.by, by)
      assert.include(given.message, `${name} has no "${option}"; it has ${has}`)
      assert.notInclude(given.message, "SECRET")
    }))
})

describe.each(["ModelOpenAi", "LanguageModelOpenAi"])(
  "%s",
  (name) => {
    it.effect.each([[undefined, "undefined"], ["", "blank"], [" ", "blank"], [null, "null"]])(
      "refuses %o for the name of a model",
      ([model, is]) =>
        Effect.gen(function*() {
          const given = yield* refusal(keyed(layers[name]![0]({ model })))
          assert.strictEqual(given.by, "ConfigError")
          assert.include(given.message, `The option model of ${name} must be the name of a model`)
          assert.include(given.message, `it is ${is}`)
        })
    )
  }
)

/** By layer: what stands in place of an option, and what the option must be. */
const unfit: ReadonlyArray<readonly [name: string, option: string, given: unknown, says: string]> = [
  ...["ContextWindow", "ContextPruning", "ContextSummary", "ContextKeyFacts"].flatMap((name) => [
    ...[null, "0.5", true, [0.5]].map((given) => [name, "keep", given, "a fraction, a number from 0 to 1"] as const),
    ...[null, "10", true].map((given) => [name, "compactThreshold", given, "a number of at least 0"] as const),
    [name, "maxTokens", "1000", "a number of at least 1"] as const,
    ...["false", null, 0].map((given) => [name, "automatic", given, "true or false"] as const)
  ]),
  ["ContextSummary", "budget", "100", "a number of at least 1"],
  ["ContextSummary", "instructions", ["Be brief."], "a string"],
  ["ContextKeyFacts", "budget", null, "a number of at least 1"],
  ["ModelLanguageModel", "provider", 5, "a string"],
  ["ModelLanguageModel", "name", null, "a string"],
  ["ModelLanguageModel", "contextWindow", "128000", "a number of at least 1"],
  ["ModelLanguageModel", "maxOutput", [1], "a number of at least 1"],
  ["ModelFallback", "when", true, "a function"],
  ...["ModelAiSdk", "LanguageModelAiSdk"].flatMap((name) => [
    ...[null, "fast", [], Promise.resolve({})].map((given) => [name, "settings", given, "an object"] as const),
    [name, "key", ["ANTHROPIC_API_KEY"], "a string"] as const,
    [name, "structuredOutput", "no", "true or false"] as const,
    ...[true, "1h", []].map((given) => [name, "cache", given, "\"ephemeral\", or a mark by provider"] as const)
  ]),
  ...["ModelOpenAi", "LanguageModelOpenAi"].flatMap((name) => [
    ...["false", null, 1].map((given) => [name, "sendReasoning", given, "true, false or \"auto\""] as const),
    ...["no", null, 0].map((given) => [name, "structuredOutput", given, "true or false"] as const),
    ...[[1], null, "{}", Promise.resolve({})].map((given) => [name, "body", given, "an object"] as const)
  ]),
  ["ModelOpenAi", "provider", 5, "a string"],
  ["ModelOpenAi", "provider", null, "a string"],
  ...[0, NaN, "128000", null].map((given) =>
    ["ModelOpenAi", "contextWindow", given, "a number of at least 1"] as const
  ),
  ["ModelOpenAi", "maxOutput", -1, "a number of at least 1"],
  ["TokenizerGpt", "encoding", "o200k", "\"o200k_base\" or \"cl100k_base\""],
  ["TokenizerGpt", "encoding", null, "\"o200k_base\" or \"cl100k_base\""]
]

it.effect.each(unfit)("%s refuses %s: %j", ([name, option, given, says]) =>
  Effect.gen(function*() {
    const { by, message } = yield* refusal(keyed(layers[name]![0]({ [option]: given })))
    assert.strictEqual(by, layers[name]![1])
    assert.include(message, `${option} must be ${says}`)
  }))

it.effect.each(["ModelAiSdk", "LanguageModelAiSdk"])(
  "%s refuses a setting that no call has",
  (name) =>
    Effect.gen(function*() {
      const { by, message } = yield* refusal(layers[name]![0]({ settings: { maxTokens: 100 } }))
      assert.strictEqual(by, "RangeError")
      assert.include(message, "settings has no \"maxTokens\"; it has maxOutputTokens, temperature, ")
    })
)

const strategy = ContextWindow.layer

it.effect.each<readonly [string, (given: never) => Layer.Layer<never, unknown>, unknown, string]>([
  ...([[undefined, "undefined"], [[], "none"], [[{}], "an object"], [[model, "gpt"], "a text"]] as const).map((
    [given, is]
  ) =>
    [
      "ModelFallback",
      (given: never) => ModelFallback.layer(given),
      given,
      `a Model or more, and nothing else; it was given ${is}`
    ] as const
  ),
  ...([[[undefined], "undefined"], [[], "none"], [[[strategy, strategy]], "a list"]] as const).map((
    [given, is]
  ) =>
    [
      "ContextChain.layer",
      (given: never) => ContextChain.layer(...(given as [typeof strategy])),
      given,
      `a ContextManager or more, and nothing else; it was given ${is}`
    ] as const
  )
])("%s refuses what are no layers: %#", ([name, layer, given, says]) =>
  Effect.gen(function*() {
    const { by, message } = yield* refusal(layer(given as never))
    assert.strictEqual(by, "RangeError")
    assert.include(message, `${name} needs one layer of ${says}`)
  }))

it.each([[undefined], [{}], [[null]], [[ContextWindow.layer]]])("ContextChain.make refuses %o", (given) => {
  assert.throws(() => ContextChain.make(given as never), RangeError, /strategies of ContextChain must be a list of/)
})

const bare: Record<string, (options: any) => Layer.Layer<never, unknown>> = {
  ModelOpenAi: ModelOpenAi.layer,
  SessionStorePg: SessionStorePg.layer,
  SessionStoreSqlite: SessionStoreSqlite.layer,
  ContextWindow: ContextWindow.layerWith,
  ContextPruning: ContextPruning.layerWith,
  ModelAiSdk: ModelAiSdk.layer,
  TokenizerGpt: TokenizerGpt.layerWith
}

describe.each(Object.entries(bare))("%s from untyped code", (name, layer) => {
  it.effect.each<[unknown, string]>([["app.db", "string"], [["app.db"], "list"], [Promise.resolve({}), "promise"]])(
    "refuses %j for its options",
    ([given, kind]) =>
      Effect.gen(function*() {
        const { by, message } = yield* refusal(keyed(Layer.suspend(() => layer(given))))
        assert.strictEqual(by, layers[name]![1])
        assert.include(message, `${name} has ${layers[name]![3]}: give an object of these, not a ${kind}`)
      })
  )
})

it.effect.each(
  ["ContextWindow", "ContextPruning", "ContextSummary", "ContextKeyFacts", "ModelLanguageModel", "ModelFallback"]
    .concat("LanguageModelAiSdk", "TokenizerGpt")
)("%s refuses null for its options", (name) =>
  Effect.gen(function*() {
    const { by, message } = yield* refusal(Layer.suspend(() => layers[name]![0](null)))
    assert.strictEqual(by, "RangeError")
    assert.include(message, `${name} has ${layers[name]![3]}: give an object of these, not null`)
  }))

it.effect.each<[unknown, string]>([
  [{ file: "app.db" }, "SessionStoreSqlite has no \"file\"; it has filename"],
  [undefined, "The file name of the session database is blank"],
  [null, "The file name of the session database is blank"]
])("SessionStoreSqlite refuses %j", ([options, says]) =>
  Effect.gen(function*() {
    const { by, message } = yield* refusal(SessionStoreSqlite.layer(options as never))
    assert.strictEqual(by, "NonRetryableError")
    assert.include(message, says)
  }))

it.effect("SessionStorePg refuses what is no URL, as where the environment has none", () =>
  Effect.gen(function*() {
    for (const options of [{ url: undefined }, undefined]) {
      const given = yield* refusal(SessionStorePg.layer(options as never))
      assert.strictEqual(given.by, "NonRetryableError")
      assert.include(given.message, "The URL of the session database is not a Postgres URL")
    }
  }))

describe.each(
  [
    ["ModelAiSdk", (model: never) => ModelAiSdk.layer({ model })],
    ["LanguageModelAiSdk", (model: never) => LanguageModelAiSdk.layer(model)]
  ] as const
)("%s", (name, layer) => {
  it.effect.each<[unknown, string]>([
    ["anthropic/claude-sonnet-4-5", "a text"],
    [undefined, "undefined"],
    [() => "a provider that was not asked for a model", "a function"],
    [{ modelId: "m" }, "an object"]
  ])("is not built on what is no model, and says what is one: %o", ([model, is]) =>
    Effect.gen(function*() {
      const { by, message } = yield* refusal(layer(model as never))
      assert.strictEqual(by, "RangeError")
      assert.include(message, `model of ${name} must be a model of an AI SDK package, such as anthropic(`)
      assert.include(message, `, not ${is}; the id of a gateway is no model`)
    }))
})
