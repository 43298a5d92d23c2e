/** Aborts of runs that are about to end for another reason, with which somebody would go on unasked. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Aborted from "../support/Aborted.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

describe("an abort that is stored while the run comes to wait for people", () => {
  /** The store takes its time over the question, and then over the abort. */
  const aborted = Effect.gen(function*() {
    const question = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "ApprovalRequested"))
    const store = yield* TestStore.make(question.onAppend)
    const made = yield* Approvals.make([TestAgent.work(1), ScriptedModel.text("ok")], { store })
    const run = yield* made.agent.start({ sessionId: "s", runId: "r", input: "go" })
    yield* question.reached
    const aborting = yield* Effect.forkChild(run.abort, { startImmediately: true })
    const abort = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "AbortRequested"))
    store.onAppend = abort.onAppend
    yield* question.release
    yield* abort.reached
    // meanwhile the turns end
    yield* TestClock.adjust("1 second")
    yield* abort.release
    yield* Fiber.join(aborting)
    return { ...made, run }
  })

  it.effect("ends it, and its question", () =>
    Effect.gen(function*() {
      const { run, store } = yield* aborted
      const log = yield* store.log("s")
      assert.strictEqual((yield* run.result)._tag, "Aborted")
      assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 NotExecuted(aborted)"])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("keeps an answer and recovery from going on with it", () =>
    Effect.gen(function*() {
      const { agent, ran } = yield* aborted
      const error = yield* Effect.flip(agent.decide({ sessionId: "s", approvalId: "r/1.0", approved: true }))
      assert.deepInclude(error.reason, { _tag: "ApprovalNotOpen", because: "settled" })
      const { runs } = yield* agent.recover({ answered: true })
      assert.deepStrictEqual([runs, ran], [[], []])
    }))
})

it.effect.each(
  [
    ["its last answer", [ScriptedModel.text("done")], {}, "RunCompleted(stop)"],
    ["a limit", [TestAgent.work(1)], { maxTurns: 1 }, "RunLimited(turns)"]
  ] as const
)(
  "an abort that is stored while the run ends with %s changes nothing about that",
  ([, rest, limits, end]) =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "AbortRequested"))
      const store = yield* TestStore.make(held.onAppend)
      const { agent } = yield* TestAgent.make([[ScriptedModel.gate(gate), ...rest]], { store })
      const run = yield* agent.start({ sessionId: "s", input: "go", limits })
      yield* gate.started
      const aborting = yield* Effect.forkChild(run.abort, { startImmediately: true })
      yield* held.reached
      yield* gate.release
      // meanwhile the turns end
      yield* TestClock.adjust("1 second")
      yield* held.release
      yield* Fiber.join(aborting)
      const log = yield* store.log("s")
      assert.strictEqual(RunLog.endOf(log), end)
      assert.deepStrictEqual(RunLog.violations(log), [])
    })
)

it.effect("an abort of the session ends a run for good whose end, since its store was away, is being written by then", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const { agent, store } = yield* TestAgent.make([[ScriptedModel.gate(gate), TestAgent.work(1)]])
    yield* agent.start({ sessionId: "s", input: "go" })
    yield* gate.started
    const end = TestStore.holding((_, events) => events.some(RunEvent.isEnd))
    let isAway = true
    store.onAppend = (append) => {
      isAway &&= !append.events.some(RunEvent.isEnd)
      return isAway ? Effect.fail(TestStore.unavailable) : end.onAppend(append)
    }
    yield* gate.release
    yield* end.reached
    const aborting = yield* Effect.forkChild(agent.abort("s"), { startImmediately: true })
    yield* end.release
    yield* Fiber.join(aborting)
    const log = yield* store.log("s")
    assert.deepStrictEqual(log.filter(RunEvent.isEnd).map((event) => RunLog.endOf([event])), [
      "RunFailed(StoreUnavailable)",
      "RunAborted(requested)"
    ])
    assert.deepStrictEqual(RunLog.violations(log), [])
    assert.deepStrictEqual((yield* agent.recover()).runs, [])
  }))

describe("a shutdown that waits for a call", () => {
  /** The call takes a second to be interrupted. */
  const closing = Effect.gen(function*() {
    const reached = yield* Deferred.make<void>()
    const interrupted = yield* Deferred.make<void>()
    const made = yield* TestAgent.make([TestAgent.look(1)], {
      tool: () =>
        Deferred.succeed(reached, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Effect.andThen(Deferred.succeed(interrupted, undefined), Effect.sleep("1 second")))
        )
    })
    const run = yield* made.agent.start({ sessionId: "s", runId: "r", input: "go" })
    yield* Deferred.await(reached)
    const closed = yield* Effect.forkChild(made.close, { startImmediately: true })
    yield* Deferred.await(interrupted)
    return { made, run, closed }
  })

  /** What the next process takes up. */
  const takenUp = Effect.fnUntraced(function*({ store }: TestAgent.TestAgent) {
    const { agent } = yield* TestAgent.make([ScriptedModel.text("on")], { store })
    return (yield* agent.recover()).runs.map(({ runId }) => runId)
  })

  it.effect("leaves a run that is aborted meanwhile aborted, and the next process leaves it alone", () =>
    Effect.gen(function*() {
      const { closed, made, run } = yield* closing
      const aborting = yield* Effect.forkChild(Effect.all([run.abort, run.abort], { concurrency: 2 }))
      yield* TestClock.adjust("1 second")
      yield* Fiber.joinAll([aborting, closed])
      yield* Aborted.check(made, "requested", undefined)
      assert.deepStrictEqual(yield* takenUp(made), [])
    }))

  it.effect("leaves a run that nobody aborts to the next process", () =>
    Effect.gen(function*() {
      const { closed, made } = yield* closing
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closed)
      yield* Aborted.check(made, "shutdown", undefined)
      assert.deepStrictEqual(yield* takenUp(made), ["r"])
    }))
})
