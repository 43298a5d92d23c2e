/** Several calls of one message, some needing permission: what waits, what runs meanwhile, and what the status says. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type * as Agent from "../../src/Agent.ts"
import type * as Approver from "../../src/services/Approver.ts"
import type { Hook } from "../../src/services/Hooks.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as Hang from "../support/Hang.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Watch from "../support/Watch.ts"

const { look, work } = TestAgent
const parallel = { toolkit: Approvals.kit, toolPolicy: { maxParallel: 4 } }
const go = { sessionId: "s", runId: "r", input: "go" }

const start = Effect.fnUntraced(function*(made: Approvals.Asking) {
  const run: Agent.Run<string> = yield* made.agent.start(go)
  return { ...run, watch: yield* Watch.make(run.events) }
})

/** The status by the events so far, and by the log. */
const statuses = Effect.fnUntraced(function*(made: TestAgent.TestAgent, watch: Watch.Watch) {
  const live = RunLog.only(watch.seen, "StatusChanged").at(-1)?.to
  return { live, log: Approvals.fold(yield* made.store.log("s")).status }
})

describe("sequential calls", () => {
  it.effect("wait for one that waits, and run after its answer", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make(
        [[look(1, "a"), work(2, "b"), look(3, "c")], ScriptedModel.text("ok")],
        { approver }
      )
      const { result } = yield* start(made)
      yield* approver.asked("1.1")
      assert.deepStrictEqual(made.ran, [1])
      yield* approver.answer("1.1", Approvals.yes)
      yield* result
      assert.deepStrictEqual(made.ran, [1, 2, 3])
      assert.deepStrictEqual(Approvals.violations(yield* made.store.log("s")), [])
    }))
})

describe("parallel calls", () => {
  it.effect("that need no permission run while another waits", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make([[work(1, "a"), look(2, "b")], ScriptedModel.text("ok")], {
        approver,
        agent: parallel
      })
      const { result, watch } = yield* start(made)
      yield* watch.until("ToolSettled")
      assert.deepStrictEqual(made.ran, [2])
      yield* approver.asked("1.0")
      yield* approver.answer("1.0", Approvals.yes)
      yield* result
      assert.deepStrictEqual(made.ran, [2, 1])
      assert.deepStrictEqual(Approvals.violations(yield* made.store.log("s")), [])
    }))

  it.effect("may end after the answer", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const held = yield* Deferred.make<void>()
      const made = yield* Approvals.make([[work(1, "a"), look(2, "b")], ScriptedModel.text("ok")], {
        approver,
        agent: parallel,
        tool: ({ n }) => Effect.as(n === 2 ? Deferred.await(held) : Effect.void, `done ${n}`)
      })
      const { result, watch } = yield* start(made)
      yield* approver.asked("1.0")
      yield* approver.answer("1.0", Approvals.yes)
      assert.strictEqual((yield* watch.until("ToolSettled")).callId, "1.0")
      yield* Deferred.succeed(held, undefined)
      assert.strictEqual((yield* result)._tag, "Completed")
      assert.deepStrictEqual(RunLog.outcomes(yield* made.store.log("s")), ["1.0 Succeeded", "1.1 Succeeded"])
    }))

  it.effect("are not held up by questions: a call that waits takes no slot", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make([[work(1, "a"), work(2, "b"), look(3, "c")], ScriptedModel.text("ok")], {
        approver,
        agent: { ...parallel, toolPolicy: { maxParallel: 2 } }
      })
      const { abort, watch } = yield* start(made)
      yield* approver.asked("1.0")
      yield* approver.asked("1.1")
      const ends = yield* Hang.ends(watch.until("ToolSettled"))
      yield* abort
      assert.isTrue(ends)
    }))

  it.effect("that are equal get three questions: one allowed, one denied, one left waiting", () =>
    Effect.gen(function*() {
      for (const maxParallel of [1, 3]) {
        const answers: Record<string, Approver.Answer> = { "1.0": Approvals.yes, "1.1": Approvals.no("no") }
        const made = yield* Approvals.make([[work(1, "x"), work(1, "x"), work(1, "x")], ScriptedModel.text("ok")], {
          approver: Approvals.answering(({ callId }) => answers[callId]),
          agent: { ...parallel, toolPolicy: { maxParallel } }
        })
        const result = yield* made.agent.run(go)
        assert.deepStrictEqual(result._tag === "Suspended" ? result.approvals.map(({ id }) => id) : [], ["r/1.2"])
        assert.deepStrictEqual(made.ran, [1])
        assert.sameMembers(RunLog.outcomes(yield* made.store.log("s")), ["1.0 Succeeded", "1.1 Denied"])
        answers["1.2"] = Approvals.yes
        const events = yield* Stream.runCollect(made.agent.resume({ sessionId: "s" }))
        assert.strictEqual(RunLog.endOf(events), "RunCompleted(stop)")
        assert.deepStrictEqual(made.ran, [1, 1])
        assert.deepStrictEqual(Approvals.violations(yield* made.store.log("s")), [])
      }
    }))

  it.effect("keep to the limit on tool calls across a suspension", () =>
    Effect.gen(function*() {
      const script = [[work(1, "a"), look(2, "b"), look(3, "c"), look(4, "d")], ScriptedModel.text("ok")]
      const made = yield* Approvals.make(script, { agent: parallel })
      yield* made.agent.run({ ...go, limits: { maxToolCalls: 3 } })
      assert.deepStrictEqual(made.ran, [2, 3])
      const yes = Approvals.answering(() => Approvals.yes)
      yield* Stream.runDrain(Approvals.by(yes, made.agent.resume({ sessionId: "s" })))
      assert.deepStrictEqual(made.ran, [2, 3, 1])
      const log = yield* made.store.log("s")
      assert.include(RunLog.outcomes(log), "1.3 NotExecuted(limit)")
      assert.deepStrictEqual(Approvals.violations(log), [])
    }))
})

describe("a limit or a failure that ends the run while a call waits", () => {
  const failing: TestAgent.Handler = ({ n }) => n === 2 ? Effect.fail("no") : Effect.succeed("done")

  it.effect("keeps the call from running even if it is then allowed: a limit", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make([[work(1, "a"), look(2, "b")]], { approver, agent: parallel, tool: failing })
      const run = yield* made.agent.start({ ...go, limits: { maxErrors: 0 } })
      const watch = yield* Watch.make(run.events)
      yield* watch.until("ToolSettled")
      yield* approver.answer("1.0", Approvals.yes)
      assert.strictEqual((yield* run.result)._tag, "Limited")
      assert.deepStrictEqual(made.ran, [2])
    }))

  it.effect("keeps the call from running even if it is then allowed: a failure", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make([[work(1, "a"), look(2, "b")]], {
        approver,
        agent: { ...parallel, toolPolicy: { maxParallel: 2, continueOnError: false } },
        tool: failing
      })
      const { result, watch } = yield* start(made)
      yield* watch.until("ToolSettled")
      yield* approver.answer("1.0", Approvals.yes)
      assert.strictEqual((yield* Effect.flip(result)).reason._tag, "ToolFailed")
      assert.deepStrictEqual(made.ran, [2])
    }))

  it.effect("does not wait for a person who has been asked before: a failure", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make([[work(1, "a"), look(2, "b")]], {
        approver,
        agent: { ...parallel, toolPolicy: { maxParallel: 2, continueOnError: false } },
        tool: () => Effect.andThen(approver.asked("1.0"), Effect.fail("no"))
      })
      const { abort, result } = yield* start(made)
      const ends = yield* Hang.ends(result)
      yield* abort
      assert.isTrue(ends)
      assert.deepStrictEqual(approver.interrupted, ["1.0"])
    }))

  it.effect("does not wait for the person: a failure", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make([[work(1, "a"), look(2, "b")]], {
        approver,
        agent: { ...parallel, toolPolicy: { maxParallel: 2, continueOnError: false } },
        tool: failing
      })
      const { abort, result } = yield* start(made)
      const ends = yield* Hang.ends(result)
      yield* abort
      assert.isTrue(ends)
    }))
})

describe("a failure that ends the run", () => {
  const never = Effect.never
  const slow: Record<string, TestAgent.Options["agent"]> = {
    "a rule": { toolkit: Approvals.withWork(TestAgent.kit.tools.work.setNeedsApproval(() => never)) },
    "a hook": { hooks: [{ name: "slow", beforeToolCall: ({ tool }) => tool === "work" ? never : Effect.void }] }
  }
  it.effect.each(Object.entries(slow))(
    "does not wait for the verdict over another call: %s",
    ([, agent]) =>
      Effect.gen(function*() {
        const made = yield* Approvals.make([[work(1, "a"), look(2, "b")]], {
          agent: { ...parallel, ...agent, toolPolicy: { maxParallel: 2, continueOnError: false } },
          tool: () => Effect.fail("no")
        })
        const { result } = yield* start(made)
        assert.isTrue(yield* Hang.ends(result))
        assert.strictEqual((yield* Effect.flip(result)).reason._tag, "ToolFailed")
        const log = yield* made.store.log("s")
        assert.sameMembers(RunLog.outcomes(log), ["1.0 NotExecuted(failed)", "1.1 Failed"])
        assert.deepStrictEqual(RunLog.violations(log), [])
      })
  )
})

describe("a limit that is reached before a call is asked about", () => {
  it.effect("keeps it from being asked", () =>
    Effect.gen(function*() {
      const failed = yield* Deferred.make<void>()
      const hook: Hook = {
        name: "slow",
        beforeToolCall: ({ callId }) => callId === "1.0" ? Deferred.await(failed) : Effect.void
      }
      const made = yield* Approvals.make([[work(1, "a"), look(2, "b")]], {
        approver: Approvals.answering(() => Approvals.yes),
        agent: { ...parallel, hooks: [hook], toolPolicy: { maxParallel: 2, continueOnError: false } },
        tool: () => Effect.fail("no")
      })
      const { result, watch } = yield* start(made)
      yield* watch.until("ToolSettled")
      yield* Deferred.succeed(failed, undefined)
      assert.strictEqual((yield* Effect.flip(result)).reason._tag, "ToolFailed")
      assert.deepStrictEqual(RunLog.only(yield* made.store.log("s"), "ApprovalRequested"), [])
    }))

  it.effect("keeps hooks from being asked about it too, when calls run one by one", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const hook: Hook = { name: "h", beforeToolCall: ({ callId }) => Effect.sync(() => void seen.push(callId)) }
      const made = yield* Approvals.make([[look(1, "a"), look(2, "b")]], {
        agent: { toolkit: Approvals.kit, hooks: [hook], toolPolicy: { continueOnError: false } },
        tool: () => Effect.fail("no")
      })
      assert.strictEqual((yield* Effect.flip(made.agent.run(go))).reason._tag, "ToolFailed")
      assert.deepStrictEqual(seen, ["1.0"])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.store.log("s")), ["1.0 Failed", "1.1 NotExecuted(failed)"])
    }))
})

describe("questions about parallel calls", () => {
  it.effect("are in the log in call order, however long each takes to make", () =>
    Effect.gen(function*() {
      const long = ScriptedModel.call("work", { n: 1, more: "x".repeat(4_000_000) }, "a")
      const made = yield* Approvals.make([[long, work(2, "b"), work(3, "c")]], { agent: parallel })
      yield* made.agent.run(go)
      const asked = RunLog.only(yield* made.store.log("s"), "ApprovalRequested").map(({ callId }) => callId)
      assert.deepStrictEqual(asked, ["1.0", "1.1", "1.2"])
    }))
})

describe("the status", () => {
  it.effect("is awaiting_human only while no call has an intent without an outcome", () =>
    Effect.gen(function*() {
      const made = yield* Approvals.make(
        [[work(1, "a"), look(2, "b"), work(3, "c"), look(4, "d")], ScriptedModel.text("ok")],
        {
          approver: Approvals.answering(({ callId }) => callId === "1.0" ? Approvals.yes : Approvals.no("no")),
          agent: parallel
        }
      )
      let running = 0
      const wrong: Array<string> = []
      for (const event of yield* Stream.runCollect(made.agent.stream(go))) {
        if (event._tag === "ToolStarted") running++
        if (event._tag === "ToolSettled" && event.outcome._tag !== "Denied") running--
        if (event._tag === "StatusChanged" && event.to === "awaiting_human" && running > 0) wrong.push(`${running} run`)
      }
      assert.deepStrictEqual(wrong, [])
    }))

  it.effect("becomes awaiting_human beside a dead drive's call once that call's outcome is known", () =>
    Effect.gen(function*() {
      const [approver, known] = [Approvals.desk(), yield* Deferred.make<Reconciler.Answer>()]
      const calls = [Drafts.call("work", { n: 1 }), Drafts.call("work", { n: 2 })]
      const store = yield* DeadRun.of([
        Drafts.started("go", { toolPolicy: { maxParallel: 2 } }),
        Drafts.turnStarted(1),
        Drafts.assistant(calls),
        Drafts.toolStarted("1.0", { n: 1 })
      ])
      const made = yield* Approvals.make([ScriptedModel.text("ok")], { approver, store, agent: parallel })
      const resumed = made.agent.resume({ sessionId: "s" })
      const watch = yield* Watch.make(
        Stream.provideService(resumed, Reconciler.Reconciler, { reconcile: () => Deferred.await(known) })
      )
      yield* approver.asked("1.1")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* statuses(made, watch), { live: "tool_running", log: "tool_running" })
      yield* Deferred.succeed(known, { _tag: "Done", result: "paid" })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* statuses(made, watch), { live: "awaiting_human", log: "awaiting_human" })
      yield* approver.answer("1.1", Approvals.yes)
      yield* watch.over
    }))

  it.effect("is suspended once a dead drive's call, the last that needs no person, is settled, one by one", () =>
    Effect.gen(function*() {
      const calls = [Drafts.call("work", { n: 1 }), Drafts.call("work", { n: 2 })]
      const store = yield* DeadRun.of([
        Drafts.started("go"),
        Drafts.turnStarted(1),
        Drafts.assistant(calls),
        { ...Drafts.toolStarted("1.1", { n: 2 }), tool: "work" }
      ])
      const made = yield* Approvals.make([], { store })
      const resumed = made.agent.resume({ sessionId: "s" })
      const reconcile = () => Effect.succeed<Reconciler.Answer>({ _tag: "Done", result: "paid" })
      yield* Stream.runDrain(Stream.provideService(resumed, Reconciler.Reconciler, { reconcile }))
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunSuspended(approval)")
    }))

  it.effect("becomes awaiting_human when the last sibling of a call that waits has ended", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make([[work(1, "a"), look(2, "b")], ScriptedModel.text("ok")], {
        approver,
        agent: parallel
      })
      const { abort, watch } = yield* start(made)
      yield* approver.asked("1.0")
      yield* watch.until("ToolSettled")
      // everything ready runs before the status is looked at
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* statuses(made, watch), { live: "awaiting_human", log: "awaiting_human" })
      yield* abort
    }))

  it.effect("becomes awaiting_human again when one of two questions is answered and its call is over", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make([[work(1, "a"), work(2, "b")], ScriptedModel.text("ok")], {
        approver,
        agent: parallel
      })
      const { abort, watch } = yield* start(made)
      yield* approver.asked("1.0")
      yield* approver.asked("1.1")
      yield* approver.answer("1.0", Approvals.yes)
      yield* watch.until("ToolSettled")
      // everything ready runs before the status is looked at
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* statuses(made, watch), { live: "awaiting_human", log: "awaiting_human" })
      yield* abort
    }))

  it.effect("becomes awaiting_human again when one of two questions is answered no", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make([[work(1, "a"), work(2, "b")], ScriptedModel.text("ok")], {
        approver,
        agent: parallel
      })
      const { abort, watch } = yield* start(made)
      yield* approver.asked("1.0")
      yield* approver.asked("1.1")
      yield* approver.answer("1.0", Approvals.no("no"))
      yield* watch.until("ToolSettled")
      // everything ready runs before the status is looked at
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* statuses(made, watch), { live: "awaiting_human", log: "awaiting_human" })
      yield* abort
    }))

  it.effect("fails from tool_running when a failure settles the calls that nobody answers for", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const made = yield* Approvals.make([[work(1, "a"), look(2, "b")]], {
        approver: { ask: () => Effect.as(Deferred.succeed(asked, undefined), undefined) },
        agent: { ...parallel, toolPolicy: { maxParallel: 2, continueOnError: false } },
        tool: () => Effect.andThen(Deferred.await(asked), Effect.fail("no"))
      })
      const { result, watch } = yield* start(made)
      assert.strictEqual((yield* Effect.flip(result)).reason._tag, "ToolFailed")
      yield* watch.over
      assert.deepStrictEqual(RunLog.moves(watch.seen).slice(-3), [
        "tool_running>awaiting_human",
        "awaiting_human>tool_running",
        "tool_running>failed"
      ])
    }))
})
