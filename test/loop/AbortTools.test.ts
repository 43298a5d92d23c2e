/** Guarantee 5 for tools: cooperative handlers are finalized, others are left behind after the grace period and named. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import { Grace } from "../../src/services/Grace.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

/** A handler that cannot be interrupted until it is released. */
const stuckTool = Effect.sync(() => {
  const started = Deferred.makeUnsafe<void>()
  const released = Deferred.makeUnsafe<void>()
  const ended = Deferred.makeUnsafe<void>()
  const tool: TestAgent.Handler = () =>
    Deferred.succeed(started, undefined).pipe(
      Effect.andThen(Deferred.await(released)),
      Effect.andThen(Deferred.succeed(ended, undefined)),
      Effect.as("done after all"),
      Effect.uninterruptible
    )
  return {
    tool,
    started: Deferred.await(started),
    release: Deferred.succeed(released, undefined),
    ended: Deferred.await(ended)
  }
})

const end = (log: ReadonlyArray<RunEvent.RunEvent>) => RunLog.only(log, "RunAborted")[0]

describe("a handler that ignores its interruption", () => {
  for (
    const [name, outcome] of [["work", "OutcomeUnknown"], ["look", "Interrupted"], ["again", "Interrupted"]] as const
  ) {
    it.effect(`is left behind after the grace period; the outcome of "${name}" is ${outcome}`, () =>
      Effect.gen(function*() {
        const stuck = yield* stuckTool
        const made = yield* TestAgent.make([ScriptedModel.call(name, { n: 1 }), ScriptedModel.text("hello")], {
          tool: stuck.tool
        })
        const run = yield* made.agent.start({ sessionId: "s", input: "go" })
        yield* stuck.started
        const aborting = yield* Effect.forkChild(run.abort)
        yield* TestClock.adjust("4999 millis")
        assert.isUndefined(aborting.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        yield* Fiber.join(aborting)
        const log = yield* made.store.log("s")
        assert.deepStrictEqual(RunLog.violations(log), [])
        assert.deepStrictEqual(RunLog.outcomes(log), [`1.0 ${outcome}`])
        assert.deepStrictEqual(end(log)?.leftBehind, [name])

        const answer = yield* made.agent.run({ sessionId: "s", input: "hello?" })
        assert.strictEqual(answer._tag, "Completed")
        const before = yield* made.store.log("s")
        yield* stuck.release
        yield* stuck.ended
        assert.deepStrictEqual(yield* made.store.log("s"), before)
      }))
  }

  it.effect("does not keep its siblings from being finalized", () =>
    Effect.gen(function*() {
      const stuck = yield* stuckTool
      let finalized = 0
      const other = yield* Deferred.make<void>()
      const made = yield* TestAgent.make([[TestAgent.work(1, "a"), TestAgent.work(2, "b"), TestAgent.work(3, "c")]], {
        agent: { toolPolicy: { maxParallel: 2 } },
        tool: (params) =>
          params.n === 1 ? stuck.tool(params) : Deferred.succeed(other, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => Effect.sync(() => finalized++))
          )
      })
      const run = yield* made.agent.start({ sessionId: "s", input: "go" })
      yield* stuck.started
      yield* Deferred.await(other)
      const aborting = yield* Effect.forkChild(run.abort)
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(aborting)
      assert.strictEqual(finalized, 1)
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), [
        "1.0 OutcomeUnknown",
        "1.1 Interrupted",
        "1.2 NotExecuted(aborted)"
      ])
      assert.deepStrictEqual(end(log)?.leftBehind, ["work"])
      yield* stuck.release
    }))

  it.effect("is waited for as long as the Grace reference allows", () =>
    Effect.gen(function*() {
      const stuck = yield* stuckTool
      const made = yield* TestAgent.make([TestAgent.work(1)], { tool: stuck.tool })
      const run = yield* made.agent.start({ sessionId: "s", input: "go" }).pipe(
        Effect.provideService(Grace, Duration.seconds(1))
      )
      yield* stuck.started
      const aborting = yield* Effect.forkChild(run.abort)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(aborting)
      assert.deepStrictEqual(end(yield* made.store.log("s"))?.leftBehind, ["work"])
      yield* stuck.release
    }))

  it.effect("is not left behind when it ends within the grace period after all", () =>
    Effect.gen(function*() {
      const stuck = yield* stuckTool
      const made = yield* TestAgent.make([TestAgent.work(1)], { tool: stuck.tool })
      const run = yield* made.agent.start({ sessionId: "s", input: "go" })
      yield* stuck.started
      const aborting = yield* Effect.forkChild(run.abort)
      yield* TestClock.adjust("2 seconds")
      yield* stuck.release
      yield* Fiber.join(aborting)
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Interrupted"])
      assert.isUndefined(end(log)?.leftBehind)
    }))

  it.effect("is left behind when its own time is up, and the run continues", () =>
    Effect.gen(function*() {
      const stuck = yield* stuckTool
      const made = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("never mind")], {
        tool: stuck.tool,
        agent: { timeouts: { tool: "30 seconds" } }
      })
      const run = yield* made.agent.start({ sessionId: "s", input: "go" })
      yield* stuck.started
      yield* TestClock.adjust("35 seconds")
      const result = yield* run.result
      assert.strictEqual(result.text, "never mind")
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 OutcomeUnknown"])
      assert.deepStrictEqual(RunLog.only(log, "RunCompleted")[0]?.leftBehind, ["work"])
      yield* stuck.release
    }))
})

describe("a cooperative handler", () => {
  it.effect("has the whole grace period for its finalizers", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      let cleaned = false
      const made = yield* TestAgent.make([TestAgent.work(1)], {
        tool: () =>
          Deferred.succeed(started, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => Effect.andThen(Effect.sleep("4 seconds"), Effect.sync(() => (cleaned = true))))
          )
      })
      const run = yield* made.agent.start({ sessionId: "s", input: "go" })
      yield* Deferred.await(started)
      const aborting = yield* Effect.forkChild(run.abort)
      yield* TestClock.adjust("4 seconds")
      yield* Fiber.join(aborting)
      assert.isTrue(cleaned)
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Interrupted"])
      assert.isUndefined(end(log)?.leftBehind)
    }))
})

it.effect("a call that was cut off records how long it ran", () =>
  Effect.gen(function*() {
    const started = yield* Deferred.make<void>()
    const { agent, store } = yield* TestAgent.make([TestAgent.work(1)], {
      tool: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
    })
    const run = yield* Effect.forkChild(
      agent.run({ sessionId: "s", input: "go", limits: { maxDuration: "3 seconds" } })
    )
    yield* Deferred.await(started)
    yield* TestClock.adjust("3 seconds")
    yield* Fiber.join(run)
    const settled = RunLog.only(yield* store.log("s"), "ToolSettled")
    assert.deepStrictEqual(settled.map((event) => [event.outcome._tag, event.duration]), [["Interrupted", 3000]])
  }))
