/** Every row of the status table is taken by a run. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as ModelFallback from "../../src/layers/ModelFallback.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as Feed from "../../src/loop/log/Feed.ts"
import * as Journal from "../../src/loop/log/Journal.ts"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as RunStatus from "../../src/run/RunStatus.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Approver from "../../src/services/Approver.ts"
import { ContextManager } from "../../src/services/ContextManager.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as BrokenHooks from "../support/BrokenHooks.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const retryable = ScriptedModel.fail(
  new RunError.RetryableError<RunError.ProviderReason>({ _tag: "Network", message: "gone" })
)
const refused = (_tag: "ContextOverflow" | "Authentication") =>
  ScriptedModel.fail(new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag, message: "no" }))
const history: NonNullable<RunInput.RunInput["history"]> = Array.from({ length: 10 }, (_, i) => ({
  role: i % 2 === 0 ? "user" : "assistant",
  content: `message ${i}`
}))
const atOnce = { retry: RetryPolicy.make({ base: 0 }) }
const part = ScriptedModel.text("part")
const half = [part, ScriptedModel.finish("length")]

interface Scenario {
  readonly turns: ReadonlyArray<ScriptedModel.Turn>
  readonly input?: Partial<RunInput.RunInput>
  readonly options?: TestAgent.Options
  readonly next?: (made: TestAgent.TestAgent) => Stream.Stream<RunEvent.RunEvent, RunError.RunError>
}

const again = (made: TestAgent.TestAgent) => made.agent.stream({ sessionId: "s", input: "again" })
const resumed = (made: TestAgent.TestAgent) => made.agent.resume({ sessionId: "s", limits: { maxTurns: 9 } })
const allowed = (made: TestAgent.TestAgent) =>
  resumed(made).pipe(
    Stream.provideService(Approver.Approver, { ask: () => Effect.succeed({ approved: true }) })
  )
const secondAfter = (first: ScriptedModel.Turn): TestAgent.Options => ({
  model: ModelFallback.layer([ScriptedModel.layer([first]), ScriptedModel.layer([ScriptedModel.text("ok")])])
})
const failingContext = Layer.succeed(ContextManager, {
  ...ContextWindow.make(),
  plan: (view) => ({ _tag: "Compact", request: view }),
  compact: () => Effect.die("bug")
})

const scenarios: ReadonlyArray<Scenario> = [
  {
    turns: [TestAgent.work(1), ScriptedModel.text("ok")],
    input: { toolPolicy: { requireApprovalByDefault: true } },
    next: allowed
  },
  {
    turns: [TestAgent.work(1), ScriptedModel.text("ok")],
    input: { toolPolicy: { requireApprovalByDefault: true } },
    next: again
  },
  { turns: [TestAgent.work(1), ScriptedModel.text("ok"), ScriptedModel.text("ok")], next: again },
  {
    turns: [TestAgent.work(1), ScriptedModel.text("ok"), ScriptedModel.text("ok")],
    input: { limits: { maxTurns: 1 } },
    next: resumed
  },
  { turns: [TestAgent.work(1), ScriptedModel.text("ok")], input: { limits: { maxTurns: 1 } }, next: again },
  {
    turns: [ScriptedModel.text("ok")],
    options: { context: ContextWindow.layerWith({ compactThreshold: 8 }) },
    input: { history }
  },
  { turns: [[part, refused("ContextOverflow")], ScriptedModel.text("ok")], input: { history } },
  { turns: [refused("ContextOverflow")] },
  { turns: [refused("ContextOverflow")], input: { history, limits: { maxCompactions: 0 } } },
  { turns: [half, ScriptedModel.text("ok")], input: { history } },
  { turns: [half] },
  {
    turns: [retryable, [part, retryable], ScriptedModel.text(""), ScriptedModel.text("ok")],
    options: { agent: atOnce }
  },
  { turns: [retryable], input: { limits: { maxErrors: 0 } } },
  { turns: [[part, retryable]], input: { limits: { maxErrors: 0 } } },
  { turns: [refused("Authentication"), ScriptedModel.text("ok")], next: again },
  { turns: [[part, refused("Authentication")], ScriptedModel.text("ok")], next: resumed },
  { turns: [], options: secondAfter(refused("Authentication")) },
  { turns: [], options: secondAfter([part, refused("Authentication")]) },
  { turns: [[part, ScriptedModel.die("bug")]] },
  { turns: [ScriptedModel.die("bug")] },
  { turns: [], options: { context: failingContext } },
  {
    turns: [TestAgent.work(1)],
    options: { agent: { toolPolicy: { continueOnError: false } }, tool: () => Effect.fail("no") }
  },
  { turns: [TestAgent.work(1), TestAgent.work(2)], input: { limits: { maxToolRounds: 1 } } },
  { turns: [], options: { agent: { hooks: [BrokenHooks.at("beforeModelCall", () => Effect.fail("no"))] } } },
  {
    turns: [ScriptedModel.text("ok")],
    options: { agent: { hooks: [BrokenHooks.at("afterModelCall", () => Effect.fail("no"))] } },
    next: resumed
  }
]

/** Runs a scenario and returns its moves. */
const play = Effect.fnUntraced(function*(scenario: Scenario) {
  const made = yield* TestAgent.make(scenario.turns, scenario.options)
  const seen: Array<RunEvent.RunEvent> = []
  const watch = (events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>) =>
    Effect.exit(Stream.runForEach(events, (event) => Effect.sync(() => seen.push(event))))
  yield* watch(made.agent.stream({ sessionId: "s", input: "go", ...scenario.input }))
  if (scenario.next !== undefined) yield* watch(scenario.next(made))
  return RunLog.moves(seen)
})

/** Runs that are cut off in a status: by an abort, by time, or by a store that breaks. */
const cutOff = Effect.fnUntraced(function*(how: "abort" | "time" | "store", status: RunEvent.Status) {
  const gate = yield* ScriptedModel.makeGate
  const started = yield* Deferred.make<void>()
  const turns: Record<string, ReadonlyArray<ScriptedModel.Turn>> = {
    calling: [ScriptedModel.gate(gate)],
    streaming: [[part, ScriptedModel.gate(gate)]],
    retrying: [retryable],
    tool_running: [TestAgent.work(1)],
    compacting: [],
    preparing: [TestAgent.work(1), ScriptedModel.text("ok")]
  }
  const context = Layer.succeed(ContextManager, {
    plan: (view) => status === "compacting" ? { _tag: "Compact", request: view } : { _tag: "Send" },
    compact: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
  })
  const store = yield* TestStore.make()
  const made = yield* TestAgent.make(turns[status] ?? [], {
    store,
    context,
    tool: () =>
      status === "tool_running"
        ? Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
        : Effect.succeed("ok")
  })
  const run = yield* made.agent.start({
    sessionId: "s",
    input: "go",
    ...(how === "time" ? { limits: { maxDuration: 500 } } : {})
  })
  const seen: Array<RunEvent.RunEvent> = []
  const waits = yield* Deferred.make<void>()
  const reading = yield* run.events.pipe(
    Stream.runForEach((event) => {
      seen.push(event)
      return event._tag === "RetryScheduled" ? Deferred.succeed(waits, undefined) : Effect.void
    }),
    Effect.exit,
    Effect.forkChild
  )
  const isReached: Record<string, Effect.Effect<void>> = {
    calling: gate.started,
    streaming: gate.started,
    retrying: Deferred.await(waits),
    tool_running: Deferred.await(started),
    compacting: Deferred.await(started)
  }
  yield* isReached[status] ?? Effect.void
  if (how === "time") yield* TestClock.adjust("500 millis")
  else yield* run.abort
  yield* Fiber.join(reading)
  return RunLog.moves(seen)
})

/** Where a store that breaks at append `n` stops a run with a tool turn and a retry. */
const broken = Effect.fnUntraced(function*(n: number) {
  const store = yield* TestStore.make(TestStore.failing((k) => k === n))
  return yield* play({
    turns: [TestAgent.work(1), retryable, ScriptedModel.text("ok")],
    options: { store, agent: atOnce }
  })
})

const typedAnswers = Effect.gen(function*() {
  const turns = [ScriptedModel.text("three"), ScriptedModel.text("four")]
  const below = yield* Layer.build(
    Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, ScriptedModel.layer(turns))
  )
  const agent = yield* Agent.make({ instructions: "", output: Schema.Finite }).pipe(Effect.provide(below))
  const run = yield* agent.start({ input: "1 + 2" })
  const seen: Array<RunEvent.RunEvent> = []
  yield* Effect.exit(Stream.runForEach(run.events, (event) => Effect.sync(() => seen.push(event))))
  return RunLog.moves(seen)
})

describe("the status table", () => {
  it.effect("has every row taken by some run", () =>
    Effect.gen(function*() {
      const seen = new Set<string>()
      const note = (moves: ReadonlyArray<string>) => moves.forEach((move) => seen.add(move))
      for (const scenario of scenarios) note(yield* play(scenario))
      for (const status of ["calling", "streaming", "retrying", "tool_running", "compacting"] as const) {
        for (const how of ["abort", "time"] as const) note(yield* cutOff(how, status))
      }
      for (let n = 1; n <= 6; n++) note(yield* broken(n))
      note(yield* typedAnswers)

      const rows = RunStatus.table
      // a row covers the same cause in several statuses: one of them is enough when an end may come at any time
      const isSeen = (row: RunStatus.Row) => row.from.some((from) => seen.has(`${from}>${row.to}`))
      assert.deepStrictEqual(rows.filter((row) => !isSeen(row)).map((row) => row.when), [])
      const exact = rows.filter((row) => row.from.length <= 3).flatMap((row) =>
        row.from.map((from) => `${from}>${row.to}`)
      )
      assert.deepStrictEqual(exact.filter((move) => !seen.has(move)), [])
      const legal = new Set(RunStatus.table.flatMap((row) => row.from.map((from) => `${from}>${row.to}`)))
      assert.deepStrictEqual([...seen].filter((move) => !legal.has(move)), [])
    }))

  it.effect("lets nobody make a move that is not in it: that is a defect", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const session = yield* store.service.open("s", { runId: "r", create: true })
      const journal = Journal.make({
        session,
        runId: "r",
        state: RunState.empty,
        transcript: Transcript.empty,
        feed: new Feed.Feed(store.service, "s", false, () => []),
        clock: { currentTimeMillisUnsafe: () => 0 } as never
      })
      journal.move("driveStarted")
      const exit = yield* Effect.exit(Effect.sync(() => journal.move("settledWithCalls")))
      assert.isTrue(Exit.hasDies(exit))
      assert.strictEqual(journal.status, "preparing")
    }))
})
