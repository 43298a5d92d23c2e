/** Whatever becomes of a run, each of its spans ends once, below an existing one, and its metrics agree with its log. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Tracer from "effect/Tracer"
import * as ContextSummary from "../../../src/layers/ContextSummary.ts"
import * as ModelFallback from "../../../src/layers/ModelFallback.ts"
import type { Run } from "../../../src/Run.ts"
import * as RunEvent from "../../../src/run/RunEvent.ts"
import type * as RunInput from "../../../src/run/RunInput.ts"
import * as RunStats from "../../../src/run/RunStats.ts"
import type { Hook } from "../../../src/services/Hooks.ts"
import * as Prices from "../../../src/services/Prices.ts"
import * as RetryPolicy from "../../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as Condensing from "../../support/Condensing.ts"
import * as Measured from "../../support/Measured.ts"
import * as Overflows from "../../support/Overflows.ts"
import * as Overloaded from "../../support/Overloaded.ts"
import * as RunLog from "../../support/RunLog.ts"
import * as TestAgent from "../../support/TestAgent.ts"
import * as TestStore from "../../support/TestStore.ts"
import * as Traces from "../../support/Traces.ts"

const { look, work } = TestAgent
const { history, overflow, refused } = Overflows
const { fail: overloaded } = Overloaded
const done = ScriptedModel.text("done")
/** Reports at once what the request has cost. */
const begun = ScriptedModel.parts({ type: "response", id: "m", usage: { inputTokens: 7, outputTokens: 1 } })

type Watched = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
/** What happens, observed where it is `watched`; returns the stores of the sessions "s" that it was about. */
type Story = (watched: Watched) => Effect.Effect<ReadonlyArray<TestStore.TestStore>, unknown, Scope.Scope>

const retry = RetryPolicy.make({ base: 0 })

/** One run from its beginning to its end. */
const whole = (
  turns: ReadonlyArray<ScriptedModel.Turn>,
  options: TestAgent.Options = {},
  input: Partial<RunInput.RunInput> = {}
): Story =>
(watched) =>
  Effect.gen(function*() {
    const made = yield* TestAgent.make(turns, { ...options, agent: { retry, ...options.agent } })
    yield* watched(Effect.exit(made.agent.run({ sessionId: "s", input: "go", ...input })))
    return [made.store]
  })

/** A run that `ends` once it has come to the gate; then time passes. */
const cut = (
  script: (gate: ScriptedModel.Gate) => {
    readonly turns: ReadonlyArray<ScriptedModel.Turn>
    readonly options?: TestAgent.Options
    readonly condenser?: ReadonlyArray<ScriptedModel.Turn>
  },
  ends: (run: Run<string>, made: TestAgent.TestAgent, gate: ScriptedModel.Gate) => Effect.Effect<unknown>
): Story =>
(watched) =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const { condenser = [], options = {}, turns } = script(gate)
    const made = yield* Condensing.make(turns, ContextSummary.layer, condenser, options)
    const run = yield* watched(made.agent.start({ sessionId: "s", input: "go", history: history(12) }))
    yield* gate.started
    const ending = yield* Effect.forkChild(ends(run, made, gate))
    yield* TestClock.adjust("20 seconds")
    yield* Fiber.join(ending)
    yield* Effect.exit(run.result)
    return [made.store]
  })

const abort = (run: Run<string>) => run.abort
const parallel = { toolPolicy: { maxParallel: 3 } }
const hooked = (hook: Partial<Hook>): TestAgent.Options => ({ agent: { hooks: [{ name: "h", ...hook }] } })
const model = (name: string, ...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  ScriptedModel.layer(turns, { info: { provider: "test", name } })
const asking = { agent: { toolPolicy: { requireApprovalByDefault: true } } }

const stories: Record<string, Story> = {
  "is retried": whole([overloaded(), [done, ScriptedModel.cut], ScriptedModel.text(" "), done]),
  "is retried in vain": whole(Array.from({ length: 4 }, () => overloaded())),
  "is refused": whole([work(1), refused]),
  "has a model with a bug": whole([work(1), ScriptedModel.die(new Error("bug"))]),
  "has a retry policy with a bug": whole([overloaded()], {
    agent: {
      retry: RetryPolicy.make({
        classify: () => {
          throw new Error("bug")
        }
      })
    }
  }),
  "has tools that fail and die": whole([[work(1), look(2), work(3), ScriptedModel.call("nope", {})], done], {
    agent: parallel,
    tool: ({ n }) => n === 1 ? Effect.succeed("ok") : n === 2 ? Effect.fail("no") : Effect.die("bug")
  }),
  "is limited in calls": whole([[work(1), look(2)], done], {}, { limits: { maxToolCalls: 1 } }),
  "has a guard that answers": whole(
    [work(1), done],
    hooked({
      beforeToolCall: () => Effect.succeed({ _tag: "Answer", result: "no" })
    })
  ),
  "has a guard that dies after a call": whole([work(1), done], hooked({ afterToolCall: () => Effect.die("bug") })),
  "has a guard that dies after an answer": whole([work(1)], hooked({ afterModelCall: () => Effect.die("bug") })),
  "falls back": (watched) =>
    Effect.flatMap(
      Effect.succeed(ModelFallback.layer([
        model("scripted", overloaded(), overloaded(3_600_000)),
        model("other", overloaded(), work(1), done)
      ])),
      (model) => whole([], { model })(watched)
    ),
  "is condensed": cut((gate) => ({
    turns: [overflow, done],
    condenser: [[ScriptedModel.gate(gate), ScriptedModel.cut], ScriptedModel.text("They talked.")],
    options: { agent: { retry } }
  }), (_, __, gate) => gate.release),
  "is aborted while it is condensed": cut((gate) => ({
    turns: [overflow],
    condenser: [overloaded(), ScriptedModel.gate(gate)],
    options: { agent: { retry } }
  }), abort),
  "is aborted in an answer": cut((gate) => ({ turns: [work(1), [begun, done, ScriptedModel.gate(gate)]] }), abort),
  "is shut down in an answer": cut(
    (gate) => ({ turns: [work(1), [done, ScriptedModel.gate(gate)]] }),
    (_, { close }) => close
  ),
  "is aborted in parallel calls": cut((gate) => ({
    turns: [[work(1), look(2), work(3)]],
    options: {
      agent: parallel,
      tool: ({ n }) =>
        n === 1 ? Effect.succeed("ok") : n === 2 ? Effect.never : Effect.as(Effect.uninterruptible(gate.wait), "ok")
    }
  }), abort),
  "has an answer that takes too long": cut((gate) => ({
    turns: [[done, ScriptedModel.gate(gate)], done],
    options: { agent: { retry, timeouts: { gap: "5 seconds" } } }
  }), () => Effect.void),
  "has a call that takes too long": cut((gate) => ({
    turns: [work(1), done],
    options: { agent: { timeouts: { tool: "5 seconds" } }, tool: () => Effect.as(gate.wait, "ok") }
  }), () => Effect.void),
  "has a store that fails": (watched) =>
    Effect.flatMap(
      TestStore.make(TestStore.failing((n) => n > 3)),
      (store) => whole([work(1), done], { store })(watched)
    ),
  "is limited, and resumed": (watched) =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([work(1), work(2), done])
      yield* watched(agent.run({ sessionId: "s", input: "go", limits: { maxTurns: 1 } }))
      yield* watched(Stream.runDrain(agent.resume({ sessionId: "s", limits: { maxTurns: 9 } })))
      return [store]
    }),
  "waits for a person, who answers days later in another process": (watched) =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([[work(1), work(2)]], asking)
      yield* watched(agent.run({ sessionId: "s", runId: "r", input: "go" }))
      yield* TestClock.adjust("3 days")
      const elsewhere = yield* TestAgent.make([done], { ...asking, store })
      for (const [approvalId, approved] of [["r/1.0", true], ["r/1.1", false]] as const) {
        yield* watched(elsewhere.agent.decide({ sessionId: "s", approvalId, approved }))
      }
      yield* watched(Stream.runDrain(elsewhere.agent.resume({ sessionId: "s" })))
      return [store]
    }),
  "has another run in a tool, and is aborted with it": (watched) =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const inner = yield* TestAgent.make([overloaded(), work(7), [done, ScriptedModel.gate(gate)]], {
        agent: { retry }
      })
      const outer = yield* TestAgent.make([work(1)], {
        tool: () => Effect.orDie(Effect.as(inner.agent.run({ sessionId: "s", input: "go" }), "ok"))
      })
      const run = yield* watched(outer.agent.start({ sessionId: "s", input: "go" }))
      yield* gate.started
      yield* run.abort
      yield* run.result
      return [outer.store, inner.store]
    })
}

/** Spans that record how often they end. */
const counting = () => {
  const spans: Array<Counted> = []
  class Counted extends Tracer.NativeSpan {
    ends = 0
    override end(endTime: bigint, exit: Exit.Exit<unknown, unknown>): void {
      this.ends++
      super.end(endTime, exit)
    }
  }
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Counted(options)
      spans.push(span)
      return span
    }
  })
  return { spans, tracer }
}

const prices = Prices.table({
  scripted: { input: 1000, output: 10_000 },
  other: { input: 300, output: 300 },
  condenser: { input: 20, output: 20 }
})

/** What metrics say that logs say too. */
const readMetrics = Effect.fnUntraced(function*(measured: Measured.Measured) {
  const lines = yield* measured.read(/./)
  const sum = (name: RegExp, at = 0): number =>
    lines.filter((line) => name.test(line)).reduce(
      (sum, line) => sum + Number(line.split(" ").at(-1)!.split("/")[at]),
      0
    )
  return {
    tokens: [sum(/^tokens.*kind=input/), sum(/^tokens.*kind=output/)],
    cost: sum(/^cost/),
    attempts: sum(/^attempts/),
    discarded: sum(/^attempts.*type=/),
    retries: sum(/^retries/),
    durations: sum(/^gen_ai.client.operation.duration.*model=(scripted|other)/, 1),
    calls: sum(/^tool\.calls/),
    asked: sum(/^approvals\.asked/),
    approvals: sum(/^approvals\{(?!.*answer=unanswered)/),
    compactions: sum(/^compactions/),
    ends: sum(/^runs\{/),
    live: sum(/^runs\.live/),
    waiting: sum(/^approvals\.waiting/)
  }
})

type Said = Effect.Success<ReturnType<typeof readMetrics>>

const readLogs = (logs: ReadonlyArray<ReadonlyArray<RunEvent.Durable>>): Said => {
  const stats = RunStats.summarize(
    logs.reduce((all, log) => log.reduce(RunStats.evolve, RunStats.endSession(all)), RunStats.make())
  )
  const events = logs.flat()
  const count = (tag: RunEvent.Durable["_tag"]) => RunLog.only(events, tag).length
  return {
    tokens: [stats.tokens.input, stats.tokens.output],
    cost: stats.cost ?? 0,
    attempts: count("AssistantMessage") + count("AttemptDiscarded"),
    discarded: count("AttemptDiscarded"),
    // metrics count those of turns
    retries: RunLog.only(events, "AttemptDiscarded").filter(({ delay }) => delay !== undefined).length,
    durations: count("AssistantMessage") + count("AttemptDiscarded"),
    calls: count("ToolSettled"),
    asked: count("ApprovalRequested"),
    approvals: count("ApprovalResolved"),
    compactions: count("ContextCompacted"),
    ends: events.filter(RunEvent.isEnd).length,
    live: 0,
    waiting: 0
  }
}

it.effect.each(Object.entries(stories))(
  "what is observed of a run agrees with its log, when it %s",
  ([, story]) =>
    Effect.gen(function*() {
      const { spans, tracer } = counting()
      const measured = Measured.make()
      const stores = yield* story((self) =>
        self.pipe(
          Effect.withSpan("app"),
          Effect.provideService(Tracer.Tracer, tracer),
          Effect.provideService(Metric.MetricRegistry, measured.registry),
          Effect.provideService(Prices.Prices, prices)
        )
      )
      assert.deepStrictEqual(spans.filter(({ ends }) => ends !== 1).map(({ ends, name }) => [name, ends]), [])
      const traces = { ...Traces.make(), spans }
      for (const span of spans) assert.strictEqual(Traces.above(traces, span).at(-1) ?? span.name, "app")
      const logs = yield* Effect.forEach(stores, (store) => store.log("s"))
      assert.isAbove(logs.flat().length, 0)
      assert.deepStrictEqual(yield* readMetrics(measured), readLogs(logs))
    })
)
