/**
 * What effect 4.1 does with time, retries and server-sent events. Each test names what of ours exists because of it: if one
 * fails after an upgrade, that may go.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"

describe("a stream that is retried after partial output", () => {
  it.effect("repeats it (loop/turn/ModelCall discards an attempt by an event, before the next one's first delta)", () =>
    Effect.gen(function*() {
      let tries = 0
      const stream = Stream.suspend(() =>
        tries++ === 0 ? Stream.concat(Stream.make("Hel"), Stream.fail("reset")) : Stream.make("Hel", "lo")
      )
      const seen = yield* Stream.runCollect(Stream.retry(stream, Schedule.recurs(1)))
      assert.deepStrictEqual(seen.join(""), "HelHello")
    }))
})

describe("a timeout", () => {
  /** Whether a timeout of one second has ended this after two. */
  const isOver = Effect.fnUntraced(function*(of: (gate: Deferred.Deferred<void>) => Effect.Effect<unknown>) {
    const gate = yield* Deferred.make<void>()
    const fiber = yield* Effect.forkChild(Effect.exit(Effect.timeout(of(gate), "1 second")))
    yield* TestClock.adjust("2 seconds")
    const exit = fiber.pollUnsafe()
    yield* Deferred.succeed(gate, undefined)
    yield* Fiber.join(fiber)
    return exit !== undefined
  })

  it.effect("waits for an uninterruptible effect (services/Leavable leaves it behind)", () =>
    Effect.gen(function*() {
      assert.isTrue(yield* isOver(() => Effect.never), "what can be interrupted ends in time")
      assert.isFalse(yield* isOver((gate) => Effect.uninterruptible(Deferred.await(gate))))
    }))

  it.effect("waits for a stuck finalizer (services/Grace leaves it behind)", () =>
    Effect.gen(function*() {
      assert.isFalse(yield* isOver((gate) => Effect.ensuring(Effect.never, Deferred.await(gate))))
    }))
})

describe("a sleep of NaN milliseconds", () => {
  it.effect("ends at once (services/RetryPolicy and RetryAfter take numbers only)", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(Effect.sleep(Duration.millis(Number.NaN)))
      yield* TestClock.adjust(0)
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(fiber)))
    }))
})

describe("a server's events", () => {
  const read = (...pieces: ReadonlyArray<string>) => {
    const seen: Array<string> = []
    return Stream.rechunk(Stream.fromIterable(pieces), 1).pipe(
      Stream.pipeThroughChannel(Sse.decode()),
      Stream.runForEach((event) => Effect.sync(() => seen.push(event.data))),
      Effect.exit,
      Effect.map((exit) => ({ seen, isSuccess: Exit.isSuccess(exit) }))
    )
  }

  it.effect("fail at a retry line (layers/openai/EventStream leaves it out)", () =>
    Effect.gen(function*() {
      const outcome = yield* read("data: a\n\n", "retry: 10\n\n", "data: b\n\n")
      assert.deepStrictEqual(outcome, { seen: ["a"], isSuccess: false })
    }))

  it.effect("lose the last one without its blank line (layers/openai/EventStream ends it)", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* read("data: a\n\ndata: b\n"), { seen: ["a"], isSuccess: true })
    }))
})
