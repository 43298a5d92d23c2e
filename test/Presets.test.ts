/** Every number of the presets applies, and yields to what an agent, a run or a caller says. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { Agent, Limits, Presets, type RunError, type RunInput, SessionStoreMemory, Timeouts } from "../src/index.ts"
import { ScriptedModel } from "../src/testing/index.ts"
import * as Overloaded from "./support/Overloaded.ts"
import * as RunLog from "./support/RunLog.ts"
import * as TestAgent from "./support/TestAgent.ts"
import * as Watch from "./support/Watch.ts"

const handlers = TestAgent.kit.toLayer({
  work: ({ n }) => Effect.succeed(`${n}`),
  look: ({ n }) => Effect.succeed(`${n}`),
  again: ({ n }) => Effect.succeed(`${n}`)
})

type Preset = typeof Presets.development
type Script = Parameters<typeof ScriptedModel.layer>[0]
type Options = Partial<Agent.Options<typeof TestAgent.kit.tools, string>>

/** An agent on a preset, watched during a run, in a caller's context if one is given. */
const watched = Effect.fnUntraced(function*(
  preset: Preset,
  script: Script,
  { agent: options = {}, caller = Layer.empty, ...input }: Partial<RunInput.RunInput> & {
    readonly agent?: Options
    readonly caller?: Layer.Layer<never>
  } = {}
) {
  const context = yield* Layer.build(
    Layer.mergeAll(preset, ScriptedModel.layer(script), SessionStoreMemory.layer, handlers)
  )
  const agent = yield* Agent.make({ instructions: "", toolkit: TestAgent.kit, ...options }).pipe(
    Effect.provide(context)
  )
  return yield* Watch.make(agent.stream({ input: "go", ...input }).pipe(Stream.provide(caller)))
})

const works = (n: number) => Array.from({ length: n }, (_, i) => TestAgent.work(i))
/** Ends with what the model said, so that the input is a message of its own. */
const history = (messages: number) =>
  Array.from(
    { length: messages },
    (_, i) => ({ role: (messages - i) % 2 === 0 ? "user" : "assistant", content: `${i}` }) as const
  )

/** Time passes until the run is over. */
const passes = (watch: Watch.Watch) =>
  Effect.raceFirst(
    watch.over,
    Effect.forever(Effect.andThen(TestClock.adjust("1 second"), Effect.yieldNow))
  )

const presets = [
  { name: "development", preset: Presets.development, turns: 5, messages: 10, retries: 2, seconds: 10 },
  { name: "production", preset: Presets.production, turns: 20, messages: 50, retries: 3, seconds: 30 }
] as const

describe.each(presets)("the preset $name", ({ messages, preset, retries, seconds, turns }) => {
  it.effect(`ends a run after ${turns} turns`, () =>
    Effect.gen(function*() {
      const { over, seen } = yield* watched(preset, works(turns))
      yield* over
      assert.strictEqual(RunLog.endOf(seen), "RunLimited(turns)")
      assert.strictEqual(RunLog.only(seen, "AssistantMessage").length, turns)
    }))

  it.effect(`compacts a conversation of more than ${messages} messages, and none that is shorter`, () =>
    Effect.gen(function*() {
      const answer = [ScriptedModel.text("ok")]
      const short = yield* watched(preset, answer, { history: history(messages - 1) })
      yield* short.over
      assert.deepStrictEqual(RunLog.only(short.seen, "ContextCompacted"), [])
      const long = yield* watched(preset, answer, { history: history(messages) })
      yield* long.over
      assert.deepStrictEqual(RunLog.only(long.seen, "ContextCompacted").map(({ before }) => before), [messages + 1])
      assert.strictEqual(RunLog.endOf(long.seen), "RunCompleted(stop)")
    }))

  it.effect(`retries a model call ${retries} times`, () =>
    Effect.gen(function*() {
      const watch = yield* watched(preset, Array.from({ length: retries + 1 }, () => Overloaded.fail()))
      const exit = yield* passes(watch)
      const error = Exit.isFailure(exit) ? yield* Effect.flip(exit as Exit.Exit<never, RunError.RunError>) : undefined
      assert.deepInclude(error?.reason, { _tag: "RetriesExhausted", attempts: retries + 1 })
    }))

  it.effect(`gives a model call ${seconds} seconds`, () =>
    Effect.gen(function*() {
      const slow = [ScriptedModel.text("Once "), ScriptedModel.delay("10 minutes")]
      const watch = yield* watched(preset, [slow, ScriptedModel.text("ok")])
      yield* watch.until("TextDelta")
      yield* TestClock.adjust(Duration.seconds(seconds - 0.001))
      assert.deepStrictEqual(RunLog.only(watch.seen, "AttemptDiscarded"), [])
      yield* TestClock.adjust("1 millis")
      const { duration, error } = yield* watch.until("AttemptDiscarded")
      assert.deepInclude(error, { _tag: "TimedOut", scope: "call" })
      assert.strictEqual(duration, seconds * 1_000)
    }))
})

describe("a number in a preset", () => {
  const turnsOf = (given: Parameters<typeof watched>[2]) =>
    Effect.gen(function*() {
      const { over, seen } = yield* watched(Presets.development, works(9), given)
      yield* over
      return RunLog.only(seen, "AssistantMessage").length
    })

  it.effect("yields to the caller's Reference, that to the agent's options, and those to the run's input", () =>
    Effect.gen(function*() {
      const caller = Layer.succeed(Limits, { maxTurns: 2 })
      const agent = { limits: { maxTurns: 3 } }
      assert.strictEqual(yield* turnsOf({}), 5)
      assert.strictEqual(yield* turnsOf({ caller }), 2)
      assert.strictEqual(yield* turnsOf({ caller, agent }), 3)
      assert.strictEqual(yield* turnsOf({ caller, agent, limits: { maxTurns: 4 } }), 4)
    }))

  it.effect("applies where a caller, such as one with a budget, sets another limit", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* turnsOf({ caller: Layer.succeed(Limits, { maxToolCalls: 100 }) }), 5)
      const slow = [ScriptedModel.text("Once "), ScriptedModel.delay("10 minutes")]
      const { until } = yield* watched(Presets.development, [slow, ScriptedModel.text("ok")], {
        caller: Layer.succeed(Timeouts, { tool: "1 second" })
      })
      yield* until("TextDelta")
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* until("AttemptDiscarded")).duration, 10_000)
    }))

  it.effect("applies to an agent that is a service, provided as Fiberloop.layer would be", () =>
    Effect.gen(function*() {
      class Worker extends Agent.Service<Worker>()("test/Worker", { instructions: "", toolkit: TestAgent.kit }) {}
      const live = Worker.layer.pipe(
        Layer.provide([handlers, Presets.development]),
        Layer.provide([SessionStoreMemory.layer, ScriptedModel.layer(works(9))])
      )
      const { turns } = yield* Worker.use((worker) => worker.run({ input: "go" })).pipe(Effect.provide(live))
      assert.strictEqual(turns, 5)
    }))

  it.effect("leaves the defaults for what it does not name", () =>
    Effect.gen(function*() {
      const { seen, until } = yield* watched(Presets.development, works(5))
      yield* until("RunLimited")
      const [started] = RunLog.only(seen, "RunStarted")
      assert.deepStrictEqual(started?.input.limits, { maxTurns: 5, maxErrors: 20, maxCompactions: 3 })
    }))

  it.effect("for time yields to the agent's options", () =>
    Effect.gen(function*() {
      const slow = [ScriptedModel.text("Once "), ScriptedModel.delay("10 minutes")]
      const { until } = yield* watched(Presets.production, [slow, ScriptedModel.text("ok")], {
        caller: Layer.succeed(Timeouts, { call: "20 seconds" }),
        agent: { timeouts: { call: "2 seconds" } }
      })
      yield* until("TextDelta")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* until("AttemptDiscarded")).duration, 2_000)
    }))
})

describe("a Reference with a wrong value", () => {
  const refused = (caller: Layer.Layer<never>) =>
    Effect.gen(function*() {
      const { over } = yield* watched(Presets.production, [], { caller })
      const exit = yield* over
      return Exit.isFailure(exit) ? (yield* Effect.flip(exit as Exit.Exit<never, RunError.RunError>)).reason : undefined
    })

  it.effect("is refused by name", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* refused(Layer.succeed(Limits, { maxTurns: 0 })), {
        _tag: "InvalidInput",
        field: "limits.maxTurns"
      })
      assert.deepInclude(yield* refused(Layer.succeed(Timeouts, { call: "soon" as "1 second" })), {
        _tag: "InvalidInput",
        field: "timeouts.call"
      })
    }))
})
