/** Guarantee 7, limits hold, for what is spent: tokens and time. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import type { Run } from "../../src/Run.ts"
import * as DurableEvent from "../../src/run/DurableEvent.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunStats from "../../src/run/RunStats.ts"
import * as ContextManager from "../../src/services/ContextManager.ts"
import * as Prices from "../../src/services/Prices.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Hang from "../support/Hang.ts"
import * as Limited from "../support/Limited.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Sleeps from "../support/Sleeps.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Watch from "../support/Watch.ts"

describe("maxTokens", () => {
  it.effect("forbids the next model call, and overshoots by at most one", () =>
    Effect.gen(function*() {
      const { end, log, ran, requests } = yield* Limited.play([
        TestAgent.work(1),
        TestAgent.work(2),
        ScriptedModel.text("late")
      ], {
        maxTokens: 30
      })
      assert.strictEqual(end, "RunLimited(tokens)")
      assert.strictEqual(yield* requests, 2)
      assert.strictEqual(ran(), 1)
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "2.0 NotExecuted(limit)"])
      assert.deepStrictEqual(RunLog.only(log, "RunLimited")[0]?.totals.usage, { inputTokens: 20, outputTokens: 10 })
    }))

  it.effect("holds after a compaction whose strategy has no number for what it spent", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), TestAgent.work(2)], {
        context: Layer.succeed(ContextManager.ContextManager, {
          plan: (view) => view.inARow === 0 ? { _tag: "Compact", request: view } : { _tag: "Send" },
          compact: () =>
            Effect.fail(
              new ContextManager.CompactionError({ message: "no", usage: { inputTokens: NaN, outputTokens: 3 } })
            )
        })
      })
      yield* Effect.exit(agent.run({ sessionId: "s", input: "go", limits: { maxTokens: 1 } }))
      const log = yield* store.log("s")
      assert.strictEqual(RunLog.endOf(log), "RunLimited(tokens)")
      const [discarded] = RunLog.only(log, "CompactionDiscarded")
      assert.deepStrictEqual(discarded?.usage, { inputTokens: 0, outputTokens: 3 })
    }))

  it.effect.each([1, 4])(
    "used up by a model call lets none of its tools run, %i at once",
    (maxParallel) =>
      Effect.gen(function*() {
        const five = [1, 2, 3, 4, 5].map((n) => TestAgent.work(n, `${n}`))
        const { end, log, ran } = yield* Limited.play([five], { maxTokens: 1 }, {
          agent: { toolPolicy: { maxParallel } }
        })
        assert.strictEqual(end, "RunLimited(tokens)")
        assert.strictEqual(ran(), 0)
        assert.deepStrictEqual(RunLog.only(log, "ToolStarted"), [])
        assert.deepStrictEqual(RunLog.outcomes(log), [0, 1, 2, 3, 4].map((place) => `1.${place} NotExecuted(limit)`))
      })
  )

  it.effect.each([Number.NaN, Infinity, -1e6, "7", undefined])(
    "holds after a call whose usage is not a number of tokens, and the log stays readable: %s",
    (odd) =>
      Effect.gen(function*() {
        const none = odd as number
        const usage = { inputTokens: none, outputTokens: 10, reasoningTokens: none, cost: none }
        const call = (n: number) => [TestAgent.work(n), ScriptedModel.finish("tool-calls", usage)]
        const { end, log, requests } = yield* Limited.play([call(1), call(2), ScriptedModel.text("late")], {
          maxTokens: 20
        })
        assert.strictEqual(end, "RunLimited(tokens)")
        assert.strictEqual(yield* requests, 2)
        assert.deepStrictEqual(RunLog.only(log, "RunLimited")[0]?.totals.usage, { inputTokens: 0, outputTokens: 20 })
        const decode = Schema.decodeUnknownSync(Schema.Array(DurableEvent.Durable))
        assert.deepStrictEqual(decode(JSON.parse(JSON.stringify(log))), log)
      })
  )

  it.effect("does not take back an answer that is already there", () =>
    Effect.gen(function*() {
      const { end } = yield* Limited.play([ScriptedModel.text("ok")], { maxTokens: 1 })
      assert.strictEqual(end, "RunCompleted(stop)")
    }))

  it.effect("counts attempts that were discarded", () =>
    Effect.gen(function*() {
      const { end, requests } = yield* Limited.play([ScriptedModel.text(""), ScriptedModel.text("late")], {
        maxTokens: 10
      }, {
        agent: { retry: RetryPolicy.make({ base: 0 }) }
      })
      assert.strictEqual(end, "RunLimited(tokens)")
      assert.strictEqual(yield* requests, 1)
    }))
})

describe("a model call that is cut off", () => {
  const used = { inputTokens: 50_000, outputTokens: 1 }
  /** Reports at its beginning what the request has cost, as Anthropic does. */
  const slow = Effect.map(ScriptedModel.makeGate, (gate) => ({
    gate,
    turn: [
      ScriptedModel.parts({ type: "response", id: "m", usage: used }),
      ScriptedModel.text("a"),
      ScriptedModel.gate(gate)
    ]
  }))
  const totals = (log: ReadonlyArray<DurableEvent.Durable>) =>
    log.filter(RunEvent.isEnd).map((end) => [end.totals.usage, RunEvent.cutOffOf(end)?.usage])

  it.effect("counts with what was known of its cost, over all drives, so that maxTokens holds", () =>
    Effect.gen(function*() {
      const [first, second] = [yield* slow, yield* slow]
      const { agent, script, store } = yield* TestAgent.make([first.turn, second.turn, ScriptedModel.text("late")])
      const limits = { maxTokens: 60_000 }
      const cut = Effect.fnUntraced(function*(gate: ScriptedModel.Gate, run: Run<unknown>) {
        yield* gate.started
        yield* run.abort
        return yield* run.result
      })
      const one = yield* cut(first.gate, yield* agent.start({ sessionId: "s", input: "go", limits }))
      assert.deepStrictEqual([one._tag, one.usage], ["Aborted", used])
      const two = yield* cut(second.gate, yield* agent.resumeStart({ sessionId: "s" }))
      const both = { inputTokens: 100_000, outputTokens: 2 }
      assert.deepStrictEqual([two._tag, two.usage], ["Aborted", both])
      const three = yield* agent.resumeRun({ sessionId: "s" })
      assert.deepInclude(three, { _tag: "Limited", reason: "tokens", usage: both })
      assert.lengthOf(yield* script.requests, 2)
      const log = yield* store.log("s")
      assert.deepStrictEqual(totals(log), [[used, used], [both, used], [both, undefined]])
      assert.deepStrictEqual(RunLog.violations(log), [])
      const stats = log.reduce(RunStats.evolve, RunStats.make())
      assert.deepStrictEqual(stats.usage, both)
    }))

  it.effect("counts with its price; or with its tokens, if the prices throw", () =>
    Effect.gen(function*() {
      const dear = Prices.table({ scripted: { input: 1_000_000, output: 0 } })
      const broken: Prices.Prices = () => {
        throw new Error("no prices today")
      }
      for (const [prices, usage] of [[dear, { ...used, cost: 50_000 }], [broken, used]] as const) {
        const { gate, turn } = yield* slow
        const { agent, store } = yield* TestAgent.make([turn])
        const run = yield* Effect.provideService(
          agent.start({ sessionId: "s", input: "go", limits: { maxDuration: "10 seconds" } }),
          Prices.Prices,
          prices
        )
        yield* gate.started
        yield* TestClock.adjust("10 seconds")
        assert.deepInclude(yield* run.result, { _tag: "Limited", reason: "duration" })
        assert.deepStrictEqual(totals(yield* store.log("s")), [[usage, usage]])
      }
    }))

  it.effect("counts nothing when nothing was reported of its cost", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([[ScriptedModel.text("a"), ScriptedModel.gate(gate)]])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      yield* run.abort
      yield* run.result
      const [end] = RunLog.only(yield* store.log("s"), "RunAborted")
      assert.notProperty(end, "cutOff")
      assert.deepStrictEqual(end?.totals.usage, { inputTokens: 0, outputTokens: 0 })
    }))
})

describe("maxDuration", () => {
  const limits = { maxDuration: "10 seconds" } as const
  const start = Effect.fnUntraced(function*(turns: ReadonlyArray<ScriptedModel.Turn>, options?: TestAgent.Options) {
    const made = yield* TestAgent.make(turns, options)
    const watch = yield* Watch.make(made.agent.stream({ sessionId: "s", input: "go", limits }))
    const check = Effect.gen(function*() {
      yield* watch.over
      assert.strictEqual(RunLog.endOf(watch.seen), "RunLimited(duration)")
      assert.strictEqual(RunLog.only(watch.seen, "RunLimited")[0]?.totals.duration, 10_000)
      assert.strictEqual(yield* made.script.openStreams, 0)
      assert.deepStrictEqual(RunLog.violations(yield* made.store.log("s")), [])
    })
    return { ...made, ...watch, check }
  })

  it.effect("cuts off a model call", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { check } = yield* start([[ScriptedModel.text("a"), ScriptedModel.gate(gate)]])
      yield* gate.started
      yield* TestClock.adjust("10 seconds")
      yield* gate.closed
      yield* check
    }))

  it.effect("cuts off a tool and waits for its finalizers", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      let finalized = 0
      const { check, seen } = yield* start([TestAgent.work(1)], {
        tool: () =>
          Deferred.succeed(started, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => Effect.sync(() => finalized++))
          )
      })
      yield* Deferred.await(started)
      yield* TestClock.adjust("10 seconds")
      yield* check
      assert.strictEqual(finalized, 1)
      assert.deepStrictEqual(RunLog.outcomes(seen), ["1.0 Interrupted"])
    }))

  it.effect("cuts off the wait for a retry", () =>
    Effect.gen(function*() {
      const { check, until } = yield* start([Overloaded.fail()], {
        agent: { retry: RetryPolicy.make({ base: "20 seconds", cap: "1 minute" }) }
      })
      yield* until("RetryScheduled")
      yield* TestClock.adjust("10 seconds")
      yield* check
    }))

  it.effect("leaves no timer behind once the run is over: a process that has nothing else to do may end", () =>
    Effect.gen(function*() {
      const { clock, sleeps } = yield* Sleeps.make()
      const gate = yield* ScriptedModel.makeGate
      const limited = start([[ScriptedModel.gate(gate), ScriptedModel.text("ok")]])
      const { over, seen } = yield* Effect.provideService(limited, Clock.Clock, clock)
      yield* gate.started
      assert.isAbove(sleeps.now, 0)
      yield* gate.release
      yield* over
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
      assert.strictEqual(sleeps.now, 0)
    }))

  it.effect("counts only drive time, over all drives", () =>
    Effect.gen(function*() {
      const [first, second] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
      const made = yield* TestAgent.make([ScriptedModel.gate(first), ScriptedModel.gate(second)])
      const run = yield* made.agent.start({ sessionId: "s", input: "go", limits })
      yield* first.started
      yield* TestClock.adjust("6 seconds")
      yield* run.abort
      yield* TestClock.adjust("1 hour")
      const watch = yield* Watch.make(made.agent.resume({ sessionId: "s" }))
      yield* second.started
      yield* TestClock.adjust("3999 millis")
      assert.isFalse(watch.seen.some((event) => event._tag === "RunLimited"))
      yield* TestClock.adjust("1 millis")
      yield* watch.over
      assert.strictEqual(RunLog.endOf(watch.seen), "RunLimited(duration)")
      assert.strictEqual(RunLog.only(watch.seen, "RunLimited")[0]?.totals.duration, 10_000)
    }))

  it.effect("keeps counting when the wall clock is set back, and still holds", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const gate = yield* ScriptedModel.makeGate
      const test = yield* Clock.Clock
      let ahead = 3_600_000
      const ofDay = () => test.currentTimeMillisUnsafe() + ahead
      const clock: Clock.Clock = Object.assign(Object.create(test), { currentTimeMillisUnsafe: ofDay })
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), [ScriptedModel.gate(gate)]], {
        tool: () => Effect.as(Effect.andThen(Deferred.succeed(started, undefined), Effect.sleep("6 seconds")), "ok")
      })
      const run = agent.run({ sessionId: "s", input: "go", limits })
      const fiber = yield* Effect.forkChild(Effect.provideService(run, Clock.Clock, clock))
      yield* Deferred.await(started)
      yield* TestClock.adjust("3 seconds")
      ahead = 0
      yield* TestClock.adjust("3 seconds")
      yield* gate.started
      yield* TestClock.adjust("4 seconds")
      assert.isTrue(yield* Hang.ends(Fiber.await(fiber)))
      const [end] = RunLog.only(yield* store.log("s"), "RunLimited")
      assert.strictEqual(end?.reason, "duration")
      assert.strictEqual(end?.totals.duration, 10_000)
    }))

  it.effect("is seen before the next call where code held up the event loop, and the timer with it", () =>
    Effect.gen(function*() {
      const test = yield* Clock.Clock
      let passed = 0
      const clock: Clock.Clock = Object.assign(Object.create(test), {
        currentTimeMillisUnsafe: () => test.currentTimeMillisUnsafe() + passed,
        monotonicTimeNanosUnsafe: () => test.monotonicTimeNanosUnsafe() + BigInt(passed) * 1_000_000n
      })
      const held = () => String(passed += 10_000)
      const failing = () => held() === "10000" ? Overloaded.fail() : ScriptedModel.text("late")
      const pausing = () =>
        held() === "10000" ? [ScriptedModel.text("so far"), ScriptedModel.finish("pause")] : ScriptedModel.text("late")
      const cases: ReadonlyArray<readonly [turns: ScriptedModel.Turns, outcomes: ReadonlyArray<string>]> = [
        [[TestAgent.work(1), ScriptedModel.text("late")], ["1.0 Succeeded"]],
        [[[TestAgent.work(1), TestAgent.work(2)]], ["1.0 Succeeded", "1.1 NotExecuted(limit)"]],
        [failing, []],
        [pausing, []]
      ]
      for (const [turns, outcomes] of cases) {
        passed = 0
        const { agent, script, store } = yield* TestAgent.make(turns, { tool: () => Effect.sync(held) })
        const result = yield* Effect.provideService(
          agent.run({ sessionId: "s", input: "go", limits, toolPolicy: { maxParallel: 1 } }),
          Clock.Clock,
          clock
        )
        assert.deepInclude(result, { _tag: "Limited", reason: "duration" })
        assert.lengthOf(yield* script.requests, 1)
        assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), outcomes)
      }
    }))

  it.effect("does not end a run that is done in time", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([ScriptedModel.text("ok")])
      const result = yield* made.agent.run({ sessionId: "s", input: "go", limits })
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(result._tag, "Completed")
      assert.strictEqual(RunLog.endOf(yield* made.store.log("s")), "RunCompleted(stop)")
    }))
})
