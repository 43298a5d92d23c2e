/** Time limits on one clock: each rings at its moment, whatever others do, and no sleep is left after them. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as TestClock from "effect/testing/TestClock"
import { AsyncLocalStorage } from "node:async_hooks"
import * as Alarm from "../../../src/services/fibers/Alarm.ts"
import * as Sleeps from "../../support/Sleeps.ts"

/** What someone waiting has in its context. */
const Mine = Context.Reference<string>("test/services/Alarm/Mine", { defaultValue: () => "default" })

/** Limits on a clock that counts its sleeps. */
const make = Effect.fnUntraced(function*(onSleep: () => void = () => {}, early = Duration.zero) {
  const { clock, sleeps } = yield* Sleeps.make({ onSleep, early })
  const rung: Array<string> = []
  const set = (millis: number, name: string, also: () => void = () => {}) =>
    Effect.provideService(
      Effect.sync(() =>
        Alarm.set(Fiber.getCurrent()!, millis, () => {
          rung.push(name)
          also()
        })
      ),
      Clock.Clock,
      clock
    )
  return { asleep: () => sleeps.now, clock, rung, set }
})

describe("a time limit", () => {
  it.effect("rings at its moment, once", () =>
    Effect.gen(function*() {
      const { asleep, rung, set } = yield* make()
      yield* set(1000, "a")
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(rung, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(rung, ["a"])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([rung, asleep()], [["a"], 0])
    }))

  it.effect("shares one sleep with all others, and each rings at its own moment", () =>
    Effect.gen(function*() {
      const { asleep, rung, set } = yield* make()
      yield* set(3000, "third")
      yield* set(1000, "first")
      yield* set(1001, "second")
      yield* set(3000, "fourth")
      assert.strictEqual(asleep(), 1)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(rung, ["first"])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual([rung, asleep()], [["first", "second"], 1])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([rung, asleep()], [["first", "second", "third", "fourth"], 0])
    }))

  it.effect("that is cancelled does not ring, and the last one takes the sleep with it", () =>
    Effect.gen(function*() {
      const { asleep, rung, set } = yield* make()
      const first = yield* set(1000, "first")
      const second = yield* set(2000, "second")
      Alarm.callOff(first)
      assert.strictEqual(asleep(), 1)
      yield* TestClock.adjust("1 second")
      Alarm.callOff(second)
      Alarm.callOff(second)
      assert.strictEqual(asleep(), 0)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(rung, [])
    }))

  it.effect("rings at its moment whichever of many others are cancelled before", () =>
    Effect.gen(function*() {
      const { asleep, rung, set } = yield* make()
      const names = ["a", "b", "c", "d", "e", "f"]
      const limits: Array<Alarm.Armed | undefined> = []
      for (const [i, name] of names.entries()) limits.push(yield* set(1000 * (i + 1), name))
      // in the middle, the first, the last, one that took another's place
      for (const i of [2, 0, 5, 4]) Alarm.callOff(limits[i])
      limits.push(yield* set(500, "g"))
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([rung, asleep()], [["g", "b", "d"], 0])
    }))

  it.effect("rings in the order in which it was set, among those due at once", () =>
    Effect.gen(function*() {
      const { rung, set } = yield* make()
      const limits: Array<Alarm.Armed | undefined> = []
      for (const name of ["a", "b", "c", "d"]) limits.push(yield* set(1000, name))
      Alarm.callOff(limits[1])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(rung, ["a", "c", "d"])
    }))

  it.effect("may set and cancel others when it rings", () =>
    Effect.gen(function*() {
      const { asleep, rung, set } = yield* make()
      const context = yield* Effect.context<never>()
      const later: Array<Alarm.Armed | undefined> = []
      yield* set(1000, "first", () => {
        Alarm.callOff(later[0])
        later.push(Effect.runSyncWith(context)(set(500, "next")))
      })
      later.push(yield* set(1000, "called off"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([rung, asleep()], [["first"], 1])
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual([rung, asleep()], [["first", "next"], 0])
    }))

  it.effect("may set one that is due at once when it rings, even if it rings a little early", () =>
    Effect.gen(function*() {
      const { asleep, rung, set } = yield* make(() => {}, Duration.millis(1))
      const context = yield* Effect.context<never>()
      yield* set(1000, "first", () => {
        Effect.runSyncWith(context)(set(0, "next"))
      })
      yield* set(1000, "second")
      yield* set(2000, "last")
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual([rung, asleep()], [["first", "second", "next"], 1])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([rung, asleep()], [["first", "second", "next", "last"], 0])
    }))

  it.effect("may cancel the last one when it rings, and no sleep is left", () =>
    Effect.gen(function*() {
      const { asleep, rung, set } = yield* make()
      const later: Array<Alarm.Armed | undefined> = []
      yield* set(1000, "first", () => Alarm.callOff(later[0]))
      later.push(yield* set(2000, "called off"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([rung, asleep()], [["first"], 0])
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(rung, ["first"])
    }))

  it.effect("keeps its sleep for the next one while there is work, and no longer", () =>
    Effect.gen(function*() {
      const { asleep, clock, rung, set } = yield* make()
      const work = Alarm.hold(() =>
        Effect.gen(function*() {
          Alarm.callOff(yield* set(1000, "called off"))
          const between = asleep()
          yield* set(2000, "second")
          yield* TestClock.adjust("1999 millis")
          const before = [...rung]
          yield* TestClock.adjust("1 millis")
          const after = asleep()
          Alarm.callOff(yield* set(1000, "called off"))
          return { between, before, after }
        })
      )
      assert.deepStrictEqual(
        yield* Fiber.join(
          yield* Effect.provideService(Effect.forkChild(work, { startImmediately: true }), Clock.Clock, clock)
        ),
        { between: 1, before: [], after: 0 }
      )
      assert.deepStrictEqual([rung, asleep()], [["second"], 0])
    }))

  it.effect("that throws keeps no other from ringing", () =>
    Effect.gen(function*() {
      const { asleep, rung, set } = yield* make()
      yield* set(1000, "broken", () => {
        throw new Error("oops")
      })
      yield* set(1000, "second")
      yield* set(2000, "third")
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([rung, asleep()], [["broken", "second", "third"], 0])
    }))

  it.effect("of zero rings, but not before it is set", () =>
    Effect.gen(function*() {
      const { asleep, rung, set } = yield* make()
      yield* set(0, "at once")
      assert.deepStrictEqual(rung, [])
      yield* TestClock.adjust(0)
      assert.deepStrictEqual([rung, asleep()], [["at once"], 0])
    }))

  it.effect("shares its sleep without keeping what the first waiter ties to its code", () =>
    Effect.gen(function*() {
      const request = new AsyncLocalStorage<string>()
      const stores: Array<string | undefined> = []
      const { rung, set } = yield* make(() => stores.push(request.getStore()))
      const context = yield* Effect.context<never>()
      for (const [i, name] of ["first", "second"].entries()) {
        request.run(name, () => Effect.runSyncWith(context)(set(1000 * (i + 1), name)))
      }
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([rung, stores], [["first", "second"], [undefined, undefined]])
    }))

  it.effect("shares its sleep, which uses the scheduler of the first waiter, and nothing else of it", () =>
    Effect.gen(function*() {
      const contexts: Array<Context.Context<never>> = []
      const { set } = yield* make(() => contexts.push(Fiber.getCurrent()!.context))
      const scheduler = new Scheduler.MixedScheduler()
      const armed = yield* set(1000, "a").pipe(
        Effect.provideService(Mine, "mine"),
        Effect.provideService(Scheduler.Scheduler, scheduler)
      )
      const [context] = contexts
      assert.strictEqual(Context.get(context!, Scheduler.Scheduler), scheduler)
      assert.deepStrictEqual(Array.from(context!.mapUnsafe.keys()), [Scheduler.Scheduler.key])
      Alarm.callOff(armed)
    }))

  it.effect("rings without another sleep if its sleep ends a little early", () =>
    Effect.gen(function*() {
      let sleeps = 0
      const { rung, set } = yield* make(() => sleeps++, Duration.millis(1))
      yield* set(1000, "a")
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual([rung, sleeps], [["a"], 1])
    }))

  it.effect("without an end does not keep another's sleep", () =>
    Effect.gen(function*() {
      const { asleep, set } = yield* make()
      yield* set(Infinity, "never")
      Alarm.callOff(yield* set(1000, "called off"))
      assert.strictEqual(asleep(), 0)
    }))

  it.effect("without an end starts no sleep", () =>
    Effect.gen(function*() {
      const { asleep, set } = yield* make()
      Alarm.callOff(yield* set(Infinity, "never"))
      assert.strictEqual(asleep(), 0)
    }))

  it.live("rings in real time", () =>
    Effect.gen(function*() {
      const startedAt = performance.now()
      yield* Effect.callback<void>((resume) => {
        Alarm.set(Fiber.getCurrent()!, 20, () => resume(Effect.void))
      })
      assert.isAtLeast(performance.now() - startedAt, 18)
    }))
})
