/** Answers that come without usage: a limit that would count it cannot hold, and somebody is told. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as ContextSummary from "../../src/layers/ContextSummary.ts"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import * as Usage from "../../src/run/Usage.ts"
import * as Prices from "../../src/services/Prices.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Condensing from "../support/Condensing.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const priced = Prices.table({ "scripted/scripted": { input: 1, output: 3 } })
const free = Prices.table({ "scripted/scripted": { input: 0, output: 0 } })

/** The warnings that are logged meanwhile. */
const warnings = Effect.fnUntraced(function*<A, E, R>(self: Effect.Effect<A, E, R>) {
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel === "Warn") lines.push([message].flat().join(" "))
  })
  yield* Effect.provide(self, Logger.layer([logger]))
  return lines
})

const uncounted = (answer: ReadonlyArray<ScriptedModel.Step>): ReadonlyArray<ScriptedModel.Step> => [
  ...answer,
  ScriptedModel.finish("stop", Usage.zero)
]

/** What is warned of in two runs of two turns each. */
const play = Effect.fnUntraced(
  function*(limits: RunPolicy.LimitsInput, end: typeof uncounted = uncounted, prices = priced) {
    const run = [end([TestAgent.work(1)]), end([ScriptedModel.text("ok")])]
    const { agent } = yield* TestAgent.make([...run, ...run])
    const runs = Effect.forEach(["a", "b"], (sessionId) => agent.run({ sessionId, input: "go", limits }))
    return yield* warnings(Effect.provideService(runs, Prices.Prices, prices))
  }
)

describe("an answer without usage", () => {
  it.effect.each<readonly [RunPolicy.LimitsInput, string]>([
    [{ maxTokens: 30 }, "limits.maxTokens;"],
    [{ maxCost: 30 }, "limits.maxCost;"],
    [{ maxCost: 30, maxTokens: 30 }, "limits.maxTokens and limits.maxCost;"]
  ])(
    "is warned of once where there is a limit on it, with the model and a way out: %j",
    ([limits, named]) =>
      Effect.gen(function*() {
        const [line, ...more] = yield* play(limits)
        assert.include(line, `the model "scripted/scripted" came without usage, and does not count towards ${named}`)
        assert.include(line, "set limits.maxTurns and limits.maxDuration")
        assert.deepStrictEqual(more, [])
      })
  )

  it.effect("is warned of in a run that works for a call of one with such a limit", () =>
    Effect.gen(function*() {
      const { root } = yield* Family.make({
        answer: (request) =>
          request.metadata.sessionId === "root"
            ? Family.answer(request)
            : uncounted(Family.answer(request).slice(0, -1))
      })
      const [line] = yield* warnings(root({ turns: [[{}]], limits: { maxTokens: 1000 } }))
      assert.include(line, "limits.maxTokens")
    }))

  it.effect("needs no warning without such a limit, or with one on the cost of a model that is free", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* play({ maxTurns: 5 }), [])
      assert.deepStrictEqual(yield* play({ maxCost: 30 }, uncounted, free), [])
    }))
})

describe("a compaction's model call without usage", () => {
  const paid = { input: 1, output: 3 }
  const counted = { inputTokens: 1, outputTokens: 1 }
  /** What is warned of while one agent's context is compacted more than once, and the costs of its compactions. */
  const talk = Effect.fnUntraced(function*(limits: RunPolicy.LimitsInput, used = () => Usage.zero, condenser = paid) {
    const said = Array.from({ length: 8 }, (_, n) => ScriptedModel.text(`answer ${n}`))
    const made = yield* Condensing.make(said, ContextSummary.layerWith({ compactThreshold: 6 }), () => [
      ScriptedModel.text("So far."),
      ScriptedModel.finish("stop", used())
    ])
    const prices = Prices.table({ "scripted/scripted": paid, "test/condenser": condenser })
    const run = (n: number) => made.agent.run({ sessionId: "s", input: `${n} `.repeat(800), limits })
    const talking = Effect.forEach(Array.from({ length: 8 }, (_, n) => n), run)
    const lines = yield* warnings(Effect.provideService(talking, Prices.Prices, prices))
    const compacted = RunLog.only(yield* made.store.log("s"), "ContextCompacted")
    assert.isAbove(compacted.length, 1)
    return { lines, costs: new Set(compacted.map(({ usage }) => usage.cost)), made }
  })
  it.effect.each<readonly [RunPolicy.LimitsInput, string]>([
    [{ maxTokens: 1e6 }, "limits.maxTokens;"],
    [{ maxCost: 1e6 }, "limits.maxCost;"]
  ])(
    "is warned of once where there is a limit on it, and its cost is not known: %j",
    ([limits, named]) =>
      Effect.gen(function*() {
        const { costs, lines: [line, ...more] } = yield* talk(limits)
        assert.include(line, `the model "test/condenser" came without usage, and does not count towards ${named}`)
        assert.deepStrictEqual(more, [])
        assert.deepStrictEqual(costs, new Set([undefined]))
      })
  )

  it.effect("needs no warning without such a limit, or with one on the cost of a model that is free", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* talk({ maxTurns: 5 })).lines, [])
      const free = yield* talk({ maxCost: 1e6 }, () => Usage.zero, { input: 0, output: 0 })
      assert.deepStrictEqual([free.lines, free.costs], [[], new Set([0])])
    }))

  it.effect("needs no warning where somebody asks for the compaction by hand, because no run's limit counts it", () =>
    Effect.gen(function*() {
      let used: Usage.Usage = counted
      const { lines, made } = yield* talk({ maxTokens: 1e6, maxCost: 1e6 }, () => used)
      used = Usage.zero
      assert.deepStrictEqual([...lines, ...(yield* warnings(made.agent.compact("s")))], [])
    }))
})

it.effect("an answer with usage needs no warning", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* play({ maxCost: 1e6, maxTokens: 1e6 }, (answer) => answer), [])
  }))
