/** Uninterruptible work is waited for once, for the grace period, then named once and left behind. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as Leavable from "../../../src/services/fibers/Leavable.ts"
import * as Sleeps from "../../support/Sleeps.ts"

/** Work that ends only when let go, and by nothing else if it `isStuck`; with a time limit of a second. */
const make = Effect.fnUntraced(function*(isStuck: boolean) {
  const { clock, sleeps } = yield* Sleeps.make()
  const gate = yield* Deferred.make<string>()
  const count = { leaks: 0, over: 0 }
  const self = Deferred.await(gate)
  const waited = Leavable.run(
    isStuck ? Effect.uninterruptible(self) : self,
    Effect.sync(() => count.leaks++),
    () => ({
      millis: 1000,
      over: () => {
        count.over++
        return (isLeftBehind: boolean) => Effect.succeed(isLeftBehind ? "left behind" : "stopped")
      }
    })
  )
  const waiting = yield* Effect.forkChild(Effect.provideService(waited, Clock.Clock, clock), {
    startImmediately: true
  })
  const interrupt = Effect.forkChild(Fiber.interrupt(waiting), { startImmediately: true })
  const seen = () => ({ asleep: sleeps.now, ...count })
  return { gate, interrupt, seen, waiting }
})

describe("work that exceeds its time limit", () => {
  it.effect("is ended", () =>
    Effect.gen(function*() {
      const { seen, waiting } = yield* make(false)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(waiting), "stopped")
      assert.deepStrictEqual(seen(), { asleep: 0, leaks: 0, over: 1 })
    }))

  it.effect("and cannot be interrupted is left behind after the grace period, and named", () =>
    Effect.gen(function*() {
      const { gate, seen, waiting } = yield* make(true)
      yield* TestClock.adjust("5999 millis")
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(waiting.pollUnsafe(), Exit.succeed("left behind"))
      assert.deepStrictEqual(seen(), { asleep: 0, leaks: 1, over: 1 })
      yield* Deferred.succeed(gate, "late")
    }))

  it.effect("is waited for once, and named once, if an interruption comes after the limit", () =>
    Effect.gen(function*() {
      const { gate, interrupt, seen, waiting } = yield* make(true)
      yield* TestClock.adjust("2 seconds")
      yield* interrupt
      yield* TestClock.adjust("3999 millis")
      const isEarly = waiting.pollUnsafe() !== undefined
      yield* TestClock.adjust("1 millis")
      const isInTime = waiting.pollUnsafe() !== undefined
      const left = seen()
      // releases what would otherwise keep the test from ending
      yield* Deferred.succeed(gate, "late")
      assert.deepStrictEqual([isEarly, isInTime], [false, true])
      assert.deepStrictEqual(left, { asleep: 0, leaks: 1, over: 1 })
    }))
})

describe("work with a time limit", () => {
  it.effect("that ends earlier takes the limit with it", () =>
    Effect.gen(function*() {
      const { gate, seen, waiting } = yield* make(false)
      assert.strictEqual(seen().asleep, 1)
      yield* Deferred.succeed(gate, "in time")
      assert.strictEqual(yield* Fiber.join(waiting), "in time")
      assert.strictEqual(seen().asleep, 0)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(seen(), { asleep: 0, leaks: 0, over: 0 })
    }))

  it.effect("that is interrupted earlier takes the limit with it, and is waited for at most the grace period", () =>
    Effect.gen(function*() {
      const { gate, interrupt, seen, waiting } = yield* make(true)
      yield* interrupt
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.isDefined(waiting.pollUnsafe())
      assert.deepStrictEqual(seen(), { asleep: 0, leaks: 1, over: 0 })
      yield* Deferred.succeed(gate, "late")
    }))
})
