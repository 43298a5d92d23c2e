/** What an answer leads to: finish reasons, calls that run and calls that do not. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

/** All events of a run of `turns`, and how it ended. */
const play = Effect.fnUntraced(function*(turns: ReadonlyArray<ScriptedModel.Turn>, options?: TestAgent.Options) {
  let ran = 0
  const made = yield* TestAgent.make(turns, {
    tool: ({ n }) => Effect.sync(() => `done ${n}, ${ran++}`),
    ...options
  })
  const run = yield* made.agent.start({ sessionId: "s", input: "go" })
  yield* Effect.exit(run.result)
  const log = yield* made.store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  return { ...made, log, ran, end: RunLog.endOf(log), requests: yield* made.script.requests }
})

describe("a finish reason without calls", () => {
  const cases: Array<[RunEvent.FinishReason, string]> = [
    ["stop", "RunCompleted(stop)"],
    ["content-filter", "RunCompleted(contentFilter)"],
    ["length", "RunLimited(length)"],
    ["error", "RunFailed(Unknown)"],
    ["tool-calls", "RunCompleted(other)"],
    ["other", "RunCompleted(other)"],
    ["unknown", "RunCompleted(other)"]
  ]
  it.effect.each(cases)("%s ends as %s", ([reason, expected]) =>
    Effect.gen(function*() {
      const { end } = yield* play([[ScriptedModel.text("so far"), ScriptedModel.finish(reason)]])
      assert.strictEqual(end, expected)
    }))

  it.effect("length ends as a limit of the run that has been reached by then", () =>
    Effect.gen(function*() {
      const half = [ScriptedModel.text("half"), ScriptedModel.finish("length", { inputTokens: 10, outputTokens: 10 })]
      const { end } = yield* play([half], { agent: { limits: { maxTokens: 20 } } })
      assert.strictEqual(end, "RunLimited(tokens)")
    }))
})

describe("a finish reason with calls", () => {
  it.effect.each(["stop", "tool-calls", "pause", "other", "unknown"] as const)(
    "%s runs them",
    (reason) =>
      Effect.gen(function*() {
        const { end, ran } = yield* play([[TestAgent.work(1), ScriptedModel.finish(reason)], ScriptedModel.text("ok")])
        assert.strictEqual(ran, 1)
        assert.strictEqual(end, "RunCompleted(stop)")
      })
  )

  it.effect.each(["length", "content-filter"] as const)("%s runs none of them", (reason) =>
    Effect.gen(function*() {
      const { log, ran } = yield* play([
        [TestAgent.work(1, "a"), TestAgent.work(2, "b"), ScriptedModel.finish(reason)],
        ScriptedModel.text("ok")
      ])
      assert.strictEqual(ran, 0)
      assert.deepStrictEqual(RunLog.only(log, "ToolStarted"), [])
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 NotExecuted(truncated)", "1.1 NotExecuted(truncated)"])
    }))

  it.effect("error counts as no answer: the run fails and there is no message", () =>
    Effect.gen(function*() {
      const { end, log, ran } = yield* play([[
        TestAgent.work(1),
        ScriptedModel.finish("error", { inputTokens: 7, outputTokens: 1 })
      ]])
      assert.strictEqual(ran, 0)
      assert.strictEqual(end, "RunFailed(Unknown)")
      assert.deepStrictEqual(RunLog.only(log, "AssistantMessage"), [])
      assert.deepStrictEqual(RunLog.only(log, "RunFailed")[0]?.totals.usage, { inputTokens: 7, outputTokens: 1 })
    }))
})

describe("a call that cannot run", () => {
  it.effect.each(["{\"n\": 1", "", "null", "3"])(
    "settles as invalid when its arguments are the text %j, and the loop continues",
    (params) =>
      Effect.gen(function*() {
        const { end, log, ran } = yield* play([ScriptedModel.call("work", params), ScriptedModel.text("ok")])
        assert.strictEqual(ran, 0)
        assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 InvalidArguments"])
        assert.strictEqual(end, "RunCompleted(stop)")
      })
  )

  const wrong: Array<[Schema.Json]> = [[{}], [{ n: "1" }], [{ n: null }], [[]], [null], [3]]
  it.effect.each(wrong)(
    "settles as invalid when its arguments are %j, and the loop continues",
    (params) =>
      Effect.gen(function*() {
        const { end, log, ran } = yield* play([ScriptedModel.call("work", params), ScriptedModel.text("ok")])
        assert.strictEqual(ran, 0)
        assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 InvalidArguments"])
        assert.strictEqual(end, "RunCompleted(stop)")
      })
  )

  it.effect("settles with the names of the available tools when its tool is unknown", () =>
    Effect.gen(function*() {
      const { end, log } = yield* play([
        [ScriptedModel.call("wrok", { n: 1 }, "a"), TestAgent.work(2, "b")],
        ScriptedModel.text("ok")
      ])
      const [settled] = RunLog.only(log, "ToolSettled")
      assert.deepStrictEqual(settled?.outcome, { _tag: "UnknownTool", available: ["work", "look", "again"] })
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 UnknownTool", "1.1 Succeeded"])
      assert.deepStrictEqual(RunLog.only(log, "ToolStarted").map((event) => event.callId), ["1.1"])
      assert.strictEqual(end, "RunCompleted(stop)")
    }))

  it.effect("settles as unknown when its tool exists but is not offered to this run", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")])
      yield* agent.run({ sessionId: "s", input: "go", allowedTools: ["look"] })
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 UnknownTool"])
    }))

  it.effect.each(["toString", "__proto__", "constructor"])(
    "settles as unknown when its tool is %s",
    (name) =>
      Effect.gen(function*() {
        const { log } = yield* play([ScriptedModel.call(name, { n: 1 }), ScriptedModel.text("ok")])
        assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 UnknownTool"])
      })
  )
})

describe("a call's failure", () => {
  it.effect("reaches the model as a failed result, word for word when it is the tool's own", () =>
    Effect.gen(function*() {
      const { requests } = yield* play([
        [TestAgent.work(1, "a"), TestAgent.work(2, "b"), ScriptedModel.call("nope", {}, "c")],
        ScriptedModel.text("ok")
      ], { tool: ({ n }) => n === 1 ? Effect.fail("no money") : Effect.die(new Error("bug")) })
      const results = requests[1]?.messages.at(-1)
      assert.deepStrictEqual(
        results?.role === "tool" ? results.content.map((part) => [part.isFailure, part.result]) : [],
        [
          [true, "no money"],
          [true, "The tool failed unexpectedly: bug"],
          [true, "There is no such tool. Available: work, look, again."]
        ]
      )
    }))

  it.effect("affects no other call: siblings run, with one outcome each", () =>
    Effect.gen(function*() {
      const { log } = yield* play([
        [TestAgent.work(1, "a"), TestAgent.work(2, "b"), TestAgent.work(3, "c")],
        ScriptedModel.text("ok")
      ], {
        agent: { toolPolicy: { maxParallel: 3 } },
        tool: ({ n }) => n === 2 ? Effect.die("bug") : n === 3 ? Effect.interrupt : Effect.succeed("ok")
      })
      assert.sameMembers(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 Failed", "1.2 Failed"])
    }))
})

describe("an answer", () => {
  it.effect("ends with its finish, even if the provider keeps its stream open, which is then closed", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { end, script } = yield* play([[
        ScriptedModel.text("all"),
        ScriptedModel.finish("stop"),
        ScriptedModel.gate(gate),
        ScriptedModel.text("more")
      ]])
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.strictEqual(yield* script.openStreams, 0)
    }))

  it.effect("contains nothing that comes after its finish", () =>
    Effect.gen(function*() {
      const { log, ran } = yield* play([ScriptedModel.parts(
        { type: "text-delta", block: "0", delta: "all" },
        { type: "finish", reason: "stop", usage: ScriptedModel.usage },
        { type: "tool-call", id: "x", name: "work", params: { n: 1 } },
        { type: "finish", reason: "length", usage: ScriptedModel.usage }
      )])
      assert.strictEqual(ran, 0)
      assert.deepStrictEqual(RunLog.only(log, "AssistantMessage").map((event) => event.finishReason), ["stop"])
    }))
})
