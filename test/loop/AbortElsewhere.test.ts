/** An abort of a run that lives elsewhere: by its session, through whoever has that session. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as RunError from "../../src/run/RunError.ts"
import * as Runs from "../../src/services/Runs.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

/** A run that waits for its model, and an agent that knows of no run except through the store. */
const elsewhere = Effect.gen(function*() {
  const gate = yield* ScriptedModel.makeGate
  const there = yield* TestAgent.make([[ScriptedModel.text("hello"), ScriptedModel.gate(gate)]])
  const run = yield* there.agent.start({ sessionId: "s", runId: "r", input: "hello" })
  yield* gate.started
  const { agent } = yield* TestAgent.make([ScriptedModel.text("on")], { store: there.store })
  return { agent, gate, run, store: there.store, there }
})

/** Another agent's store, with some methods replaced. */
const with_ = (store: TestStore.TestStore, service: Partial<TestStore.TestStore["service"]>) =>
  TestStore.over({ ...store.service, ...service })

describe("an abort of a run that lives elsewhere", () => {
  it.effect("ends the run there, and returns when the end is in the log", () =>
    Effect.gen(function*() {
      const { agent, run, store } = yield* elsewhere
      yield* agent.abort("s")
      const log = yield* store.log("s")
      assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
      assert.lengthOf(RunLog.only(log, "RunResumed"), 0)
      assert.deepInclude(yield* run.result, { _tag: "Aborted", reason: "requested" })
      assert.strictEqual((yield* agent.run({ sessionId: "s", input: "on" })).text, "on")
    }))

  it.effect.each(["in another process", "in this process"])(
    "is over when the run ends: a drive that resumes it after that, %s, is not aborted",
    (where) =>
      Effect.gen(function*() {
        const store = yield* TestStore.make()
        const [began, resumed] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
        const runs = Layer.succeed(Runs.Runs, Context.get(yield* Layer.build(RunsLocal.layer), Runs.Runs))
        const there = yield* TestAgent.make([
          [ScriptedModel.text("hello"), ScriptedModel.gate(began)],
          [ScriptedModel.text("on"), ScriptedModel.gate(resumed)]
        ], { store, runs })
        yield* there.agent.start({ sessionId: "s", input: "hello" })
        yield* began.started
        // the abort looks only once somebody has resumed the run
        let looks = 0
        const late = with_(store, {
          lastOf: (sessionId, type, runId) => {
            const isLate = type === "RunStarted" && ++looks > (where === "in this process" ? 0 : 1)
            return Effect.andThen(isLate ? resumed.started : Effect.void, store.service.lastOf(sessionId, type, runId))
          }
        })
        const here = yield* TestAgent.make([], where === "in this process" ? { store: late, runs } : { store: late })
        const aborting = yield* Effect.forkChild(here.agent.abort("s"))
        const ended = store.service.watch("s").pipe(
          Stream.filter((event) => event._tag === "RunAborted"),
          Stream.take(1)
        )
        yield* Stream.runDrain(ended)
        const on = yield* Effect.retry(there.agent.resumeStart({ sessionId: "s" }), { schedule: Schedule.forever })
        yield* resumed.started
        yield* Fiber.join(aborting)
        yield* resumed.release
        assert.strictEqual((yield* on.result)._tag, "Completed")
      })
  )

  it.effect("succeeds when the run ends by itself before anybody is asked", () =>
    Effect.gen(function*() {
      const { gate, run, store, there } = yield* elsewhere
      const asked = yield* Deferred.make<void>()
      const late = with_(store, {
        askToAbort: (sessionId, runId) =>
          Effect.gen(function*() {
            yield* gate.release
            yield* Effect.exit(run.result)
            yield* there.close
            return yield* Effect.ensuring(
              store.service.askToAbort!(sessionId, runId),
              Deferred.succeed(asked, undefined)
            )
          })
      })
      const { agent } = yield* TestAgent.make([], { store: late })
      const aborting = yield* Effect.forkChild(agent.abort("s"))
      yield* Deferred.await(asked)
      yield* TestClock.adjust("100 millis")
      yield* Fiber.join(aborting)
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunCompleted(stop)")
    }))

  it.effect("returns when the session is removed meanwhile", () =>
    Effect.gen(function*() {
      const { gate, run, store, there } = yield* elsewhere
      const [watching, removed] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const gone = Effect.andThen(
        Deferred.succeed(watching, undefined),
        Effect.andThen(Deferred.await(removed), Effect.fail(RunError.sessionNotFound("s")))
      )
      // it hears nothing, not even the end
      const deaf = with_(store, { askToAbort: () => Effect.succeed(true), watch: () => Stream.fromEffect(gone) })
      const { agent } = yield* TestAgent.make([], { store: deaf })
      const aborting = yield* Effect.forkChild(agent.abort("s"))
      yield* Deferred.await(watching)
      yield* gate.release
      yield* run.result
      yield* there.close
      yield* store.service.remove("s")
      yield* Deferred.succeed(removed, undefined)
      yield* Fiber.join(aborting)
    }))

  it.effect("returns to each of several callers at once, and ends the run once", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* elsewhere
      yield* Effect.all([agent.abort("s"), agent.abort("s"), agent.abort("s")], { concurrency: "unbounded" })
      assert.lengthOf(RunLog.only(yield* store.log("s"), "RunAborted"), 1)
    }))

  it.effect("ends the run it finds when the process was shut down before it heard the request", () =>
    Effect.gen(function*() {
      const { agent, store, there } = yield* elsewhere
      // nobody hears the request: the run stops first
      const asked = yield* Deferred.make<void>()
      const deaf = with_(store, { askToAbort: () => Effect.as(Deferred.succeed(asked, undefined), true) })
      const other = yield* TestAgent.make([], { store: deaf })
      const aborting = yield* Effect.forkChild(other.agent.abort("s"))
      yield* Deferred.await(asked)
      yield* there.close
      yield* TestClock.adjust("100 millis")
      yield* Fiber.join(aborting)
      const ends = RunLog.only(yield* store.log("s"), "RunAborted").map(({ reason }) => reason)
      assert.deepStrictEqual(ends, ["shutdown", "requested"])
      assert.deepStrictEqual(yield* agent.recover(), { runs: [], refused: [] })
    }))

  it.effect("ends the run itself when its process dies before hearing the request", () =>
    Effect.gen(function*() {
      const { store } = yield* elsewhere
      let isDead = false
      const deaf = with_(store, {
        askToAbort: () => Effect.succeed(true),
        open: (sessionId, options) => store.service.open(sessionId, { ...options, takeOver: isDead })
      })
      const { agent } = yield* TestAgent.make([], { store: deaf })
      const aborting = yield* Effect.forkChild(agent.abort("s"))
      yield* TestClock.adjust("3 seconds")
      isDead = true
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(aborting)
      const log = yield* store.log("s")
      assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
      assert.lengthOf(RunLog.only(log, "RunResumed"), 1)
    }))

  it.effect("ends the run where somebody who does not drive it has the session for a moment, as an answer does", () =>
    Effect.gen(function*() {
      const { agent: asking, store } = yield* TestAgent.make([TestAgent.work(1)], {
        agent: { toolPolicy: { requireApprovalByDefault: true } }
      })
      yield* asking.run({ sessionId: "s", runId: "r", input: "go" })
      const asked = yield* Deferred.make<void>()
      const noting = with_(store, {
        askToAbort: (sessionId, runId) =>
          Effect.ensuring(store.service.askToAbort!(sessionId, runId), Deferred.succeed(asked, undefined))
      })
      const { agent } = yield* TestAgent.make([], { store: noting })
      const held = Effect.andThen(store.service.open("s", { runId: "r", create: false }), Effect.sleep("50 millis"))
      yield* Effect.forkChild(Effect.scoped(held), { startImmediately: true })
      const aborting = yield* Effect.forkChild(agent.abort("s"))
      yield* Deferred.await(asked)
      yield* TestClock.adjust("100 millis")
      yield* Fiber.join(aborting)
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(requested)")
    }))

  it.effect("leaves the next run alone", () =>
    Effect.gen(function*() {
      const { gate, run, store, there } = yield* elsewhere
      const asked = yield* Deferred.make<void>()
      const next = yield* ScriptedModel.makeGate
      // the request arrives when another run has begun there
      const late = with_(store, {
        askToAbort: (sessionId, runId) =>
          Effect.gen(function*() {
            yield* Deferred.succeed(asked, undefined)
            yield* next.started
            return yield* store.service.askToAbort!(sessionId, runId)
          })
      })
      const { agent } = yield* TestAgent.make([], { store: late })
      const aborting = yield* Effect.forkChild(agent.abort("s"))
      yield* Deferred.await(asked)
      yield* gate.release
      yield* run.result
      const other = yield* TestAgent.make([[ScriptedModel.text("two"), ScriptedModel.gate(next)]], { store })
      const second = yield* other.agent.start({ sessionId: "s", runId: "second", input: "on" })
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(aborting)
      yield* next.release
      assert.strictEqual((yield* second.result)._tag, "Completed")
      assert.lengthOf(RunLog.only(yield* store.log("s"), "RunAborted"), 0)
      yield* there.close
    }))

  it.effect("is refused when nobody can be asked: the store cannot ask, or the session's holder does not listen", () =>
    Effect.gen(function*() {
      const { store } = yield* elsewhere
      const { askToAbort: _, ...without } = store.service
      const scope = yield* Scope.make()
      const { agent } = yield* TestAgent.make([], { store: TestStore.over(without) })
      const refused = Effect.fnUntraced(function*(abort: Effect.Effect<void, RunError.RunError>) {
        const aborting = yield* Effect.forkChild(Effect.flip(abort))
        yield* TestClock.adjust("100 millis")
        assert.strictEqual((yield* Fiber.join(aborting)).reason._tag, "SessionBusy")
      })
      yield* refused(agent.abort("s"))
      const other = yield* TestAgent.make([], { store })
      yield* Scope.provide(store.service.open("s", { runId: "r", create: false, takeOver: true }), scope)
      yield* refused(other.agent.abort("s"))
      assert.lengthOf(RunLog.only(yield* store.log("s"), "RunAborted"), 0)
    }))
})
