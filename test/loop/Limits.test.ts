/** Guarantee 7, limits hold: checked before the spending, counted in the log, neither reset nor doubled by resuming. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Hook } from "../../src/services/Hooks.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Limited from "../support/Limited.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

describe("maxTurns", () => {
  it.effect("1 takes one model call and runs none of its tools", () =>
    Effect.gen(function*() {
      const { end, log, ran, requests } = yield* Limited.play([[ScriptedModel.text("I'd"), TestAgent.work(1)]], {
        maxTurns: 1
      })
      assert.strictEqual(end, "RunLimited(turns)")
      assert.strictEqual(ran(), 0)
      assert.strictEqual(yield* requests, 1)
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 NotExecuted(limit)"])
      assert.deepStrictEqual(RunLog.only(log, "ToolStarted"), [])
    }))

  it.effect("1 is enough for an answer without calls", () =>
    Effect.gen(function*() {
      const { end } = yield* Limited.play([ScriptedModel.text("ok")], { maxTurns: 1 })
      assert.strictEqual(end, "RunCompleted(stop)")
    }))

  it.effect("2 runs the first call's tools and not the second's", () =>
    Effect.gen(function*() {
      const { end, log, ran } = yield* Limited.play([TestAgent.work(1), TestAgent.work(2)], { maxTurns: 2 })
      assert.strictEqual(end, "RunLimited(turns)")
      assert.strictEqual(ran(), 1)
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "2.0 NotExecuted(limit)"])
    }))

  it.effect("is 20 by default", () =>
    Effect.gen(function*() {
      const { end, requests } = yield* Limited.play(Array.from({ length: 21 }, (_, n) => TestAgent.work(n)), {})
      assert.strictEqual(end, "RunLimited(turns)")
      assert.strictEqual(yield* requests, 20)
    }))

  it.effect("is reached again at once by resuming without new limits", () =>
    Effect.gen(function*() {
      const { requests, resume, store } = yield* Limited.play([TestAgent.work(1)], { maxTurns: 1 })
      const before = (yield* store.log("s")).length
      assert.strictEqual(yield* resume(), "RunLimited(turns)")
      assert.strictEqual(yield* requests, 1)
      assert.deepStrictEqual(RunLog.tags((yield* store.log("s")).slice(before)), ["RunResumed", "RunLimited"])
    }))

  it.effect("counts what earlier drives took: resuming with more continues from there", () =>
    Effect.gen(function*() {
      const { requests, resume, store } = yield* Limited.play(
        [TestAgent.work(1), TestAgent.work(2), TestAgent.work(3)],
        {
          maxTurns: 1
        }
      )
      assert.strictEqual(yield* resume({ limits: { maxTurns: 3 } }), "RunLimited(turns)")
      assert.strictEqual(yield* requests, 3)
      const log = yield* store.log("s")
      assert.strictEqual(RunLog.only(log, "RunLimited")[1]?.totals.turns, 3)
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("resumed with more lets the model see that its calls did not run", () =>
    Effect.gen(function*() {
      const { resume, script } = yield* Limited.play([TestAgent.work(1), ScriptedModel.text("ok")], { maxTurns: 1 })
      assert.strictEqual(yield* resume({ limits: { maxTurns: 2 } }), "RunCompleted(stop)")
      const [, second] = yield* script.requests
      const last = second?.messages.at(-1)
      assert.isTrue(last?.role === "tool" && last.content[0]?.isFailure)
    }))

  it.effect("starts from nothing in the session's next run", () =>
    Effect.gen(function*() {
      const { agent } = yield* Limited.play([TestAgent.work(1), ScriptedModel.text("ok")], { maxTurns: 1 })
      const result = yield* agent.run({ sessionId: "s", input: "again", limits: { maxTurns: 1 } })
      assert.strictEqual(result._tag, "Completed")
      assert.strictEqual(result.turns, 1)
    }))
})

describe("maxToolCalls", () => {
  it.effect("inside one message runs the first calls and no others", () =>
    Effect.gen(function*() {
      const { end, log, ran } = yield* Limited.play(
        [[TestAgent.work(1, "a"), TestAgent.work(2, "b"), TestAgent.work(3, "c")]],
        { maxToolCalls: 2 }
      )
      assert.strictEqual(ran(), 2)
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 Succeeded", "1.2 NotExecuted(limit)"])
      assert.strictEqual(end, "RunLimited(toolCalls)")
    }))

  it.effect("counts calls over turns and over drives", () =>
    Effect.gen(function*() {
      const { ran, resume } = yield* Limited.play([TestAgent.work(1), TestAgent.work(2), TestAgent.work(3)], {
        maxToolCalls: 1
      })
      assert.strictEqual(ran(), 1)
      assert.strictEqual(yield* resume({ limits: { maxToolCalls: 1 } }), "RunLimited(toolCalls)")
      assert.strictEqual(ran(), 1)
    }))

  it.effect("does not count a call that does not run: an unknown tool or a denial leaves its place to another", () =>
    Effect.gen(function*() {
      const hook: Hook = {
        name: "guard",
        beforeToolCall: ({ params }) =>
          Effect.succeed((params as { n: number }).n === 2 ? { _tag: "Deny", reason: "no two" } : undefined)
      }
      const calls = [ScriptedModel.call("nope", {}, "a"), ...[2, 3, 4].map((n) => TestAgent.work(n, `${n}`))]
      for (const maxParallel of [1, 4]) {
        const { end, log } = yield* Limited.play([calls], { maxToolCalls: 1 }, {
          agent: { hooks: [hook], toolPolicy: { maxParallel } }
        })
        const outcomes = ["1.0 UnknownTool", "1.1 Denied", "1.2 Succeeded", "1.3 NotExecuted(limit)"]
        assert.deepStrictEqual([...RunLog.outcomes(log)].sort(), outcomes)
        assert.strictEqual(end, "RunLimited(toolCalls)")
      }
      const left = yield* Limited.play([calls.slice(0, 2), ScriptedModel.text("ok")], { maxToolCalls: 1 }, {
        agent: { hooks: [hook] }
      })
      assert.strictEqual(left.end, "RunCompleted(stop)")
    }))

  it.effect("that is used up says nothing of a call of an unknown tool, which stays unknown", () =>
    Effect.gen(function*() {
      const calls = [TestAgent.work(1, "a"), ScriptedModel.call("nope", {}, "b")]
      const { log } = yield* Limited.play([calls], { maxToolCalls: 0 })
      assert.deepStrictEqual([...RunLog.outcomes(log)].sort(), ["1.0 NotExecuted(limit)", "1.1 UnknownTool"])
    }))

  it.effect("that is just enough does not end the run", () =>
    Effect.gen(function*() {
      const { end } = yield* Limited.play([TestAgent.work(1), ScriptedModel.text("ok")], { maxToolCalls: 1 })
      assert.strictEqual(end, "RunCompleted(stop)")
    }))

  it.effect("0 runs no tool at all", () =>
    Effect.gen(function*() {
      const { end, ran } = yield* Limited.play([TestAgent.work(1)], { maxToolCalls: 0 })
      assert.strictEqual(ran(), 0)
      assert.strictEqual(end, "RunLimited(toolCalls)")
    }))

  it.effect("holds with parallel calls", () =>
    Effect.gen(function*() {
      const { ran } = yield* Limited.play(
        [[1, 2, 3, 4, 5].map((n) => TestAgent.work(n, `${n}`))],
        { maxToolCalls: 3 },
        { agent: { toolPolicy: { maxParallel: 5 } } }
      )
      assert.strictEqual(ran(), 3)
    }))
})

describe("maxToolRounds", () => {
  it.effect("1 runs one round of several calls and no second", () =>
    Effect.gen(function*() {
      const { end, log, ran } = yield* Limited.play(
        [[TestAgent.work(1, "a"), TestAgent.work(2, "b")], TestAgent.work(3)],
        { maxToolRounds: 1 }
      )
      assert.strictEqual(ran(), 2)
      assert.strictEqual(end, "RunLimited(toolRounds)")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 Succeeded", "2.0 NotExecuted(limit)"])
    }))

  it.effect("does not count a round in which no call was started, and nobody gave the result of one", () =>
    Effect.gen(function*() {
      const unknown = ["a", "b", "c"].map((id) => ScriptedModel.call("nope", {}, id))
      const { end, log } = yield* Limited.play([...unknown, ScriptedModel.text("ok")], { maxToolRounds: 1 })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 UnknownTool", "2.0 UnknownTool", "3.0 UnknownTool"])
    }))
})

describe("maxErrors", () => {
  it.effect("is 20 by default", () =>
    Effect.gen(function*() {
      const turns = Array.from({ length: 30 }, (_, i) => TestAgent.work(i))
      const { end, log } = yield* Limited.play(turns, { maxTurns: 100 }, { tool: ({ n }) => Effect.fail(`no ${n}`) })
      assert.strictEqual(end, "RunLimited(errors)")
      // the extra one that ends it
      assert.strictEqual(RunLog.outcomes(log).filter((outcome) => outcome.includes("Failed")).length, 21)
    }))

  const atOnce = { retry: RetryPolicy.make({ base: 0, maxRetries: 10 }) }

  it.effect("counts failed attempts", () =>
    Effect.gen(function*() {
      const { end, requests } = yield* Limited.play(
        [Overloaded.fail(), Overloaded.fail(), ScriptedModel.text("late")],
        { maxErrors: 1 },
        {
          agent: atOnce
        }
      )
      assert.strictEqual(end, "RunLimited(errors)")
      assert.strictEqual(yield* requests, 2)
    }))

  it.effect("counts failed tool calls but not calls with invalid arguments", () =>
    Effect.gen(function*() {
      const { end, log } = yield* Limited.play(
        [
          ScriptedModel.call("work", {}),
          ScriptedModel.call("nope", {}),
          TestAgent.work(1),
          TestAgent.work(2),
          TestAgent.work(3)
        ],
        { maxErrors: 1 },
        { tool: () => Effect.fail("no") }
      )
      assert.strictEqual(end, "RunLimited(errors)")
      assert.strictEqual(RunLog.only(log, "RunLimited")[0]?.totals.errors, 2)
      assert.strictEqual(RunLog.only(log, "AssistantMessage").length, 4)
    }))

  it.effect("stops inside a message: calls after the one too many do not run", () =>
    Effect.gen(function*() {
      const { end, log } = yield* Limited.play(
        [[1, 2, 3, 4, 5].map((n) => TestAgent.work(n, `${n}`)), ScriptedModel.text("late")],
        { maxErrors: 1 },
        { tool: () => Effect.fail("no") }
      )
      assert.strictEqual(end, "RunLimited(errors)")
      assert.deepStrictEqual(RunLog.outcomes(log).slice(0, 3), ["1.0 Failed", "1.1 Failed", "1.2 NotExecuted(limit)"])
    }))

  it.effect("is not reset by resuming", () =>
    Effect.gen(function*() {
      const { requests, resume } = yield* Limited.play([Overloaded.fail(), Overloaded.fail()], { maxErrors: 1 }, {
        agent: atOnce
      })
      assert.strictEqual(yield* resume(), "RunLimited(errors)")
      assert.strictEqual(yield* requests, 2)
    }))
})

describe("a run limited by its tools", () => {
  it.effect.each([{ maxToolRounds: 1 }, { maxToolCalls: 1 }])(
    "is limited again at once when it is resumed with no new limits: %j",
    (limits) =>
      Effect.gen(function*() {
        const turns = [TestAgent.work(1), TestAgent.work(2), ScriptedModel.text("never asked")]
        const { agent, script } = yield* TestAgent.make(turns)
        const first = yield* agent.run({ sessionId: "s", input: "go", limits })
        const asked = (yield* script.requests).length
        for (const nothingNew of [undefined, {}, limits, { ...limits, maxTurns: 50 }]) {
          const events = yield* Stream.runCollect(
            agent.resume({ sessionId: "s", ...(nothingNew === undefined ? {} : { limits: nothingNew }) })
          )
          const end = events.at(-1)
          assert.isTrue(end?._tag === "RunLimited" && first._tag === "Limited" && end.reason === first.reason)
        }
        // less, and then as much again, is not more than was used up
        for (const less of [0, 1]) {
          const lower = Object.fromEntries(Object.keys(limits).map((name) => [name, less]))
          yield* Stream.runDrain(agent.resume({ sessionId: "s", limits: lower }))
        }
        assert.strictEqual((yield* script.requests).length, asked)
      })
  )
})
