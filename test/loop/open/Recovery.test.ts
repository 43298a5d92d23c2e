/**
 * What a dead process leaves, at every write of every kind of run: the log ends there, and nothing else is known. Whatever
 * comes next recovers it by appending.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import type * as RunPolicy from "../../../src/run/RunPolicy.ts"
import * as Reconciler from "../../../src/services/Reconciler.ts"
import * as RetryPolicy from "../../../src/services/RetryPolicy.ts"
import { ToolCall } from "../../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as Overloaded from "../../support/Overloaded.ts"
import * as RunLog from "../../support/RunLog.ts"
import * as TestAgent from "../../support/TestAgent.ts"
import * as TestStore from "../../support/TestStore.ts"

const again = (n: number) => ScriptedModel.call("again", { n })
const input = { sessionId: "s", runId: "r", input: "go" }

interface Scenario {
  readonly turns: ReadonlyArray<ScriptedModel.Turn>
  readonly policy?: RunPolicy.ToolPolicy
}

const scenarios: Record<string, Scenario> = {
  "text only": { turns: [ScriptedModel.text("done")] },
  "one tool": { turns: [TestAgent.work(1), ScriptedModel.text("done")] },
  "a tool that fails": { turns: [TestAgent.work(-1), ScriptedModel.text("done")] },
  "one tool after the other": {
    turns: [[TestAgent.work(1), TestAgent.look(2), again(3)], TestAgent.work(4), ScriptedModel.text("done")]
  },
  "tools in parallel": {
    turns: [[TestAgent.work(1), TestAgent.look(2), again(3), TestAgent.work(4)], ScriptedModel.text("done")],
    policy: { maxParallel: 4 }
  },
  "a call that is tried again": {
    turns: [Overloaded.fail(), TestAgent.work(1), Overloaded.fail(), ScriptedModel.text("done")]
  }
}

interface Ran {
  readonly tool: string
  readonly key: string
  readonly attempt: number
}

/** An agent whose tools record what they ran. */
const make = Effect.fnUntraced(function*(
  { policy = {}, turns }: Scenario,
  store: TestStore.TestStore
) {
  const ran: Array<Ran> = []
  const { agent, script } = yield* TestAgent.make(turns, {
    store,
    agent: { toolPolicy: policy, retry: RetryPolicy.make({ base: 0 }) },
    tool: ({ n }) =>
      Effect.gen(function*() {
        const { attempt, callId, idempotencyKey } = yield* ToolCall
        ran.push({ tool: callId, key: idempotencyKey, attempt })
        return n < 0 ? yield* Effect.fail("no") : `done ${n}`
      })
  })
  return { agent, ran, script }
})

/** A store that holds what was written before the process died. */
const left = Effect.fnUntraced(function*(batches: ReadonlyArray<TestStore.Batch>) {
  const store = yield* TestStore.make()
  yield* Effect.scoped(Effect.gen(function*() {
    const session = yield* store.service.open("s", { runId: "r", create: true })
    for (const batch of batches) yield* session.append(batch)
  }))
  return store
})

/** The writes of a scenario to which nothing happens, and all that its model said. */
const whole = Effect.fnUntraced(function*(scenario: Scenario) {
  const store = yield* TestStore.make()
  const { agent } = yield* make(scenario, store)
  const result = yield* agent.run(input)
  return { batches: store.appends, result }
})

/** What the model has still to say after these writes. */
const rest = ({ policy, turns }: Scenario, log: ReadonlyArray<RunEvent.Durable>): Scenario => ({
  turns: turns.slice(RunLog.only(log, "AssistantMessage").length + RunLog.only(log, "AttemptDiscarded").length),
  ...(policy === undefined ? {} : { policy })
})

const resumed = (agent: TestAgent.TestAgent["agent"]) => Stream.runCollect(agent.resume({ sessionId: "s" }))

/** Each point at which a run of a scenario can die between two writes, with what is left there. */
const places = (scenario: Scenario) =>
  Effect.map(
    whole(scenario),
    ({ batches, result }) => batches.slice(0, -1).map((_, at) => ({ batches: batches.slice(0, at + 1), result }))
  )

describe("a process that died at any write", () => {
  for (const [name, scenario] of Object.entries(scenarios)) {
    it.effect(`of a run with ${name}: resuming does what is left, and runs no undeclared tool twice`, () =>
      Effect.gen(function*() {
        for (const { batches, result } of yield* places(scenario)) {
          const before = batches.flat()
          const store = yield* left(batches)
          const { agent, ran } = yield* make(rest(scenario, before), store)
          const events = yield* resumed(agent)
          const log = yield* store.log("s")
          assert.deepStrictEqual(RunLog.violations(log), [])
          assert.deepStrictEqual(log.slice(0, before.length), before)
          assert.strictEqual(RunLog.endOf(log), "RunCompleted(stop)")
          assert.deepStrictEqual([events[0]?._tag, events.filter((event) => "totals" in event).length], [
            "RunResumed",
            1
          ])
          const end = RunLog.only(log, "RunCompleted")[0]!
          assert.deepStrictEqual([end.totals.turns, end.totals.toolCalls], [
            result.turns,
            RunLog.only(log, "ToolSettled").length
          ])
          const { settled, started } = open(before)
          const mayRunAgain = started.filter(({ tool }) => tool !== "work").map(({ callId }) => callId)
          for (const { attempt, key, tool } of ran) {
            assert.notInclude(settled, tool)
            assert.strictEqual(attempt, mayRunAgain.includes(tool) ? 2 : 1)
            assert.strictEqual(key, `s/r/${tool}`)
          }
          for (const { callId, tool } of started) {
            const outcome = RunLog.outcomes(log).find((outcome) => outcome.startsWith(callId))
            if (tool === "work") assert.strictEqual(outcome, `${callId} OutcomeUnknown`)
            assert.strictEqual(ran.some((one) => one.tool === callId), tool !== "work")
          }
        }
      }))

    it.effect(`of a run with ${name}: dying once more, at any write that follows, is like dying once`, () =>
      Effect.gen(function*() {
        for (const { batches, result } of yield* places(scenario)) {
          const first = yield* left(batches)
          yield* resumed((yield* make(rest(scenario, batches.flat()), first)).agent)
          for (let length = batches.length + 1; length < first.appends.length; length++) {
            const before = first.appends.slice(0, length)
            const store = yield* left(before)
            const { agent, ran } = yield* make(rest(scenario, before.flat()), store)
            yield* resumed(agent)
            const log = yield* store.log("s")
            assert.deepStrictEqual(RunLog.violations(log), [])
            assert.strictEqual(RunLog.only(log, "RunCompleted")[0]?.totals.turns, result.turns)
            const { started } = open(before.flat())
            const undeclared = started.filter(({ tool }) => tool === "work").map(({ callId }) => callId)
            for (const { tool } of ran) assert.notInclude(undeclared, tool)
          }
        }
      }))

    it.effect(`of a run with ${name}: a new message is answered, and no tool runs`, () =>
      Effect.gen(function*() {
        for (const { batches } of yield* places(scenario)) {
          const before = batches.flat()
          const store = yield* left(batches)
          const { agent, ran, script } = yield* make({ turns: [ScriptedModel.text("hello!")] }, store)
          const result = yield* agent.run({ sessionId: "s", input: "hello" })
          assert.deepStrictEqual([result._tag, result.text, ran], ["Completed", "hello!", []])
          const log = yield* store.log("s")
          assert.deepStrictEqual(RunLog.violations(log), [])
          assert.deepStrictEqual(RunLog.only(log, "RunAborted").map(({ reason, runId }) => [runId, reason]), [
            ["r", "crashed"]
          ])
          for (const { callId, tool } of open(before).started) {
            const expected = tool === "work" ? "OutcomeUnknown" : "Interrupted"
            assert.include(RunLog.outcomes(log), `${callId} ${expected}`)
          }
          assert.lengthOf(yield* script.requests, 1)
        }
      }))

    it.effect(`of a run with ${name}: the same request sent again continues it`, () =>
      Effect.gen(function*() {
        for (const { batches, result } of yield* places(scenario)) {
          const store = yield* left(batches)
          const { agent } = yield* make(rest(scenario, batches.flat()), store)
          assert.deepStrictEqual((yield* agent.run(input)).text, result.text)
          const log = yield* store.log("s")
          assert.deepStrictEqual(RunLog.violations(log), [])
          assert.lengthOf(RunLog.only(log, "RunStarted"), 1)
          assert.strictEqual(RunLog.only(log, "RunResumed")[0]?.cause, "recovery")
          // sent once more, it only replays
          assert.deepStrictEqual((yield* agent.run(input)).text, result.text)
          assert.deepStrictEqual(yield* store.log("s"), log)
        }
      }))
  }

  /** The calls that have an outcome, and those that only have an intent. */
  const open = (log: ReadonlyArray<RunEvent.Durable>) => {
    const settled = RunLog.only(log, "ToolSettled").map(({ callId }) => callId)
    return { settled, started: RunLog.only(log, "ToolStarted").filter(({ callId }) => !settled.includes(callId)) }
  }
})

/** A run that died in its tools, with these calls started. */
const died = Effect.fnUntraced(function*(turn: ScriptedModel.Turn, { wasAborted = false } = {}) {
  const { batches } = yield* whole({ turns: [turn, ScriptedModel.text("done")], policy: { maxParallel: 4 } })
  const at = batches.findIndex((batch) => batch.some((event) => event._tag === "ToolStarted"))
  const log = batches.slice(0, at + 1)
  const last = log.flat().at(-1)!
  const { runId, seq, version } = last
  const aborted: TestStore.Batch = [
    { _tag: "AbortRequested", seq: seq + 1, at: last.at, runId, version, reason: "requested" }
  ]
  return yield* left(wasAborted ? [...log, aborted] : log)
})

describe("a call that was started and has no outcome", () => {
  const ask = (answer: Effect.Effect<Reconciler.Answer, unknown>, turns: ReadonlyArray<ScriptedModel.Turn>) =>
    Effect.gen(function*() {
      const asked: Array<Reconciler.Question> = []
      const reconcile = (question: Reconciler.Question) =>
        Effect.andThen(Effect.sync(() => asked.push(question)), answer)
      const store = yield* died([TestAgent.work(1), TestAgent.look(2)])
      const { agent, ran } = yield* make({ turns }, store)
      const reconciled = Effect.provideService(Reconciler.Reconciler, { reconcile })
      return { agent, asked, ran, reconciled, store }
    })
  const done = [ScriptedModel.text("done")]

  it.effect("is asked about by its idempotency key, unless it may run again", () =>
    Effect.gen(function*() {
      const { agent, asked, ran, reconciled, store } = yield* ask(
        Effect.succeed({ _tag: "Done", result: "paid" }),
        done
      )
      yield* reconciled(resumed(agent))
      const [started] = RunLog.only(yield* store.log("s"), "ToolStarted")
      assert.deepStrictEqual(asked, [{
        sessionId: "s",
        runId: "r",
        callId: "1.0",
        tool: "work",
        params: { n: 1 },
        data: undefined,
        idempotencyKey: "s/r/1.0",
        startedAt: started!.at
      }])
      assert.deepStrictEqual(ran.map(({ tool }) => tool), ["1.1"])
      const settled = RunLog.only(yield* store.log("s"), "ToolSettled").find(({ callId }) => callId === "1.0")
      assert.deepStrictEqual(settled?.outcome, { _tag: "Succeeded", result: "paid" })
    }))

  it.effect("runs once more with the same key if it was not done", () =>
    Effect.gen(function*() {
      const { agent, ran, reconciled } = yield* ask(Effect.succeed({ _tag: "NotDone" }), done)
      yield* reconciled(resumed(agent))
      assert.deepInclude(ran, { tool: "1.0", key: "s/r/1.0", attempt: 2 })
    }))

  for (
    const [how, answer] of [
      ["is not known", Effect.succeed({ _tag: "Unknown" } as const)],
      ["cannot be told", Effect.fail("the bank is closed")],
      ["dies", Effect.die("a bug")]
    ] as const
  ) {
    it.effect(`stays unknown if what became of it ${how}`, () =>
      Effect.gen(function*() {
        const { agent, ran, reconciled, store } = yield* ask(answer, done)
        yield* reconciled(resumed(agent))
        assert.include(RunLog.outcomes(yield* store.log("s")), "1.0 OutcomeUnknown")
        assert.notInclude(ran.map(({ tool }) => tool), "1.0")
      }))
  }

  it.effect("is also asked about before a new message is answered", () =>
    Effect.gen(function*() {
      const answers: ReadonlyArray<readonly [Reconciler.Answer, string]> = [
        [{ _tag: "Done" }, "1.0 Succeeded"],
        [{ _tag: "NotDone" }, "1.0 NotExecuted(superseded)"]
      ]
      for (const [answer, outcome] of answers) {
        const { agent, ran, reconciled, store } = yield* ask(Effect.succeed(answer), done)
        yield* reconciled(agent.run({ sessionId: "s", input: "hello" }))
        assert.include(RunLog.outcomes(yield* store.log("s")), outcome)
        assert.deepStrictEqual(ran, [])
      }
    }))

  it.effect("of a tool that the agent no longer has is unknown", () =>
    Effect.gen(function*() {
      const store = yield* died(again(1))
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], {
        store,
        agent: { toolPolicy: { allowList: ["work"] } }
      })
      yield* resumed(agent)
      assert.include(RunLog.outcomes(yield* store.log("s")), "1.0 OutcomeUnknown")
    }))
})

describe("an abort that was accepted and not carried out", () => {
  it.effect("is the run's end, which the same request sent again returns", () =>
    Effect.gen(function*() {
      const store = yield* died([TestAgent.work(1), TestAgent.look(2)], { wasAborted: true })
      const { agent, ran } = yield* make({ turns: [], policy: { maxParallel: 4 } }, store)
      const result = yield* agent.run(input)
      assert.deepStrictEqual([result._tag, ran], ["Aborted", []])
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 OutcomeUnknown", "1.1 Interrupted"])
    }))

  it.effect("does not keep the run from being resumed", () =>
    Effect.gen(function*() {
      const store = yield* died(TestAgent.work(1), { wasAborted: true })
      const { agent } = yield* make({ turns: [ScriptedModel.text("done")] }, store)
      assert.strictEqual(RunLog.endOf(yield* resumed(agent)), "RunCompleted(stop)")
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))
})

describe("a run whose process dies repeatedly", () => {
  /** What is in the log when a drive has reached its tool and dies there. */
  const dies = (batches: ReadonlyArray<TestStore.Batch>, turns: ReadonlyArray<ScriptedModel.Turn>) =>
    Effect.scoped(Effect.gen(function*() {
      const store = yield* left(batches)
      const reached = yield* Deferred.make<void>()
      const { agent } = yield* TestAgent.make(turns, {
        store,
        tool: () => Effect.andThen(Deferred.succeed(reached, undefined), Effect.never)
      })
      yield* Effect.forkChild(resumed(agent))
      yield* Deferred.await(reached)
      return store.appends.slice()
    }))
  const crashes = (log: ReadonlyArray<RunEvent.Durable>) =>
    RunLog.only(log, "RunAborted").filter(({ reason }) => reason === "crashed").length

  it.effect("ends limited after five deaths, and continues when a person resumes it", () =>
    Effect.gen(function*() {
      let batches: ReadonlyArray<TestStore.Batch> = (yield* died(TestAgent.look(1))).appends
      for (let drive = 2; drive <= 5; drive++) batches = yield* dies(batches, [])
      const store = yield* left(batches)
      const { agent, ran } = yield* make({ turns: [ScriptedModel.text("done")] }, store)
      const events = yield* resumed(agent)
      assert.deepStrictEqual([RunLog.endOf(events), ran], ["RunLimited(crashLoop)", []])
      const log = yield* store.log("s")
      assert.deepStrictEqual([RunLog.violations(log), crashes(log)], [[], 4])
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Interrupted"])
      assert.strictEqual(RunLog.endOf(yield* resumed(agent)), "RunCompleted(stop)")
    }))

  it.effect("is not ended while it makes progress: a turn whose outcomes are all known counts", () =>
    Effect.gen(function*() {
      let batches: ReadonlyArray<TestStore.Batch> = (yield* died(TestAgent.look(1))).appends
      for (let drive = 2; drive <= 7; drive++) {
        const finished = yield* left(batches)
        const gate = yield* ScriptedModel.makeGate
        const { agent } = yield* TestAgent.make([TestAgent.look(drive), ScriptedModel.gate(gate)], { store: finished })
        yield* Effect.forkChild(resumed(agent))
        yield* gate.started
        batches = finished.appends.slice()
      }
      const store = yield* left(batches)
      const { agent } = yield* make({ turns: [ScriptedModel.text("done")] }, store)
      assert.strictEqual(RunLog.endOf(yield* resumed(agent)), "RunCompleted(stop)")
    }))

  it.effect("still takes a new message", () =>
    Effect.gen(function*() {
      let batches: ReadonlyArray<TestStore.Batch> = (yield* died(TestAgent.look(1))).appends
      for (let drive = 2; drive <= 6; drive++) {
        batches = drive === 6 ? batches : yield* dies(batches, [])
      }
      const store = yield* left(batches)
      const { agent } = yield* make({ turns: [ScriptedModel.text("hello!")] }, store)
      assert.strictEqual((yield* agent.run({ sessionId: "s", input: "hello" })).text, "hello!")
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))
})

describe("a run that died", () => {
  it.effect("still counts: limits, totals and drives", () =>
    Effect.gen(function*() {
      const store = yield* died(TestAgent.look(1))
      const { agent } = yield* make({ turns: [] }, store)
      const events = yield* Stream.runCollect(agent.resume({ sessionId: "s", limits: { maxTurns: 1 } }))
      assert.strictEqual(RunLog.endOf(events), "RunLimited(turns)")
      assert.deepStrictEqual(RunLog.only(events, "RunResumed").map(({ cause, drive }) => [cause, drive]), [
        ["recovery", 2]
      ])
    }))

  it.effect("keeps a call unknown that nobody knows of when a limit ends it before it goes on", () =>
    Effect.gen(function*() {
      const store = yield* died([TestAgent.work(1), TestAgent.look(2)])
      const { agent, ran } = yield* make({ turns: [] }, store)
      yield* Stream.runDrain(agent.resume({ sessionId: "s", limits: { maxTurns: 1 } }))
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 OutcomeUnknown", "1.1 Interrupted"])
      assert.deepStrictEqual(ran, [])
    }))

  it.effect("that ends with settled calls concludes their turn without making them again", () =>
    Effect.gen(function*() {
      const { batches } = yield* whole({ turns: [TestAgent.work(1), ScriptedModel.text("done")] })
      const log = batches.flat()
      const settled = log.findIndex((event) => event._tag === "ToolSettled")
      const store = yield* left([log.slice(0, settled + 1) as never])
      const { agent, ran, script } = yield* make({ turns: [ScriptedModel.text("done")] }, store)
      const events = yield* resumed(agent)
      assert.deepStrictEqual(RunLog.tags(RunLog.durable(events)), [
        "RunResumed",
        "TurnFinished",
        "TurnStarted",
        "AssistantMessage",
        "TurnFinished",
        "RunCompleted"
      ])
      assert.deepStrictEqual([ran, (yield* script.requests).length], [[], 1])
    }))

  it.effect("that ends with an answer without calls completes, and the model is not asked again", () =>
    Effect.gen(function*() {
      const { batches } = yield* whole({ turns: [ScriptedModel.text("done")] })
      const log = batches.flat()
      const settled = log.findIndex((event) => event._tag === "AssistantMessage")
      const store = yield* left([log.slice(0, settled + 1) as never])
      const { agent } = yield* make({ turns: [] }, store)
      assert.strictEqual(RunLog.endOf(yield* resumed(agent)), "RunCompleted(stop)")
      assert.strictEqual((yield* agent.run(input)).text, "done")
    }))
})
