/** Time limits of single steps: a model call as a whole, its first part, the gap between parts, a tool call. */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunPolicy from "../../src/run/RunPolicy.ts"
import * as Model from "../../src/services/Model.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as Timeouts from "../../src/services/Timeouts.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Hang from "../support/Hang.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Sleeps from "../support/Sleeps.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as Watch from "../support/Watch.ts"

const once = { retry: RetryPolicy.make({ maxRetries: 0 }) }

const watched = Effect.fnUntraced(function*(turns: ReadonlyArray<ScriptedModel.Turn>, options?: TestAgent.Options) {
  const made = yield* TestAgent.make(turns, options)
  const watch = yield* Watch.make(made.agent.stream({ sessionId: "s", input: "go" }))
  return { ...made, ...watch }
})

/** What the first discarded attempt was too slow for. */
const scopeOf = (events: ReadonlyArray<RunEvent.RunEvent>) => {
  const error = RunLog.only(events, "AttemptDiscarded")[0]?.error
  return error?._tag === "TimedOut" ? error.scope : error?._tag
}

/** A call whose first part comes after `wait` has a minute for the next; `meanwhile` is called while it waits. */
const hasGap = Effect.fnUntraced(function*(
  wait: Duration.Input,
  agent: NonNullable<TestAgent.Options["agent"]>,
  meanwhile: () => void = () => {}
) {
  const [first, second] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
  const { over, seen, until } = yield* watched([
    [ScriptedModel.gate(first), ScriptedModel.text("a"), ScriptedModel.gate(second)]
  ], { agent })
  yield* first.started
  yield* TestClock.adjust(wait)
  yield* first.release
  yield* until("TextDelta")
  yield* second.started
  meanwhile()
  yield* TestClock.adjust("59999 millis")
  assert.strictEqual(scopeOf(seen), undefined)
  yield* TestClock.adjust("1 millis")
  yield* over
  assert.strictEqual(scopeOf(seen), "gap")
})

/** The test's clock, and a function that sets its time of day off by this many milliseconds. */
const settable = Effect.map(Clock.Clock, (below) => {
  let off = 0
  const clock: Clock.Clock = Object.assign(Object.create(below), {
    currentTimeMillisUnsafe: () => below.currentTimeMillisUnsafe() + off
  })
  return { clock, set: (millis: number) => void (off = millis) }
})

describe("a model call", () => {
  it.effect("has 60 seconds for its first part, then its stream is closed", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { over, script, seen } = yield* watched([ScriptedModel.gate(gate)], { agent: once })
      yield* gate.started
      yield* TestClock.adjust("59999 millis")
      assert.strictEqual(yield* script.openStreams, 1)
      yield* TestClock.adjust("1 millis")
      yield* over
      yield* gate.closed
      assert.strictEqual(yield* script.openStreams, 0)
      assert.strictEqual(scopeOf(seen), "firstPart")
    }))

  it.effect.each(
    [
      ["firstPart", 60_000, [], "the first part of the answer"],
      ["gap", 60_000, [ScriptedModel.text("a")], "the next part of the answer"],
      ["call", 5000, [], "the whole answer"]
    ] as const
  )(
    "says which limit passed, and which option sets it: %s",
    ([option, millis, before, what]) =>
      Effect.gen(function*() {
        const gate = yield* ScriptedModel.makeGate
        const { over, seen } = yield* watched([[...before, ScriptedModel.gate(gate)]], {
          agent: { ...once, ...(option === "call" ? { timeouts: { call: millis } } : {}) }
        })
        yield* gate.started
        yield* TestClock.adjust(millis)
        yield* over
        assert.strictEqual(
          RunLog.only(seen, "AttemptDiscarded")[0]?.error.message,
          `the model took more than ${millis} ms for ${what} (change timeouts.${option} to allow more)`
        )
      })
  )

  it.effect("has 60 seconds from part to part", () => hasGap("59 seconds", once))

  it.effect("has no more time from part to part if its first one may take longer", () =>
    hasGap("90 seconds", { ...once, timeouts: { firstPart: "10 minutes", call: "1 hour" } }))

  it.effect.each([["back", -1], ["on", 1]] as const)(
    "keeps its time even if the clock jumps %s an hour meanwhile",
    ([, sign]) =>
      Effect.gen(function*() {
        const { clock, set } = yield* settable
        yield* Effect.provideService(hasGap("59 seconds", once, () => set(sign * 3_600_000)), Clock.Clock, clock)
      })
  )

  it.effect("keeps its overall limit even if its first part may take longer", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { over, seen } = yield* watched([ScriptedModel.gate(gate)], {
        agent: { ...once, timeouts: { call: "10 seconds" } }
      })
      yield* gate.started
      yield* TestClock.adjust("10 seconds")
      yield* over
      assert.strictEqual(scopeOf(seen), "call")
    }))

  it.effect("is checked ten times a second and no more often, however short its gap timeout is", () =>
    Effect.gen(function*() {
      const { clock, sleeps } = yield* Sleeps.make()
      const gate = yield* ScriptedModel.makeGate
      const { over, seen } = yield* Effect.provideService(
        watched([[ScriptedModel.gate(gate), ScriptedModel.text("ok")]], { agent: { timeouts: { gap: "1 millis" } } }),
        Clock.Clock,
        clock
      )
      yield* gate.started
      yield* TestClock.adjust("1 second")
      assert.isAtMost(sleeps.ever, 11)
      yield* gate.release
      yield* over
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
    }))

  it.effect("has 120 seconds in all, however steadily parts come", () =>
    Effect.gen(function*() {
      const gates = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
      const { over, seen, until } = yield* watched(
        [gates.flatMap((gate) => [ScriptedModel.gate(gate), ScriptedModel.text("a")])],
        { agent: once }
      )
      for (const [i, gate] of gates.slice(0, 2).entries()) {
        yield* gate.started
        yield* TestClock.adjust("50 seconds")
        yield* gate.release
        yield* until("TextDelta", i + 1)
      }
      yield* gates[2]!.started
      yield* TestClock.adjust("20 seconds")
      yield* over
      assert.strictEqual(scopeOf(seen), "call")
    }))

  it.effect("that was too slow is retried", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { over, seen, until } = yield* watched([ScriptedModel.gate(gate), ScriptedModel.text("ok")])
      yield* gate.started
      yield* TestClock.adjust("60 seconds")
      yield* until("RetryScheduled")
      yield* TestClock.adjust("2 seconds")
      yield* over
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
    }))

  it.effect("that was too slow and cannot be interrupted is left behind, and nothing more is heard from it", () =>
    Effect.gen(function*() {
      const [stuck, second] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
      const { over, seen, until } = yield* watched([
        [ScriptedModel.gate({ ...stuck, wait: Effect.uninterruptible(stuck.wait) }), ScriptedModel.text("late")],
        [ScriptedModel.gate(second), ScriptedModel.text("ok")]
      ])
      yield* stuck.started
      yield* TestClock.adjust("65 seconds")
      const isInTime = yield* Hang.ends(until("RetryScheduled"))
      // releases what would otherwise keep the test from ending
      if (!isInTime) yield* stuck.release
      assert.isTrue(isInTime, "the time limit and the grace period are over")
      yield* TestClock.adjust("2 seconds")
      yield* second.started
      yield* stuck.release
      yield* stuck.closed
      yield* second.release
      yield* over
      assert.deepStrictEqual(RunLog.only(seen, "TextDelta").map((event) => event.delta), ["ok"])
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
    }))

  it.effect("has the time limits that the agent sets", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { over, seen } = yield* watched([ScriptedModel.gate(gate)], {
        agent: { ...once, timeouts: { firstPart: "3 seconds" } }
      })
      yield* gate.started
      yield* TestClock.adjust("3 seconds")
      yield* over
      assert.strictEqual(scopeOf(seen), "firstPart")
    }))

  it.effect("without limits waits as long as it takes", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { over, seen } = yield* watched([[ScriptedModel.gate(gate), ScriptedModel.text("ok")]], {
        agent: { ...once, timeouts: { call: Infinity, firstPart: Infinity, gap: Infinity } }
      })
      yield* gate.started
      yield* TestClock.adjust("10 days")
      yield* gate.release
      yield* over
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
    }))
})

describe("what does not count as a part of an answer", () => {
  const signs: ReadonlyArray<readonly [string, Model.ModelPart]> = [
    ["a response's id", { type: "response", id: "r", model: "m" }],
    ["a part of a kind that is not known", { type: "response" }],
    ["an empty text", { type: "text-delta", block: "0", delta: "" }],
    ["an empty reasoning", { type: "reasoning-delta", block: "0", delta: "" }],
    ["empty arguments", { type: "tool-params-delta", block: "0", delta: "" }],
    ["the beginning of a block", { type: "block-start", kind: "text", block: "0" }],
    ["the end of a block", { type: "block-end", kind: "text", block: "0" }]
  ]

  it.effect.each(signs)("is not a first part: %s", ([, part]) =>
    Effect.gen(function*() {
      const [first, second] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
      const { over, script, seen } = yield* watched([
        [ScriptedModel.gate(first), ScriptedModel.parts(part), ScriptedModel.gate(second)]
      ], { agent: once })
      yield* first.started
      yield* TestClock.adjust("50 seconds")
      yield* first.release
      yield* second.started
      yield* TestClock.adjust("9999 millis")
      assert.strictEqual(yield* script.openStreams, 1)
      yield* TestClock.adjust("1 millis")
      yield* over
      assert.strictEqual(scopeOf(seen), "firstPart")
      assert.include(RunLog.moves(seen), "calling>failed")
    }))

  it.effect.each(signs)("does not fill a gap: %s", ([, part]) =>
    Effect.gen(function*() {
      const [first, second] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
      const { over, seen } = yield* watched([
        [ScriptedModel.text("a"), ScriptedModel.gate(first), ScriptedModel.parts(part), ScriptedModel.gate(second)]
      ], { agent: once })
      yield* first.started
      yield* TestClock.adjust("50 seconds")
      yield* first.release
      yield* second.started
      yield* TestClock.adjust("9999 millis")
      assert.strictEqual(scopeOf(seen), undefined)
      yield* TestClock.adjust("1 millis")
      yield* over
      assert.strictEqual(scopeOf(seen), "gap")
    }))

  it.effect("does not start the answer: the first part does", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { over, seen } = yield* watched([
        [ScriptedModel.parts({ type: "response", id: "r" }), ScriptedModel.gate(gate), ScriptedModel.text("ok")]
      ])
      yield* gate.started
      yield* TestClock.adjust("3 seconds")
      yield* gate.release
      yield* over
      const [finished] = RunLog.only(seen, "TurnFinished")
      assert.deepStrictEqual(finished?.latency, { firstPart: 3000, model: 3000, tools: 0 })
    }))
})

describe("a part that names a tool or signs a thought", () => {
  const parts: ReadonlyArray<Model.ModelPart> = [
    { type: "tool-params-delta", block: "0", tool: "work", delta: "" },
    { type: "block-end", kind: "reasoning", block: "0", metadata: { anthropic: { signature: "s" } } }
  ]
  it.effect.each(parts)("is progress: $type", (part) =>
    Effect.gen(function*() {
      const [first, second] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
      const { over, seen } = yield* watched([
        [ScriptedModel.gate(first), ScriptedModel.parts(part), ScriptedModel.gate(second), ScriptedModel.text("ok")]
      ], { agent: once })
      yield* first.started
      yield* TestClock.adjust("50 seconds")
      yield* first.release
      yield* second.started
      yield* TestClock.adjust("50 seconds")
      yield* second.release
      yield* over
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
    }))
})

describe("a model call that is answered", () => {
  it.effect("completes, even if its stream cannot be closed", () =>
    Effect.gen(function*() {
      const stuck = yield* Deferred.make<void>()
      const stream = Stream.make<[Model.ModelPart, Model.ModelPart]>(
        { type: "text-delta", block: "0", delta: "ok" },
        { type: "finish", reason: "stop", usage: ScriptedModel.usage }
      ).pipe(
        Stream.ensuring(Deferred.await(stuck))
      )
      const model: Model.Model["Service"] = { info: { provider: "test", name: "test" }, stream: () => stream }
      const store = yield* TestStore.make()
      const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, store.layer, Layer.succeed(Model.Model, model)))
      const agent = yield* Agent.make({ instructions: "" }).pipe(Effect.provide(below))
      const watch = yield* Watch.make(agent.stream({ sessionId: "s", input: "go" }))
      yield* watch.until("TextDelta")
      yield* TestClock.adjust("3 minutes")
      yield* Deferred.succeed(stuck, undefined)
      yield* watch.over
      assert.deepStrictEqual(RunLog.only(watch.seen, "AttemptDiscarded"), [])
      assert.strictEqual(RunLog.endOf(watch.seen), "RunCompleted(stop)")
    }))
})

describe("a tool call", () => {
  it.effect("has 120 seconds, then it is interrupted, settles TimedOut, and the run continues", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      let finalized = 0
      const { over, script, seen } = yield* watched([TestAgent.work(1), ScriptedModel.text("ok")], {
        tool: () =>
          Deferred.succeed(started, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => Effect.sync(() => finalized++))
          )
      })
      yield* Deferred.await(started)
      yield* TestClock.adjust("119999 millis")
      assert.strictEqual(finalized, 0)
      yield* TestClock.adjust("1 millis")
      yield* over
      assert.strictEqual(finalized, 1)
      const [settled] = RunLog.only(seen, "ToolSettled")
      assert.deepStrictEqual(settled?.outcome, { _tag: "TimedOut", limit: 120_000 })
      assert.strictEqual(settled?.duration, 120_000)
      assert.strictEqual((yield* script.requests).length, 2)
      assert.isUndefined(RunLog.only(seen, "RunCompleted")[0]?.leftBehind)
    }))

  it.effect.each([["back", -1], ["on", 1]] as const)(
    "has its real duration, even if the clock jumps %s an hour meanwhile",
    ([, sign]) =>
      Effect.gen(function*() {
        const { clock, set } = yield* settable
        const started = yield* Deferred.make<void>()
        const { over, seen } = yield* watched([TestAgent.work(1), ScriptedModel.text("ok")], {
          tool: () =>
            Deferred.succeed(started, undefined).pipe(Effect.andThen(Effect.sleep("3 seconds")), Effect.as("ok"))
        }).pipe(Effect.provideService(Clock.Clock, clock))
        yield* Deferred.await(started)
        set(sign * 3_600_000)
        yield* TestClock.adjust("3 seconds")
        yield* over
        assert.strictEqual(RunLog.only(seen, "ToolSettled")[0]?.duration, 3000)
      })
  )

  it.effect.each([["back", -1], ["on", 1]] as const)(
    "and a hook have their real times in their turn, even if the clock jumps %s an hour meanwhile",
    ([, sign]) =>
      Effect.gen(function*() {
        const { clock, set } = yield* settable
        const started = yield* Deferred.make<void>()
        const { over, seen } = yield* watched([TestAgent.work(1), ScriptedModel.text("ok")], {
          agent: {
            hooks: [{
              name: "slow",
              beforeToolCall: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.sleep("3 seconds"))
            }]
          }
        }).pipe(Effect.provideService(Clock.Clock, clock))
        yield* Deferred.await(started)
        set(sign * 3_600_000)
        yield* TestClock.adjust("3 seconds")
        yield* over
        const [finished] = RunLog.only(seen, "TurnFinished")
        assert.strictEqual(finished?.latency.tools, 3000)
        assert.deepStrictEqual(finished?.hooks?.map(({ duration }) => duration), [3000])
      })
  )

  it.effect("that is slow does not take its siblings' time", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const { over, seen } = yield* watched([
        [TestAgent.work(1, "a"), TestAgent.work(2, "b")],
        ScriptedModel.text("ok")
      ], {
        agent: { timeouts: { tool: "10 seconds" } },
        tool: ({ n }) =>
          n === 1 ? Effect.andThen(Deferred.succeed(started, undefined), Effect.never) : Effect.succeed("ok")
      })
      yield* Deferred.await(started)
      yield* TestClock.adjust("10 seconds")
      yield* over
      assert.deepStrictEqual(RunLog.outcomes(seen), ["1.0 TimedOut", "1.1 Succeeded"])
    }))

  /** A call that hangs, by the limit at which it was cut off. */
  const cutOffAfter = (timeouts: RunPolicy.TimeoutsInput, around: RunPolicy.TimeoutsInput = {}) =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const { over, seen } = yield* watched([TestAgent.work(1), ScriptedModel.text("ok")], {
        agent: { timeouts },
        tool: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      }).pipe(Effect.provideService(Timeouts.Timeouts, around))
      yield* Deferred.await(started)
      yield* TestClock.adjust("1 hour")
      yield* over
      return RunLog.only(seen, "ToolSettled")[0]?.outcome
    })

  it.effect("has its tool's own time limit if the agent sets one, more or less than the others", () =>
    Effect.gen(function*() {
      const more = yield* cutOffAfter({ tool: "1 minute", tools: { work: "10 minutes" } })
      assert.deepStrictEqual(more, { _tag: "TimedOut", limit: 600_000 })
      const less = yield* cutOffAfter({ tools: { work: "5 seconds" } })
      assert.deepStrictEqual(less, { _tag: "TimedOut", limit: 5000 })
      const none = yield* cutOffAfter({ tools: { work: undefined } })
      assert.deepStrictEqual(none, { _tag: "TimedOut", limit: 120_000 })
    }))

  it.effect("cannot be given a limit for a tool that the agent lacks", () =>
    Effect.gen(function*() {
      const timeouts = { tools: { wrok: "1 minute" } } as RunPolicy.TimeoutsInput
      const exit = yield* Effect.exit(TestAgent.make([], { agent: { timeouts } }))
      assert.isTrue(Exit.isFailure(exit))
      assert.include(String(Exit.isFailure(exit) && Cause.squash(exit.cause)), `"wrok"`)
    }))

  it("of a tool named like a property of every object has the usual limit", () => {
    const { tool } = RunPolicy.defaultTimeouts
    assert.strictEqual(RunPolicy.callTimeout(RunPolicy.defaultTimeouts, "toString"), tool)
  })

  it.effect("has the limit that the surrounding setting gives its tool, unless the agent gives one", () =>
    Effect.gen(function*() {
      const around: RunPolicy.TimeoutsInput = { tools: { work: "5 seconds", elsewhere: "1 second" } }
      assert.deepStrictEqual(yield* cutOffAfter({ tool: "1 minute" }, around), { _tag: "TimedOut", limit: 5000 })
      const own = yield* cutOffAfter({ tools: { work: "7 seconds" } }, around)
      assert.deepStrictEqual(own, { _tag: "TimedOut", limit: 7000 })
      const beside = yield* cutOffAfter({ tools: { look: "1 minute" } }, around)
      assert.deepStrictEqual(beside, { _tag: "TimedOut", limit: 5000 })
    }))
})
