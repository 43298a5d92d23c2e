/** What a compaction leaves behind when it fails, is interrupted, or costs more than a run may spend. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as ContextChain from "../../src/layers/ContextChain.ts"
import * as ContextSummary from "../../src/layers/ContextSummary.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as Message from "../../src/run/Message.ts"
import type * as Usage from "../../src/run/Usage.ts"
import { CompactionError, ContextManager } from "../../src/services/ContextManager.ts"
import * as Prices from "../../src/services/Prices.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Condensing from "../support/Condensing.ts"
import * as Overflows from "../support/Overflows.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import { unreadable } from "../support/Unreadable.ts"

const { history, overflow } = Overflows
const ok = ScriptedModel.text("ok")
const spends = (inputTokens: number, step = ScriptedModel.text("They talked.")) => [
  step,
  ScriptedModel.finish("stop", { inputTokens, outputTokens: 1 })
]

describe("a compaction that fails", () => {
  it.effect("leaves what is sent as it was", () =>
    Effect.gen(function*() {
      const made = yield* Condensing.make([overflow, ok], ContextSummary.layer, [Overflows.refused])
      const failed = yield* Overflows.run(made, { history: history(12) })
      assert.strictEqual(failed.end, "RunFailed(ContextOverflow)")
      const { compacted, requests } = yield* Overflows.run(made, { input: "and now?" })
      assert.strictEqual(compacted.length, 0)
      const [before, after] = requests.map(({ messages }) => messages)
      assert.deepStrictEqual(after!.slice(0, -1), before!.slice(0, -1))
      const last = [Message.text("go"), Message.text("and now?")]
      assert.deepStrictEqual(after!.at(-1), { role: "user", content: last })
    }))

  it.effect("after spending tokens leaves nothing but a record of that", () =>
    Effect.gen(function*() {
      const strategy = Layer.succeed(ContextManager, {
        plan: (request) => ({ _tag: "Compact", request }),
        compact: () => Effect.fail(new CompactionError({ message: "no", usage: { inputTokens: 70, outputTokens: 3 } }))
      })
      const made = yield* TestAgent.make([], { context: strategy })
      const { log } = yield* Overflows.run(made, { history: history(12) })
      assert.deepStrictEqual(RunLog.tags(log), ["RunStarted", "CompactionDiscarded", "RunFailed"])
      const [end] = RunLog.only(log, "RunFailed")
      assert.deepStrictEqual(end!.totals.usage, { inputTokens: 70, outputTokens: 3 })
    }))

  it.effect("in a chain is in the log, before the next strategy's result", () =>
    Effect.gen(function*() {
      const lawless = Layer.succeed(ContextManager, {
        plan: (request) => request.force === undefined ? { _tag: "Send" } : { _tag: "Compact", request },
        compact: () =>
          Effect.succeed({ strategy: "all", upTo: 99, replacement: [], usage: { inputTokens: 70, outputTokens: 3 } })
      })
      const context = ContextChain.layer(lawless, ContextWindow.layer)
      const { end, log } = yield* Overflows.run(yield* TestAgent.make([overflow, ok], { context }), {
        history: history(12)
      })
      assert.strictEqual(end, "RunCompleted(stop)")
      const [discarded] = RunLog.only(log, "CompactionDiscarded")
      const [compacted] = RunLog.only(log, "ContextCompacted")
      assert.strictEqual(discarded?.message, "the strategy \"all\" did not keep the latest message of the user")
      assert.strictEqual(compacted?.seq, discarded!.seq + 1)
      assert.strictEqual(RunLog.only(log, "RunCompleted")[0]?.totals.usage.inputTokens, 80)
    }))

  it.effect("because of a bug leaves a record of what was spent until then", () =>
    Effect.gen(function*() {
      const strategy = Layer.succeed(ContextManager, {
        plan: (request) => ({ _tag: "Compact", request }),
        compact: ({ ledger }) =>
          Effect.sync((): never => {
            ledger.note({ inputTokens: 70, outputTokens: 3 }, { provider: "test", name: "condenser" })
            throw new Error("SECRET")
          })
      })
      const made = yield* TestAgent.make([], { context: strategy })
      const { end, log } = yield* Overflows.run(made, { history: history(12) })
      assert.strictEqual(end, "RunFailed(CompactionFailed)")
      assert.deepStrictEqual(RunLog.only(log, "CompactionDiscarded").map(({ message, usage }) => [message, usage]), [
        ["the strategy failed unexpectedly", { inputTokens: 70, outputTokens: 3 }]
      ])
      const byHand = yield* TestAgent.make([ScriptedModel.text("ok")], {
        context: Layer.effect(
          ContextManager,
          Effect.map(ContextManager, (manager) => ({
            ...manager,
            plan: (view) => view.force === "manual" ? manager.plan(view) : { _tag: "Send" as const }
          }))
        ).pipe(Layer.provide(strategy))
      })
      yield* byHand.agent.run({ sessionId: "s", input: "go" })
      yield* Effect.flip(byHand.agent.compact("s"))
      assert.strictEqual(RunLog.only(yield* byHand.store.log("s"), "CompactionDiscarded").length, 1)
    }))

  it.effect("by hand fails with the store's error when what it spent cannot be recorded", () =>
    Effect.gen(function*() {
      const context = Layer.succeed(ContextManager, {
        plan: (view) => view.force === "manual" ? { _tag: "Compact", request: view } : { _tag: "Send" },
        compact: ({ ledger }) => {
          ledger.note({ inputTokens: 70, outputTokens: 3 }, { provider: "test", name: "condenser" })
          return Effect.fail(new CompactionError({ message: "no answer" }))
        }
      })
      const made = yield* TestAgent.make([ok], { context })
      yield* made.agent.run({ sessionId: "s", input: "go" })
      made.store.onAppend = TestStore.failing(() => true)
      assert.strictEqual((yield* Effect.flip(made.agent.compact("s"))).reason._tag, "StoreUnavailable")
    }))

  it.effect("is tried again by the next run, which may continue after it", () =>
    Effect.gen(function*() {
      const made = yield* Condensing.make([overflow, overflow, ok], ContextSummary.layer, [
        Overflows.refused,
        ScriptedModel.text("They talked.")
      ])
      yield* Overflows.run(made, { history: history(12) })
      const { compacted, end } = yield* Overflows.run(made, { input: "and now?" })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.strictEqual(compacted.length, 1)
    }))
})

describe("a compaction that is interrupted", () => {
  it.effect("by an abort changes nothing, and the next message is answered", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const made = yield* Condensing.make([overflow, ok], ContextSummary.layer, [ScriptedModel.gate(gate)])
      const run = yield* made.agent.start({ sessionId: "s", input: "go", history: history(12) })
      yield* gate.started
      yield* run.abort
      yield* gate.closed
      yield* run.result
      const aborted = yield* made.store.log("s")
      assert.strictEqual(RunLog.endOf(aborted), "RunAborted(requested)")
      assert.deepStrictEqual([
        ...RunLog.only(aborted, "ContextCompacted"),
        ...RunLog.only(aborted, "CompactionDiscarded")
      ], [])
      const { end, requests } = yield* Overflows.run(made, { input: "and now?" })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(requests[1]!.messages.slice(0, -1), requests[0]!.messages.slice(0, -1))
    }))

  it.effect("by a reader who leaves changes nothing, and the session is free", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const made = yield* Condensing.make([overflow, ok], ContextSummary.layer, [ScriptedModel.gate(gate)])
      const stream = made.agent.stream({ sessionId: "s", input: "go", history: history(12) })
      yield* stream.pipe(Stream.interruptWhen(gate.started), Stream.runDrain)
      const { compacted, end, log } = yield* Overflows.run(made, { input: "and now?" })
      assert.strictEqual(RunLog.only(log, "RunAborted").length, 1)
      assert.deepStrictEqual([end, compacted.length], ["RunCompleted(stop)", 0])
    }))

  it.effect("by hand leaves the log as it was, and the session is free", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const made = yield* Condensing.make([ok, ok], ContextSummary.layer, [ScriptedModel.gate(gate)])
      yield* Overflows.run(made, { history: history(12) })
      const before = yield* made.store.log("s")
      yield* Effect.raceFirst(made.agent.compact("s"), gate.started)
      yield* gate.closed
      assert.deepStrictEqual(yield* made.store.log("s"), before)
      assert.strictEqual((yield* Overflows.run(made, { input: "and now?" })).end, "RunCompleted(stop)")
    }))
})

describe("what a compaction costs", () => {
  it.effect("counts against the tokens of its run, which ends before asking again", () =>
    Effect.gen(function*() {
      const made = yield* Condensing.make([overflow], ContextSummary.layer, [spends(500)])
      const limits = { maxTokens: 400 }
      const { compacted, end, requests } = yield* Overflows.run(made, { history: history(12), limits })
      assert.strictEqual(end, "RunLimited(tokens)")
      assert.deepStrictEqual([compacted.length, requests.length], [1, 1])
    }))

  it.effect("counts in money, by the price of the model that was asked", () =>
    Effect.gen(function*() {
      const made = yield* Condensing.make([overflow], ContextSummary.layer, [spends(500)])
      const priced = Effect.provideService(
        Overflows.run(made, { history: history(12), limits: { maxCost: 400 } }),
        Prices.Prices,
        Prices.table({
          "scripted/scripted": { input: 0, output: 0 },
          "test/condenser": { input: 1_000_000, output: 0 }
        })
      )
      const { compacted, end, requests } = yield* priced
      assert.strictEqual(end, "RunLimited(cost)")
      assert.deepStrictEqual([compacted[0]?.usage.cost, requests.length], [500, 1])
    }))

  it.effect("is not spent by a run that has reached its limit", () =>
    Effect.gen(function*() {
      const made = yield* Condensing.make(
        [spends(500, TestAgent.work(1))],
        ContextSummary.layerWith({ compactThreshold: 3 }),
        []
      )
      const limits = { maxTokens: 400 }
      const { end } = yield* Overflows.run(made, { history: history(1), limits })
      assert.strictEqual(end, "RunLimited(tokens)")
      assert.strictEqual((yield* made.asked).length, 0)
    }))

  it.effect("is not spent by a run whose limit on errors the overflow used up", () =>
    Effect.gen(function*() {
      const made = yield* Condensing.make([overflow], ContextSummary.layer, [])
      const { end } = yield* Overflows.run(made, { history: history(12), limits: { maxErrors: 0 } })
      assert.strictEqual(end, "RunLimited(errors)")
      assert.strictEqual((yield* made.asked).length, 0)
    }))

  const chained = <R>(usage: Usage.Usage, ...others: ReadonlyArray<Layer.Layer<ContextManager, never, R>>) => {
    const failing = Layer.succeed(ContextManager, {
      plan: (request) => request.force === undefined ? { _tag: "Send" } : { _tag: "Compact", request },
      compact: () =>
        Effect.fail(new CompactionError({ message: "no", usage, model: { provider: "test", name: "dear" } }))
    })
    return ContextChain.layer(failing, ...others)
  }
  const used = { inputTokens: 500, outputTokens: 0 }

  it.effect("in a chain counts before the next strategy asks its model", () =>
    Effect.gen(function*() {
      const made = yield* Condensing.make(
        [overflow],
        chained(used, ContextSummary.layer, ContextWindow.layer),
        [spends(500)]
      )
      const { end } = yield* Overflows.run(made, { history: history(12), limits: { maxTokens: 400 } })
      assert.strictEqual(end, "RunLimited(tokens)")
      assert.strictEqual((yield* made.asked).length, 0)
    }))

  it.effect("in a chain counts even if the next strategy breaks", () =>
    Effect.gen(function*() {
      const broken = Layer.succeed(ContextManager, {
        plan: (request) => ({ _tag: "Compact", request }),
        compact: () => Effect.die("a bug")
      })
      const made = yield* TestAgent.make([overflow], { context: chained(used, broken) })
      const { log } = yield* Overflows.run(made, { history: history(12) })
      assert.deepStrictEqual(RunLog.only(log, "CompactionDiscarded").map(({ usage }) => usage), [used])
    }))

  it.effect("in a chain goes by the price of each model", () =>
    Effect.gen(function*() {
      const cheap = Layer.succeed(ContextManager, {
        plan: (request) => request.force === undefined ? { _tag: "Send" } : { _tag: "Compact", request },
        compact: () =>
          Effect.succeed({
            strategy: "cheap",
            upTo: 1,
            replacement: [Message.user("go")],
            usage: { inputTokens: 100, outputTokens: 0 },
            model: { provider: "test", name: "cheap" }
          })
      })
      const made = yield* TestAgent.make([overflow, ok], { context: chained(used, cheap) })
      const { compacted } = yield* Effect.provideService(
        Overflows.run(made, { history: history(12) }),
        Prices.Prices,
        Prices.table({ dear: { input: 1_000_000, output: 0 }, cheap: { input: 10_000, output: 0 } })
      )
      assert.deepStrictEqual(compacted.map(({ usage }) => usage), [{ inputTokens: 600, outputTokens: 0, cost: 501 }])
    }))

  it.effect("counts when its run is resumed, even if it failed", () =>
    Effect.gen(function*() {
      const strategy = Layer.succeed(ContextManager, {
        plan: (request) => request.force === undefined ? { _tag: "Send" } : { _tag: "Compact", request },
        compact: () => Effect.fail(new CompactionError({ message: "no", usage: { inputTokens: 500, outputTokens: 3 } }))
      })
      const failing = yield* TestAgent.make([overflow], { context: strategy })
      const { end } = yield* Overflows.run(failing, { history: history(12), limits: { maxTokens: 400 } })
      assert.strictEqual(end, "RunFailed(ContextOverflow)")
      const again = yield* Stream.runCollect(failing.agent.resume({ sessionId: "s" }))
      assert.strictEqual(RunLog.endOf(again), "RunLimited(tokens)")
    }))
})

describe("a strategy that breaks a rule", () => {
  const replacing = (replacement: ReadonlyArray<Message.Message>, upTo = 1) =>
    Layer.succeed(ContextManager, {
      plan: (request) => request.force === undefined ? { _tag: "Send" } : { _tag: "Compact", request },
      compact: () => Effect.succeed({ strategy: "odd", upTo, replacement, usage: { inputTokens: 1, outputTokens: 1 } })
    })

  it.effect("by leaving out what the user said last is not accepted", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([overflow], { context: replacing([Message.user("hi")]) })
      const { compacted, end, log } = yield* Overflows.run(made, { history: history(12) })
      assert.strictEqual(end, "RunFailed(ContextOverflow)")
      assert.strictEqual(compacted.length, 0)
      assert.match(RunLog.only(log, "CompactionDiscarded")[0]!.message, /did not keep the latest message of the user/)
    }))

  it.effect("by leaving more than there was is not accepted", () =>
    Effect.gen(function*() {
      const more = [Message.user("go"), Message.user("more ".repeat(2_000)), Message.user("go")]
      const made = yield* TestAgent.make([overflow], { context: replacing(more) })
      const { compacted, log } = yield* Overflows.run(made, { history: history(12) })
      assert.strictEqual(compacted.length, 0)
      assert.match(RunLog.only(log, "CompactionDiscarded")[0]!.message, /did not make the context smaller/)
    }))

  const ways: ReadonlyArray<readonly [string, (odd: never) => unknown]> = [
    ["failing with", (odd) => Effect.fail(odd)],
    ["returning", (odd) => odd],
    ["giving", (odd) => Effect.succeed(odd)]
  ]
  for (const [way, given] of ways) {
    it.effect.each(["a text", ...Object.keys(unreadable)])(
      `by ${way} %s has failed, and its run says so`,
      (name) =>
        Effect.gen(function*() {
          const odd = unreadable[name]?.() ?? "a text" as never
          const context = Layer.succeed(ContextManager, {
            plan: (request) => ({ _tag: "Compact", request }),
            compact: () => given(odd) as never
          })
          const { agent } = yield* TestAgent.make([], { context })
          const error = yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
          assert.strictEqual(error.reason._tag, "CompactionFailed")
        })
    )
  }

  it.effect.each<readonly [string, Effect.Effect<never>]>([
    ["itself", Effect.interrupt],
    [
      "its fiber",
      Effect.withFiber((fiber) => Effect.andThen(Effect.sync(() => fiber.interruptUnsafe()), Effect.never))
    ]
  ])("by interrupting %s has failed, and its run says so", ([, interrupting]) =>
    Effect.gen(function*() {
      const context = Layer.succeed(ContextManager, {
        plan: (request) => ({ _tag: "Compact", request }),
        compact: ({ ledger }) => {
          ledger.note({ inputTokens: 70, outputTokens: 3 })
          return interrupting
        }
      })
      const made = yield* TestAgent.make([], { context })
      const { log } = yield* Overflows.run(made)
      const why = "the strategy interrupted itself"
      assert.deepStrictEqual(RunLog.only(log, "CompactionDiscarded").map(({ message }) => message), [why])
      assert.deepStrictEqual(
        RunLog.only(log, "RunFailed").map(({ error: { reason } }) => [reason._tag, reason.message]),
        [
          ["CompactionFailed", why]
        ]
      )
    }))

  it.effect("by never ending is ended by an abort", () =>
    Effect.gen(function*() {
      const working = yield* Deferred.make<void>()
      const context = Layer.succeed(ContextManager, {
        plan: (request) => ({ _tag: "Compact", request }),
        compact: () => Effect.andThen(Deferred.succeed(working, undefined), Effect.never)
      })
      const made = yield* TestAgent.make([], { context })
      const run = yield* made.agent.start({ sessionId: "s", input: "go" })
      yield* Deferred.await(working)
      yield* run.abort
      assert.strictEqual((yield* run.result)._tag, "Aborted")
    }))
})
