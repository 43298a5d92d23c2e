/** An abort that was accepted ends its run, whatever else the run comes to meanwhile. */
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Fixtures from "../../src/testing/sessions/Fixtures.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

/** Holds the write of an event of this type. */
const holding = (type: RunEvent.Durable["_tag"]) =>
  TestStore.holding((_, events) => events.some(({ _tag }) => _tag === type))

it.effect("a run that comes to wait for people before its abort is carried out ends aborted, and nobody goes on with it", () =>
  Effect.gen(function*() {
    const question = holding("ApprovalRequested")
    const store = yield* TestStore.make(question.onAppend)
    const { agent, ran } = yield* Approvals.make([TestAgent.work(1), ScriptedModel.text("ok")], { store })
    const run = yield* agent.start({ sessionId: "s", runId: "r", input: "go" })
    yield* question.reached
    const aborting = yield* Effect.forkChild(run.abort, { startImmediately: true })
    const abort = holding("AbortRequested")
    store.onAppend = abort.onAppend
    yield* question.release
    yield* abort.reached
    yield* Fixtures.idle
    yield* abort.release
    yield* Fiber.join(aborting)
    assert.strictEqual((yield* run.result)._tag, "Aborted")
    const { runs } = yield* agent.recover({ answered: true })
    assert.deepStrictEqual([runs.length, ran], [0, []])
    const log = yield* store.log("s")
    assert.deepStrictEqual([RunLog.endOf(log), RunLog.outcomes(log)], ["RunAborted(requested)", [
      "1.0 NotExecuted(aborted)"
    ]])
    assert.deepStrictEqual(RunLog.violations(log), [])
  }))

it.effect("a run that is aborted while a shutdown waits for its tool is not taken up by another process", () =>
  Effect.gen(function*() {
    const reached = yield* Deferred.make<void>()
    const { agent, close, store } = yield* TestAgent.make([TestAgent.look(1)], {
      tool: () =>
        Deferred.succeed(reached, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Effect.sleep("2 seconds"))
        )
    })
    const run = yield* agent.start({ sessionId: "s", runId: "r", input: "go" })
    yield* Deferred.await(reached)
    const closing = yield* Effect.forkChild(close, { startImmediately: true })
    yield* TestClock.adjust("1 second")
    const aborting = yield* Effect.forkChild(run.abort, { startImmediately: true })
    yield* TestClock.adjust("10 seconds")
    yield* Fiber.join(aborting)
    yield* Fiber.join(closing)
    assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(requested)")
    const next = yield* TestAgent.make([ScriptedModel.text("on")], { store })
    assert.deepStrictEqual((yield* next.agent.recover()).runs, [])
  }))
