/** Token usage in every form that providers report it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as OpenAi from "../../support/OpenAiServer.ts"

const hello = OpenAi.data(OpenAi.delta({ role: "assistant", content: "Hel" }), OpenAi.delta({ content: "lo" }))
const counts = { prompt_tokens: 10, completion_tokens: 4, total_tokens: 14 }

describe("token usage", () => {
  const usageOf = (...chunks: ReadonlyArray<unknown>) =>
    Effect.map(OpenAi.answer(OpenAi.events(hello, OpenAi.data(...chunks), OpenAi.done)), ({ parts }) => {
      const usage = OpenAi.finishOf(parts)?.usage
      return { ...usage?.inputTokens, output: { ...usage?.outputTokens } }
    })

  it.effect.each<readonly [string, object, ReadonlyArray<number | undefined>, ReadonlyArray<number | undefined>]>([
    [
      "OpenAI",
      {
        prompt_tokens: 100,
        completion_tokens: 50,
        total_tokens: 150,
        prompt_tokens_details: { cached_tokens: 60 },
        completion_tokens_details: { reasoning_tokens: 20 }
      },
      [100, 40, 60, undefined],
      [50, 30, 20]
    ],
    [
      "DeepSeek",
      { prompt_tokens: 339, completion_tokens: 83, prompt_cache_hit_tokens: 320 },
      [339, 19, 320, undefined],
      [
        83,
        83,
        undefined
      ]
    ],
    [
      "OpenRouter",
      {
        prompt_tokens: 100,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 10, cache_write_tokens: 20 }
      },
      [100, 70, 10, 20],
      [5, 5, undefined]
    ],
    [
      "xAI, which counts reasoning beside the completion",
      {
        prompt_tokens: 307,
        completion_tokens: 26,
        total_tokens: 560,
        prompt_tokens_details: { cached_tokens: 306 },
        completion_tokens_details: { reasoning_tokens: 227 }
      },
      [307, 1, 306, undefined],
      [253, 26, 227]
    ],
    [
      "xAI, whose answer is longer than its reasoning",
      {
        prompt_tokens: 10,
        completion_tokens: 300,
        total_tokens: 410,
        completion_tokens_details: { reasoning_tokens: 100 }
      },
      [10, 10, undefined, undefined],
      [400, 300, 100]
    ],
    [
      "Gemini, which counts its thoughts in the total only",
      { prompt_tokens: 9, completion_tokens: 3, total_tokens: 105 },
      [9, 9, undefined, undefined],
      [96, 3, 93]
    ],
    [
      "Gemini, whose thoughts took all that it was allowed",
      { prompt_tokens: 9, completion_tokens: 0, total_tokens: 109 },
      [9, 9, undefined, undefined],
      [100, 0, 100]
    ],
    [
      "Gemini with a cache",
      {
        prompt_tokens: 2000,
        completion_tokens: 3,
        total_tokens: 2103,
        prompt_tokens_details: { cached_tokens: 1900 }
      },
      [2000, 100, 1900, undefined],
      [103, 3, 100]
    ],
    [
      "Portkey, which counts Claude's cache in the total only",
      {
        prompt_tokens: 10,
        completion_tokens: 4,
        total_tokens: 1014,
        cache_read_input_tokens: 900,
        cache_creation_input_tokens: 100
      },
      [10, 10, undefined, undefined],
      [4, 4, undefined]
    ],
    [
      "a gateway that counts what it cached in the total only",
      {
        prompt_tokens: 10,
        completion_tokens: 4,
        total_tokens: 1014,
        prompt_tokens_details: { cached_tokens: 900, cache_write_tokens: 100 }
      },
      [10, 0, 900, 100],
      [4, 4, undefined]
    ],
    [
      "a server that says that it did not reason",
      {
        prompt_tokens: 10,
        completion_tokens: 4,
        total_tokens: 20,
        completion_tokens_details: { reasoning_tokens: 0 }
      },
      [10, 10, undefined, undefined],
      [4, 4, 0]
    ],
    [
      "a server whose total is less than its parts",
      { prompt_tokens: 2000, completion_tokens: 3, total_tokens: 503 },
      [2000, 2000, undefined, undefined],
      [3, 3, undefined]
    ],
    [
      "a server that says 0 for a prompt that it does not count",
      { prompt_tokens: 0, completion_tokens: 50, total_tokens: 1050 },
      [0, 0, undefined, undefined],
      [50, 50, undefined]
    ],
    [
      "a gateway to Claude whose prompt counts what was written to the cache, and not what was read",
      {
        prompt_tokens: 110,
        completion_tokens: 4,
        total_tokens: 1014,
        cache_read_input_tokens: 900,
        cache_creation_input_tokens: 100
      },
      [110, 110, undefined, undefined],
      [4, 4, undefined]
    ],
    [
      "a server that counts no prompt",
      { completion_tokens: 4, total_tokens: 14 },
      [undefined, undefined, undefined, undefined],
      [4, 4, undefined]
    ],
    ["a server without a cache", { prompt_tokens: 10, completion_tokens: 4 }, [10, 10, undefined, undefined], [
      4,
      4,
      undefined
    ]],
    ["a server that counts wrongly", {
      prompt_tokens: 1.4,
      completion_tokens: -1,
      prompt_cache_hit_tokens: 9,
      total_tokens: 1e300
    }, [
      1,
      0,
      9,
      undefined
    ], [undefined, undefined, undefined]]
  ])(
    "is read from %s",
    ([, fields, [total, uncached, cacheRead, cacheWrite], [output, text, reasoning]]) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* usageOf(OpenAi.finish("stop"), OpenAi.usage(fields)), {
          total,
          uncached,
          cacheRead,
          cacheWrite,
          output: { total: output, text, reasoning }
        })
      })
  )

  it.effect("is counted once when it is in every chunk", () =>
    Effect.gen(function*() {
      const found = yield* usageOf(
        { ...OpenAi.delta({ content: "a" }), usage: { prompt_tokens: 10, completion_tokens: 1 } },
        { ...OpenAi.delta({ content: "b" }), usage: { prompt_tokens: 10, completion_tokens: 2 } },
        OpenAi.finish("stop", { prompt_tokens: 10, completion_tokens: 2 })
      )
      assert.deepStrictEqual([found.total, found.output.total], [10, 2])
    }))

  it.effect("has no total of what was said before", () =>
    Effect.gen(function*() {
      const found = yield* usageOf(
        { ...OpenAi.delta({ content: "a" }), usage: { prompt_tokens: 1000, completion_tokens: 0, total_tokens: 1000 } },
        OpenAi.finish("stop", { prompt_tokens: 200, completion_tokens: 5 })
      )
      assert.deepStrictEqual([found.total, found.output.total], [200, 5])
    }))

  it.effect.each([{}, null, { queue_time: 1 }])(
    "is not reset by a later usage without counts: %j",
    (usage) =>
      Effect.gen(function*() {
        const found = yield* usageOf(
          { ...OpenAi.delta({ content: "a" }), usage: counts },
          { ...OpenAi.finish("stop"), usage }
        )
        assert.deepStrictEqual([found.total, found.output.total], [10, 4])
      })
  )

  it.effect.each<readonly [string, object]>([
    ["x_groq", { ...OpenAi.finish("stop"), x_groq: { usage: counts } }],
    ["the choice", { choices: [{ index: 0, delta: {}, finish_reason: "stop", usage: counts }] }]
  ])("is found under %s", ([, chunk]) =>
    Effect.gen(function*() {
      const found = yield* usageOf(chunk)
      assert.deepStrictEqual([found.total, found.output.total], [10, 4])
    }))

  it.effect("is undefined when never reported, and the server's own fields are kept as metadata", () =>
    Effect.gen(function*() {
      const silent = yield* usageOf(OpenAi.finish("stop"))
      assert.deepStrictEqual([silent.total, silent.output.total], [undefined, undefined])
      const { parts } = yield* OpenAi.answer(
        OpenAi.events(OpenAi.data(OpenAi.finish("stop", { ...counts, cost: 0.5 })))
      )
      assert.deepStrictEqual(OpenAi.finishOf(parts)?.metadata, {
        openai: { finishReason: "stop", usage: { ...counts, cost: 0.5 } }
      })
    }))
})
