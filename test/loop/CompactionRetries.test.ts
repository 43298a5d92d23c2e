/** The tries of a condensing model: bounded as those of a turn's call are, and by what its run has lost to failures, by its log. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as ContextSummary from "../../src/layers/ContextSummary.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Condensing from "../support/Condensing.ts"
import * as Overflows from "../support/Overflows.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"

const { history, overflow } = Overflows
const ok = ScriptedModel.text("ok")
const busy = Overloaded.fail()
const summary = ScriptedModel.text("They talked.")

/** An agent whose context is condensed by a model that answers with these turns, or always with this one; `began` signals a question. */
const make = Effect.fnUntraced(function*(
  turns: Parameters<typeof Condensing.make>[0],
  condenser: ReadonlyArray<ScriptedModel.Turn> | (() => ScriptedModel.Turn),
  retry: RetryPolicy.RetryPolicy
) {
  const began = yield* Deferred.make<void>()
  let asked = 0
  const answer = () => {
    Deferred.doneUnsafe(began, Effect.void)
    return typeof condenser === "function" ? condenser() : condenser[asked++]
  }
  const made = yield* Condensing.make(turns, ContextSummary.layer, answer, { agent: { retry } })
  return { ...made, began: Deferred.await(began) }
})

type Made = Effect.Success<ReturnType<typeof make>>

const run = (made: Made) => Overflows.run(made, { history: history(12) })

/** A run under way, once its condensing model has been asked. */
const begun = Effect.fnUntraced(function*(made: Made) {
  const running = yield* Effect.forkChild(run(made))
  yield* made.began
  return running
})

const times = (asked: Condensing.Condensing["asked"]) => Effect.map(asked, ({ length }) => length)

const lossesOf = (log: ReadonlyArray<RunEvent.Durable>) => {
  const { lostTime, retries } = log.reduce(RunState.evolve, RunState.empty)
  return { retries, lostTime }
}

const messageOf = (log: ReadonlyArray<RunEvent.Durable>) => RunLog.only(log, "CompactionDiscarded")[0]?.message

describe("a condensing model that fails", () => {
  it.effect("is asked no more often than maxRunRetries allows, and the log names the option", () =>
    Effect.gen(function*() {
      const policy = RetryPolicy.make({ base: 0, maxRunRetries: 1 })
      const made = yield* make([overflow], () => busy, policy)
      const { end, log } = yield* run(made)
      assert.strictEqual(end, "RunFailed(ContextOverflow)")
      assert.strictEqual(yield* times(made.asked), 2)
      assert.strictEqual(
        messageOf(log),
        "the summary could not be made by test/condenser: the model call failed 2 times, and the run has used up the " +
          "retries that maxRunRetries of its retry policy allows; last: busy"
      )
      assert.strictEqual(lossesOf(log).retries, 1)
    }))

  it.effect("is not asked again by a run whose turns have used up its retries", () =>
    Effect.gen(function*() {
      const policy = RetryPolicy.make({ base: 0, maxRunRetries: 1 })
      const made = yield* make([busy, overflow], () => busy, policy)
      yield* run(made)
      assert.strictEqual(yield* times(made.asked), 1)
    }))

  it.effect("uses up retries that the run's turns then lack", () =>
    Effect.gen(function*() {
      const policy = RetryPolicy.make({ base: 0, maxRunRetries: 1 })
      const made = yield* make([overflow, busy], [busy, summary], policy)
      const { end, log, requests } = yield* run(made)
      assert.deepStrictEqual([end, requests.length], ["RunFailed(RetriesExhausted)", 2])
      assert.deepStrictEqual(RunLog.only(log, "ContextCompacted")[0]?.lost, { retries: 1, lostTime: 0 })
    }))

  it.effect("uses up retries for all drives of its run, by the log", () =>
    Effect.gen(function*() {
      const policy = RetryPolicy.make({ base: 0, maxRetries: 1, maxRunRetries: 1 })
      const made = yield* make([overflow, overflow], () => busy, policy)
      yield* run(made)
      assert.strictEqual(yield* times(made.asked), 2)
      yield* Effect.exit(Stream.runDrain(made.agent.resume({ sessionId: "s" })))
      assert.strictEqual(yield* times(made.asked), 3)
      assert.strictEqual(lossesOf(yield* made.store.log("s")).retries, 1)
    }))

  it.effect("loses no more of its run's time than maxRunTime allows: attempts and waits", () =>
    Effect.gen(function*() {
      const policy = RetryPolicy.make({ maxRetries: 9, maxRunTime: "9 seconds" })
      const slow = [ScriptedModel.delay("1 second"), Overloaded.fail(3000)]
      const made = yield* make([overflow], () => slow, policy)
      const running = yield* begun(made)
      for (const seconds of [1, 3, 1, 3, 1]) yield* TestClock.adjust(`${seconds} seconds`)
      const { log } = yield* Fiber.join(running)
      assert.strictEqual(yield* times(made.asked), 3)
      assert.include(messageOf(log), "has lost all the time to failures that maxRunTime of its retry policy allows")
      assert.deepStrictEqual(lossesOf(log), { retries: 2, lostTime: 9000 })
    }))

  it.effect("is not asked again by a run that may lose no time", () =>
    Effect.gen(function*() {
      const made = yield* make([overflow], () => busy, RetryPolicy.make({ maxRunTime: 0 }))
      yield* run(made)
      assert.strictEqual(yield* times(made.asked), 1)
    }))

  it.effect("is asked again when it said so, and no sooner", () =>
    Effect.gen(function*() {
      const made = yield* make([overflow, ok], [Overloaded.fail(7000), summary], RetryPolicy.make())
      const running = yield* begun(made)
      yield* TestClock.adjust("6999 millis")
      assert.strictEqual(yield* times(made.asked), 1)
      yield* TestClock.adjust("1 millis")
      const { end, log } = yield* Fiber.join(running)
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(lossesOf(log), { retries: 1, lostTime: 7000 })
    }))

  it.effect("is not waited for if it asks for more time than maxRetryAfter allows", () =>
    Effect.gen(function*() {
      const made = yield* make(
        [overflow],
        [[ScriptedModel.delay("1 second"), Overloaded.fail(61_000)]],
        RetryPolicy.make()
      )
      const running = yield* begun(made)
      yield* TestClock.adjust("1 second")
      const { log } = yield* Fiber.join(running)
      assert.include(messageOf(log), "asks for a longer wait than maxRetryAfter of the retry policy allows; last: busy")
    }))

  it.effect("does not hold up an abort while it is waited for, and the wait counts", () =>
    Effect.gen(function*() {
      const made = yield* make([overflow], [Overloaded.fail(7000)], RetryPolicy.make())
      const live = yield* made.agent.start({ sessionId: "s", input: "go", history: history(12) })
      yield* made.began
      yield* TestClock.adjust("1 second")
      yield* live.abort
      yield* live.result
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
      assert.deepStrictEqual(lossesOf(log), { retries: 1, lostTime: 7000 })
    }))
})

describe("a condensing model that says nothing", () => {
  it.effect("is asked once more", () =>
    Effect.gen(function*() {
      const made = yield* make([overflow], () => ScriptedModel.text(" "), RetryPolicy.make({ base: 0 }))
      const { end, log } = yield* run(made)
      assert.deepStrictEqual([end, yield* times(made.asked)], ["RunFailed(ContextOverflow)", 2])
      assert.include(messageOf(log), "the model's answer was empty")
      assert.strictEqual(lossesOf(log).retries, 1)
    }))

  it.effect("is not asked again by a run that has no retries left", () =>
    Effect.gen(function*() {
      const made = yield* make([overflow], () => ScriptedModel.text(" "), RetryPolicy.make({ maxRunRetries: 0 }))
      yield* run(made)
      assert.strictEqual(yield* times(made.asked), 1)
    }))
})

describe("a compaction by hand", () => {
  it.effect("counts against no run, and what runs have lost does not bind it", () =>
    Effect.gen(function*() {
      const policy = RetryPolicy.make({ base: 0, maxRunRetries: 1 })
      const made = yield* make([busy, ok], [busy, summary], policy)
      yield* run(made)
      yield* made.agent.compact("s")
      assert.strictEqual(yield* times(made.asked), 2)
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.strictEqual(RunLog.only(log, "ContextCompacted")[0]?.lost?.retries, 1)
      assert.strictEqual(lossesOf(log).retries, 1)
    }))

  it.effect("is bounded as a run is", () =>
    Effect.gen(function*() {
      const made = yield* make([ok], () => busy, RetryPolicy.make({ base: 0, maxRunRetries: 1 }))
      yield* run(made)
      yield* Effect.flip(made.agent.compact("s"))
      assert.strictEqual(yield* times(made.asked), 2)
      assert.strictEqual(lossesOf(yield* made.store.log("s")).retries, 0)
    }))
})
