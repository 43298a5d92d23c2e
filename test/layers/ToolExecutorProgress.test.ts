/** What a call through a toolkit shows while its handler runs. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import * as ToolRun from "../support/ToolRun.ts"

describe.each(ToolRun.ways)("handlers that are %s", (way) => {
  const { execute } = ToolRun.by(way)

  describe("progress", () => {
    it.effect("arrives in order", () =>
      Effect.gen(function*() {
        const { outcome, progress } = yield* execute("plain", {
          plain: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
            Effect.as(Effect.forEach([1, 2, 3, 1n, 4], preliminary), "done")
        })
        assert.deepStrictEqual(progress, [1, 2, 3, 4])
        assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: "done" })
      }))

    it.effect("that is a text is cut like a result, and any other value is whole", () =>
      Effect.gen(function*() {
        const text = "y".repeat(1000)
        const { outcome, progress } = yield* execute("plain", {
          plain: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
            Effect.as(Effect.forEach(["short", text, { text }], preliminary), text)
        }).pipe(Effect.provideService(ToolExecutorToolkit.ResultLimit, 100))
        assert.deepStrictEqual(progress.slice(0, 1), ["short"])
        assert.deepStrictEqual<unknown>(outcome, { _tag: "Succeeded", result: progress[1] })
        assert.include(progress[1], "[900 of 1000 characters left out]")
        assert.deepStrictEqual<unknown>(progress.slice(2), [{ text }])
      }))

    it.effect("that does not fit the schema settles NotEncodable", () =>
      Effect.gen(function*() {
        const { outcome, progress } = yield* execute("returning", {
          returning: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
            Effect.as(Effect.andThen(preliminary("half"), preliminary(5)), "done")
        })
        assert.strictEqual(outcome._tag, "NotEncodable")
        assert.deepStrictEqual(progress, ["half"])
      }))

    it.effect("that does not fit the schema settles NotEncodable even if the handler ignores it", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("returning", {
          returning: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
            Effect.as(Effect.ignoreCause(preliminary(5)), "done")
        })
        assert.strictEqual(outcome._tag, "NotEncodable")
      }))

    it.effect("of several fibers arrives one after the other", () =>
      Effect.gen(function*() {
        const heard: Array<unknown> = []
        const [reached, release] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const fiber = yield* execute("plain", {
          plain: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
            Effect.as(Effect.forEach([1, 2], preliminary, { concurrency: "unbounded" }), "done")
        }, {
          onProgress: (value) => {
            heard.push(value)
            return Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(release))
          }
        }).pipe(Effect.forkChild)
        yield* Deferred.await(reached)
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(heard, [1])
        yield* Deferred.succeed(release, undefined)
        const { progress } = yield* Fiber.join(fiber)
        assert.deepStrictEqual(progress, [1, 2])
      }))

    it.effect.each(
      [["result", Effect.succeed("done"), "Succeeded"], ["failure", Effect.fail("done"), "Failed"]] as const
    )(
      "made while the %s is encoded is dropped",
      ([, end, tag]) =>
        Effect.gen(function*() {
          const [reached, release] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
          ToolRun.slow.writing = Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(release))
          let late: Effect.Effect<void> = Effect.void
          const fiber = yield* execute("slow", {
            slow: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) => {
              late = preliminary("late")
              return end
            }
          }).pipe(Effect.forkChild)
          yield* Deferred.await(reached)
          ToolRun.slow.writing = Effect.void
          yield* late
          yield* Deferred.succeed(release, undefined)
          const { outcome, progress } = yield* Fiber.join(fiber)
          assert.deepStrictEqual(outcome, { _tag: tag, result: "done" })
          assert.deepStrictEqual(progress, [])
        })
    )

    it.effect("made after the handler's timeout is dropped", () =>
      Effect.gen(function*() {
        let late: Effect.Effect<void> = Effect.void
        const fiber = yield* execute("plain", {
          plain: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) => {
            late = preliminary("late")
            return Effect.never
          }
        }, { timeout: "1 second" }).pipe(Effect.forkChild)
        yield* TestClock.adjust("1 second")
        const { progress } = yield* Fiber.join(fiber)
        yield* late
        assert.deepStrictEqual(progress, [])
      }))

    it.effect("made after the handler has ended is dropped", () =>
      Effect.gen(function*() {
        let late: Effect.Effect<void> = Effect.void
        const { progress } = yield* execute("plain", {
          plain: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
            Effect.sync(() => {
              late = preliminary("late")
              return "done"
            })
        })
        yield* late
        assert.deepStrictEqual(progress, [])
      }))

    it.effect("makes a handler wait for a slow reader", () =>
      Effect.gen(function*() {
        const release = yield* Deferred.make<void>()
        const reached = yield* Deferred.make<void>()
        let made = 0
        const fiber = yield* execute("plain", {
          plain: (_: unknown, { preliminary }: { preliminary: (value: unknown) => Effect.Effect<void> }) =>
            Effect.as(
              Effect.forEach(
                Array.from({ length: 1000 }, (_, i) => i),
                (i) => Effect.andThen(preliminary(i), Effect.sync(() => made++))
              ),
              "done"
            )
        }, {
          onProgress: () => Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(release))
        }).pipe(Effect.forkChild)
        yield* Deferred.await(reached)
        yield* TestClock.adjust("1 second")
        assert.isBelow(made, 100)
        yield* Deferred.succeed(release, undefined)
        const { progress } = yield* Fiber.join(fiber)
        assert.strictEqual(progress.length, 1000)
      }))
  })
})
