/** What is said to a run whose store fails or hangs: an error when it is not known what becomes of it. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const go = { sessionId: "s", runId: "r", input: "go" }

/** A run held in its first answer, on a store that is sound so far. */
const held = Effect.fnUntraced(function*() {
  const gate = yield* ScriptedModel.makeGate
  const made = yield* TestAgent.make([[ScriptedModel.text("one"), ScriptedModel.gate(gate)]])
  const run = yield* made.agent.start(go)
  yield* gate.started
  return { ...made, gate, run }
})

/** What a resume in another process makes of it, when there is something to resume. */
const resumed = Effect.fnUntraced(function*(store: TestStore.TestStore) {
  const later = yield* TestAgent.make(() => ScriptedModel.text("later"), { store })
  yield* Effect.exit(Stream.runDrain(later.agent.resume({ sessionId: "s" })))
  return (yield* later.script.requests).map(Steering.said)
})

describe("a store that fails", () => {
  it.effect("to accept an input ends the run, and nothing of the input is ever delivered", () =>
    Effect.gen(function*() {
      const { run, store } = yield* held()
      store.onAppend = TestStore.failingOnce()
      assert.strictEqual((yield* Effect.flip(run.steer("shorter"))).reason._tag, "StoreUnavailable")
      assert.strictEqual((yield* Effect.flip(run.result)).reason._tag, "StoreUnavailable")
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunFailed(StoreUnavailable)")
      assert.deepStrictEqual(yield* resumed(store), [["go"]])
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("permanently leaves nothing of the input", () =>
    Effect.gen(function*() {
      const { run, store } = yield* held()
      store.onAppend = () => Effect.fail(TestStore.unavailable)
      assert.strictEqual((yield* Effect.flip(run.steer("shorter"))).reason._tag, "StoreUnavailable")
      yield* Effect.exit(run.result)
      store.onAppend = ({ store }) => store
      assert.deepStrictEqual(yield* resumed(store), [["go"]])
    }))

  it.effect("to take the end fails the waiting sender, and a resume delivers the input", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* held()
      const fiber = yield* Effect.flatMap(run.queue("steer", "shorter"), Effect.forkChild)
      store.onAppend = () => Effect.fail(TestStore.unavailable)
      yield* gate.release
      assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason._tag, "StoreUnavailable")
      store.onAppend = ({ store }) => store
      assert.deepStrictEqual(yield* resumed(store), [["go+shorter"]])
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("once, in the delivering write, leaves the sender with the answer the log has in the end", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* held()
      const fiber = yield* Effect.flatMap(run.queue("steer", "shorter"), Effect.forkChild)
      store.onAppend = TestStore.failingOnce()
      yield* gate.release
      assert.deepStrictEqual(yield* Fiber.join(fiber), { _tag: "Delivered", turn: 2 })
      yield* Effect.exit(run.result)
      const log = yield* store.log("s")
      assert.deepStrictEqual(Steering.received(log), ["steer: shorter"])
      assert.strictEqual(RunLog.endOf(log), "RunFailed(StoreUnavailable)")
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("but has stored the input is believed: the log keeps that once, and it is never delivered", () =>
    Effect.gen(function*() {
      const { run, store } = yield* held()
      const n = store.appends.length + 1
      store.onAppend = TestStore.lying((at) => at === n)
      assert.strictEqual((yield* Effect.flip(run.steer("shorter"))).reason._tag, "StoreUnavailable")
      yield* Effect.exit(run.result)
      assert.deepStrictEqual(yield* resumed(store), [["go"]])
      const log = yield* store.log("s")
      assert.deepStrictEqual([Steering.queued(log), Steering.received(log)], [["steer: shorter"], []])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))
})

describe("a store that is stuck", () => {
  it.effect("accepting an input delays neither an interruption of its sender nor an abort", () =>
    Effect.gen(function*() {
      const { run, store } = yield* held()
      const reached = yield* Deferred.make<void>()
      store.onAppend = () => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
      const fiber = yield* Effect.forkChild(run.steer("shorter"))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      const aborting = yield* Effect.forkChild(run.abort)
      yield* TestClock.adjust("20 seconds")
      yield* Fiber.join(aborting)
    }))

  it.effect("taking the end fails the waiting sender", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* held()
      const fiber = yield* Effect.flatMap(run.queue("steer", "shorter"), Effect.forkChild)
      const reached = yield* Deferred.make<void>()
      store.onAppend = () => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
      yield* gate.release
      yield* Deferred.await(reached)
      const aborting = yield* Effect.forkChild(run.abort)
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.join(aborting)
      assert.strictEqual((yield* Effect.flip(Fiber.join(fiber))).reason._tag, "StoreUnavailable")
    }))
})

describe("an input that is more than an event holds", () => {
  it.effect("is refused, and the run continues without it", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* held()
      const error = yield* Effect.flip(run.steer("x".repeat(SessionStore.maxContentBytes)))
      assert.strictEqual(error.reason._tag, "EventTooLarge")
      yield* gate.release
      assert.strictEqual((yield* run.result)._tag, "Completed")
      assert.deepStrictEqual(Steering.queued(yield* store.log("s")), [])
    }))
})

describe("an answer that a store cannot hold", () => {
  it.effect("takes the input queued after it along: it is not delivered", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* held()
      const fiber = yield* Effect.flatMap(run.queue("steer", "shorter"), Effect.forkChild)
      const isTooLarge = (event: RunEvent.Durable) => event._tag === "AssistantMessage"
      store.onAppend = ({ events, store }) =>
        events.some(isTooLarge) ? Effect.fail(RunError.tooLarge("an event", 999, 200)) : store
      yield* gate.release
      const delivery = yield* Fiber.join(fiber)
      assert.deepStrictEqual(delivery._tag === "NotDelivered" && delivery.reason, "failed")
      assert.strictEqual((yield* Effect.flip(run.result)).reason._tag, "EventTooLarge")
      const log = yield* store.log("s")
      assert.deepStrictEqual(Steering.received(log), [])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))
})
