import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import type { Worker } from "node:worker_threads"
import * as BoundedRegex from "../../../../src/cli/tools/files/BoundedRegex.ts"

const evil = /^(a+)+$/
const forever = [`${"a".repeat(40)}b`]

/** A limit in milliseconds that only passes after the test's own. */
const anHour = 3_600_000

describe("BoundedRegex", () => {
  it.effect("returns the lines that match with the start of the first match in each", () =>
    Effect.gen(function*() {
      const find = yield* BoundedRegex.make(/b+/)
      assert.deepStrictEqual(yield* find(["abb", "c", "b"]), [[0, 1], [2, 0]])
    }))

  it.effect("answers each of many questions with its own answer", () =>
    Effect.gen(function*() {
      const find = yield* BoundedRegex.make(/b+/)
      const answers = yield* Effect.forEach(
        Array.from({ length: 50 }, (_, index) => ["a".repeat(index) + "b"]),
        find,
        { concurrency: 16 }
      )
      assert.deepStrictEqual(answers, Array.from({ length: 50 }, (_, index) => [[0, index]]))
    }))

  it.effect.each([
    "^(a+)+$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)x",
    "^(a?){30}(a){30}$"
  ])("%s is stopped within its slice of time", (source) =>
    Effect.gen(function*() {
      const find = yield* BoundedRegex.make(new RegExp(source))
      const error = yield* Effect.flip(find([`${"a".repeat(5_000)}b`, `${"a".repeat(29)}b`]))
      assert.strictEqual(error.reason, "RegexTooSlow")
    }).pipe(Effect.provideService(BoundedRegex.RegexLimits, { slice: 50, search: anHour })))

  it.effect("keeps the process running while an expression is matched", () =>
    Effect.gen(function*() {
      const find = yield* BoundedRegex.make(evil)
      const fiber = yield* Effect.forkChild(Effect.flip(find(forever)), { startImmediately: true })
      const turns = yield* Effect.callback<number>((resume) => {
        const turn = (n: number) => n === 100 ? resume(Effect.succeed(n)) : void setImmediate(turn, n + 1)
        turn(0)
      })
      assert.strictEqual(turns, 100)
      assert.isUndefined(fiber.pollUnsafe())
      yield* Fiber.interrupt(fiber)
    }))

  it.effect("ends its thread when the search is interrupted", () =>
    Effect.gen(function*() {
      const made = yield* Deferred.make<Worker>()
      process.once("worker", (worker) => Deferred.doneUnsafe(made, Effect.succeed(worker)))
      const asked = yield* Deferred.make<void>()
      const search = BoundedRegex.make(evil).pipe(
        Effect.tap(() => Deferred.succeed(asked, undefined)),
        Effect.flatMap((find) => find(forever)),
        Effect.scoped
      )
      const fiber = yield* Effect.forkChild(search, { startImmediately: true })
      yield* Deferred.await(asked)
      const worker = yield* Deferred.await(made)
      assert.isAbove(worker.threadId, 0)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(worker.threadId, -1)
    }).pipe(Effect.provideService(BoundedRegex.RegexLimits, { slice: 60_000, search: 60_000 })))

  it.effect("bounds the last slice by the time left for the search", () =>
    Effect.gen(function*() {
      const find = yield* BoundedRegex.make(evil)
      assert.strictEqual((yield* Effect.flip(find(forever))).reason, "RegexTooSlow")
    }).pipe(Effect.provideService(BoundedRegex.RegexLimits, { slice: anHour, search: 50 })))

  it.effect("fails innocent lines at once, too, after a slice that took too long", () =>
    Effect.gen(function*() {
      const find = yield* BoundedRegex.make(evil)
      yield* Effect.flip(find(forever))
      assert.strictEqual((yield* Effect.flip(find(["a"]))).reason, "RegexTooSlow")
    }).pipe(Effect.provideService(BoundedRegex.RegexLimits, { slice: 50, search: 60_000 })))

  it.effect("does not take the answer to an interrupted question for another's", () =>
    Effect.gen(function*() {
      const find = yield* BoundedRegex.make(/b/)
      yield* Fiber.interrupt(yield* Effect.forkChild(find(["b"]), { startImmediately: true }))
      assert.strictEqual((yield* Effect.flip(find(["a"]))).reason, "RegexTooSlow")
    }))

  it.effect("shares the time of the search among many slices", () =>
    Effect.gen(function*() {
      const find = yield* BoundedRegex.make(/x/)
      const failed = yield* Effect.flip(Effect.forever(find(["a"])))
      assert.strictEqual(failed.reason, "RegexTooSlow")
    }).pipe(Effect.provideService(BoundedRegex.RegexLimits, { slice: 60_000, search: 20 })))
})
