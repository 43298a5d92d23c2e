/** A strategy that never returns: its compaction fails once its time is up, and what follows it is next. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as TestClock from "effect/testing/TestClock"
import * as ContextChain from "../../src/layers/ContextChain.ts"
import * as ContextSummary from "../../src/layers/ContextSummary.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import { ContextManager } from "../../src/services/ContextManager.ts"
import * as Timeouts from "../../src/services/Timeouts.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Condensing from "../support/Condensing.ts"
import * as Overflows from "../support/Overflows.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const { history, overflow } = Overflows
const ok = ScriptedModel.text("ok")

/**
 * Asked about what does not fit (or, with `always`, about everything), notes what a call spent and does as `self` does;
 * `started` signals each time it was asked.
 */
const hanging = (self: Effect.Effect<never> = Effect.never, always = false) =>
  Effect.map(Queue.unbounded<void>(), (starts) => ({
    started: Queue.take(starts),
    layer: Layer.succeed(ContextManager, {
      plan: (request) => request.force === undefined && !always ? { _tag: "Send" } : { _tag: "Compact", request },
      compact: ({ ledger }) =>
        Effect.suspend(() => {
          ledger.note({ inputTokens: 70, outputTokens: 3 })
          Queue.offerUnsafe(starts, undefined)
          return self
        })
    })
  }))

const always = hanging(Effect.never, true)

/** A run with a hanging strategy in its context, and what has become of the run this long after it began to hang. */
const runFor = Effect.fnUntraced(function*(
  time: Duration.Input,
  turns: ReadonlyArray<ScriptedModel.Turn>,
  { layer, started }: Effect.Success<ReturnType<typeof hanging>>,
  { input, timeouts = {} }: {
    readonly timeouts?: RunPolicy.TimeoutsInput
    readonly input?: Partial<RunInput.RunInput>
  } = {}
) {
  const made = yield* TestAgent.make(turns, { context: layer, agent: { timeouts } })
  const running = yield* Effect.forkChild(Overflows.run(made, { history: history(12), ...input }))
  yield* started
  yield* TestClock.adjust(Duration.toMillis(time) - 1)
  const early = RunLog.endOf(yield* made.store.log("s"))
  yield* TestClock.adjust(1)
  return { early, ...(yield* Fiber.join(running)) }
})

describe("a strategy that never returns", () => {
  it.effect("fails after 10 minutes, and what it spent counts", () =>
    Effect.gen(function*() {
      const { early, exit, log } = yield* runFor("10 minutes", [], yield* always)
      assert.strictEqual(early, "RunStarted")
      assert.deepStrictEqual(RunLog.tags(log), ["RunStarted", "CompactionDiscarded", "RunFailed"])
      assert.strictEqual(
        RunLog.only(log, "CompactionDiscarded")[0]!.message,
        "the strategy took longer than 10m, the limit of timeouts.compaction"
      )
      const { error, totals } = RunLog.only(log, "RunFailed")[0]!
      assert.deepInclude(error.reason, {
        _tag: "CompactionFailed",
        message: "the strategy took longer than 10m, the limit of timeouts.compaction"
      })
      assert.deepStrictEqual(totals.usage, { inputTokens: 70, outputTokens: 3 })
      assert.strictEqual(exit._tag, "Failure")
    }))

  it.effect("after an overflow fails the run with the provider's own words, within the agent's time limit", () =>
    Effect.gen(function*() {
      const given = { timeouts: { compaction: "30 seconds" } } as const
      const { early, end } = yield* runFor("30 seconds", [overflow], yield* hanging(), given)
      assert.deepStrictEqual([early, end], ["AttemptDiscarded", "RunFailed(ContextOverflow)"])
    }))

  it.effect("after an answer that was cut ends the run limited", () =>
    Effect.gen(function*() {
      const cut = [ScriptedModel.text("ha"), ScriptedModel.finish("length")]
      const { end } = yield* runFor("10 minutes", [cut], yield* hanging())
      assert.strictEqual(end, "RunLimited(length)")
    }))

  it.effect("ends a run limited when it used up the run's tokens", () =>
    Effect.gen(function*() {
      const given = { input: { limits: { maxTokens: 50 } } }
      const { end } = yield* runFor("10 minutes", [], yield* always, given)
      assert.strictEqual(end, "RunLimited(tokens)")
    }))

  it.effect("runs until the run's own time limit when its own is lifted", () =>
    Effect.gen(function*() {
      const given = { timeouts: { compaction: Infinity }, input: { limits: { maxDuration: "2 days" } } } as const
      const { early, end, log } = yield* runFor("2 days", [], yield* always, given)
      assert.deepStrictEqual([early, end], ["RunStarted", "RunLimited(duration)"])
      assert.strictEqual(RunLog.only(log, "CompactionDiscarded")[0]!.message, "the compaction was cut off")
    }))

  it.effect("and cannot be interrupted is left behind after the grace period, by name", () =>
    Effect.gen(function*() {
      const stuck = yield* hanging(Effect.uninterruptible(Effect.never), true)
      const { end, log } = yield* runFor("605 seconds", [], stuck)
      assert.strictEqual(end, "RunFailed(CompactionFailed)")
      assert.deepStrictEqual(RunLog.only(log, "RunFailed")[0]!.leftBehind, ["compaction"])
    }))

  it.effect("by hand fails the compaction with a typed error, and the session is free", () =>
    Effect.gen(function*() {
      const { layer, started } = yield* hanging()
      const made = yield* TestAgent.make([ok, ok], { context: layer })
      yield* Overflows.run(made, { history: history(12) })
      const running = yield* Effect.forkChild(
        Effect.provideService(Effect.flip(made.agent.compact("s")), Timeouts.Timeouts, { compaction: "1 minute" })
      )
      yield* started
      yield* TestClock.adjust("1 minute")
      const { message, reason } = yield* Fiber.join(running)
      assert.deepStrictEqual([reason._tag, message], [
        "CompactionFailed",
        "the strategy took longer than 1m, the limit of timeouts.compaction"
      ])
      assert.strictEqual((yield* Overflows.run(made, { input: "and now?" })).end, "RunCompleted(stop)")
    }))
})

describe("in a chain, a strategy that never returns", () => {
  it.effect("is passed over, and the next one makes the context smaller", () =>
    Effect.gen(function*() {
      const [first, second] = [yield* hanging(), yield* hanging()]
      const layer = ContextChain.layer(first.layer, second.layer, ContextWindow.layer)
      const started = Effect.andThen(first.started, Effect.andThen(TestClock.adjust("10 minutes"), second.started))
      const { early, end, log } = yield* runFor("10 minutes", [overflow, ok], { layer, started })
      assert.deepStrictEqual([early, end], ["AttemptDiscarded", "RunCompleted(stop)"])
      assert.deepStrictEqual(
        RunLog.only(log, "CompactionDiscarded").map(({ message }) => message),
        [
          "a strategy took longer than 10m, the limit of timeouts.compaction",
          "a strategy took longer than 10m, the limit of timeouts.compaction"
        ]
      )
      const [compacted] = RunLog.only(log, "ContextCompacted")
      assert.deepInclude(compacted, { strategy: "window", usage: { inputTokens: 140, outputTokens: 6 } })
    }))

  it.effect("does not undo what an earlier one made", () =>
    Effect.gen(function*() {
      // all that is left is more than fits with room to spare
      const info = { provider: "test", name: "small", contextWindow: 260 }
      const { layer, started } = yield* hanging()
      const context = ContextChain.layer(ContextWindow.layerWith({ keep: 1 }), layer)
      const made = yield* TestAgent.make([ok], { context, info })
      const running = yield* Effect.forkChild(Overflows.run(made, { history: history(12) }))
      yield* started
      yield* TestClock.adjust("10 minutes")
      const { compacted, end } = yield* Fiber.join(running)
      assert.deepStrictEqual([end, compacted.map(({ strategy }) => strategy)], ["RunCompleted(stop)", ["window"]])
    }))

  it.effect("and cannot be interrupted is passed over after the grace period, and left behind once", () =>
    Effect.gen(function*() {
      const { layer, started } = yield* hanging(Effect.uninterruptible(Effect.never))
      const context = ContextChain.layer(layer, ContextWindow.layer)
      const { end, log } = yield* runFor("605 seconds", [overflow, ok], { layer: context, started })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(RunLog.only(log, "RunCompleted")[0]!.leftBehind, ["compaction"])
    }))
})

it.effect("a summary whose calls take too long is left to pruning, and then to the next strategy in the chain", () =>
  Effect.gen(function*() {
    const context = ContextChain.layer(ContextSummary.layer, ContextWindow.layer)
    const gate = yield* ScriptedModel.makeGate
    const made = yield* Condensing.make([overflow, ok], context, [ScriptedModel.gate(gate)], {
      agent: { timeouts: { call: Infinity, firstPart: Infinity, compaction: "5 minutes" } }
    })
    const running = yield* Effect.forkChild(Overflows.run(made, { history: history(12) }))
    yield* gate.started
    yield* TestClock.adjust("5 minutes")
    const { compacted, end, log } = yield* Fiber.join(running)
    assert.deepStrictEqual([end, compacted.map(({ strategy }) => strategy)], ["RunCompleted(stop)", ["window"]])
    const [discarded] = RunLog.only(log, "CompactionDiscarded")
    assert.strictEqual(
      discarded!.message,
      "the summary by test/condenser took longer than 5m, the limit of timeouts.compaction"
    )
  }))
