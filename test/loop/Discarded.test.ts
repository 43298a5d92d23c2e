/** Attempts that do not count and are not retried for ever: refusals, defects, cut and empty answers. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as RunError from "../../src/run/RunError.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Watch from "../support/Watch.ts"

describe("a failure that is not retryable", () => {
  const refusals = ["Authentication", "InvalidRequest", "QuotaExhausted", "ContentPolicy", "Unknown"] as const
  it.effect.each(refusals)("ends the run at once: %s", (tag) =>
    Effect.gen(function*() {
      const failure = new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: tag, message: "no" })
      const { over, script, seen } = yield* Watch.started([[ScriptedModel.text("par"), ScriptedModel.fail(failure)]])
      const error = yield* Effect.flip(yield* over)
      assert.strictEqual(error._tag, "NonRetryableError")
      assert.strictEqual(error.reason._tag, tag)
      assert.strictEqual((yield* script.requests).length, 1)
      assert.strictEqual(RunLog.endOf(seen), `RunFailed(${tag})`)
    }))

  it.effect("from a defect in the model is Unknown, with its cause", () =>
    Effect.gen(function*() {
      const defect = new Error("bug")
      const { agent, store } = yield* TestAgent.make([ScriptedModel.die(defect), ScriptedModel.text("hello")])
      const error = yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual(error.reason._tag, "Unknown")
      assert.strictEqual(error.cause, defect)
      yield* agent.run({ sessionId: "s", input: "hello?" })
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("from a model interrupting itself is a failure, not an abort", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([ScriptedModel.gate({ ...gate, wait: Effect.interrupt })])
      const exit = yield* Effect.exit(agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunFailed(Unknown)")
      assert.strictEqual(exit._tag, "Failure")
    }))
})

describe("an answer that does not count", () => {
  const atOnce = { agent: { retry: RetryPolicy.make({ base: 0 }) } }

  it.effect("because it ended without a finish is retried", () =>
    Effect.gen(function*() {
      const { over, seen } = yield* Watch.started(
        [[ScriptedModel.text("par"), ScriptedModel.cut], ScriptedModel.text("ok")],
        atOnce
      )
      yield* over
      assert.deepStrictEqual(RunLog.only(seen, "AttemptDiscarded").map((event) => event.error._tag), [
        "StreamTruncated"
      ])
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
    }))

  it.effect("because it ended without a finish runs none of its tool calls", () =>
    Effect.gen(function*() {
      let ran = 0
      const { over, seen } = yield* Watch.started([[TestAgent.work(1), ScriptedModel.cut], ScriptedModel.text("ok")], {
        ...atOnce,
        tool: () => Effect.sync(() => `${ran++}`)
      })
      yield* over
      assert.strictEqual(ran, 0)
      assert.deepStrictEqual(RunLog.only(seen, "ToolStarted"), [])
    }))

  it.effect("because it is empty is retried once", () =>
    Effect.gen(function*() {
      const { over, seen } = yield* Watch.started([ScriptedModel.text(" \n"), ScriptedModel.text("ok")], atOnce)
      yield* over
      assert.deepStrictEqual(RunLog.only(seen, "AttemptDiscarded").map((event) => event.error._tag), ["EmptyResponse"])
      assert.include(RunLog.moves(seen), "streaming>retrying")
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
    }))

  it.effect("is accepted when it is empty twice", () =>
    Effect.gen(function*() {
      const { over, script, seen } = yield* Watch.started([ScriptedModel.text(""), ScriptedModel.text("")], atOnce)
      yield* over
      assert.strictEqual((yield* script.requests).length, 2)
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
    }))

  it.effect("is accepted when it is empty a second time, even with another failure in between", () =>
    Effect.gen(function*() {
      const { over, script } = yield* Watch.started([
        ScriptedModel.text(""),
        Overloaded.fail(),
        ScriptedModel.text(""),
        ScriptedModel.text("a third time")
      ], atOnce)
      yield* over
      assert.strictEqual((yield* script.requests).length, 3)
    }))

  it.effect("completes the run when it is empty after tool results", () =>
    Effect.gen(function*() {
      const { over, script, seen } = yield* Watch.started([TestAgent.work(1), ScriptedModel.text("")], atOnce)
      yield* over
      assert.strictEqual((yield* script.requests).length, 2)
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(emptyAfterTools)")
    }))

  it.effect.each<[string, Parameters<typeof ScriptedModel.call>, Partial<TestAgent.Options["agent"]>]>([
    ["nobody knows the tool", ["nope", {}], {}],
    ["its quota is used up", ["work", { n: 1 }], { toolPolicy: { maxCallsPerRun: 0 } }],
    ["a hook forbids it", ["work", { n: 1 }], {
      hooks: [{ name: "no", beforeToolCall: () => Effect.succeed({ _tag: "Deny", reason: "no" }) }]
    }],
    ["a hook answers it", ["work", { n: 1 }], {
      hooks: [{ name: "known", beforeToolCall: () => Effect.succeed({ _tag: "Answer", result: "42" }) }]
    }]
  ])("completes the run after the result of a call that did not run: %s", ([, call, agent]) =>
    Effect.gen(function*() {
      const options = { agent: { ...atOnce.agent, ...agent } }
      const { over, script, seen } = yield* Watch.started(
        [ScriptedModel.call(...call), ScriptedModel.text("")],
        options
      )
      yield* over
      assert.strictEqual((yield* script.requests).length, 2)
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(emptyAfterTools)")
    }))

  it.effect.each<[string, ReadonlyArray<Drafts.Placed>, string]>([
    ["the results of tools", [], "emptyAfterTools"],
    ["what was said after them", [Drafts.input("and?")], "stop"]
  ])("is concluded by the next drive as an empty answer to %s", ([, said, reason]) =>
    Effect.gen(function*() {
      const worked = [...DeadRun.inTools("work"), Drafts.settled("1.0", "done"), Drafts.turnFinished(1)]
      const store = yield* DeadRun.of([...worked, ...said, Drafts.turnStarted(2), Drafts.assistant([], { turn: 2 })])
      const { agent, script } = yield* TestAgent.make([], { store })
      yield* agent.resumeRun({ sessionId: "s" })
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), `RunCompleted(${reason})`)
      assert.deepStrictEqual(yield* script.requests, [])
    }))

  it.effect("is not one that consists of a file only, even after tool results", () =>
    Effect.gen(function*() {
      const file = ScriptedModel.parts({ type: "file", mediaType: "image/png", data: "aGk=" })
      const { over, script, seen } = yield* Watch.started([TestAgent.work(1), file], atOnce)
      yield* over
      assert.strictEqual((yield* script.requests).length, 2)
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
    }))

  it.effect("still costs what it used", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([ScriptedModel.text(""), ScriptedModel.text("ok")], atOnce)
      const { usage } = yield* agent.run({ input: "go" })
      assert.deepStrictEqual(usage, { inputTokens: 20, outputTokens: 10 })
    }))
})

describe("an attempt after which the retry policy throws", () => {
  const bug = (): never => {
    throw new Error("bug")
  }
  const spent = [ScriptedModel.text("par"), ScriptedModel.finish("error", { inputTokens: 70, outputTokens: 3 })]
  const policies: Record<string, RetryPolicy.RetryPolicy> = {
    "a rule that throws": RetryPolicy.make({ classify: bug }),
    "a schedule that dies": Object.assign(RetryPolicy.make({ classify: () => Overloaded.error() }), {
      schedule: Schedule.recurs(3).pipe(Schedule.tap(() => Effect.sync(bug)))
    })
  }
  it.effect.each(Object.entries(policies))("still costs what it used: %s", ([, retry]) =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([spent, ScriptedModel.text("hello")], { agent: { retry } })
      const error = yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual(error.reason._tag, "Unknown")
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.deepStrictEqual(RunLog.only(log, "AttemptDiscarded").map(({ error, usage }) => [error._tag, usage]), [
        ["Unknown", { inputTokens: 70, outputTokens: 3 }]
      ])
      assert.strictEqual(RunLog.only(log, "RunFailed")[0]?.totals.usage.inputTokens, 70)
    }))
})
