/** What bounds a run's retries as a whole, counted from its log; and what an application decides about them. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunState from "../../src/run/RunState.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Watch from "../support/Watch.ts"

const always = (step: ScriptedModel.Turn) => () => step

/** Starts a model that answers this way, and watches the run. */
const watched = (turns: Parameters<typeof TestAgent.make>[0], retry: RetryPolicy.RetryPolicy) =>
  Watch.started(turns, { agent: { retry } })

const stateOf = (log: ReadonlyArray<RunEvent.Durable>) => log.reduce(RunState.evolve, RunState.empty)

const attemptsOf = (error: RunError.RunError) =>
  error.reason._tag === "RetriesExhausted" ? error.reason.attempts : error.reason._tag

describe("a run as a whole", () => {
  it.effect("retries no more often than its policy allows, over all its turns", () =>
    Effect.gen(function*() {
      const turns = [Overloaded.fail(), TestAgent.work(1), Overloaded.fail(), TestAgent.work(2), Overloaded.fail()]
      const { over, script, seen } = yield* watched(turns, RetryPolicy.make({ base: 0, maxRunRetries: 2 }))
      const error = yield* Effect.flip(yield* over)
      assert.strictEqual(attemptsOf(error), 1)
      assert.include(
        error.message,
        "the run has used up the retries that maxRunRetries of its retry policy allows; last: busy"
      )
      assert.strictEqual((yield* script.requests).length, 5)
      assert.strictEqual(RunLog.endOf(seen), "RunFailed(RetriesExhausted)")
    }))

  it.effect("loses no more time to waits than its policy allows", () =>
    Effect.gen(function*() {
      const policy = RetryPolicy.make({ maxRetries: 9, maxRunTime: "10 seconds" })
      const { over, until } = yield* watched(always(Overloaded.fail(4000)), policy)
      for (const n of [1, 2]) {
        assert.strictEqual((yield* until("RetryScheduled", n)).delay, 4000)
        yield* TestClock.adjust("4 seconds")
      }
      const error = yield* Effect.flip(yield* over)
      assert.strictEqual(attemptsOf(error), 3)
      assert.include(error.message, "has lost all the time to failures that maxRunTime of its retry policy allows")
    }))

  it.effect("does not wait for longer than its policy allows, and names the option", () =>
    Effect.gen(function*() {
      const { over } = yield* watched([Overloaded.fail(61_000)], RetryPolicy.make({ maxRetryAfter: "1 minute" }))
      const error = yield* Effect.flip(yield* over)
      assert.include(error.message, "a longer wait than maxRetryAfter of the retry policy allows; last: busy")
    }))

  it.effect("loses no more than 15 minutes to waits by default", () =>
    Effect.gen(function*() {
      let asked = 0
      // three retries at each call, each a minute later
      const turns = () => ++asked % 4 === 0 ? TestAgent.work(asked) : Overloaded.fail(60_000)
      const { over, until } = yield* Watch.started(turns)
      for (let n = 1; n <= 15; n++) {
        yield* until("RetryScheduled", n)
        yield* TestClock.adjust("60 seconds")
      }
      const error = yield* Effect.flip(yield* over)
      assert.include(error.message, "has lost all the time to failures that maxRunTime of its retry policy allows")
      // fifteen retries, five calls between them, and the try that was one too many
      assert.strictEqual(asked, 21)
    }))

  it.effect("loses no more time to attempts that hang than its policy allows", () =>
    Effect.gen(function*() {
      const [first, second] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
      const policy = RetryPolicy.make({ maxRetries: 9, maxRunTime: "90 seconds" })
      const { over, seen, until } = yield* watched([ScriptedModel.gate(first), ScriptedModel.gate(second)], policy)
      yield* first.started
      yield* TestClock.adjust("60 seconds")
      yield* until("RetryScheduled")
      yield* TestClock.adjust("2 seconds")
      yield* second.started
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual(attemptsOf(yield* Effect.flip(yield* over)), 2)
      const durations = RunLog.only(seen, "AttemptDiscarded").map(({ duration = 0 }) => Math.floor(duration / 10_000))
      assert.deepStrictEqual(durations, [6, 6])
    }))

  it.effect("does not get back on resume what it has used up, nor is that counted twice", () =>
    Effect.gen(function*() {
      const turns = [
        Overloaded.fail(),
        Overloaded.fail(),
        Overloaded.fail(),
        Overloaded.fail(),
        ScriptedModel.text("ok")
      ]
      const policy = RetryPolicy.make({ base: 0, maxRetries: 1, maxRunRetries: 2 })
      const { agent, over, script, store } = yield* watched(turns, policy)
      // one retry, and the call's own tries are used up
      assert.strictEqual(attemptsOf(yield* Effect.flip(yield* over)), 2)
      const resume = Stream.runDrain(agent.resume({ sessionId: "s" }))
      // the second, and the run's are used up
      assert.strictEqual(attemptsOf(yield* Effect.flip(resume)), 2)
      assert.strictEqual((yield* script.requests).length, 4)
      const { lostTime, retries } = stateOf(yield* store.log("s"))
      assert.deepStrictEqual([retries, lostTime], [2, 0])
      yield* resume
    }))

  it.effect("does not count a retry that a limit forbids, nor its wait, also after a resume", () =>
    Effect.gen(function*() {
      const retry = RetryPolicy.make({ base: 0, maxRunRetries: 1, maxRunTime: "80 seconds" })
      const turns = [Overloaded.fail(50_000), Overloaded.fail(50_000), ScriptedModel.text("ok")]
      const { agent, over, seen, store } = yield* Watch.started(turns, { agent: { retry, limits: { maxErrors: 0 } } })
      yield* over
      assert.strictEqual(RunLog.endOf(seen), "RunLimited(errors)")
      assert.deepStrictEqual(RunLog.only(seen, "AttemptDiscarded").map(({ delay }) => delay), [undefined])
      assert.deepInclude(stateOf(yield* store.log("s")), { retries: 0, lostTime: 0 })
      const again = yield* Watch.make(agent.resume({ sessionId: "s", limits: { maxErrors: 9 } }))
      yield* again.until("RetryScheduled")
      yield* TestClock.adjust("50 seconds")
      yield* again.over
      assert.strictEqual(RunLog.endOf(again.seen), "RunCompleted(stop)")
      assert.deepInclude(stateOf(yield* store.log("s")), { retries: 1, lostTime: 50_000 })
    }))

  it.effect("asks what a failed attempt cost before it tries again, and counts no retry", () =>
    Effect.gen(function*() {
      const turns = [
        [
          ScriptedModel.parts({ type: "response", usage: { inputTokens: 20, outputTokens: 0 } }),
          Overloaded.fail()
        ]
      ]
      const { over, script, seen } = yield* Watch.started(turns, {
        agent: { retry: RetryPolicy.make({ base: 0 }), limits: { maxTokens: 20 } }
      })
      yield* over
      assert.strictEqual(RunLog.endOf(seen), "RunLimited(tokens)")
      assert.strictEqual((yield* script.requests).length, 1)
      assert.deepStrictEqual(RunLog.only(seen, "AttemptDiscarded").map(({ delay }) => delay), [undefined])
    }))

  it.effect("has lost as much time as it waited, by its log", () =>
    Effect.gen(function*() {
      const { over, store, until } = yield* watched(
        [Overloaded.fail(5000), Overloaded.fail(7000), ScriptedModel.text("ok")],
        RetryPolicy.make()
      )
      for (const [i, seconds] of [5, 7].entries()) {
        yield* until("RetryScheduled", i + 1)
        yield* TestClock.adjust(`${seconds} seconds`)
      }
      yield* over
      const { lostTime, retries } = stateOf(yield* store.log("s"))
      assert.deepStrictEqual([retries, lostTime], [2, 12_000])
    }))

  it.effect("begins with nothing lost in a new run", () =>
    Effect.gen(function*() {
      const policy = RetryPolicy.make({ base: 0, maxRunRetries: 1 })
      const { agent, over, store } = yield* watched(
        [Overloaded.fail(), ScriptedModel.text("ok"), Overloaded.fail(), ScriptedModel.text("ok")],
        policy
      )
      yield* over
      yield* agent.run({ sessionId: "s", input: "again" })
      assert.strictEqual(stateOf(yield* store.log("s")).retries, 1)
    }))
})

describe("a wait that is not a valid time", () => {
  it.effect.each([NaN, -5, -Infinity, Infinity])(
    "falls back to the backoff: %s",
    (retryAfter) =>
      Effect.gen(function*() {
        const { over, script, seen, until } = yield* watched(
          [Overloaded.fail(retryAfter), ScriptedModel.text("ok")],
          RetryPolicy.make()
        )
        const { delay, source } = yield* until("RetryScheduled")
        assert.strictEqual(source, "backoff")
        assert.isAtLeast(delay, 800)
        yield* TestClock.adjust("799 millis")
        assert.strictEqual((yield* script.requests).length, 1)
        yield* TestClock.adjust("401 millis")
        yield* over
        assert.notInclude(JSON.stringify(seen), "retryAfter\":null")
      })
  )

  it.each<Parameters<typeof RetryPolicy.make>[0]>([
    { base: NaN },
    { base: -1 },
    { cap: NaN },
    { maxRetryAfter: NaN },
    { maxRunTime: -1 },
    { maxRetries: NaN },
    { maxRetries: -1 },
    { maxRetries: 1.5 },
    { maxRunRetries: NaN }
  ])("or number is refused when a policy is made: %j", (options) => {
    assert.throws(() => RetryPolicy.make(options), /RetryPolicy: (base|cap|max\w+) must be/)
  })

  it.each<readonly [object, string]>([
    [{ base: "-1 second" }, "base must be a duration of at least 0, not \"-1 second\""],
    [{ maxRetryAfter: "-1 minutes" }, "maxRetryAfter must be a duration of at least 0, not \"-1 minutes\""],
    [{ maxRunTime: "-5 minutes" }, "maxRunTime must be a duration of at least 0, not \"-5 minutes\""],
    [{ cap: "5 parsecs" }, "cap must be a duration of at least 0, not \"5 parsecs\""],
    [{ base: { second: 1 } }, "base must be a duration of at least 0, not {\"second\":1}"],
    [{ classify: 3 }, "classify must be a function"],
    [{ providers: [] }, "providers must be an object: policies by provider"],
    [
      { providers: { ollama: { maxRetries: 2 } } },
      "providers.ollama must be a policy, as RetryPolicy.make returns it"
    ]
  ])("or anything else that no policy can have is refused when it is made, by name: %j", (options, says) => {
    assert.throws(() => RetryPolicy.make(options), RangeError, new RegExp(`^RetryPolicy: ${says}$`))
  })

  it.each([null, [], Promise.resolve({})])("or what is no object is refused when a policy is made: %o", (options) => {
    assert.throws(() => RetryPolicy.make(options as never), RangeError, /RetryPolicy.make has base, .*: give an object/)
  })

  it("may be as long, and as short, as there is", () => {
    const { maxRetryAfter, maxRunTime } = RetryPolicy.make({
      base: 0,
      cap: Infinity,
      maxRetryAfter: 0,
      maxRunTime: Infinity
    })
    assert.deepStrictEqual([maxRetryAfter, maxRunTime], [Duration.zero, Duration.infinity])
  })

  it("that it does not have is refused by name", () => {
    const options = { retries: 3 } as never
    assert.throws(
      () => RetryPolicy.make(options),
      /^RetryPolicy\.make has no "retries"; it has base, cap, maxRetries, /
    )
  })
})

describe("an application that knows better", () => {
  const refused = (tag: RunError.ProviderRefusal["_tag"]) =>
    new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: tag, message: "no" })

  it.effect("can have a failure retried that would be final", () =>
    Effect.gen(function*() {
      const retry = RetryPolicy.make({
        base: 0,
        classify: (error) =>
          error.reason._tag === "Unknown"
            ? new RunError.RetryableError<RunError.ProviderReason>({ ...error.reason, _tag: "Overloaded" })
            : error
      })
      const { over, seen } = yield* watched([ScriptedModel.fail(refused("Unknown")), ScriptedModel.text("ok")], retry)
      yield* over
      assert.deepStrictEqual(RunLog.only(seen, "AttemptDiscarded").map(({ error }) => error._tag), ["Overloaded"])
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
    }))

  it.effect("can make a failure final that would be retried", () =>
    Effect.gen(function*() {
      const retry = RetryPolicy.make({
        classify: (error, { provider }) =>
          provider === "scripted" && error.reason._tag === "Overloaded" ? refused("QuotaExhausted") : error
      })
      const { over, script } = yield* watched([Overloaded.fail()], retry)
      assert.strictEqual((yield* Effect.flip(yield* over)).reason._tag, "QuotaExhausted")
      assert.strictEqual((yield* script.requests).length, 1)
    }))

  it.effect("can give one provider its own policy", () =>
    Effect.gen(function*() {
      const providers = { scripted: RetryPolicy.make({ maxRetries: 0 }), other: RetryPolicy.make({ maxRetries: 9 }) }
      const { over, script } = yield* watched([Overloaded.fail()], RetryPolicy.make({ providers }))
      assert.strictEqual(attemptsOf(yield* Effect.flip(yield* over)), 1)
      assert.strictEqual((yield* script.requests).length, 1)
    }))

  it.effect("leaves other providers the common policy", () =>
    Effect.gen(function*() {
      const providers = { other: RetryPolicy.make({ maxRetries: 0 }) }
      const { over, seen } = yield* watched(
        [Overloaded.fail(), ScriptedModel.text("ok")],
        RetryPolicy.make({ base: 0, providers })
      )
      yield* over
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
    }))

  it.effect("leaves a provider the common policy, whatever its name", () =>
    Effect.gen(function*() {
      const { over, seen } = yield* Watch.started([Overloaded.fail(), ScriptedModel.text("ok")], {
        agent: { retry: RetryPolicy.make({ base: 0 }) },
        info: { provider: "constructor", name: "scripted" }
      })
      yield* over
      assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
    }))
})
