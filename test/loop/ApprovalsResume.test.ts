/** A call that nobody here answers: the run is suspended with its question open, and continues once it is answered. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Approver from "../../src/services/Approver.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const turns = [TestAgent.work(1), ScriptedModel.text("ok"), ScriptedModel.text("fine")]
const go = { sessionId: "s", runId: "r", input: "go" }

/** A session that is suspended on its first message. */
const suspended = Effect.fnUntraced(function*(
  script: ReadonlyArray<ScriptedModel.Turn> = turns,
  options: TestAgent.Options = {},
  input: Partial<Parameters<TestAgent.TestAgent["agent"]["run"]>[0]> = {}
) {
  const made = yield* Approvals.make(script, options)
  const result = yield* made.agent.run({ ...go, ...input })
  const resume = (approver?: Approver.Approver) => {
    const events = made.agent.resume({ sessionId: "s" })
    return Stream.runCollect(
      approver === undefined ? events : Stream.provideService(events, Approver.Approver, approver)
    )
  }
  const log = made.store.log("s")
  return { ...made, log, result, resume, approvals: result._tag === "Suspended" ? result.approvals : result._tag }
})

const yes = Approvals.answering(() => Approvals.yes)

describe("a call that nobody here answers", () => {
  it.effect("suspends the run with the question in its result; nothing ran", () =>
    Effect.gen(function*() {
      const { approvals, log, ran } = yield* suspended()
      const [asked] = RunLog.only(yield* log, "ApprovalRequested")
      assert.deepStrictEqual(approvals, [
        {
          id: asked!.approvalId,
          sessionId: "s",
          agent: "test/Tested",
          callId: "1.0",
          tool: "work",
          params: { n: 1 },
          requestedAt: asked!.at
        }
      ])
      assert.deepStrictEqual(ran, [])
      assert.deepStrictEqual(Approvals.steps(yield* log), ["ApprovalRequested 1.0", "RunSuspended"])
    }))

  it.effect("moves the run from awaiting_human to suspended", () =>
    Effect.gen(function*() {
      const { agent } = yield* Approvals.make(turns)
      const events = yield* Stream.runCollect(agent.stream(go))
      assert.deepStrictEqual(RunLog.moves(events).slice(-2), [
        "tool_running>awaiting_human",
        "awaiting_human>suspended"
      ])
    }))

  it.effect("gives the session back: another writer opens it at once", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* suspended()
      const head = yield* Effect.scoped(
        Effect.map(store.service.open("s", { runId: "other", create: false }), (session) => session.head())
      )
      assert.strictEqual(head, store.head("s"))
      assert.isUndefined(yield* agent.live("r"))
    }))

  it.effect("leaves the same result, questions included, for the same request sent again", () =>
    Effect.gen(function*() {
      const { agent, result } = yield* suspended()
      assert.deepStrictEqual(yield* agent.run(go), result)
    }))

  it.effect("keeps the call after it from starting and from being asked about, when they run one by one", () =>
    Effect.gen(function*() {
      const { approvals, log, ran } = yield* suspended([[TestAgent.work(1, "a"), TestAgent.look(2, "b")]])
      assert.strictEqual(approvals.length, 1)
      assert.deepStrictEqual(ran, [])
      assert.deepStrictEqual(Approvals.fold(yield* log).openCalls.map((call) => call.phase), ["awaiting", "pending"])
    }))
})

describe("a resumed run", () => {
  it.effect("asks again with the same id, in the log only once, and continues in the same turn", () =>
    Effect.gen(function*() {
      const { log, ran, resume } = yield* suspended()
      const approver = Approvals.desk()
      yield* approver.answer("1.0", Approvals.yes)
      const events = yield* resume(approver)
      assert.deepStrictEqual(Approvals.steps(events), [
        "RunResumed",
        "ApprovalResolved 1.0 yes",
        "ToolStarted 1.0",
        "ToolSettled 1.0 Succeeded",
        "RunCompleted"
      ])
      const [asked] = RunLog.only(yield* log, "ApprovalRequested")
      assert.deepStrictEqual(approver.questions.map((question) => question.approvalId), [asked!.approvalId])
      assert.deepStrictEqual(RunLog.only(yield* log, "TurnStarted").map((event) => event.turn), [1, 2])
      assert.deepStrictEqual(ran, [1])
      assert.deepStrictEqual(Approvals.violations(yield* log), [])
    }))

  it.effect("suspends again with the same question when nobody answers", () =>
    Effect.gen(function*() {
      const { agent, approvals, log, resume } = yield* suspended()
      assert.deepStrictEqual(Approvals.steps(yield* resume()), ["RunResumed", "RunSuspended"])
      const result = yield* agent.run(go)
      assert.deepStrictEqual(result._tag === "Suspended" ? result.approvals : [], approvals)
      assert.deepStrictEqual(Approvals.steps(yield* resume(yes)).slice(-1), ["RunCompleted"])
      assert.deepStrictEqual(Approvals.violations(yield* log), [])
    }))

  it.effect("tells the model of a denial and continues", () =>
    Effect.gen(function*() {
      const { log, ran, resume } = yield* suspended()
      const events = yield* resume(Approvals.answering(() => Approvals.no("never")))
      assert.strictEqual(RunLog.endOf(events), "RunCompleted(stop)")
      assert.deepStrictEqual(ran, [])
      assert.deepStrictEqual(Approvals.violations(yield* log), [])
    }))

  it.effect("makes only moves of the status table and says when it waits", () =>
    Effect.gen(function*() {
      const { resume } = yield* suspended()
      assert.deepStrictEqual(RunLog.moves(yield* resume(yes)).slice(0, 4), [
        "suspended>tool_running",
        "tool_running>awaiting_human",
        "awaiting_human>tool_running",
        "tool_running>observing"
      ])
    }))

  it.effect("does not run a call that was asked about just because its rule no longer asks", () =>
    Effect.gen(function*() {
      let times = 0
      const work = TestAgent.kit.tools.work.setNeedsApproval(() => times++ === 0)
      const { log, ran, resume } = yield* suspended(turns, { agent: { toolkit: Approvals.withWork(work) } })
      const events = yield* resume()
      assert.deepStrictEqual(ran, [])
      assert.strictEqual(RunLog.endOf(events), "RunSuspended(approval)")
      assert.deepStrictEqual(Approvals.violations(yield* log), [])
    }))

  it.effect("ends at the limit on tool calls that cut its message, as it would without the question", () =>
    Effect.gen(function*() {
      const calls = [TestAgent.work(1, "a"), TestAgent.look(2, "b"), TestAgent.look(3, "c")]
      const limits = { maxToolCalls: 2 }
      const { log, resume } = yield* suspended([calls, ScriptedModel.text("ok")], {}, { limits })
      const events = yield* resume(yes)
      assert.sameMembers(RunLog.outcomes(yield* log), ["1.2 NotExecuted(limit)", "1.0 Succeeded", "1.1 Succeeded"])
      assert.strictEqual(RunLog.endOf(events), "RunLimited(toolCalls)")
    }))
})

describe("a new message to a suspended session", () => {
  it.effect("settles what waits as denied, superseded, and runs", () =>
    Effect.gen(function*() {
      const { agent, log, ran } = yield* suspended([
        [TestAgent.work(1, "a"), TestAgent.work(2, "b")],
        ScriptedModel.text("hello")
      ], { agent: { toolPolicy: { maxParallel: 2 } } })
      const result = yield* agent.run({ sessionId: "s", input: "never mind" })
      assert.strictEqual(result._tag, "Completed")
      const settled = RunLog.only(yield* log, "ToolSettled").map((
        { callId, outcome, runId }
      ) => [runId, callId, outcome])
      const outcome = { _tag: "Denied" as const, reason: "superseded by a new message" }
      assert.deepStrictEqual(settled, [["r", "1.0", outcome], ["r", "1.1", outcome]])
      assert.deepStrictEqual(ran, [])
      assert.deepStrictEqual(Approvals.violations(yield* log), [])
    }))

  it.effect("leaves nothing of the older run to resume", () =>
    Effect.gen(function*() {
      const { agent, resume } = yield* suspended()
      yield* agent.run({ sessionId: "s", input: "never mind" })
      const error = yield* Effect.flip(resume(yes))
      assert.strictEqual(error.reason._tag, "NothingToResume")
    }))

  it.effect("leaves the older run's events, read again, ending with that run's end", () =>
    Effect.gen(function*() {
      const { agent } = yield* suspended()
      yield* agent.run({ sessionId: "s", input: "never mind" })
      const events = yield* Stream.runCollect(agent.stream(go))
      assert.strictEqual(RunLog.endOf(events), "RunSuspended(approval)")
    }))

  it.effect("leaves the older run's request, sent again, without questions, and says to send a new message", () =>
    Effect.gen(function*() {
      const { agent } = yield* suspended()
      yield* agent.run({ sessionId: "s", input: "never mind" })
      const again = yield* agent.run(go)
      assert.deepInclude(again, { _tag: "Suspended", approvals: [] })
      assert.include(again.explain, "; give the session a new message to go on.")
    }))

  it.effect("starts with fresh time and waits for its own questions", () =>
    Effect.gen(function*() {
      const limits = { maxDuration: "1 minute" } as const
      const slow = (n: number) => [ScriptedModel.delay("40 seconds"), TestAgent.work(n)]
      const first = yield* Effect.forkChild(suspended([slow(1), slow(2)], {}, { limits }))
      yield* TestClock.adjust("40 seconds")
      const { agent } = yield* Fiber.join(first)
      yield* TestClock.adjust("1 hour")
      const second = yield* Effect.forkChild(agent.run({ sessionId: "s", runId: "r2", input: "again", limits }))
      yield* TestClock.adjust("40 seconds")
      const result = yield* Fiber.join(second)
      assert.deepStrictEqual(result._tag === "Suspended" ? result.approvals.map((asked) => asked.id) : [], ["r2/1.0"])
    }))
})
