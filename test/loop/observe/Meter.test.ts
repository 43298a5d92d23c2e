/** Metrics of runs: ends, work that is counted once however often a run is resumed, and what is live or waiting now. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Family from "../../../src/loop/observe/Family.ts"
import * as Meter from "../../../src/loop/observe/Meter.ts"
import * as RunError from "../../../src/run/RunError.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as Approver from "../../../src/services/Approver.ts"
import * as ContextManager from "../../../src/services/ContextManager.ts"
import * as Prices from "../../../src/services/Prices.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as Approvals from "../../support/Approvals.ts"
import * as DeadRun from "../../support/DeadRun.ts"
import * as Drafts from "../../support/Drafts.ts"
import * as Measured from "../../support/Measured.ts"
import * as RunLog from "../../support/RunLog.ts"
import * as Suspended from "../../support/Suspended.ts"
import * as TestAgent from "../../support/TestAgent.ts"
import * as TestStore from "../../support/TestStore.ts"

const within = ({ registry }: Measured.Measured) => Effect.provideService(Metric.MetricRegistry, registry)

const tested = "name=test/Tested"

describe("runs", () => {
  it.effect("are counted by end and reason; turns, rounds and time are those of each drive, without earlier ones", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const gates = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate] as const
      const { agent } = yield* TestAgent.make([
        [ScriptedModel.gate(gates[0]), TestAgent.work(1)],
        TestAgent.work(2),
        [ScriptedModel.gate(gates[1]), ScriptedModel.text("done")]
      ])
      const pass = ({ release, started }: ScriptedModel.Gate, run: Fiber.Fiber<unknown, unknown>) =>
        started.pipe(
          Effect.andThen(TestClock.adjust("2 seconds")),
          Effect.andThen(release),
          Effect.andThen(Fiber.join(run))
        )
      const limits = { maxTurns: 1 }
      const first = yield* Effect.forkChild(within(measured)(agent.run({ sessionId: "s", input: "go", limits })))
      yield* pass(gates[0], first)
      const second = yield* Effect.forkChild(
        within(measured)(Stream.runDrain(agent.resume({ sessionId: "s", limits: { maxTurns: 9 } })))
      )
      yield* pass(gates[1], second)
      assert.deepStrictEqual(yield* measured.read(/^fiberloop\.run/), [
        `run.duration{${tested},end=completed} 2/1`,
        `run.duration{${tested},end=limited} 2/1`,
        `run.tool_rounds{${tested}} 1/2`,
        `run.turns{${tested}} 3/2`,
        `runs.live{${tested}} 0`,
        `runs{${tested},end=completed,reason=stop} 1`,
        `runs{${tested},end=limited,reason=turns} 1`
      ])
    }))

  it.effect("are counted as live while they are driven", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const gates = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate] as const
      const { agent } = yield* TestAgent.make(gates.map((gate) => [ScriptedModel.gate(gate), ScriptedModel.text("a")]))
      const live = Effect.map(measured.read(/^fiberloop\.runs\.live$/), ([line]) => line)
      const first = yield* within(measured)(agent.start({ input: "go" }))
      yield* gates[0].started
      const second = yield* within(measured)(agent.start({ input: "go" }))
      yield* gates[1].started
      assert.strictEqual(yield* live, `runs.live{${tested}} 2`)
      yield* first.abort
      assert.strictEqual(yield* live, `runs.live{${tested}} 1`)
      yield* gates[1].release
      yield* second.result
      assert.strictEqual(yield* live, `runs.live{${tested}} 0`)
    }))

  it.effect("are lost, and no longer live, when the store refuses their end", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const store = yield* TestStore.make(TestStore.failing((n) => n > 1))
      const { agent } = yield* TestAgent.make([ScriptedModel.text("a")], { store })
      yield* within(measured)(Effect.exit(agent.run({ input: "go" })))
      assert.deepStrictEqual(yield* measured.read(/^fiberloop\.runs/), [
        `runs.live{${tested}} 0`,
        `runs.lost{${tested},type=StoreUnavailable} 1`
      ])
    }))

  it.effect("are not lost when the store refuses their first event, as they have not begun", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const store = yield* TestStore.make(TestStore.failing(() => true))
      const { agent } = yield* TestAgent.make([ScriptedModel.text("a")], { store })
      yield* within(measured)(Effect.exit(agent.run({ input: "go" })))
      assert.deepStrictEqual(yield* measured.read(/^fiberloop\.runs/), [])
    }))

  it.effect("that died are counted by whatever finds them", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const store = yield* DeadRun.left({ wasAborted: false })
      const { agent } = yield* TestAgent.make([ScriptedModel.text("hello")], { store })
      yield* within(measured)(agent.run({ sessionId: "s", input: "hello?" }))
      assert.deepStrictEqual(yield* measured.read(/^fiberloop\.runs/), [
        `runs.live{${tested}} 0`,
        `runs{${tested},end=aborted,reason=crashed} 1`,
        `runs{${tested},end=completed,reason=stop} 1`
      ])
    }))

  it.effect("whose end the store takes too late are counted as the log has them, and are no longer live", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const [asked, taken, stored] = [
        yield* Deferred.make<void>(),
        yield* Deferred.make<void>(),
        yield* Deferred.make<void>()
      ]
      const isEnd = ({ events }: Parameters<TestStore.OnAppend>[0]) =>
        events.some(({ _tag }) => _tag === "RunSuspended")
      const store = yield* TestStore.make((append) =>
        isEnd(append)
          ? Deferred.succeed(asked, undefined).pipe(
            Effect.andThen(Deferred.await(taken)),
            Effect.andThen(append.store),
            Effect.ensuring(Deferred.succeed(stored, undefined)),
            Effect.uninterruptible
          )
          : append.store
      )
      const { agent } = yield* TestAgent.make([TestAgent.work(1)], {
        store,
        agent: { toolPolicy: { requireApprovalByDefault: true } }
      })
      const run = yield* within(measured)(agent.start({ sessionId: "s", input: "go" }))
      yield* Deferred.await(asked)
      const aborting = yield* Effect.forkChild(run.abort)
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(aborting)
      assert.strictEqual((yield* Effect.flip(run.result)).reason._tag, "StoreUnavailable")
      yield* Deferred.succeed(taken, undefined)
      yield* Deferred.await(stored)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunSuspended(approval)")
      assert.deepStrictEqual(yield* measured.read(/runs|waiting|tokens/), [
        `approvals.waiting{${tested}} 0`,
        `runs.live{${tested}} 0`,
        `runs.lost{${tested},type=StoreUnavailable} 1`,
        `runs{${tested},end=suspended,reason=approval} 1`,
        "tokens{name=chat,name=scripted,model=scripted,kind=input} 10",
        "tokens{name=chat,name=scripted,model=scripted,kind=output} 5"
      ])
    }))

  const stores = { "that failed": TestStore.failing, "that was reported as failed": TestStore.lying }
  it.effect.each(Object.entries(stores))(
    "that died are counted once even after a first write %s",
    ([, broken]) =>
      Effect.gen(function*() {
        const measured = Measured.make()
        const store = yield* DeadRun.left({ wasAborted: true })
        const { agent } = yield* TestAgent.make([ScriptedModel.text("hello")], { store })
        let isFirst = true
        store.onAppend = broken(() => {
          const was = isFirst
          isFirst = false
          return was
        })
        yield* within(measured)(Effect.exit(agent.run({ sessionId: "s", input: "hello?" })))
        yield* within(measured)(agent.run({ sessionId: "s", input: "hello?" }))
        const counts = yield* measured.read(/^fiberloop\.(runs|tool\.calls)$/)
        assert.deepStrictEqual(counts.filter((line) => /aborted|OutcomeUnknown/.test(line)), [
          `runs{${tested},end=aborted,reason=requested} 1`,
          "tool.calls{name=work,outcome=OutcomeUnknown} 2"
        ])
      })
  )

  it.effect("that died while being aborted are counted once, with the calls that they left", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const store = yield* DeadRun.left({ wasAborted: true })
      const { agent } = yield* TestAgent.make([ScriptedModel.text("hello")], { store })
      yield* within(measured)(agent.run({ sessionId: "s", input: "hello?" }))
      const settled = RunLog.only(yield* store.log("s"), "ToolSettled").map(({ outcome, tool }) =>
        `${tool} ${outcome._tag}`
      )
      assert.strictEqual(settled.length, 2)
      const counts = Object.entries(Object.groupBy(settled, (call) => call)).map(([call, all = []]) => {
        const [tool, outcome] = call.split(" ")
        return `tool.calls{name=${tool},outcome=${outcome}} ${all.length}`
      })
      assert.deepStrictEqual(yield* measured.read(/^fiberloop\.tool/), counts.toSorted())
    }))

  it.effect("that died are also counted when a compaction by hand finds them", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const store = yield* DeadRun.left({ wasAborted: false })
      const { agent } = yield* TestAgent.make([], { store })
      const refusal = yield* Effect.flip(within(measured)(agent.compact("s")))
      assert.strictEqual(refusal.reason._tag, "CompactionFailed")
      assert.deepStrictEqual(yield* measured.read(/^fiberloop\.runs/), [`runs{${tested},end=aborted,reason=crashed} 1`])
    }))

  it.effect("continue after one that died, even if no metric can be counted", () =>
    Effect.gen(function*() {
      class Broken extends Map<string, never> {
        override get(): never {
          throw new Error("SECRET")
        }
      }
      const store = yield* DeadRun.left({ wasAborted: false })
      const { agent } = yield* TestAgent.make([ScriptedModel.text("hello")], { store })
      const result = yield* agent.run({ sessionId: "s", input: "hello?" }).pipe(
        Effect.provideService(Metric.MetricRegistry, new Broken()),
        Effect.provide(Logger.layer([]))
      )
      assert.strictEqual(result.text, "hello")
    }))
})

describe("what is appended while no drive has the session is counted:", () => {
  it.effect("an answer to a question of a suspended run, once", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const suspended = yield* Suspended.make([TestAgent.work(1), TestAgent.work(2)])
      yield* within(measured)(suspended.decide("1.0"))
      yield* within(measured)(suspended.decide("1.1", { approved: false, reason: "no" }))
      yield* within(measured)(suspended.resume())
      assert.deepStrictEqual(yield* measured.read(/^fiberloop\.approvals$/), [
        `approvals{${tested},answer=approved} 1`,
        `approvals{${tested},answer=denied} 1`
      ])
    }))

  it.effect("a compaction by hand, with what it spent", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const { agent } = yield* TestAgent.make([ScriptedModel.text("one"), ScriptedModel.text("two")], {
        context: Layer.succeed(ContextManager.ContextManager, {
          plan: (view) => view.force === undefined ? { _tag: "Send" } : { _tag: "Compact", request: view },
          compact: () =>
            Effect.succeed({
              strategy: "short",
              upTo: 5,
              replacement: [],
              usage: { inputTokens: 7, outputTokens: 3, cost: 2 }
            })
        })
      })
      yield* agent.run({ sessionId: "s", input: "a long story" })
      yield* agent.run({ sessionId: "s", input: "go on" })
      yield* within(measured)(agent.compact("s"))
      assert.deepStrictEqual(yield* measured.read(/./), [
        "compactions{strategy=short} 1",
        "cost{} 2",
        "tokens{kind=input} 7",
        "tokens{kind=output} 3"
      ])
    }))
})

describe("questions", () => {
  it.effect("are counted while they wait, and by their answer", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const desk = Approvals.desk()
      const { agent } = yield* TestAgent.make([
        [TestAgent.work(1), TestAgent.work(2)],
        ScriptedModel.text("done")
      ], { agent: { toolPolicy: { requireApprovalByDefault: true, maxParallel: 2 } } })
      const read = measured.read(/^fiberloop\.approvals/)
      const run = yield* within(measured)(agent.start({ input: "go" })).pipe(
        Effect.provideService(Approver.Approver, desk)
      )
      yield* desk.asked("1.0")
      yield* desk.asked("1.1")
      assert.deepStrictEqual(yield* read, [`approvals.asked{${tested}} 2`, `approvals.waiting{${tested}} 2`])
      yield* desk.answer("1.0", Approvals.yes)
      yield* desk.answer("1.1", Approvals.no("no"))
      yield* run.result
      assert.deepStrictEqual(yield* read, [
        `approvals.asked{${tested}} 2`,
        `approvals.waiting{${tested}} 0`,
        `approvals{${tested},answer=approved} 1`,
        `approvals{${tested},answer=denied} 1`
      ])
    }))

  const unanswered: Record<
    string,
    readonly [string, (suspended: Suspended.Suspended) => Effect.Effect<unknown, unknown>]
  > = {
    "that expired": ["expired", ({ resume }) => Effect.andThen(TestClock.adjust("1 minute"), resume())],
    "whose calls a new message settled": ["unanswered", ({ agent }) => agent.run({ sessionId: "s", input: "hello" })],
    "whose calls an abort settled": ["unanswered", ({ agent }) => agent.abort("s")]
  }
  for (const [which, [answer, settle]] of Object.entries(unanswered)) {
    it.effect(`${which} are told apart from those that people said no to`, () =>
      Effect.gen(function*() {
        const measured = Measured.make()
        const toolPolicy = { requireApprovalByDefault: true, approvalTimeout: "1 minute" as const }
        const suspended = yield* within(measured)(
          Suspended.make([TestAgent.work(1), TestAgent.work(2)], {}, { toolPolicy })
        )
        yield* within(measured)(settle(suspended))
        assert.deepStrictEqual(yield* measured.read(/^fiberloop\.approvals/), [
          `approvals.asked{${tested}} 2`,
          `approvals.waiting{${tested}} 0`,
          `approvals{${tested},answer=${answer}} 2`
        ])
      }))
  }

  it.effect("that wait across a suspension are waiting in no process, and again in the one that resumes", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const desk = Approvals.desk()
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("done")], {
        agent: { toolPolicy: { requireApprovalByDefault: true } }
      })
      const read = measured.read(/^fiberloop\.approvals\.waiting/)
      yield* within(measured)(agent.run({ sessionId: "s", input: "go" }))
      assert.deepStrictEqual(yield* read, [`approvals.waiting{${tested}} 0`])
      const resumed = yield* Stream.runDrain(agent.resume({ sessionId: "s" })).pipe(
        within(measured),
        Effect.provideService(Approver.Approver, desk),
        Effect.forkChild
      )
      yield* desk.asked("1.0")
      assert.deepStrictEqual(yield* read, [`approvals.waiting{${tested}} 1`])
      yield* desk.answer("1.0", Approvals.yes)
      yield* Fiber.join(resumed)
      assert.deepStrictEqual(yield* read, [`approvals.waiting{${tested}} 0`])
    }))
})

describe("model calls", () => {
  it.effect("are told apart by error; failed ones count what they cost", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const overflow = ScriptedModel.fail(
        new RunError.NonRetryableError({ _tag: "ContextOverflow", message: "too long" })
      )
      const usage = { inputTokens: 1000, outputTokens: 100, cachedInputTokens: 400, reasoningTokens: 60 }
      const { agent } = yield* TestAgent.make([
        [TestAgent.work(1), ScriptedModel.finish("tool-calls", usage)],
        [TestAgent.work(2), ScriptedModel.finish("tool-calls", usage)],
        overflow,
        [ScriptedModel.text("done"), ScriptedModel.finish("stop", usage)]
      ])
      yield* agent.run({ input: "go" }).pipe(
        within(measured),
        Effect.provideService(Prices.Prices, Prices.table({ "scripted/scripted": { input: 1000, output: 10_000 } }))
      )
      const model = "name=chat,name=scripted,model=scripted"
      assert.deepStrictEqual(yield* measured.read(/attempts|retries|compactions|tokens|cost/), [
        `attempts{${model},type=ContextOverflow} 1`,
        `attempts{${model}} 3`,
        `compactions{strategy=window} 1`,
        `cost{${model}} 6`,
        `tokens{${model},kind=cached_input} 1200`,
        `tokens{${model},kind=input} 3000`,
        `tokens{${model},kind=output} 300`,
        `tokens{${model},kind=reasoning} 180`
      ])
    }))

  it.effect("last as long as measured on the run's clock", () =>
    Effect.gen(function*() {
      const measured = Measured.make()
      const first = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([[
        ScriptedModel.gate(first),
        ScriptedModel.text("a"),
        ScriptedModel.finish("stop", { inputTokens: 7, outputTokens: 3 })
      ]])
      const run = yield* within(measured)(agent.start({ input: "go" }))
      yield* first.started
      yield* TestClock.adjust("4 seconds")
      yield* first.release
      yield* run.result
      const model = "name=chat,name=scripted,model=scripted"
      assert.deepStrictEqual(yield* measured.read(/^gen_ai/), [
        `gen_ai.client.operation.duration{${model}} 4/1`,
        `gen_ai.client.operation.time_to_first_chunk{${model}} 4/1`,
        `gen_ai.client.token.usage{${model},type=input} 7/1`,
        `gen_ai.client.token.usage{${model},type=output} 3/1`
      ])
    }))
})

describe("what a drive publishes is counted once:", () => {
  const ofModel = "name=chat,name=test,model=model"

  /** The metrics of a drive that found the run in the state `before`, and published what follows. */
  const published = (drafts: ReadonlyArray<Drafts.Placed>, before = 0) => {
    const measured = Measured.make()
    const events = Drafts.log(...drafts)
    const meter = Meter.make(
      { agent: "test/Agent", sessionId: "s", runId: "run-1", tools: { search: true } },
      events.slice(0, before).reduce(RunState.evolve, RunState.empty),
      Family.targetOf(Context.make(Metric.MetricRegistry, measured.registry))
    )
    meter.see?.(events.slice(before) as never)
    return { ...measured, meter }
  }
  const usage = {
    inputTokens: 100,
    outputTokens: 20,
    cachedInputTokens: 40,
    cacheWriteTokens: 8,
    reasoningTokens: 6,
    cost: 3
  }
  const spent = [
    ["cache_write", 8],
    ["cached_input", 40],
    ["input", 100],
    ["output", 20],
    ["reasoning", 6]
  ] as const

  it.effect("what an answer and a discarded attempt spent", () =>
    Effect.gen(function*() {
      for (
        const draft of [
          Drafts.assistant([], { usage }),
          { ...Drafts.discarded(1, 1, usage), model: Drafts.model }
        ]
      ) {
        const { read } = published([Drafts.started("go"), draft])
        assert.deepStrictEqual(yield* read(/tokens|cost/), [
          `cost{${ofModel}} 3`,
          ...spent.map(([kind, tokens]) => `tokens{${ofModel},kind=${kind}} ${tokens}`)
        ])
      }
    }))

  it.effect("what a compaction, a failed one, and an attempt at an unknown model spent", () =>
    Effect.gen(function*() {
      const compaction = { _tag: "CompactionDiscarded", message: "no answer", usage } as const
      for (const draft of [{ ...Drafts.compacted(1, []), usage }, compaction, Drafts.discarded(1, 1, usage)]) {
        const { read } = published([Drafts.started("go"), draft])
        assert.deepStrictEqual(yield* read(/tokens|cost/), [
          "cost{} 3",
          ...spent.map(([kind, tokens]) => `tokens{kind=${kind}} ${tokens}`)
        ])
      }
    }))

  it.effect("a call, and its time if it ran here", () =>
    Effect.gen(function*() {
      const { read } = published([
        Drafts.started("go"),
        Drafts.toolStarted("1.0"),
        Drafts.settled("1.0", "ok", { duration: 2000 }),
        Drafts.settled("1.1", "ok", { duration: 3000 }),
        // no log has it twice, and a second outcome would be of no call that ran
        Drafts.settled("1.0", "ok", { duration: 4000 })
      ])
      assert.deepStrictEqual(yield* read(/tool\./), [
        "tool.calls{name=search,outcome=Succeeded} 3",
        "tool.duration{name=search,outcome=Succeeded} 2/1"
      ])
    }))

  it.effect("what comes after the result is known, as neither live nor waiting", () =>
    Effect.gen(function*() {
      const { meter, read } = published([Drafts.notice("go on")])
      meter.close?.(Exit.void, undefined)
      meter.see?.(Drafts.log(Drafts.started("go"), Drafts.approvalRequested("1.0")))
      assert.deepStrictEqual(yield* read(/waiting|live/), [])
    }))

  it.effect("a call that paused and did not go on, without a time", () =>
    Effect.gen(function*() {
      const { read } = published([
        Drafts.started("go"),
        Drafts.toolStarted("1.0"),
        Drafts.toolPaused("1.0", { sessionId: "below", runId: "below" }),
        Drafts.settled("1.0", { _tag: "Interrupted" })
      ])
      assert.deepStrictEqual(yield* read(/tool\./), ["tool.calls{name=search,outcome=Interrupted} 1"])
    }))

  it.effect("a question, while nobody has answered it and its call has no outcome", () =>
    Effect.gen(function*() {
      const asked = [
        Drafts.started("go"),
        Drafts.assistant([0, 1, 2].map(() => Drafts.call("search"))),
        ...["1.0", "1.1", "1.2"].map(Drafts.approvalRequested),
        Drafts.approvalResolved("1.0"),
        Drafts.suspended
      ]
      const { meter, read } = published([
        ...asked,
        Drafts.resumed(2),
        Drafts.approvalRequested("1.1"),
        Drafts.settled("1.2", { _tag: "NotExecuted", reason: "aborted" })
      ], asked.length)
      assert.deepStrictEqual(yield* read(/waiting/), ["approvals.waiting{name=test/Agent} 1"])
      meter.close?.(Exit.die("whatever it was"), undefined)
      assert.deepStrictEqual(yield* read(/waiting|live/), [
        "approvals.waiting{name=test/Agent} 0",
        "runs.live{name=test/Agent} 0"
      ])
    }))
})
