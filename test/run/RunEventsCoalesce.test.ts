/** Events for slow consumers: deltas joined over a window of time, on a virtual clock. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Message from "../../src/run/Message.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunEvents from "../../src/run/RunEvents.ts"
import * as Deltas from "../support/Deltas.ts"
import * as Draft from "../support/Drafts.ts"
import * as Logs from "../support/Logs.ts"

const check = { arbitrary: { runs: 200, size: 30, seed: "coalesce" } }
const { delta } = Deltas
const [answer] = Draft.log(Draft.assistant([Message.text("Hello you")]))

describe("coalesce", () => {
  it.effect("joins what arrives within the window, and emits it when the window is over", () =>
    Effect.gen(function*() {
      const source = yield* Queue.unbounded<RunEvent.RunEvent>()
      const seen: Array<RunEvent.RunEvent> = []
      const first = yield* Deferred.make<void>()
      const fiber = yield* Stream.fromQueue(source).pipe(
        RunEvents.coalesce("50 millis"),
        Stream.runForEach((event) =>
          Effect.suspend(() => {
            seen.push(event)
            return Deferred.succeed(first, undefined)
          })
        ),
        Effect.forkChild
      )
      yield* Queue.offerAll(source, [delta(0, "a"), delta(1, "b")])
      yield* TestClock.adjust("49 millis")
      assert.deepStrictEqual(seen, [])
      yield* Queue.offer(source, delta(2, "c"))
      yield* TestClock.adjust("1 millis")
      yield* Deferred.await(first)
      assert.deepStrictEqual(seen, [{ ...delta(0, "abc"), count: 3 }])
      yield* Fiber.interrupt(fiber)
    }))

  it.effect.prop(
    "loses nothing and keeps the order",
    [Deltas.text, Logs.seed],
    ([whole, seed]) =>
      Effect.gen(function*() {
        const events = [...Deltas.attempt(whole, seed), answer, Deltas.status]
        const out = yield* Stream.runCollect(RunEvents.coalesce("50 millis")(Stream.fromIterable(events)))
        for (const block of ["0", "r"]) assert.strictEqual(Deltas.said(out, block), Deltas.said(events, block))
        const others = (all: ReadonlyArray<RunEvent.RunEvent>) => all.filter((event) => !RunEvent.isDelta(event))
        assert.deepStrictEqual(others(out), others(events))
      }),
    check
  )

  it.effect("emits everything that came before the run's error", () =>
    Effect.gen(function*() {
      const seen: Array<RunEvent.RunEvent> = []
      const events = Stream.concat(
        Stream.make<Array<RunEvent.RunEvent>>(delta(0, "a"), answer),
        Stream.fail("boom")
      )
      const error = yield* events.pipe(
        RunEvents.coalesce("50 millis"),
        Stream.runForEach((event) => Effect.sync(() => seen.push(event))),
        Effect.flip
      )
      assert.strictEqual(error, "boom")
      assert.deepStrictEqual(seen, [delta(0, "a"), answer])
    }))
})
