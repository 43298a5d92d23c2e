/** What a run costs is in its log, and a limit on it holds. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import type * as RunError from "../../../src/run/RunError.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import type * as RunInput from "../../../src/run/RunInput.ts"
import type * as RunPolicy from "../../../src/run/RunPolicy.ts"
import * as RunStats from "../../../src/run/RunStats.ts"
import * as Usage from "../../../src/run/Usage.ts"
import * as Prices from "../../../src/services/Prices.ts"
import * as RetryPolicy from "../../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as Overloaded from "../../support/Overloaded.ts"
import * as RunLog from "../../support/RunLog.ts"
import * as Shrinking from "../../support/Shrinking.ts"
import * as TestAgent from "../../support/TestAgent.ts"

/** A scripted call is 10 tokens in and 5 out: 25 of the unit. */
const prices = Prices.table({ "scripted/scripted": { input: 1_000_000, output: 3_000_000 } })
const priced = Effect.provideService(Prices.Prices, prices)

const throwing: Prices.Prices = () => {
  throw new Error("no prices today")
}

const play = Effect.fnUntraced(function*(
  turns: ReadonlyArray<ScriptedModel.Turn>,
  limits: RunPolicy.LimitsInput = {},
  options: TestAgent.Options & { readonly history?: RunInput.RunInput["history"] } = {}
) {
  let ran = 0
  const made = yield* TestAgent.make(turns, { tool: ({ n }) => Effect.sync(() => `done ${n}, ${ran++}`), ...options })
  const exit = yield* Effect.exit(made.agent.run({
    sessionId: "s",
    input: "go",
    limits,
    ...(options.history === undefined ? {} : { history: options.history })
  }))
  const log = yield* made.store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  const resume = (input: Partial<RunInput.ResumeInput> = {}) =>
    Stream.runCollect(made.agent.resume({ sessionId: "s", ...input }))
  const requests = Effect.map(made.script.requests, ({ length }) => length)
  return { ...made, exit, log, end: RunLog.endOf(log), costs: costs(log), requests, resume, ran: () => ran }
})

/** The cost of each event that has a usage, and of the totals at ends. */
const costs = (log: ReadonlyArray<RunEvent.RunEvent>) =>
  log.flatMap((event): Array<string> => {
    if ("totals" in event) return [`${event._tag} ${event.totals.usage.cost}`]
    return "usage" in event ? [`${event._tag} ${event.usage?.cost}`] : []
  })

const refusal = (exit: Exit.Exit<unknown, RunError.RunError>) => {
  assert(Exit.isFailure(exit))
  const [failure] = exit.cause.reasons
  assert(failure?._tag === "Fail" && failure.error.reason._tag === "InvalidInput")
  return failure.error.reason
}

describe("the cost of a run", () => {
  it.effect("is with every answer, and summed in its totals and its result", () =>
    Effect.gen(function*() {
      const { costs, exit } = yield* play([TestAgent.work(1), ScriptedModel.text("ok")])
      assert.deepStrictEqual(costs, [
        "AssistantMessage 25",
        "TurnFinished 25",
        "AssistantMessage 25",
        "TurnFinished 25",
        "RunCompleted 50"
      ])
      assert(Exit.isSuccess(exit))
      assert.strictEqual(exit.value.usage.cost, 50)
    }).pipe(priced))

  it.effect("counts attempts that were discarded", () =>
    Effect.gen(function*() {
      const agent = { retry: RetryPolicy.make({ base: 0 }) }
      const { costs } = yield* play([ScriptedModel.text(""), Overloaded.fail(), ScriptedModel.text("ok")], {}, {
        agent
      })
      assert.deepStrictEqual(costs.filter((line) => !line.startsWith("Turn")), [
        "AttemptDiscarded 25",
        "AttemptDiscarded 0",
        "AssistantMessage 25",
        "RunCompleted 50"
      ])
    }).pipe(priced))

  it.effect("counts a compaction at the price of the model that was asked, or as it reports itself if none is named", () =>
    Effect.gen(function*() {
      for (const [model, cost] of [[{ provider: "scripted", name: "scripted" }, 11], [undefined, undefined]] as const) {
        const usage = { inputTokens: 11, outputTokens: 0 }
        const context = Shrinking.layer({ usage, ...(model === undefined ? {} : { model }) })
        const { costs } = yield* play(
          [[ScriptedModel.text("half"), ScriptedModel.finish("length")], ScriptedModel.text("ok")],
          {},
          { context, history: Shrinking.history(2) }
        )
        assert.include(costs, `ContextCompacted ${cost}`)
        assert.include(costs, `RunCompleted ${50 + (cost ?? 0)}`)
      }
    }).pipe(priced))

  it.effect("is absent when no price is known", () =>
    Effect.gen(function*() {
      const { log } = yield* play([TestAgent.work(1), ScriptedModel.text("ok")])
      assert.notInclude(JSON.stringify(log), "\"cost\"")
    }))

  it.effect("is absent from an answer that came without usage, which statistics count as unpriced", () =>
    Effect.gen(function*() {
      const { costs, log } = yield* play([
        [TestAgent.work(1), ScriptedModel.finish("tool-calls", Usage.zero)],
        ScriptedModel.text("ok")
      ])
      assert.deepStrictEqual(costs.filter((line) => !line.startsWith("Turn")), [
        "AssistantMessage undefined",
        "AssistantMessage 25",
        "RunCompleted 25"
      ])
      const stats = RunStats.summarize(log.reduce(RunStats.evolve, RunStats.make()))
      assert.deepStrictEqual([stats.cost, stats.unpriced], [25, 1])
    }).pipe(priced))

  it.effect("is nothing without usage where the model is free", () =>
    Effect.gen(function*() {
      const { costs } = yield* play([[ScriptedModel.text("ok"), ScriptedModel.finish("stop", Usage.zero)]])
      assert.include(costs, "RunCompleted 0")
    }).pipe(Effect.provideService(Prices.Prices, () => ({ input: 0, output: 0 }))))

  it.effect("is absent when the prices throw, and the answer and its tokens are kept", () =>
    Effect.gen(function*() {
      const { end, log } = yield* play([TestAgent.work(1), ScriptedModel.text("ok")])
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.notInclude(JSON.stringify(log), "\"cost\"")
      assert.deepStrictEqual(RunLog.only(log, "RunCompleted")[0]?.totals.usage, { inputTokens: 20, outputTokens: 10 })
    }).pipe(Effect.provideService(Prices.Prices, throwing)))
})

describe("maxCost", () => {
  it.effect("forbids the next tool and the next call once it is used up", () =>
    Effect.gen(function*() {
      const { end, exit, log, ran, requests } = yield* play([TestAgent.work(1), TestAgent.work(2)], { maxCost: 30 })
      assert.strictEqual(end, "RunLimited(cost)")
      assert.deepStrictEqual([ran(), yield* requests], [1, 2])
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "2.0 NotExecuted(limit)"])
      assert(Exit.isSuccess(exit))
      assert.include(exit.value.explain, "resume the run with a higher maxCost to go on.")
    }).pipe(priced))

  it.effect("may be a fraction, and is reached by a sum of fractions", () =>
    Effect.gen(function*() {
      const tenth = Prices.table({ "scripted/scripted": { input: 10_000, output: 0 } })
      // 0.1 eight times is less than 0.8 by a hair
      const turns = Array.from({ length: 9 }, (_, n) => TestAgent.work(n))
      const { end, requests } = yield* Effect.provideService(play(turns, { maxCost: 0.8 }), Prices.Prices, tenth)
      assert.strictEqual(end, "RunLimited(cost)")
      assert.strictEqual(yield* requests, 8)
    }))

  it.effect("with a model of unknown price is refused before anything is written", () =>
    Effect.gen(function*() {
      const { exit, log, requests } = yield* play([], { maxCost: 30 })
      const { field, message } = refusal(exit)
      assert.strictEqual(field, "limits.maxCost")
      assert.include(message, "\"scripted/scripted\"")
      assert.include(message, "Prices")
      assert.deepStrictEqual([log.length, yield* requests], [0, 0])
    }))

  it.effect("with prices that throw is refused before anything is written", () =>
    Effect.gen(function*() {
      const { exit, log } = yield* play([], { maxCost: 1 })
      assert.strictEqual(refusal(exit).field, "limits.maxCost")
      assert.deepStrictEqual(log, [])
    }).pipe(Effect.provideService(Prices.Prices, throwing)))

  it.effect("of the agent is refused like that of a run", () =>
    Effect.gen(function*() {
      const { exit } = yield* play([], {}, { agent: { limits: { maxCost: 1 } } })
      assert.strictEqual(refusal(exit).field, "limits.maxCost")
    }))

  it.effect("refuses a resume once the price is unknown, and allows it when lifted", () =>
    Effect.gen(function*() {
      const turns = [TestAgent.work(1), ScriptedModel.text("ok"), ScriptedModel.text("hello")]
      const { agent, script, store } = yield* TestAgent.make(turns)
      yield* priced(agent.run({ sessionId: "s", input: "go", limits: { maxCost: 20 } }))
      const before = store.head("s")
      const resume = (limits: RunPolicy.LimitsInput) => Stream.runCollect(agent.resume({ sessionId: "s", limits }))
      for (const limits of [{}, { maxCost: 99 }]) {
        assert.strictEqual(refusal(yield* Effect.exit(resume(limits))).field, "limits.maxCost")
      }
      assert.deepStrictEqual([store.head("s"), (yield* script.requests).length], [before, 1])
      assert.strictEqual(RunLog.endOf(yield* resume({ maxCost: Infinity })), "RunCompleted(stop)")
      assert.strictEqual((yield* agent.run({ sessionId: "s", input: "hello?" }))._tag, "Completed")
    }))

  it.effect("given to a resume without prices is refused", () =>
    Effect.gen(function*() {
      const { resume } = yield* play([TestAgent.work(1)], { maxTurns: 1 })
      const limits = { maxTurns: 9, maxCost: 1 }
      assert.strictEqual(refusal(yield* Effect.exit(resume({ limits }))).field, "limits.maxCost")
    }))

  it.effect("does not keep a run that is over from being replayed", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([ScriptedModel.text("ok")])
      const input = { sessionId: "s", runId: "r", input: "go", limits: { maxCost: 99 } }
      const first = yield* priced(agent.run(input))
      assert.deepStrictEqual(yield* agent.run(input), first)
    }))
})
