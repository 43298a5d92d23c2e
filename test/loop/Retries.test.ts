/** When a model call is retried, when not, and what is seen of it; time is the test's. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunEvents from "../../src/run/RunEvents.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Watch from "../support/Watch.ts"

const between = (value: number, low: number, high: number) => {
  assert.isAtLeast(value, low)
  assert.isAtMost(value, high)
}

describe("a retryable failure", () => {
  it.effect("is announced, waited out, and retried", () =>
    Effect.gen(function*() {
      const { over, script, seen, until } = yield* Watch.started([
        [ScriptedModel.text("half an ans"), Overloaded.fail()],
        ScriptedModel.text("whole")
      ])
      const { delay, source } = yield* until("RetryScheduled")
      assert.strictEqual(source, "backoff")
      yield* TestClock.adjust(Duration.millis(delay - 1))
      assert.strictEqual((yield* script.requests).length, 1)
      yield* TestClock.adjust(Duration.millis(2))
      yield* over
      assert.strictEqual((yield* script.requests).length, 2)
      const order = RunLog.tags(seen).filter((tag) => tag !== "StatusChanged")
      assert.deepStrictEqual(order, [
        "RunStarted",
        "TurnStarted",
        "TextDelta",
        "AttemptDiscarded",
        "RetryScheduled",
        "TextDelta",
        "AssistantMessage",
        "TurnFinished",
        "RunCompleted"
      ])
      assert.deepStrictEqual(RunLog.only(seen, "TextDelta").map(({ attempt, index }) => [attempt, index]), [[1, 0], [
        2,
        0
      ]])
      assert.deepStrictEqual(RunLog.moves(seen).slice(2, 5), [
        "calling>streaming",
        "streaming>retrying",
        "retrying>calling"
      ])
    }))

  it.effect("before the first part moves the run from calling to retrying", () =>
    Effect.gen(function*() {
      const { over, seen, until } = yield* Watch.started([Overloaded.fail(), ScriptedModel.text("whole")])
      yield* until("RetryScheduled")
      yield* TestClock.adjust("2 seconds")
      yield* over
      assert.include(RunLog.moves(seen), "calling>retrying")
    }))

  it.effect("is retried after 1, 2 and 4 seconds, give or take a fifth, and then ends the run with a typed error", () =>
    Effect.gen(function*() {
      const { over, seen, until } = yield* Watch.started([
        Overloaded.fail(),
        Overloaded.fail(),
        Overloaded.fail(),
        Overloaded.fail()
      ])
      for (let n = 1; n <= 3; n++) {
        const { attempt, delay } = yield* until("RetryScheduled", n)
        assert.strictEqual(attempt, n)
        between(delay, 800 * 2 ** (n - 1), 1200 * 2 ** (n - 1))
        yield* TestClock.adjust(Duration.millis(delay + 1))
      }
      const error = yield* Effect.flip(yield* over)
      assert.strictEqual(error._tag, "RetryableError")
      assert.strictEqual(error.reason._tag, "RetriesExhausted")
      if (error.reason._tag === "RetriesExhausted") {
        assert.strictEqual(error.reason.attempts, 4)
        assert.strictEqual(error.reason.last._tag, "Overloaded")
      }
      assert.strictEqual(RunLog.only(seen, "AttemptDiscarded").length, 4)
      assert.strictEqual(RunLog.endOf(seen), "RunFailed(RetriesExhausted)")
    }))

  it.effect("waits at most the cap", () =>
    Effect.gen(function*() {
      const { over, until } = yield* Watch.started([
        ...Array.from({ length: 6 }, () => Overloaded.fail()),
        ScriptedModel.text("ok")
      ], {
        agent: { retry: RetryPolicy.make({ maxRetries: 6 }) }
      })
      for (let n = 1; n <= 6; n++) {
        const { delay } = yield* until("RetryScheduled", n)
        if (n >= 5) between(delay, 8000, 12_000)
        yield* TestClock.adjust(Duration.millis(delay + 1))
      }
      yield* over
    }))

  it.effect("begins with a fresh backoff in the next turn", () =>
    Effect.gen(function*() {
      const { over, until } = yield* Watch.started([
        Overloaded.fail(),
        Overloaded.fail(),
        TestAgent.work(1),
        Overloaded.fail(),
        ScriptedModel.text("ok")
      ])
      const delays: Array<number> = []
      for (let n = 1; n <= 3; n++) {
        const { delay } = yield* until("RetryScheduled", n)
        delays.push(delay)
        yield* TestClock.adjust(Duration.millis(delay + 1))
      }
      yield* over
      between(delays[2]!, 800, 1200)
    }))

  it.effect("with no retries fails at once", () =>
    Effect.gen(function*() {
      const { over } = yield* Watch.started([Overloaded.fail()], {
        agent: { retry: RetryPolicy.make({ maxRetries: 0 }) }
      })
      const error = yield* Effect.flip(yield* over)
      assert.deepStrictEqual(error.reason._tag === "RetriesExhausted" ? error.reason.attempts : error.reason._tag, 1)
    }))

  it.effect("leaves the text of the discarded attempt on a line of its own", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make(
        [[ScriptedModel.text("half"), Overloaded.fail()], ScriptedModel.text("whole")],
        {
          agent: { retry: RetryPolicy.make({ base: 0 }) }
        }
      )
      const pieces = yield* agent.stream({ input: "go" }).pipe(RunEvents.text, Stream.runCollect)
      assert.strictEqual(pieces.join(""), "half\nwhole")
    }))
})

describe("Retry-After", () => {
  it.effect("longer than the backoff is honoured", () =>
    Effect.gen(function*() {
      const { over, script, until } = yield* Watch.started([Overloaded.fail(30_000), ScriptedModel.text("ok")])
      const { delay, source } = yield* until("RetryScheduled")
      assert.deepStrictEqual([delay, source], [30_000, "retryAfter"])
      yield* TestClock.adjust("29999 millis")
      assert.strictEqual((yield* script.requests).length, 1)
      yield* TestClock.adjust("1 millis")
      yield* over
    }))

  it.effect("shorter than the backoff changes nothing", () =>
    Effect.gen(function*() {
      const { over, until } = yield* Watch.started([Overloaded.fail(10), ScriptedModel.text("ok")])
      const { delay, source } = yield* until("RetryScheduled")
      assert.strictEqual(source, "backoff")
      between(delay, 800, 1200)
      yield* TestClock.adjust("2 seconds")
      yield* over
    }))

  it.effect("above its cap ends the run at once, and the caller sees it", () =>
    Effect.gen(function*() {
      const { over } = yield* Watch.started([Overloaded.fail(60_001)])
      const error = yield* Effect.flip(yield* over)
      assert.deepStrictEqual(error.reason._tag === "RetriesExhausted" ? error.reason.attempts : error.reason._tag, 1)
      assert.deepStrictEqual(error._tag === "RetryableError" ? error.retryAfter : error, Duration.millis(60_001))
    }))
})
