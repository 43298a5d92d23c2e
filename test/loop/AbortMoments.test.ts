/** Aborts at odd moments: before anything is stored, twice, too late, with a store or model that is stuck. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import { Runs } from "../../src/services/Runs.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Aborted from "../support/Aborted.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

describe("an abort", () => {
  it.effect.each<readonly [string, (agent: TestAgent.TestAgent["agent"]) => Effect.Effect<unknown, unknown>]>([
    ["start", (agent) => agent.start({ sessionId: "s", input: "go" })],
    ["stream", (agent) => Stream.runDrain(agent.stream({ sessionId: "s", input: "go" }))]
  ])(
    "before the first append is through, by interrupting %s, leaves nothing or an aborted run",
    ([, begin]) =>
      Effect.gen(function*() {
        const held = TestStore.holding((n) => n === 1)
        const store = yield* TestStore.make(held.onAppend)
        const made = yield* TestAgent.make([ScriptedModel.text("hello")], { store })
        const fiber = yield* Effect.forkChild(begin(made.agent))
        yield* held.reached
        const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
        yield* Effect.yieldNow
        yield* held.release
        yield* Fiber.join(interrupting)
        yield* Aborted.check(made, "consumer", undefined)
        yield* Aborted.answers(made)
      })
  )

  it.effect("by closing the layer before the first append is through ends the run", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((n) => n === 1)
      const store = yield* TestStore.make(held.onAppend)
      const made = yield* TestAgent.make([ScriptedModel.text("hello")], { store })
      const fiber = yield* Effect.forkChild(
        Effect.flatMap(made.agent.start({ sessionId: "s", input: "go" }), (run) => run.result)
      )
      yield* held.reached
      const closing = yield* Effect.forkChild(made.close)
      yield* Effect.yieldNow
      yield* held.release
      yield* Fiber.join(closing)
      const result = yield* Fiber.join(fiber)
      assert.strictEqual(result._tag, "Aborted")
      yield* Aborted.check({ ...made }, "shutdown", undefined)
    }))

  // a grace period for the first append and one for the end that follows it
  it.effect("waits neither for a first append that is stuck nor for ever for the session", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((n) => n === 1)
      const store = yield* TestStore.make(held.onAppend)
      const made = yield* TestAgent.make([ScriptedModel.text("hello")], { store })
      yield* Effect.addFinalizer(() => held.release)
      const fiber = yield* Effect.forkChild(made.agent.run({ sessionId: "s", input: "go" }))
      yield* held.reached
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("10 seconds")
      assert.isDefined(interrupting.pollUnsafe(), "it waits for the append")
      yield* TestClock.adjust("30 seconds")
      yield* Aborted.answers(made)
    }))

  it.effect("after a first event was stored that the store has not confirmed leaves the start of a run", () =>
    Effect.gen(function*() {
      const stored = Deferred.makeUnsafe<void>()
      const confirmed = Deferred.makeUnsafe<void>()
      const store = yield* TestStore.make((append) =>
        append.n > 1
          ? append.store
          : append.store.pipe(
            Effect.andThen(Deferred.succeed(stored, undefined)),
            Effect.andThen(Deferred.await(confirmed))
          )
      )
      const made = yield* TestAgent.make([ScriptedModel.text("hello")], { store })
      yield* Effect.addFinalizer(() => Deferred.succeed(confirmed, undefined))
      const starting = yield* Effect.forkChild(made.agent.start({ sessionId: "s", runId: "r", input: "go" }))
      yield* Deferred.await(stored)
      yield* Effect.forkChild((yield* made.agent.live("r"))!.abort)
      yield* TestClock.adjust("10 seconds")
      assert.isDefined(starting.pollUnsafe(), "its start waits for the store")
      const run = yield* Fiber.join(starting)
      const ending = yield* Effect.forkChild(Effect.flip(run.result), { startImmediately: true })
      assert.isDefined(ending.pollUnsafe(), "its result waits for the store")
      assert.strictEqual((yield* Fiber.join(ending)).reason._tag, "StoreUnavailable")
    }))

  it.effect("of a resuming drive whose first append is stuck stores its end after that append", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some((event) => event._tag === "RunResumed"))
      const store = yield* TestStore.make(held.onAppend)
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("hello")], { store })
      yield* agent.run({ sessionId: "s", input: "go", limits: { maxTurns: 1 } })
      const reading = yield* Effect.forkChild(
        Stream.runDrain(agent.resume({ sessionId: "s", limits: { maxTurns: 9 } }))
      )
      yield* held.reached
      const leaving = yield* Effect.forkChild(Fiber.interrupt(reading))
      yield* TestClock.adjust("5 seconds")
      yield* held.release
      yield* Fiber.join(leaving)
      const last = (yield* store.log("s")).slice(-2)
      assert.deepStrictEqual(last.map(({ _tag }) => _tag), ["RunResumed", "RunAborted"])
    }))

  it.effect("while the session is opening fails the start with a typed error that is not retryable", () =>
    Effect.gen(function*() {
      const memory = yield* SessionStoreMemory.make
      const opening = Deferred.makeUnsafe<void>()
      const open = () => Effect.andThen(Deferred.succeed(opening, undefined), Effect.never)
      const { agent, store } = yield* TestAgent.make([], { store: TestStore.over({ ...memory, open }) })
      const starting = yield* Effect.forkChild(Effect.flip(agent.start({ sessionId: "s", runId: "r", input: "go" })))
      yield* Deferred.await(opening)
      yield* (yield* agent.live("r"))!.abort
      const error = yield* Fiber.join(starting)
      assert.deepStrictEqual([error._tag, error.reason._tag], ["NonRetryableError", "AbortedBeforeStart"])
      assert.include(error.message, "the session is as it was; start the run again")
      assert.deepStrictEqual(yield* store.log("s"), [])
    }))

  it.effect("twice is announced and ended once", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const held = TestStore.holding((_, events) => events.some((event) => event._tag === "AbortRequested"))
      const store = yield* TestStore.make(held.onAppend)
      const made = yield* TestAgent.make([ScriptedModel.gate(gate), ScriptedModel.text("hello")], { store })
      const run = yield* made.agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      const first = yield* Effect.forkChild(run.abort)
      yield* held.reached
      const second = yield* Effect.forkChild(run.abort)
      yield* Effect.yieldNow
      yield* held.release
      yield* Fiber.join(first)
      yield* Fiber.join(second)
      yield* Aborted.check(made, "requested", undefined)
      yield* Aborted.answers(made)
    }))

  it.effect("whose caller leaves during the announcement is carried out all the same", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const held = TestStore.holding((_, events) => events.some((event) => event._tag === "AbortRequested"))
      const store = yield* TestStore.make(held.onAppend)
      const made = yield* TestAgent.make([ScriptedModel.gate(gate), ScriptedModel.text("hello")], { store })
      const run = yield* made.agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      const aborting = yield* Effect.forkChild(run.abort)
      yield* held.reached
      const leaving = yield* Effect.forkChild(Fiber.interrupt(aborting))
      yield* Effect.yieldNow
      yield* held.release
      yield* Fiber.join(leaving)
      assert.strictEqual((yield* run.result)._tag, "Aborted")
      yield* Aborted.check(made, "requested", undefined)
    }))

  it.effect("reaches a run that was started in an uninterruptible region", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const made = yield* TestAgent.make([ScriptedModel.gate(gate), ScriptedModel.text("hello")])
      const running = yield* Effect.forkChild(
        Effect.uninterruptible(made.agent.run({ sessionId: "s", runId: "r", input: "go" }))
      )
      yield* gate.started
      const run = yield* made.agent.live("r")
      yield* run!.abort
      assert.strictEqual((yield* Fiber.join(running))._tag, "Aborted")
      yield* Aborted.check(made, "requested", undefined)
    }))

  it.effect("of a run that has ended does nothing", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([ScriptedModel.text("hello")])
      const run = yield* made.agent.start({ sessionId: "s", input: "go" })
      yield* run.result
      yield* run.abort
      assert.strictEqual(RunLog.endOf(yield* made.store.log("s")), "RunCompleted(stop)")
    }))

  it.effect("whose announcement the store refuses is carried out all the same", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const store = yield* TestStore.make()
      const made = yield* TestAgent.make([ScriptedModel.gate(gate), ScriptedModel.text("hello")], { store })
      const run = yield* made.agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      let refused = 0
      store.onAppend = ({ store }) => refused++ === 0 ? Effect.fail(TestStore.unavailable) : store
      yield* run.abort
      yield* Aborted.check(made, "requested", undefined)
      yield* Aborted.answers(made)
    }))

  it.effect("of a run already being cut off is not announced, and waits for that end", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const stuck: ScriptedModel.Gate = { ...gate, wait: Effect.uninterruptible(gate.wait) }
      const { agent, store } = yield* TestAgent.make([[ScriptedModel.gate(stuck)]])
      yield* Effect.addFinalizer(() => gate.release)
      const stream = agent.stream({ sessionId: "s", runId: "r", input: "go" })
      const reader = yield* Effect.forkChild(Stream.runDrain(stream))
      yield* gate.started
      const run = (yield* agent.live("r"))!
      const leaving = yield* Effect.forkChild(Fiber.interrupt(reader), { startImmediately: true })
      const aborting = yield* Effect.forkChild(run.abort, { startImmediately: true })
      assert.deepStrictEqual(yield* Aborted.overByGrace(aborting), { before: false, after: true })
      yield* Fiber.join(leaving)
      const log = yield* store.log("s")
      assert.strictEqual(RunLog.endOf(log), "RunAborted(consumer)")
      assert.notInclude(RunLog.tags(log), "AbortRequested")
    }))

  it.effect("of a model that cannot be interrupted leaves it behind after the grace period", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const stuck: ScriptedModel.Gate = { ...gate, wait: Effect.uninterruptible(gate.wait) }
      const made = yield* TestAgent.make([
        [ScriptedModel.gate(stuck), ScriptedModel.text("late")],
        ScriptedModel.text("hello")
      ])
      yield* Effect.addFinalizer(() => gate.release)
      const run = yield* made.agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      const aborting = yield* Effect.forkChild(run.abort)
      assert.deepStrictEqual(yield* Aborted.overByGrace(aborting), { before: false, after: true })
      const log = yield* made.store.log("s")
      assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
      yield* gate.release
      yield* gate.closed
      assert.deepStrictEqual(yield* made.store.log("s"), log)
      yield* Aborted.answers(made)
    }))

  it.effect("whose end the store does not take in time fails the run after the grace period", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const held = TestStore.holding((_, events) => events.some(RunEvent.isEnd))
      const made = yield* TestAgent.make([ScriptedModel.gate(gate)], { store: yield* TestStore.make(held.onAppend) })
      const run = yield* made.agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      const aborting = yield* Effect.forkChild(run.abort)
      yield* held.reached
      const isOver = yield* Aborted.overByGrace(aborting)
      yield* held.release
      assert.deepStrictEqual(isOver, { before: false, after: true })
      assert.strictEqual((yield* Effect.flip(run.result)).reason._tag, "StoreUnavailable")
    }))

  it.effect("of a run whose natural end the store does not take returns after the grace period", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some(RunEvent.isEnd))
      const made = yield* TestAgent.make([ScriptedModel.text("hi")], { store: yield* TestStore.make(held.onAppend) })
      const fiber = yield* Effect.forkChild(made.agent.run({ sessionId: "s", input: "go" }))
      yield* held.reached
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
      const hasReturned = yield* Aborted.overByGrace(interrupting)
      yield* held.release
      yield* Fiber.join(interrupting)
      assert.deepStrictEqual(hasReturned, { before: false, after: true })
    }))

  it.effect("whose end the store takes late leaves a session that takes a message after that", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const held = TestStore.holding((_, events) => events.some(RunEvent.isEnd))
      const isAsked = Deferred.makeUnsafe<void>()
      const noting = Layer.effect(
        Runs,
        Effect.map(RunsLocal.make, (runs) => ({
          ...runs,
          start: (...[run, drive]: Parameters<typeof runs.start>) =>
            Effect.andThen(
              Effect.suspend(() => run.runId === "next" ? Deferred.succeed(isAsked, undefined) : Effect.void),
              runs.start(run, drive)
            )
        }))
      )
      const made = yield* TestAgent.make([ScriptedModel.gate(gate), ScriptedModel.text("hello")], {
        store: yield* TestStore.make(held.onAppend),
        runs: noting
      })
      const run = yield* made.agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      yield* Effect.addFinalizer(() => held.release)
      const aborting = yield* Effect.forkChild(run.abort)
      yield* held.reached
      assert.deepStrictEqual(yield* Aborted.overByGrace(aborting), { before: false, after: true })
      const next = yield* Effect.forkChild(made.agent.run({ sessionId: "s", runId: "next", input: "hello?" }))
      yield* Deferred.await(isAsked)
      // whoever completed it runs on first
      yield* Effect.yieldNow
      yield* held.release
      assert.strictEqual((yield* Fiber.join(next))._tag, "Completed")
      const ends = (yield* made.store.log("s")).filter(RunEvent.isEnd)
      assert.deepStrictEqual(ends.map(({ _tag }) => _tag), ["RunAborted", "RunCompleted"])
    }))

  /** A run that is aborted while its store is stuck on its first intent for this long. */
  const stuckFor = Effect.fnUntraced(function*(time: Duration.Input) {
    const held = TestStore.holding((_, events) => events.some((event) => event._tag === "ToolStarted"))
    let ran = 0
    const { agent, store } = yield* TestAgent.make([TestAgent.work(1)], {
      store: yield* TestStore.make(held.onAppend),
      tool: () => Effect.sync(() => `${ran++}`)
    })
    const run = yield* agent.start({ sessionId: "s", input: "go" })
    yield* held.reached
    const aborting = yield* Effect.forkChild(run.abort)
    yield* TestClock.adjust(time)
    const hasReturned = aborting.pollUnsafe() !== undefined
    yield* held.release
    yield* Fiber.join(aborting)
    assert.strictEqual(ran, 0)
    return { hasReturned, result: run.result, log: store.log("s") }
  })

  // a grace period each for the announcement and the end, two for the turns
  it.effect("of a run whose store is stuck returns after at most four grace periods", () =>
    Effect.gen(function*() {
      const { hasReturned, log, result } = yield* stuckFor("20 seconds")
      assert.isTrue(hasReturned, "the abort waits for the store for ever")
      assert.strictEqual((yield* Effect.flip(result)).reason._tag, "StoreUnavailable")
      assert.deepStrictEqual(RunLog.violations(yield* log, true), [])
    }))

  it.effect("of a run whose store recovers within that time is stored, and returned as an abort", () =>
    Effect.gen(function*() {
      const { log, result } = yield* stuckFor("19 seconds")
      assert.strictEqual((yield* result)._tag, "Aborted")
      assert.strictEqual(RunLog.endOf(yield* log), "RunAborted(requested)")
      assert.deepStrictEqual(RunLog.violations(yield* log), [])
    }))
})
