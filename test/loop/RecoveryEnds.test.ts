/** What the end that is written for a dead drive counts and settles. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type * as Agent from "../../src/Agent.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const resumed = (agent: TestAgent.TestAgent["agent"], limits = {}) =>
  Stream.runCollect(agent.resume({ sessionId: "s", limits }))

it.effect("a run that died can still be resumed after something else wrote to its session", () =>
  Effect.gen(function*() {
    const store = yield* DeadRun.left({ wasAborted: false })
    const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], {
      store,
      agent: { toolPolicy: { maxParallel: 2 } }
    })
    const end = Effect.map(store.service.info("s"), (info) => info?.end)
    assert.strictEqual((yield* Effect.flip(agent.compact("s"))).reason._tag, "CompactionFailed")
    assert.deepInclude((yield* store.log("s")).at(-1), { _tag: "RunAborted", reason: "crashed" })
    assert.strictEqual(yield* end, undefined)
    const request = { sessionId: "s", runId: "dead", input: "go" }
    // nobody is given that end as the run's, even while another process has the session
    const held = store.service.open("s", { runId: "dead", create: false })
    const busy = yield* Effect.scoped(Effect.andThen(held, Effect.flip(agent.run(request))))
    assert.strictEqual(busy.reason._tag, "SessionBusy")
    const result = yield* agent.run(request)
    assert.deepInclude(result, { _tag: "Completed", text: "done" })
    assert.strictEqual(yield* end, "RunCompleted")
    assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
  }))

describe("a run that died five times in a row", () => {
  const loop = Effect.gen(function*() {
    const store = yield* DeadRun.of([...DeadRun.inTools("work", "look"), ...DeadRun.again(5)])
    const { agent } = yield* TestAgent.make([ScriptedModel.text("hello!")], { store })
    return { agent, store }
  })

  it.effect("ends limited without asking its reconciler, which may be what it died of", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* loop
      let asked = 0
      const reconcile = () => Effect.as(Effect.sync(() => asked++), { _tag: "Done" } as const)
      const events = yield* Effect.provideService(resumed(agent), Reconciler.Reconciler, { reconcile })
      assert.deepStrictEqual([RunLog.endOf(events), asked], ["RunLimited(crashLoop)", 0])
      assert.deepStrictEqual(RunLog.outcomes(events), ["1.0 OutcomeUnknown", "1.1 Interrupted"])
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("ends limited even when given new limits, and its reader sees nothing but that", () =>
    Effect.gen(function*() {
      const { agent } = yield* loop
      const events = yield* resumed(agent, { maxTurns: 50 })
      assert.deepStrictEqual(RunLog.tags(events), ["ToolSettled", "ToolSettled", "RunLimited"])
      assert.strictEqual((yield* agent.run({ sessionId: "s", input: "hello" })).text, "hello!")
    }))

  it.effect("ends as crashed, not limited, when a new message comes", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* loop
      yield* agent.run({ sessionId: "s", input: "hello" })
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.only(log, "RunAborted").map(({ reason }) => reason), Array(5).fill("crashed"))
      assert.deepStrictEqual(RunLog.only(log, "RunLimited"), [])
    }))

  it.effect("keeps its question open for a later answer", () =>
    Effect.gen(function*() {
      const [started, turn, said] = DeadRun.inTools("work")
      const asked = { ...Drafts.approvalRequested("1.0"), tool: "work", params: { n: 0 } }
      const log = [started!, turn!, said!, asked, ...DeadRun.again(5)]
      const store = yield* DeadRun.of(log)
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      const [question] = yield* agent.approvals("s")
      yield* agent.decide({ sessionId: "s", approvalId: question!.id, approved: true })
      assert.deepStrictEqual(RunLog.outcomes(yield* resumed(agent)), ["1.0 Succeeded"])
    }))

  for (
    const [how, visit] of [
      [
        "its session was compacted by hand",
        (agent: Agent.Client<string>) => Effect.asVoid(Effect.exit(agent.compact("s")))
      ],
      [
        "a question of it was answered",
        (agent: Agent.Client<string>) =>
          Effect.flatMap(
            agent.approvals("s"),
            ([question]) => agent.decide({ sessionId: "s", approvalId: question!.id, approved: true })
          )
      ]
    ] as const
  ) {
    const visited = Effect.gen(function*() {
      const started = { ...Drafts.started("go"), agent: "test/Tested" }
      const inTool = DeadRun.inTools("look", "again").slice(1, 4)
      const log = [started, ...inTool, Drafts.approvalRequested("1.1"), ...DeadRun.again(5)]
      const store = yield* DeadRun.of(log)
      let calls = 0
      const { agent } = yield* TestAgent.make([], { store, tool: () => Effect.sync(() => `${++calls}`) })
      yield* visit(agent)
      yield* TestClock.adjust("2 days")
      return { agent, store, calls: () => calls }
    })

    it.effect(`ends limited where it is found, even if ${how} since`, () =>
      Effect.gen(function*() {
        const { agent, calls, store } = yield* visited
        const { runs } = yield* agent.recover()
        const [ended] = yield* Effect.forEach(runs, ({ result }) => result)
        assert.deepInclude(ended, { _tag: "Limited", reason: "crashLoop" })
        assert.deepStrictEqual([RunLog.endOf(yield* store.log("s")), calls()], ["RunLimited(crashLoop)", 0])
        assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
      }))

    it.effect(`ends limited when its request is sent again, even if ${how} since`, () =>
      Effect.gen(function*() {
        const { agent, calls, store } = yield* visited
        const request = { sessionId: "s", runId: "run-1", input: "go" }
        for (const _ of ["ends", "is replayed"]) {
          assert.deepInclude(yield* agent.run(request), { _tag: "Limited", reason: "crashLoop" })
        }
        assert.deepStrictEqual([RunLog.endOf(yield* store.log("s")), calls()], ["RunLimited(crashLoop)", 0])
        assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
      }))
  }

  it.effect("has five more lives once a person has resumed it", () =>
    Effect.gen(function*() {
      const log = [...DeadRun.inTools("look"), ...DeadRun.again(5)]
      const parked: Drafts.Placed = { _tag: "RunLimited", reason: "crashLoop", totals: Drafts.totals }
      const settled = Drafts.settled("1.0", { _tag: "Interrupted" })
      const store = yield* DeadRun.of([...log, settled, parked, Drafts.resumed(6), ...DeadRun.again(4)])
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      assert.strictEqual(RunLog.endOf(yield* resumed(agent)), "RunCompleted(stop)")
    }))
})

it.effect("a dead drive's time is counted, without what it spent waiting for a person", () =>
  Effect.gen(function*() {
    const store = yield* DeadRun.of([
      { ...Drafts.started("go"), at: 0 },
      { ...Drafts.turnStarted(1), at: 0 },
      { ...Drafts.assistant([Drafts.call("work", { n: 1 })]), at: 60_000 },
      { ...Drafts.approvalRequested("1.0"), at: 60_000 },
      { _tag: "AbortRequested", reason: "requested", at: 70_000 }
    ])
    const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
    yield* TestClock.setTime(86_400_000)
    yield* resumed(agent)
    const log = yield* store.log("s")
    assert.strictEqual(RunLog.only(log, "RunAborted")[0]?.totals.duration, 60_000)
    assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 NotExecuted(aborted)"])
  }))

describe("an abort that was accepted when the process died", () => {
  const log = [...DeadRun.inTools("work", "look"), { _tag: "AbortRequested", reason: "requested" } as const]

  it.effect("is the run's end when a new message comes, and the reconciler is asked", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.of(log)
      const { agent, script } = yield* TestAgent.make([ScriptedModel.text("hello!")], { store })
      const reconcile = () => Effect.succeed({ _tag: "Done", result: "paid" } as const)
      const result = yield* Effect.provideService(
        agent.run({ sessionId: "s", input: "hello" }),
        Reconciler.Reconciler,
        { reconcile }
      )
      assert.deepStrictEqual([result._tag, result.turns, result.text], ["Completed", 1, "hello!"])
      const after = yield* store.log("s")
      assert.deepStrictEqual(RunLog.only(after, "RunAborted").map(({ reason }) => reason), ["requested"])
      assert.deepStrictEqual(RunLog.outcomes(after), ["1.0 Succeeded", "1.1 Interrupted"])
      assert.deepStrictEqual(RunLog.violations(after), [])
      assert.include(JSON.stringify((yield* script.requests)[0]?.messages), "paid")
    }))

  it.effect("does not count as a death: the resumed run has all its lives", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.of([...DeadRun.inTools("look"), ...DeadRun.again(5), log.at(-1)!])
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      assert.strictEqual(RunLog.endOf(yield* resumed(agent)), "RunCompleted(stop)")
    }))
})
