/** Time spent waiting for a person is not the run's: it is not counted, even in a drive that only waits. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as Hang from "../support/Hang.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Watch from "../support/Watch.ts"

const limits = { maxDuration: Duration.toMillis("1 minute") }
const go = { sessionId: "s", runId: "r", input: "go", limits }
const turns = [TestAgent.work(1), ScriptedModel.text("ok")]

const durationOf = (events: ReadonlyArray<RunEvent.RunEvent>) => {
  const end = events.at(-1)
  return end !== undefined && "totals" in end ? end.totals.duration : NaN
}

/** Starts a run that asks; `wait` lets time pass until the question is answered. */
const asking = Effect.fnUntraced(function*(options: TestAgent.Options = {}, script = turns) {
  const approver = Approvals.desk()
  const made = yield* Approvals.make(script, { approver, ...options })
  const run = yield* made.agent.start(go)
  const watch = yield* Watch.make(run.events)
  yield* approver.asked("1.0")
  return { ...made, approver, run, watch }
})

describe("maxDuration", () => {
  it.effect("of a minute lets a person take ten hours", () =>
    Effect.gen(function*() {
      const { approver, run, store } = yield* asking()
      yield* TestClock.adjust("10 hours")
      yield* approver.answer("1.0", Approvals.yes)
      assert.strictEqual((yield* run.result)._tag, "Completed")
      assert.strictEqual(durationOf(yield* store.log("s")), 0)
    }))

  it.effect("of a minute cuts off a tool that still needs two after that", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const { approver, run, store } = yield* asking({
        agent: { toolkit: Approvals.kit, timeouts: { tool: "1 hour" } },
        tool: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.as(Effect.sleep("2 minutes"), "done"))
      })
      yield* TestClock.adjust("10 hours")
      yield* approver.answer("1.0", Approvals.yes)
      yield* Deferred.await(started)
      yield* TestClock.adjust("1 minute")
      const result = yield* run.result
      assert.deepStrictEqual(result._tag === "Limited" ? result.reason : result._tag, "duration")
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Interrupted"])
      assert.strictEqual(durationOf(log), 60_000)
    }))

  it.effect("counts only what runs while a person is asked", () =>
    Effect.gen(function*() {
      const slept = yield* Deferred.make<void>()
      const { approver, run, store, watch } = yield* asking(
        {
          agent: { toolkit: Approvals.kit, toolPolicy: { maxParallel: 2 } },
          tool: ({ n }) =>
            n === 1
              ? Effect.succeed("done")
              : Effect.andThen(Deferred.succeed(slept, undefined), Effect.as(Effect.sleep("20 seconds"), "done"))
        },
        [[TestAgent.work(1, "a"), TestAgent.look(2, "b")], ScriptedModel.text("ok")]
      )
      yield* Deferred.await(slept)
      yield* TestClock.adjust("20 seconds")
      yield* watch.until("ToolSettled")
      yield* TestClock.adjust("10 hours")
      yield* approver.answer("1.0", Approvals.yes)
      assert.strictEqual((yield* run.result)._tag, "Completed")
      assert.strictEqual(durationOf(yield* store.log("s")), 20_000)
    }))

  it.effect("cuts off what runs while a person is asked", () =>
    Effect.gen(function*() {
      const slept = yield* Deferred.make<void>()
      const { approver, run, store } = yield* asking(
        {
          agent: { toolkit: Approvals.kit, toolPolicy: { maxParallel: 2 }, timeouts: { tool: "1 hour" } },
          tool: () => Effect.andThen(Deferred.succeed(slept, undefined), Effect.never)
        },
        [[TestAgent.work(1, "a"), TestAgent.look(2, "b")]]
      )
      yield* Deferred.await(slept)
      yield* TestClock.adjust("1 minute")
      yield* run.result
      const log = yield* store.log("s")
      assert.strictEqual(RunLog.endOf(log), "RunLimited(duration)")
      assert.sameMembers(RunLog.outcomes(log), ["1.0 NotExecuted(limit)", "1.1 Interrupted"])
      assert.deepStrictEqual(approver.interrupted, ["1.0"])
    }))

  it.effect("cuts off in time what a person lets run just before its end", () =>
    Effect.gen(function*() {
      const [looking, started] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const approver = Approvals.desk()
      const made = yield* Approvals.make([[TestAgent.look(2, "a"), TestAgent.work(1, "b")]], {
        approver,
        agent: { toolkit: Approvals.kit, timeouts: { tool: "1 hour" } },
        tool: ({ n }) =>
          n === 2
            ? Effect.andThen(Deferred.succeed(looking, undefined), Effect.as(Effect.sleep(59_500), "done"))
            : Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      })
      const run = yield* made.agent.start(go)
      yield* Deferred.await(looking)
      yield* TestClock.adjust(59_500)
      yield* approver.asked("1.1")
      yield* TestClock.adjust(550)
      yield* approver.answer("1.1", Approvals.yes)
      yield* Deferred.await(started)
      yield* TestClock.adjust(500)
      assert.isTrue(yield* Hang.ends(run.result), "runs on")
      assert.strictEqual(durationOf(yield* made.store.log("s")), 60_000)
    }))

  it.effect("lets a person take ten hours in a resumed drive too", () =>
    Effect.gen(function*() {
      const made = yield* Approvals.make(turns)
      yield* made.agent.run(go)
      const approver = Approvals.desk()
      const watch = yield* Watch.make(Approvals.by(approver, made.agent.resume({ sessionId: "s" })))
      yield* approver.asked("1.0")
      yield* TestClock.adjust("10 hours")
      yield* approver.answer("1.0", Approvals.yes)
      yield* watch.over
      assert.strictEqual(RunLog.endOf(watch.seen), "RunCompleted(stop)")
      assert.strictEqual(durationOf(watch.seen), 0)
    }))

  it.effect("does not count the days between a suspension and its resumption", () =>
    Effect.gen(function*() {
      const made = yield* Approvals.make(turns)
      yield* made.agent.run(go)
      yield* TestClock.adjust("3 days")
      const yes = Approvals.answering(() => Approvals.yes)
      const watch = yield* Watch.make(Approvals.by(yes, made.agent.resume({ sessionId: "s" })))
      yield* watch.over
      assert.strictEqual(RunLog.endOf(watch.seen), "RunCompleted(stop)")
      assert.strictEqual(durationOf(watch.seen), 0)
    }))
})

it.effect("a run near its time limit does not keep checking the clock while it waits", () =>
  Effect.gen(function*() {
    const clock = yield* Clock.Clock
    let sleeps = 0
    const counted: Clock.Clock = Object.create(clock, {
      sleep: { value: (duration: Duration.Duration) => Effect.suspend(() => (sleeps++, clock.sleep(duration))) }
    })
    const slept = yield* Deferred.make<void>()
    const approver = Approvals.desk()
    const made = yield* Approvals.make([[TestAgent.look(2, "a"), TestAgent.work(1, "b")]], {
      approver,
      tool: () => Effect.andThen(Deferred.succeed(slept, undefined), Effect.as(Effect.sleep(59_999), "done"))
    })
    const run = yield* Effect.provideService(made.agent.start(go), Clock.Clock, counted)
    yield* Deferred.await(slept)
    yield* TestClock.adjust(59_999)
    yield* approver.asked("1.1")
    sleeps = 0
    yield* TestClock.adjust("1 second")
    assert.strictEqual(sleeps, 0)
    yield* run.abort
  }))

it.effect("a tool's time limit begins with the tool, not with the question", () =>
  Effect.gen(function*() {
    const started = yield* Deferred.make<void>()
    const { approver, run, store } = yield* asking({
      tool: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.as(Effect.sleep("50 seconds"), "done"))
    })
    yield* TestClock.adjust("10 hours")
    yield* approver.answer("1.0", Approvals.yes)
    yield* Deferred.await(started)
    yield* TestClock.adjust("50 seconds")
    yield* run.result
    const [settled] = RunLog.only(yield* store.log("s"), "ToolSettled")
    assert.deepInclude(settled, { duration: 50_000 })
    assert.strictEqual(settled?.outcome._tag, "Succeeded")
  }))
