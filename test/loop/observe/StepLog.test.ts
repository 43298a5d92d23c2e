/** Debug lines of a run: one per step, of names, counts and times, and none if nobody reads them. */
import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as StepLog from "../../../src/loop/observe/StepLog.ts"
import * as RunError from "../../../src/run/RunError.ts"
import type * as RunEvent from "../../../src/run/RunEvent.ts"
import * as RunState from "../../../src/run/RunState.ts"
import * as RetryPolicy from "../../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../../support/DeadRun.ts"
import * as Drafts from "../../support/Drafts.ts"
import * as Hang from "../../support/Hang.ts"
import * as Overflows from "../../support/Overflows.ts"
import * as Shrinking from "../../support/Shrinking.ts"
import * as Suspended from "../../support/Suspended.ts"
import * as TestAgent from "../../support/TestAgent.ts"
import * as TestStore from "../../support/TestStore.ts"
import * as Watch from "../../support/Watch.ts"

const busy = ScriptedModel.fail(
  new RunError.RetryableError<RunError.ProviderReason>({ _tag: "Overloaded", message: "busy", retryAfter: 5000 })
)

type Level = "Debug" | "Info"

/** What a program logs at a level and above, each line headed by its level. */
const saidBy = <E, R>(
  program: Effect.Effect<unknown, E, R>,
  level: Level
): Effect.Effect<ReadonlyArray<string>, E, R> => {
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel} ${String(message)}`))
  return program.pipe(
    Effect.provide(Logger.layer([logger])),
    Effect.provideService(References.MinimumLogLevel, level),
    Effect.as(lines)
  )
}

/** The debug lines of a program, which logs nothing else. */
const linesBy = <E, R>(program: Effect.Effect<unknown, E, R>) =>
  Effect.map(saidBy(program, "Debug"), (lines) => lines.map((line) => line.replace(/^Debug /, "")))

/** The lines of a run that is retried and calls a tool. */
const logged = (level: Level) =>
  Effect.gen(function*() {
    const { agent } = yield* TestAgent.make([busy, TestAgent.work(1), ScriptedModel.text("done")], {
      tool: () => Effect.fail("no")
    })
    const events = agent.stream({ sessionId: "s", runId: "r1", input: "go" })
    const run = Effect.gen(function*() {
      const { over, until } = yield* Watch.make(events)
      yield* until("RetryScheduled")
      yield* TestClock.adjust("5 seconds")
      yield* over
    })
    return yield* saidBy(run, level)
  })

it.effect("each step of a run is a debug line", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* logged("Debug"), [
      "Debug run=r1 started=test/Tested session=s",
      "Debug run=r1 status=preparing",
      "Debug run=r1 status=calling turn=1/20 attempt=1/4",
      "Debug run=r1 discarded=1 error=Overloaded ms=0 delay=5000",
      "Debug run=r1 status=retrying turn=1/20 attempt=2/4",
      "Debug run=r1 status=calling turn=1/20 attempt=2/4",
      "Debug run=r1 status=streaming turn=1/20 attempt=2/4",
      "Debug run=r1 answered=scripted/scripted finish=tool-calls input=10 output=5",
      "Debug run=r1 status=tool_running turn=1/20",
      "Debug run=r1 tool=work outcome=Failed ms=0",
      "Debug run=r1 status=observing turn=1/20",
      "Debug run=r1 decision=continue reason=tool-calls model=0 tools=0",
      "Debug run=r1 status=preparing turn=1/20",
      "Debug run=r1 status=calling turn=2/20 attempt=1/4",
      "Debug run=r1 status=streaming turn=2/20 attempt=1/4",
      "Debug run=r1 answered=scripted/scripted finish=stop input=10 output=5",
      "Debug run=r1 status=observing turn=2/20",
      "Debug run=r1 decision=complete reason=stop model=0 tools=0",
      "Debug run=r1 status=completed turn=2/20",
      "Debug run=r1 end=completed reason=stop turns=2 tools=1 errors=2 ms=5000"
    ])
  }))

it.effect("a run logs nothing above that level", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* logged("Info"), [])
  }))

it.effect("what is appended while no drive has the session is a debug line too: an answer, and a compaction by hand", () =>
  Effect.gen(function*() {
    const suspended = yield* Suspended.make([TestAgent.work(1), TestAgent.work(2)])
    const deciding = Effect.gen(function*() {
      yield* suspended.decide("1.0")
      yield* suspended.decide("1.1", { approved: false, reason: "SECRET" })
    })
    assert.deepStrictEqual(yield* linesBy(deciding), [
      "run=r approval=r/1.0 answer=approved",
      "run=r approval=r/1.1 answer=denied"
    ])
    assert.deepStrictEqual(yield* saidBy(suspended.resume(), "Info"), [])
    yield* suspended.agent.run({ sessionId: "s", runId: "r2", input: "and now?" })
    assert.deepStrictEqual(yield* linesBy(suspended.agent.compact("s")), ["run=r2 compacted=window before=6 after=3"])
  }))

it.effect("a call that a new message supersedes is logged under the run that made it", () =>
  Effect.gen(function*() {
    const { agent } = yield* Suspended.make()
    const lines = yield* linesBy(agent.run({ sessionId: "s", runId: "r2", input: "never mind" }))
    assert.deepStrictEqual(lines.filter((line) => line.includes("tool=")), ["run=r tool=work outcome=Denied ms=0"])
  }))

it.effect("the end of a dead drive is logged by whatever finds it, with the calls that it left", () =>
  Effect.gen(function*() {
    const store = yield* DeadRun.left({ wasAborted: true })
    const { agent } = yield* TestAgent.make([ScriptedModel.text("hello")], { store })
    const lines = yield* linesBy(agent.run({ sessionId: "s", runId: "r", input: "hello?" }))
    assert.deepStrictEqual(lines.slice(0, 4), [
      "run=dead tool=work outcome=OutcomeUnknown ms=0",
      "run=dead tool=work outcome=OutcomeUnknown ms=0",
      "run=dead end=aborted reason=requested turns=1 tools=2 errors=0 ms=0",
      "run=r started=test/Tested session=s"
    ])
  }))

it.effect("the end of a run that is limited for dying repeatedly is a debug line, too", () =>
  Effect.gen(function*() {
    const store = yield* DeadRun.of([...DeadRun.inTools("look"), ...DeadRun.again(5)])
    const { agent } = yield* TestAgent.make([], { store })
    assert.deepStrictEqual(yield* linesBy(agent.resumeRun({ sessionId: "s" })), [
      "run=run-1 tool=look outcome=Interrupted ms=0",
      "run=run-1 end=limited reason=crash-loop turns=0 tools=1 errors=0 ms=0"
    ])
  }))

it.effect("a turn that begins again with a smaller context counts its attempts anew, up to as many as the model is given", () =>
  Effect.gen(function*() {
    const made = yield* TestAgent.make([Overflows.overflow, ScriptedModel.text("done")], { context: Shrinking.layer() })
    const lines = yield* linesBy(made.agent.run({ runId: "r", input: "go", history: Shrinking.history(40) }))
    const calling = "run=r status=calling turn=1/20 attempt=1/4"
    assert.deepStrictEqual(lines.filter((line) => line.includes("status=calling")), [calling, calling])
  }))

it.effect("the end of a drive that lost its store is a debug line", () =>
  Effect.gen(function*() {
    const store = yield* TestStore.make(TestStore.failing((n) => n > 1))
    const { agent } = yield* TestAgent.make([ScriptedModel.text("a")], { store })
    const lines = yield* linesBy(Effect.exit(agent.run({ sessionId: "s", runId: "r1", input: "go" })))
    assert.strictEqual(lines.at(-1), "run=r1 end=failed reason=StoreUnavailable")
  }))

it.effect("a run does not notice that its logger breaks", () =>
  Effect.gen(function*() {
    const broken = Logger.make(() => {
      throw new Error("SECRET")
    })
    const { agent } = yield* TestAgent.make([ScriptedModel.text("done")])
    const running = yield* agent.run({ input: "go" }).pipe(
      Effect.provide(Logger.layer([broken])),
      Effect.provideService(References.MinimumLogLevel, "Debug"),
      Effect.forkDetach
    )
    assert.isTrue(yield* Hang.ends(Fiber.await(running)), "run waits for ever")
    assert.strictEqual((yield* Fiber.join(running))._tag, "Completed")
  }))

/** The lines of events published by a drive that found the run in the state `before`. */
const linesOf = (
  events: ReadonlyArray<RunEvent.RunEvent>,
  { before = RunState.empty, retry = RetryPolicy.make() }: {
    readonly before?: RunState.RunState
    readonly retry?: RetryPolicy.RetryPolicy
  } = {}
) => {
  const drive = { agent: "test/Agent", sessionId: "s", runId: "run-1", tools: { search: true } }
  const seen = Effect.withFiber((fiber) =>
    Effect.sync(() =>
      StepLog.make(drive, before, Drafts.model, fiber, fiber.getRef(Clock.Clock))?.see?.(events as never)
    )
  )
  return linesBy(Effect.provideService(seen, RetryPolicy.RetryPolicy, retry)).pipe(
    Effect.map((lines) => lines.map((line) => line.replace("run=run-1 ", "")))
  )
}

const moved = (to: RunEvent.Status): RunEvent.RunEvent => ({
  _tag: "StatusChanged",
  runId: "run-1",
  from: "preparing",
  to
})

it.effect("whatever else happens to a run is a line each", () =>
  Effect.gen(function*() {
    const usage = { inputTokens: 7, outputTokens: 3 }
    const error = RunError.toStored(RunError.runConflict("r"))
    const finished = Drafts.turnFinished(1)
    const events = Drafts.log(
      Drafts.resumed(2, { cause: "recovery" }),
      { _tag: "ModelSwitched", turn: 1, from: Drafts.model, to: { provider: "other", name: "next" } },
      Drafts.assistant([], { usage, finishReason: "length" }),
      Drafts.approvalRequested("1.0"),
      { ...Drafts.approvalRequested("1.1"), tool: "SECRET" },
      Drafts.approvalResolved("1.0"),
      Drafts.approvalResolved("1.1", false),
      Drafts.toolStarted("1.0"),
      {
        _tag: "ToolPaused",
        turn: 1,
        callId: "1.0",
        tool: "search",
        waitsFor: [{ sessionId: "b", runId: "b1" }],
        duration: 4
      },
      Drafts.settled("1.0", "a", { duration: 5 }),
      { ...Drafts.compacted(1, []), before: 9, after: 2 },
      { _tag: "CompactionDiscarded", message: "SECRET", usage },
      Drafts.notice("a", "doomLoop"),
      { ...finished, decision: { _tag: "Limit", reason: "toolCalls" }, latency: { firstPart: 1, model: 2, tools: 3 } },
      { ...finished, decision: { _tag: "Fail", error } },
      Drafts.input("SECRET"),
      Drafts.limited({ turns: 3, toolCalls: 2, errors: 1, duration: 4 }),
      { ...Drafts.aborted, reason: "crashed" },
      { _tag: "RunFailed", error, totals: Drafts.totals }
    )
    assert.deepStrictEqual(yield* linesOf(events), [
      "resumed=test/Agent session=s drive=2 cause=recovery",
      "model=other/next",
      "answered=test/model finish=length input=7 output=3",
      "approval=1.0 tool=search",
      "approval=1.1 tool=_OTHER",
      "approval=1.0 answer=approved",
      "approval=1.1 answer=denied",
      "tool=search waits=1 ms=4",
      "tool=search outcome=Succeeded ms=5",
      "compacted=test before=9 after=2",
      "compaction=failed input=7 output=3",
      "notice=doomLoop",
      "decision=limit reason=tool-calls model=2 tools=3",
      "decision=fail reason=RunConflict model=0 tools=0",
      "end=limited reason=turns turns=3 tools=2 errors=1 ms=4",
      "end=aborted reason=crashed turns=0 tools=0 errors=0 ms=0",
      "end=failed reason=RunConflict turns=0 tools=0 errors=0 ms=0"
    ])
  }))

it.effect("a resumed run logs the turn that it continues with, and a new one no turn of the run before", () =>
  Effect.gen(function*() {
    const suspended = yield* Suspended.make()
    const lines = yield* linesBy(Effect.gen(function*() {
      yield* suspended.decide("1.0")
      yield* suspended.resume()
      yield* suspended.agent.run({ sessionId: "s", runId: "r2", input: "again" })
    }))
    const [answered, resumed, running, ...rest] = lines
    assert.deepStrictEqual([answered, resumed, running], [
      "run=r approval=r/1.0 answer=approved",
      "run=r resumed=test/Tested session=s drive=2 cause=approval",
      "run=r status=tool_running turn=1/20"
    ])
    // what another drive took for the answer is not known here
    assert.match(rest.find((line) => line.startsWith("run=r decision="))!, /reason=tool-calls tools=\d+$/)
    assert.deepStrictEqual(rest.filter((line) => line.startsWith("run=r2")).slice(0, 2), [
      "run=r2 started=test/Tested session=s",
      "run=r2 status=preparing"
    ])
  }))

it.effect("a lifted limit of the previous run or drive is in no line", () =>
  Effect.gen(function*() {
    const { agent } = yield* TestAgent.make([
      ScriptedModel.text("done"),
      ScriptedModel.text("done"),
      TestAgent.work(1),
      ScriptedModel.text("done")
    ])
    const lines = yield* linesBy(Effect.gen(function*() {
      yield* agent.run({ sessionId: "s", runId: "r1", input: "go", limits: { maxTurns: 3 } })
      yield* agent.run({ sessionId: "s", runId: "r2", input: "go", limits: { maxTurns: Infinity } })
      yield* agent.run({ sessionId: "s", runId: "r3", input: "go", limits: { maxTurns: 1 } })
      yield* Stream.runDrain(agent.resume({ sessionId: "s", limits: { maxTurns: Infinity } }))
    }))
    assert.deepStrictEqual(lines.filter((line) => line.includes("status=calling")), [
      "run=r1 status=calling turn=1/3 attempt=1/4",
      "run=r2 status=calling turn=1 attempt=1/4",
      "run=r3 status=calling turn=1/1 attempt=1/4",
      "run=r3 status=calling turn=2 attempt=1/4"
    ])
  }))

it.effect("a name that is not one word is quoted, and makes no field and no line", () =>
  Effect.gen(function*() {
    const name = "a\u2028b\u0085\nrun=r2 \"x\""
    const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("done")], {
      agent: { toolPolicy: { requireApprovalByDefault: true } },
      info: { provider: "my provider", name }
    })
    const lines = yield* linesBy(agent.run({ sessionId: "Ada's session", runId: "r 1", input: "go" }))
    assert.deepStrictEqual([lines[0], lines[4], lines[6]], [
      `run="r 1" started=test/Tested session="Ada's session"`,
      `run="r 1" answered="my provider/a\\u2028b\\u0085\\nrun=r2 \\"x\\"" finish=tool-calls input=10 output=5`,
      `run="r 1" approval="r 1/1.0" tool=work`
    ])
  }))

it.effect("a line shows turn and attempt with their bounds, if there are any", () =>
  Effect.gen(function*() {
    const retry = RetryPolicy.make({ maxRetries: 2, providers: { other: RetryPolicy.make({ maxRetries: Infinity }) } })
    const [started] = Drafts.log(Drafts.started("go", { limits: { maxTurns: 4 } }))
    const before = RunState.evolve(RunState.empty, started)
    const [resumed, first, discarded, switched, second, again] = Drafts.log(
      Drafts.resumed(2, { limits: { maxTurns: Infinity } }),
      Drafts.turnStarted(1),
      { ...Drafts.discarded(1, 1), duration: 6 },
      { _tag: "ModelSwitched", turn: 1, from: Drafts.model, to: { provider: "other", name: "next" } },
      Drafts.turnStarted(1),
      Drafts.turnStarted(2)
    )
    const calling = moved("calling")
    assert.deepStrictEqual(yield* linesOf([first, calling, discarded, calling, second, calling], { before, retry }), [
      "status=calling turn=1/4 attempt=1/3",
      "discarded=1 error=Overloaded ms=6",
      "status=calling turn=1/4 attempt=2/3",
      "status=calling turn=1/4 attempt=1/3"
    ])
    assert.deepStrictEqual(yield* linesOf([resumed, first, calling, discarded, switched, calling], { before, retry }), [
      "resumed=test/Agent session=s drive=2 cause=resume",
      "status=calling turn=1 attempt=1/3",
      "discarded=1 error=Overloaded ms=6",
      "model=other/next",
      "status=calling turn=1 attempt=1"
    ])
    const other = { ...again, model: { provider: "other", name: "next" } }
    assert.deepStrictEqual(yield* linesOf([other, calling], { before, retry }), ["status=calling turn=2/4 attempt=1"])
    assert.deepStrictEqual(yield* linesOf([first, discarded, again, calling, moved("observing")], { before, retry }), [
      "discarded=1 error=Overloaded ms=6",
      "status=calling turn=2/4 attempt=1/3",
      "status=observing turn=2/4"
    ])
  }))
