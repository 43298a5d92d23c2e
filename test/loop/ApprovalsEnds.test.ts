/**
 * Whatever cuts a run off while it waits for a person: the question is dropped, except by a shutdown (`ShutdownCalls`), nothing runs, the
 * session answers.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type * as Approver from "../../src/services/Approver.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Aborted from "../support/Aborted.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Watch from "../support/Watch.ts"

const go = { sessionId: "s", runId: "r", input: "go" }
const turns = [TestAgent.work(1), ScriptedModel.text("hello")]

/** The log after being cut off for this reason is in order, nothing ran, and the session takes the next message. */
const check = Effect.fnUntraced(function*(made: Approvals.Asking, end: string, ...outcomes: ReadonlyArray<string>) {
  const log = yield* made.store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  assert.strictEqual(RunLog.endOf(log), end)
  assert.deepStrictEqual(RunLog.outcomes(log), outcomes)
  assert.deepStrictEqual(RunLog.only(log, "ToolStarted"), [])
  assert.deepStrictEqual(made.ran, [])
})

const answers = Effect.fnUntraced(function*({ agent, store }: Approvals.Asking) {
  assert.strictEqual((yield* agent.run({ sessionId: "s", input: "hello?" }))._tag, "Completed")
  assert.deepStrictEqual(Approvals.violations(yield* store.log("s")), [])
})

describe("while a person is asked", () => {
  it.effect("an abort interrupts the approver and settles the call", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make(turns, { approver })
      const run = yield* made.agent.start(go)
      yield* approver.asked("1.0")
      yield* run.abort
      assert.deepStrictEqual(approver.interrupted, ["1.0"])
      yield* check(made, "RunAborted(requested)", "1.0 NotExecuted(aborted)")
      yield* answers(made)
    }))

  it.effect("a consumer that leaves aborts the run", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make(turns, { approver })
      const reading = yield* Effect.forkChild(Stream.runDrain(made.agent.stream(go)))
      yield* approver.asked("1.0")
      yield* Fiber.interrupt(reading)
      assert.deepStrictEqual(approver.interrupted, ["1.0"])
      yield* check(made, "RunAborted(consumer)", "1.0 NotExecuted(aborted)")
      yield* answers(made)
    }))

  it.effect("closing the layer shuts the run down, and keeps the question", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make(turns, { approver })
      yield* made.agent.start(go)
      yield* approver.asked("1.0")
      yield* made.close
      assert.deepStrictEqual(approver.interrupted, ["1.0"])
      yield* check(made, "RunAborted(shutdown)")
    }))

  it.effect("an abort interrupts a sibling that runs, and the call that waits never starts", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const started = yield* Deferred.make<void>()
      const made = yield* Approvals.make([[TestAgent.work(1, "a"), TestAgent.look(2, "b")]], {
        approver,
        agent: { toolkit: Approvals.kit, toolPolicy: { maxParallel: 2 } },
        tool: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      })
      const run = yield* made.agent.start(go)
      yield* approver.asked("1.0")
      yield* Deferred.await(started)
      yield* run.abort
      const log = yield* made.store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.sameMembers(RunLog.outcomes(log), ["1.0 NotExecuted(aborted)", "1.1 Interrupted"])
    }))

  it.effect("a session takes no second run", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make(turns, { approver })
      const run = yield* made.agent.start(go)
      yield* approver.asked("1.0")
      const error = yield* Effect.flip(made.agent.run({ sessionId: "s", input: "hello?" }))
      assert.strictEqual(error.reason._tag, "SessionBusy")
      const other = yield* Effect.flip(Stream.runDrain(made.agent.resume({ sessionId: "s" })))
      assert.strictEqual(other.reason._tag, "SessionBusy")
      yield* run.abort
    }))
})

describe("an approver that cannot be interrupted", () => {
  const stubborn = (asked: Deferred.Deferred<void>, answer: Deferred.Deferred<Approver.Answer>): Approver.Approver => ({
    ask: () => Effect.uninterruptible(Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(answer)))
  })

  it.effect("delays an abort by no more than the grace period, and its late yes runs nothing", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const answer = yield* Deferred.make<Approver.Answer>()
      const made = yield* Approvals.make(turns, { approver: stubborn(asked, answer) })
      const run = yield* made.agent.start(go)
      yield* Deferred.await(asked)
      const aborting = yield* Effect.forkChild(run.abort)
      const isOver = yield* Aborted.overByGrace(aborting)
      yield* Deferred.succeed(answer, Approvals.yes)
      assert.deepStrictEqual(isOver, { before: false, after: true })
      yield* Effect.yieldNow
      yield* check(made, "RunAborted(requested)", "1.0 NotExecuted(aborted)")
      yield* answers(made)
    }))
})

describe("an answer that arrives with an abort", () => {
  it.effect("leaves a log in order, whichever comes first", () =>
    Effect.gen(function*() {
      for (const isFirst of [true, false]) {
        const approver = Approvals.desk()
        const made = yield* Approvals.make([TestAgent.work(1), ScriptedModel.text("x"), ScriptedModel.text("y")], {
          approver
        })
        const run = yield* made.agent.start(go)
        yield* approver.asked("1.0")
        const both = [approver.answer("1.0", Approvals.yes), run.abort]
        yield* Effect.all(isFirst ? both : both.reverse(), { concurrency: 2, discard: true })
        const log = yield* made.store.log("s")
        assert.deepStrictEqual(Approvals.violations(log), [])
        assert.strictEqual(RunLog.only(log, "ToolStarted").length >= made.ran.length, true)
      }
    }))
})

it.effect("a resumed run does not ask again about a call that an abort dropped", () =>
  Effect.gen(function*() {
    const approver = Approvals.desk()
    const made = yield* Approvals.make(turns, { approver })
    const run = yield* made.agent.start(go)
    const watch = yield* Watch.make(run.events)
    yield* approver.asked("1.0")
    yield* run.abort
    yield* watch.over
    const events = yield* Stream.runCollect(made.agent.resume({ sessionId: "s" }))
    assert.strictEqual(RunLog.endOf(events), "RunCompleted(stop)")
    assert.strictEqual(approver.questions.length, 1)
    assert.deepStrictEqual(made.ran, [])
  }))
