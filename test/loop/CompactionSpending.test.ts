/** What condensing models spend counts, whatever becomes of the compaction, and at the price of the model that was asked. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as ContextKeyFacts from "../../src/layers/ContextKeyFacts.ts"
import * as ContextSummary from "../../src/layers/ContextSummary.ts"
import * as ModelFallback from "../../src/layers/ModelFallback.ts"
import * as RunError from "../../src/run/RunError.ts"
import * as ContextManager from "../../src/services/ContextManager.ts"
import * as Model from "../../src/services/Model.ts"
import * as Prices from "../../src/services/Prices.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Condensing from "../support/Condensing.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const answers = (n: number) => Array.from({ length: n }, (_, i) => ScriptedModel.text(`answer ${i}`))
const words = (n: number) => `word${n} `.repeat(800)
const spending = (inputTokens: number, text = "So far.") => [
  ScriptedModel.text(text),
  ScriptedModel.finish("stop", { inputTokens, outputTokens: 0 })
]
const summary = ContextSummary.layerWith({ compactThreshold: 6 })
const small = { provider: "test", name: "small", contextWindow: 1_500 }

const talk = Effect.fnUntraced(function*(made: TestAgent.TestAgent, runs: number) {
  for (let n = 0; n < runs; n++) yield* made.agent.run({ sessionId: "s", input: words(n) })
})

it.effect("a condensing model that reports an invalid number of tokens does not undo what was counted", () =>
  Effect.gen(function*() {
    const made = yield* Condensing.make(answers(4), summary, () => spending(NaN), { condenserInfo: small })
    yield* talk(made, 4)
    const log = yield* made.store.log("s")
    assert.isNotEmpty(RunLog.only(log, "ContextCompacted"))
    for (const { totals } of RunLog.only(log, "RunCompleted")) assert.strictEqual(totals.usage.inputTokens, 10)
  }))

it.effect("a condensing model's answer that breaks off counts with what it had used, and a whole one counts once", () =>
  Effect.gen(function*() {
    const used = (inputTokens: number) =>
      ScriptedModel.parts({ type: "response", usage: { inputTokens, outputTokens: 0 } })
    let asked = 0
    const condenser = () => asked++ === 0 ? [used(20), used(30), ScriptedModel.cut] : [used(5), ...spending(100)]
    const made = yield* Condensing.make(answers(4), ContextSummary.layer, condenser)
    yield* talk(made, 3)
    const compacting = yield* Effect.forkChild(made.agent.compact("s"))
    yield* TestClock.adjust("1 minute")
    assert.strictEqual((yield* Fiber.join(compacting)).usage.inputTokens, 130)
  }))

it.effect("a failed compaction counts even if it has a price and no tokens", () =>
  Effect.gen(function*() {
    let planned = 0
    const usage = { inputTokens: 0, outputTokens: 0, cost: 50 }
    const context = Layer.succeed(ContextManager.ContextManager, {
      plan: (view: ContextManager.View) => planned++ === 0 ? { _tag: "Compact", request: view } : ContextManager.send,
      compact: () => Effect.fail(new ContextManager.CompactionError({ message: "no", usage }))
    })
    const { agent } = yield* TestAgent.make([], { context })
    const prices = Layer.succeed(Prices.Prices, Prices.table({ scripted: { input: 1, output: 1 } }))
    yield* Effect.gen(function*() {
      const result = yield* agent.run({ sessionId: "s", input: "go", limits: { maxCost: 10 } })
      assert.deepStrictEqual([result._tag, result.usage.cost], ["Limited", 50])
    }).pipe(Effect.provide(prices))
  }))

describe("a compaction that is cut off", () => {
  it.effect("in the middle of an answer is charged for what that answer had used", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const used = ScriptedModel.parts({ type: "response", usage: { inputTokens: 30, outputTokens: 0 } })
      const made = yield* Condensing.make(answers(4), ContextSummary.layer, () => [used, ScriptedModel.gate(gate)])
      yield* talk(made, 3)
      const compacting = yield* Effect.forkChild(made.agent.compact("s"))
      yield* gate.started
      yield* Fiber.interrupt(compacting)
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.only(log, "CompactionDiscarded").map(({ usage }) => usage.inputTokens), [30])
    }))

  it.effect("is charged for what it had spent", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      let asked = 0
      const made = yield* Condensing.make(
        answers(4),
        summary,
        () => asked++ < 2 ? spending(100) : [ScriptedModel.gate(gate)],
        { condenserInfo: small }
      )
      yield* talk(made, 3)
      const run = yield* made.agent.start({ sessionId: "s", input: "and now?" })
      yield* gate.started
      yield* run.abort
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      const [aborted] = RunLog.only(log, "RunAborted")
      assert.strictEqual(aborted?.totals.usage.inputTokens, 200)
    }))

  it.effect("by hand is charged too, and the session takes a message at once", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      let asked = 0
      const made = yield* Condensing.make(
        answers(4),
        ContextSummary.layer,
        () => asked++ < 1 ? spending(100) : [ScriptedModel.gate(gate)],
        { condenserInfo: small }
      )
      yield* talk(made, 3)
      const compacting = yield* Effect.forkChild(made.agent.compact("s"))
      yield* gate.started
      yield* Fiber.interrupt(compacting)
      yield* gate.closed
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.only(log, "CompactionDiscarded").map(({ usage }) => usage.inputTokens), [100])
      assert.strictEqual((yield* made.agent.run({ sessionId: "s", input: "hello" }))._tag, "Completed")
      assert.deepStrictEqual(RunLog.violations(yield* made.store.log("s")), [])
    }))

  it.effect("because the agent's layer closes stops, and nothing keeps running", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const made = yield* Condensing.make(answers(4), ContextSummary.layer, () => [ScriptedModel.gate(gate)])
      yield* talk(made, 3)
      const compacting = yield* Effect.forkChild(Effect.flip(made.agent.compact("s")))
      yield* gate.started
      yield* Effect.forkChild(made.close)
      yield* gate.closed
      assert.strictEqual((yield* Fiber.join(compacting)).reason._tag, "ShuttingDown")
    }))
})

describe("a compaction by hand", () => {
  it.effect("that fails is charged for what it spent", () =>
    Effect.gen(function*() {
      const made = yield* Condensing.make(answers(4), ContextKeyFacts.layer, () => spending(50, "no JSON"))
      yield* talk(made, 3)
      assert.strictEqual((yield* Effect.flip(made.agent.compact("s"))).reason._tag, "CompactionFailed")
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.only(log, "CompactionDiscarded").map(({ usage }) => usage.inputTokens), [100])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("does not hold up an answer to another session's question", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const made = yield* Condensing.make(
        [...answers(3), TestAgent.work(1)],
        ContextSummary.layer,
        () => [ScriptedModel.gate(gate)],
        { agent: { toolPolicy: { requireApprovalByDefault: true } } }
      )
      yield* talk(made, 3)
      yield* made.agent.run({ sessionId: "other", input: "work" })
      const [question] = yield* made.agent.approvals("other")
      const compacting = yield* Effect.forkChild(made.agent.compact("s"))
      yield* gate.started
      yield* made.agent.decide({ sessionId: "other", approvalId: question!.id, approved: true })
      yield* Fiber.interrupt(compacting)
    }))
})

describe("what a condensing model costs", () => {
  const prices = Prices.table({
    "scripted/scripted": { input: 0, output: 0 },
    "test/cheap": { input: 1_000_000, output: 0 },
    "test/dear": { input: 100_000_000, output: 0 }
  })
  const refused = ScriptedModel.fail(
    new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "QuotaExhausted", message: "no money" })
  )
  const scripted = (name: string, turn: ScriptedModel.Turn) =>
    Effect.map(
      Layer.build(ScriptedModel.layer(() => turn, { info: { provider: "test", name } })),
      (context) => Layer.succeed(Model.Model, Context.get(context, Model.Model))
    )

  it.effect("is the price of the one that answered", () =>
    Effect.gen(function*() {
      const models = ModelFallback.layer([yield* scripted("cheap", refused), yield* scripted("dear", spending(10))])
      const made = yield* TestAgent.make(answers(4), { context: Layer.provide(summary, models) })
      for (let n = 0; n < 3; n++) yield* made.agent.run({ sessionId: "s", input: words(n) })
      yield* made.agent.run({ sessionId: "s", input: "and now?" })
      const [compacted] = RunLog.only(yield* made.store.log("s"), "ContextCompacted")
      assert.strictEqual(compacted?.usage.cost, 1_000)
    }).pipe(Effect.provideService(Prices.Prices, prices)))

  it.effect("must be known when a run's cost is limited", () =>
    Effect.gen(function*() {
      const made = yield* Condensing.make(answers(1), summary, [])
      const error = yield* Effect.flip(made.agent.run({ sessionId: "s", input: "go", limits: { maxCost: 1 } }))
      assert.strictEqual(error.reason._tag, "InvalidInput")
      assert.match(error.message, /test\/condenser/)
      assert.deepStrictEqual(yield* made.store.log("s"), [])
    }).pipe(Effect.provideService(Prices.Prices, prices)))
})
