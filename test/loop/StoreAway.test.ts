/**
 * Runs that failed since their store did not answer, where it had come back by the time of their end: nobody wanted that, so they go on
 * as those do that ended with their process.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const go = { sessionId: "s", runId: "r", input: "go" }
/** the session and the run that work for its first call */
const below = "root//1.0"
const away = "RunFailed(StoreUnavailable)"

const has = (tag: RunEvent.Durable["_tag"]) => (events: TestStore.Batch) => events.some(({ _tag }) => _tag === tag)

/** Fails the first append that has an event of this type; nothing of it is stored. */
const failOnce = (store: TestStore.TestStore, tag: RunEvent.Durable["_tag"]) => {
  let isDown = true
  store.onAppend = ({ events, store }) => {
    if (!isDown || !has(tag)(events)) return store
    isDown = false
    return Effect.fail(TestStore.unavailable)
  }
}

/** A store that was away for the append of the first event of this type, and what the run's model and tools had done by then. */
const left = Effect.fnUntraced(function*(tag: RunEvent.Durable["_tag"], turns: ReadonlyArray<ScriptedModel.Turn>) {
  const store = yield* TestStore.make()
  failOnce(store, tag)
  const done: Array<number> = []
  const tool: TestAgent.Handler = ({ n }) => Effect.sync(() => `done ${done.push(n)}`)
  const { agent } = yield* TestAgent.make(turns, { store, tool })
  assert.strictEqual((yield* Effect.flip(agent.run(go))).reason._tag, "StoreUnavailable")
  assert.strictEqual(RunLog.endOf(yield* store.log("s")), away)
  return { store, done }
})

/** How its runs ended, by what a later process makes of them. */
const ends = (store: TestStore.TestStore) =>
  Effect.map(store.log("s"), (log) => {
    assert.deepStrictEqual(RunLog.violations(log), [])
    return log.filter(RunEvent.isEnd).map((end) => RunLog.endOf([end]))
  })

/** What a process leaves that died while the store had ended the run below its call. */
const leftBelow = Effect.gen(function*() {
  const failed = yield* Deferred.make<void>()
  const handler: Family.Handler = (agent, plan, call) =>
    Effect.catch(Family.run(agent, plan, call), () => Effect.andThen(Deferred.succeed(failed, undefined), Effect.never))
  const { agent, store } = yield* Family.make({ handler })
  store.onAppend = ({ events, store }) =>
    events[0].runId === below && has("AssistantMessage")(events) && !has("RunFailed")(events)
      ? Effect.fail(TestStore.unavailable)
      : store
  yield* agent.start({ runId: "root", input: JSON.stringify({ turns: [[{ turns: [[{}]] }]] }) })
  yield* Deferred.await(failed)
  assert.strictEqual(RunLog.endOf(yield* store.log(below)), away)
  return yield* Family.leftBy(store)
})

describe("a run that its store ended", () => {
  it.effect("is taken up, without asking again for an answer that had come", () =>
    Effect.gen(function*() {
      const { done, store } = yield* left("AssistantMessage", [TestAgent.work(1)])
      assert.strictEqual((yield* store.service.info("s"))?.end, undefined)
      const later = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      const { refused, runs: [run] } = yield* later.agent.recover()
      assert.deepStrictEqual(refused, [])
      assert.strictEqual((yield* run!.result).text, "done")
      // the intent of its call was not stored, so the call was not made, and the model is told
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Interrupted"])
      assert.deepStrictEqual(done, [])
      assert.deepStrictEqual(yield* ends(store), [away, "RunCompleted(stop)"])
      assert.deepStrictEqual((yield* later.agent.recover()).runs, [])
    }))

  it.effect("is taken up, without a second call of a tool whose result had come", () =>
    Effect.gen(function*() {
      const { done, store } = yield* left("ToolSettled", [TestAgent.work(1)])
      const later = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      const { runs: [run] } = yield* later.agent.recover()
      yield* run!.result
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Succeeded"])
      assert.deepStrictEqual(done, [1])
    }))

  it.effect("goes on by the same request sent again", () =>
    Effect.gen(function*() {
      const { store } = yield* left("TurnFinished", [TestAgent.work(1)])
      const later = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      assert.strictEqual((yield* later.agent.run(go)).text, "done")
      assert.strictEqual((yield* later.agent.run(go)).text, "done")
      assert.deepStrictEqual(yield* ends(store), [away, "RunCompleted(stop)"])
    }))

  it.effect("is not taken up once somebody has aborted it", () =>
    Effect.gen(function*() {
      const { store } = yield* left("TurnStarted", [])
      const later = yield* TestAgent.make([], { store })
      yield* later.agent.abort("s")
      assert.deepStrictEqual((yield* later.agent.recover()).runs, [])
      assert.deepStrictEqual(yield* ends(store), [away, "RunAborted(requested)"])
    }))

  it.effect("does not go on in a fork", () =>
    Effect.gen(function*() {
      const { store } = yield* left("TurnStarted", [])
      yield* store.service.fork("s", { to: "copy" })
      const later = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      const { runs } = yield* later.agent.recover()
      assert.deepStrictEqual(runs.map(({ sessionId }) => sessionId), ["s"])
      assert.strictEqual(RunLog.endOf(yield* store.log("copy")), "RunAborted(forked)")
    }))

  it.effect("again and again is taken up after ever longer waits, until it is ended instead", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      store.onAppend = ({ events, store }) =>
        has("TurnStarted")(events) && !has("RunFailed")(events) ? Effect.fail(TestStore.unavailable) : store
      const { agent } = yield* TestAgent.make([], { store })
      yield* Effect.flip(agent.run(go))
      for (const minutes of [0, 1, 4, 16]) {
        if (minutes > 0) {
          yield* TestClock.adjust(minutes * 60_000 - 1)
          assert.lengthOf((yield* agent.recover()).runs, 0)
          yield* TestClock.adjust(1)
        }
        const { runs: [run] } = yield* agent.recover()
        yield* Effect.flip(run!.result)
      }
      yield* TestClock.adjust("64 minutes")
      const { runs: [run] } = yield* agent.recover()
      assert.strictEqual((yield* run!.result)._tag, "Limited")
      assert.deepStrictEqual(yield* ends(store), [...Array(5).fill(away), "RunLimited(crashLoop)"])
      assert.deepStrictEqual((yield* agent.recover()).runs, [])
    }))

  it.effect("and that works for a call goes on when the call is made again", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* Family.make({ store: yield* leftBelow })
      const { runs } = yield* agent.recover()
      assert.deepStrictEqual(runs.map(({ sessionId }) => sessionId), ["root"])
      yield* runs[0]!.result
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("root")), ["1.0 Succeeded"])
      assert.strictEqual(RunLog.endOf(yield* store.log(below)), "RunCompleted(stop)")
    }))

  it.effect("and that works for a call can be aborted before that", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* Family.make({ store: yield* leftBelow })
      yield* agent.abort(below)
      yield* agent.resumeRun({ sessionId: "root" })
      assert.strictEqual(RunLog.endOf(yield* store.log(below)), "RunAborted(requested)")
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("root")), ["1.0 Failed"])
    }))
})

describe("what was said to it", () => {
  /** A run held in its first answer, which two messages wait for: the second once the store is away. */
  const told = Effect.fnUntraced(function*() {
    const gate = yield* ScriptedModel.makeGate
    const made = yield* TestAgent.make([[ScriptedModel.text("one"), ScriptedModel.gate(gate)]])
    const run = yield* made.agent.start(go)
    yield* gate.started
    const first = yield* Effect.flatMap(run.queue("steer", "shorter"), Effect.forkChild)
    failOnce(made.store, "InputQueued")
    const second = yield* Effect.flip(run.steer("longer"))
    yield* Effect.exit(run.result)
    return { first: yield* Fiber.join(first), second, store: made.store }
  })

  it.effect("waits until it goes on, and what was refused does not", () =>
    Effect.gen(function*() {
      const { first, second, store } = yield* told()
      assert.strictEqual(first._tag, "Kept")
      if (first._tag === "Kept") {
        assert.match(first.explain, /^The store did not answer before the message was delivered/)
      }
      assert.strictEqual(second.reason._tag, "StoreUnavailable")
      const later = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      const { runs: [run] } = yield* later.agent.recover()
      yield* run!.result
      assert.deepStrictEqual((yield* later.script.requests).map(Steering.said), [["go+shorter"]])
      assert.deepStrictEqual(yield* ends(store), [away, "RunCompleted(stop)"])
    }))

  it.effect("comes before the next message, where there is one first", () =>
    Effect.gen(function*() {
      const { store } = yield* told()
      const later = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      yield* later.agent.run({ sessionId: "s", input: "and now?" })
      assert.deepStrictEqual((yield* later.script.requests).map(Steering.said), [
        ["go", "(Your answer was cut off here.)+shorter+and now?"]
      ])
      yield* ends(store)
    }))
})
