/** What a drive does can be cut off whenever somebody says so, also before it waits for it. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Live from "../../../src/loop/drive/Live.ts"
import * as Phase from "../../../src/loop/drive/Phase.ts"

const live = (): Live.Live => ({ stopped: undefined, interrupt: undefined }) as Live.Live

describe("a phase", () => {
  it.effect("is interrupted where its drive was before it began to wait for it", () =>
    Effect.gen(function*() {
      const closed = Deferred.makeUnsafe<void>()
      const going = live()
      const drive = yield* Effect.forkDetach(
        Effect.uninterruptible(
          Effect.withFiber((self) =>
            Phase.run(
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
      assert.deepStrictEqual(going.stopped, { _tag: "Abort", reason: "shutdown" })
    }))

  it.effect("is interrupted where it cut itself off before anybody waited for it", () =>
    Effect.gen(function*() {
      const going = live()
      const drive = yield* Effect.forkDetach(
        Effect.uninterruptible(
          Phase.run(
            going,
            Effect.suspend(() => {
              Live.cutOff(going, { _tag: "Duration" })
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
})
