/** Answers that come while siblings hold all slots, limits that are reached meanwhile, and rules that take their time. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as Hang from "../support/Hang.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as Watch from "../support/Watch.ts"

const { look, work } = TestAgent
const go = { sessionId: "s", runId: "r", input: "go" }
const atOnce = (maxParallel: number) => ({ toolkit: Approvals.kit, toolPolicy: { maxParallel } })
const ok = ScriptedModel.text("ok")

/** One call that asks beside two that hold both slots until `letGo`; the answer is yes. */
const crowded = Effect.gen(function*() {
  const approver = Approvals.desk()
  const letGo = yield* Latch.make(false)
  const full = yield* Deferred.make<void>()
  let running = 0
  const made = yield* Approvals.make([[work(1, "a"), look(2, "b"), look(3, "c")], ok], {
    approver,
    agent: atOnce(2),
    tool: ({ n }) =>
      Effect.suspend(() => {
        if (++running === 2) Deferred.doneUnsafe(full, Effect.void)
        return Effect.as(letGo.await, `done ${n}`)
      }).pipe(Effect.ensuring(Effect.sync(() => running--)))
  })
  const run = yield* made.agent.start(go)
  const watch = yield* Watch.make(run.events)
  yield* approver.asked("1.0")
  yield* Deferred.await(full)
  yield* approver.answer("1.0", Approvals.yes)
  // everything ready runs before anybody looks
  yield* TestClock.adjust("1 second")
  return { ...made, letGo, run, watch }
})

describe("an answer that comes while all slots are taken", () => {
  it.effect("is stored at once", () =>
    Effect.gen(function*() {
      const { run, store } = yield* crowded
      assert.strictEqual(RunLog.only(yield* store.log("s"), "ApprovalResolved").length, 1)
      yield* run.abort
    }))

  it.effect("is stored at once, even when a sibling has a slot and is not running yet", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const held = TestStore.holding((_, events) =>
        events.some((event) => event._tag === "ToolStarted" && event.callId === "1.3")
      )
      const [short, full, last] = [
        yield* Deferred.make<void>(),
        yield* Deferred.make<void>(),
        yield* Deferred.make<void>()
      ]
      const made = yield* Approvals.make([[work(1, "a"), look(2, "b"), look(3, "c"), look(4, "d")]], {
        approver,
        agent: atOnce(2),
        store: yield* TestStore.make(held.onAppend),
        tool: ({ n }) => {
          if (n === 3) return Effect.as(Effect.andThen(Deferred.succeed(full, undefined), Deferred.await(short)), "ok")
          return n === 4 ? Effect.andThen(Deferred.succeed(last, undefined), Effect.never) : Effect.never
        }
      })
      const run = yield* made.agent.start(go)
      yield* approver.asked("1.0")
      yield* Deferred.await(full)
      yield* Deferred.succeed(short, undefined)
      yield* held.reached
      yield* approver.answer("1.0", Approvals.yes)
      yield* TestClock.adjust("1 second")
      yield* held.release
      yield* Deferred.await(last)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(RunLog.only(yield* made.store.log("s"), "ApprovalResolved").length, 1)
      yield* run.abort
    }))

  it.effect("does not keep an outcome from being stored when it comes as the last sibling ends", () =>
    Effect.gen(function*() {
      const [first, second] = [yield* Latch.make(false), yield* Latch.make(false)]
      const [writing, writes] = [yield* Deferred.make<void>(), yield* Latch.make(false)]
      const store = yield* TestStore.make(({ events, store }) =>
        events.some(({ _tag }) => _tag === "ApprovalResolved")
          ? Effect.andThen(Effect.andThen(Deferred.succeed(writing, undefined), writes.await), store)
          : store
      )
      const { agent } = yield* TestAgent.make([[look(1), work(2), work(3)], ok], {
        store,
        agent: atOnce(3),
        tool: ({ n }) =>
          n === 1 ? Effect.as(first.await, "1") : n === 2 ? Effect.as(second.await, "2") : Effect.succeed("3")
      })
      const watch = yield* Watch.make((yield* agent.start(go)).events)
      yield* watch.until("ApprovalRequested", 2)
      const decide = ({ id }: { readonly id: string }) =>
        Effect.forkChild(agent.decide({ sessionId: "s", approvalId: id, approved: true }))
      yield* Effect.forEach(yield* agent.approvals("s"), decide)
      yield* Deferred.await(writing)
      // both calls learn that all others are over, and then what was decided
      yield* first.open
      yield* TestClock.adjust("1 second")
      yield* writes.open
      assert.isTrue(yield* Hang.ends(watch.until("ToolSettled", 2)))
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Succeeded", "1.2 Succeeded"])
      yield* second.open
    }))

  it.effect("lets the call run once a slot is free", () =>
    Effect.gen(function*() {
      const { letGo, ran, run, store } = yield* crowded
      assert.deepStrictEqual(ran, [2, 3])
      yield* letGo.open
      assert.strictEqual((yield* run.result)._tag, "Completed")
      assert.deepStrictEqual(ran, [2, 3, 1])
      assert.deepStrictEqual(Approvals.violations(yield* store.log("s")), [])
    }))

  it.effect("leaves the call unstarted when the run is aborted first", () =>
    Effect.gen(function*() {
      const { ran, run, store } = yield* crowded
      yield* run.abort
      const log = yield* store.log("s")
      assert.deepStrictEqual(ran, [2, 3])
      assert.include(RunLog.outcomes(log), "1.0 NotExecuted(aborted)")
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))
})

describe("calls that are all allowed at once", () => {
  it.effect("run at most maxParallel at a time", () =>
    Effect.gen(function*() {
      let [running, most] = [0, 0]
      const two = yield* Deferred.make<void>()
      const made = yield* Approvals.make([[1, 2, 3, 4, 5].map((n) => work(n, `${n}`)), ok], {
        approver: Approvals.answering(() => Approvals.yes),
        agent: atOnce(2),
        tool: ({ n }) =>
          Effect.suspend(() => {
            most = Math.max(most, ++running)
            return running === 2 ? Deferred.succeed(two, undefined) : Deferred.await(two)
          }).pipe(
            Effect.andThen(Effect.yieldNow),
            Effect.ensuring(Effect.sync(() => running--)),
            Effect.as(`done ${n}`)
          )
      })
      yield* made.agent.run(go)
      assert.strictEqual(most, 2)
      assert.strictEqual(made.ran.length, 5)
    }))

  it.effect("are asked about only as far as the limit on tool calls lets them run", () =>
    Effect.gen(function*() {
      for (const maxParallel of [1, 3]) {
        const asked: Array<string> = []
        const approver = Approvals.answering(({ callId }) => (asked.push(callId), Approvals.yes))
        const made = yield* Approvals.make([[work(1, "a"), work(2, "b"), work(3, "c")]], {
          approver,
          agent: atOnce(maxParallel)
        })
        const result = yield* made.agent.run({ ...go, limits: { maxToolCalls: 2 } })
        assert.strictEqual(result._tag, "Limited")
        assert.deepStrictEqual(asked, ["1.0", "1.1"])
      }
    }))
})

describe("a call that nobody here answers", () => {
  it.effect("lets a running sibling finish before the run is suspended", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const letGo = yield* Latch.make(false)
      const made = yield* Approvals.make([[work(1, "a"), look(2, "b")]], {
        agent: atOnce(2),
        tool: () => Deferred.succeed(started, undefined).pipe(Effect.andThen(letGo.await), Effect.as("done"))
      })
      const run = yield* made.agent.start(go)
      yield* Deferred.await(started)
      yield* TestClock.adjust("1 second")
      assert.isDefined(yield* made.agent.live("r"))
      yield* letGo.open
      assert.strictEqual((yield* run.result)._tag, "Suspended")
      assert.deepStrictEqual(RunLog.outcomes(yield* made.store.log("s")), ["1.1 Succeeded"])
    }))

  it.effect("is not asked about again when a resumed run may make no call, and the run ends limited", () =>
    Effect.gen(function*() {
      const made = yield* Approvals.make([work(1)])
      yield* made.agent.run(go)
      const approver = Approvals.desk()
      const resumed = made.agent.resume({ sessionId: "s", limits: { maxToolCalls: 0 } })
      const events = yield* Stream.runCollect(Approvals.by(approver, resumed))
      assert.strictEqual(RunLog.endOf(events), "RunLimited(toolCalls)")
      assert.deepStrictEqual(approver.questions, [])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.store.log("s")), ["1.0 NotExecuted(limit)"])
    }))

  it.effect("is denied by a new message; the calls after it settle as not executed, not as denied", () =>
    Effect.gen(function*() {
      const made = yield* Approvals.make([[work(1, "a"), look(2, "b")], ScriptedModel.text("hello")])
      yield* made.agent.run(go)
      yield* made.agent.run({ sessionId: "s", input: "never mind" })
      assert.deepStrictEqual(RunLog.outcomes(yield* made.store.log("s")), [
        "1.0 Denied",
        "1.1 NotExecuted(superseded)"
      ])
    }))
})

describe("a limit that is reached while a person is asked", () => {
  it.effect("ends the run without waiting for the answer", () =>
    Effect.gen(function*() {
      const made = yield* Approvals.make([[work(1, "a"), look(2, "b")]], {
        approver: Approvals.desk(),
        agent: atOnce(2),
        tool: () => Effect.fail("no")
      })
      const run = yield* made.agent.start({ ...go, limits: { maxErrors: 0 } })
      const ends = yield* Hang.ends(run.result)
      yield* run.abort
      assert.isTrue(ends)
    }))
})

describe("a rule that takes its time", () => {
  const slow = Effect.fnUntraced(function*(
    calls: ScriptedModel.Turn,
    { approver = Approvals.desk(), maxParallel = 1, verdict = Effect.never as Effect.Effect<boolean> } = {}
  ) {
    const asked = yield* Deferred.make<void>()
    const rule = TestAgent.kit.tools.work.setNeedsApproval(({ n }) =>
      n < 2 ? n === 1 : Effect.andThen(Deferred.succeed(asked, undefined), verdict)
    )
    const made = yield* Approvals.make([calls, ok], {
      approver,
      agent: {
        toolkit: Approvals.withWork(rule),
        toolPolicy: { maxParallel },
        timeouts: { tools: { work: "1 minute" } }
      }
    })
    const run = yield* made.agent.start(go)
    yield* Deferred.await(asked)
    yield* TestClock.adjust("1 second")
    return { ...made, run }
  })

  it.effect("does not keep the previous call's outcome from the log", () =>
    Effect.gen(function*() {
      const { run, store } = yield* slow([work(0, "a"), work(2, "b")])
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Succeeded"])
      yield* run.abort
    }))

  it.effect("does not keep a person's no to the previous call from the log", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      yield* approver.answer("1.0", Approvals.no("no"))
      const { run, store } = yield* slow([work(1, "a"), work(2, "b")], { approver })
      assert.strictEqual(RunLog.only(yield* store.log("s"), "ApprovalResolved").length, 1)
      yield* run.abort
    }))

  it.effect("has as much time as its tool, then a person is asked", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const { run } = yield* slow([work(2, "a")], { approver })
      assert.deepStrictEqual(approver.questions, [])
      yield* TestClock.adjust("59 seconds")
      yield* approver.asked("1.0")
      yield* run.abort
    }))

  it.effect("is cut off by an abort; its call never ran", () =>
    Effect.gen(function*() {
      const { ran, run, store } = yield* slow([work(2, "a")])
      yield* run.abort
      assert.deepStrictEqual(ran, [])
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 NotExecuted(aborted)"])
    }))

  it.effect("holds up none of its parallel siblings, before it or after it", () =>
    Effect.gen(function*() {
      const { ran, run, store } = yield* slow([look(3, "a"), work(2, "b"), look(4, "c")], { maxParallel: 2 })
      assert.deepStrictEqual(ran, [3, 4])
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Succeeded", "1.2 Succeeded"])
      yield* run.abort
    }))

  it.effect("holds up no question about a parallel sibling", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const { run } = yield* slow([work(2, "a"), work(1, "b")], { approver, maxParallel: 2 })
      const isAsked = yield* Hang.ends(approver.asked("1.1"))
      yield* run.abort
      assert.isTrue(isAsked)
      assert.deepStrictEqual(approver.questions.map(({ callId }) => callId), ["1.1"])
    }))

  it.effect("lets its call run, or be asked about, once it has decided", () =>
    Effect.gen(function*() {
      for (const asks of [false, true]) {
        const approver = Approvals.desk()
        const said = yield* Deferred.make<boolean>()
        const verdict = Deferred.await(said)
        const { ran, run, store } = yield* slow([work(2, "a"), look(3, "b")], { approver, maxParallel: 2, verdict })
        yield* Deferred.succeed(said, asks)
        if (asks) {
          yield* approver.asked("1.0")
          assert.deepStrictEqual(ran, [3])
          yield* approver.answer("1.0", Approvals.yes)
        }
        yield* run.result
        assert.deepStrictEqual(ran, [3, 2])
        assert.deepStrictEqual(Approvals.violations(yield* store.log("s")), [])
      }
    }))

  it.effect("beyond its tool's time limit has its call asked about, as if it had failed", () =>
    Effect.gen(function*() {
      for (const maxParallel of [1, 2]) {
        const approver = Approvals.desk()
        const { ran, run, store } = yield* slow([work(2, "a"), look(3, "b")], { approver, maxParallel })
        yield* TestClock.adjust("2 minutes")
        const isAsked = yield* Hang.ends(approver.asked("1.0"))
        yield* approver.answer("1.0", Approvals.yes)
        if (isAsked) yield* run.result
        yield* run.abort
        assert.isTrue(isAsked)
        assert.sameMembers([...ran], [2, 3])
        assert.deepStrictEqual(Approvals.violations(yield* store.log("s")), [])
      }
    }))
})
