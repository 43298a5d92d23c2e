/** What a drive does can be cut off at any time, even before the drive waits for it. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import type * as Live from "../../../src/loop/drive/Live.ts"
import * as Stop from "../../../src/loop/drive/Stop.ts"
import * as Stoppable from "../../../src/loop/drive/Stoppable.ts"

const live = (): Live.Live => ({ stopped: undefined, interrupt: undefined }) as Live.Live

describe("a part of a drive", () => {
  it.effect("is interrupted when its drive was interrupted before waiting for it", () =>
    Effect.gen(function*() {
      const closed = Deferred.makeUnsafe<void>()
      const going = live()
      const drive = yield* Effect.forkDetach(
        Effect.uninterruptible(
          Effect.withFiber((self) =>
            Stoppable.run(
              going,
              Effect.suspend(() => {
                self.interruptUnsafe()
                return Effect.onInterrupt(Effect.never, () => Deferred.succeed(closed, undefined))
              })
            )
          )
        ),
        { startImmediately: true }
      )
      yield* Effect.yieldNow
      assert.isTrue(Deferred.isDoneUnsafe(closed))
      yield* Fiber.await(drive)
      assert.deepStrictEqual(going.stopped, Stop.shutdown)
    }))

  it.effect("is interrupted when it cut itself off before anybody waited for it", () =>
    Effect.gen(function*() {
      const going = live()
      const drive = yield* Effect.forkDetach(
        Effect.uninterruptible(
          Stoppable.run(
            going,
            Effect.suspend(() => {
              Stop.cutOff(going, Stop.timeIsOver)
              return Effect.never
            })
          )
        ),
        { startImmediately: true }
      )
      yield* Effect.yieldNow
      const exit = drive.pollUnsafe()
      assert.isTrue(exit !== undefined && Exit.isSuccess(exit) && Exit.hasInterrupts(exit.value))
    }))

  it.effect("is not begun when it was cut off before", () =>
    Effect.gen(function*() {
      const going = live()
      Stop.cutOff(going, Stop.timeIsOver)
      let isBegun = false
      const exit = yield* Stoppable.run(going, Effect.sync(() => isBegun = true))
      assert.isTrue(Exit.hasInterrupts(exit))
      assert.isFalse(isBegun)
    }))

  it.effect("that cannot be interrupted is awaited for as many grace periods as asked for by then", () =>
    Effect.gen(function*() {
      const going = live()
      let times = 1
      const stuck = Effect.uninterruptible(Effect.sleep("9 seconds"))
      const drive = yield* Effect.forkChild(Stoppable.run(going, stuck, () => times), { startImmediately: true })
      times = 2
      Stop.cutOff(going, Stop.timeIsOver)
      yield* TestClock.adjust("8999 millis")
      assert.isUndefined(drive.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.isDefined(drive.pollUnsafe())
    }))

  it.effect("that ends by itself can no longer be cut off", () =>
    Effect.gen(function*() {
      const going = live()
      yield* Stoppable.run(going, Effect.yieldNow)
      assert.isUndefined(going.interrupt)
    }))
})
