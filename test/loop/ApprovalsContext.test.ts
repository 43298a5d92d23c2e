/** Who is asked: the caller's approver, then the agent's layer's; and what the log says of a question. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Approver from "../../src/services/Approver.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as Watch from "../support/Watch.ts"

const turns = [TestAgent.work(1), ScriptedModel.text("ok")]
const go = { sessionId: "s", runId: "r", input: "go" }

/** An approver that allows everything and is known by its name. */
const named = (by: string) => Approvals.answering(() => ({ approved: true, by }))

const decider = Effect.fnUntraced(function*(store: TestStore.TestStore) {
  return RunLog.only(yield* store.log("s"), "ApprovalResolved").map((event) => event.by)
})

describe("the approver", () => {
  it.effect("of the layer answers when the caller has none", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* Approvals.make(turns, { approver: named("layer") })
      yield* agent.run(go)
      assert.deepStrictEqual(yield* decider(store), ["layer"])
    }))

  it.effect("of the caller takes precedence over the layer's: run, start, stream and resume", () =>
    Effect.gen(function*() {
      const as = Effect.provideService(Approver.Approver, named("caller"))
      const ways: Record<string, (agent: TestAgent.TestAgent["agent"]) => Effect.Effect<unknown, unknown>> = {
        run: (agent) => as(agent.run(go)),
        start: (agent) => Effect.flatMap(as(agent.start(go)), (run) => run.result),
        stream: (agent) => Stream.runDrain(Approvals.by(named("caller"), agent.stream(go)))
      }
      for (const [name, way] of Object.entries(ways)) {
        const { agent, store } = yield* Approvals.make(turns, { approver: named("layer") })
        yield* way(agent)
        assert.deepStrictEqual(yield* decider(store), ["caller"], name)
      }
      const { agent, store } = yield* Approvals.make(turns)
      yield* agent.run(go)
      yield* Stream.runDrain(Approvals.by(named("caller"), agent.resume({ sessionId: "s" })))
      assert.deepStrictEqual(yield* decider(store), ["caller"])
    }))

  it.effect("of each of two agents side by side answers its own questions", () =>
    Effect.gen(function*() {
      const [one, two] = [Approvals.desk(), Approvals.desk()]
      const first = yield* Approvals.make(turns, { approver: one })
      const second = yield* Approvals.make(turns, { approver: two })
      const running = [yield* first.agent.start(go), yield* second.agent.start(go)]
      yield* one.asked("1.0")
      yield* two.asked("1.0")
      yield* one.answer("1.0", Approvals.yes)
      yield* two.answer("1.0", Approvals.no("no"))
      for (const run of running) yield* run.result
      assert.deepStrictEqual([first.ran, second.ran], [[1], []])
    }))

  it.effect("of one agent answers two sessions, each with its own question", () =>
    Effect.gen(function*() {
      const ids: Array<string> = []
      const approver = Approvals.answering(({ approvalId, sessionId }) => {
        ids.push(approvalId)
        return sessionId === "s1" ? Approvals.yes : Approvals.no("no")
      })
      const { agent, ran } = yield* Approvals.make([
        TestAgent.work(1),
        ScriptedModel.text("a"),
        TestAgent.work(2),
        ScriptedModel.text("b")
      ], {
        approver
      })
      yield* agent.run({ sessionId: "s1", input: "go" })
      yield* agent.run({ sessionId: "s2", input: "go" })
      assert.deepStrictEqual(ran, [1])
      assert.strictEqual(new Set(ids).size, 2)
    }))
})

describe("the log of a run with questions", () => {
  it.effect("folds to the run's state at every append: phase, question and decision", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const { agent } = yield* Approvals.make(
        [[TestAgent.work(1, "a"), TestAgent.work(2, "b")], ScriptedModel.text("ok")],
        { store, approver: Approvals.answering(({ callId }) => callId === "1.0" ? Approvals.yes : undefined) }
      )
      yield* agent.run(go)
      const phases = new Set<string>()
      const log: Array<Parameters<typeof Approvals.fold>[0][number]> = []
      for (const event of yield* store.log("s")) {
        log.push(event)
        const { openCalls, status } = Approvals.fold(log)
        phases.add(
          `${status}: ${openCalls.map((call) => `${call.phase}${call.decision?.approved === true ? "+" : ""}`).join()}`
        )
      }
      assert.deepStrictEqual([...phases], [
        "preparing: ",
        "tool_running: pending,pending",
        "awaiting_human: awaiting,pending",
        "tool_running: pending+,pending",
        "tool_running: started+,pending",
        "tool_running: pending",
        "awaiting_human: awaiting",
        "suspended: awaiting"
      ])
    }))

  it.effect("shows the same status as the live run while a resumed run waits", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* Approvals.make(turns)
      yield* agent.run(go)
      const approver = Approvals.desk()
      const watch = yield* Watch.make(Approvals.by(approver, agent.resume({ sessionId: "s" })))
      yield* approver.asked("1.0")
      // everything ready runs before the status is looked at
      yield* TestClock.adjust("1 second")
      const live = RunLog.only(watch.seen, "StatusChanged").at(-1)?.to
      assert.deepStrictEqual([live, Approvals.fold(yield* store.log("s")).status], ["awaiting_human", "awaiting_human"])
      yield* approver.answer("1.0", Approvals.yes)
      yield* watch.over
    }))
})
