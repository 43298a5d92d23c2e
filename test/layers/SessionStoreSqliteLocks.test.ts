/** A session database that another connection has locked. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { DatabaseSync } from "node:sqlite"
import { notice } from "../../src/testing/sessions/Fixtures.ts"
import { assertOneLine, database, make, options, reasonOf } from "../support/SqliteStores.ts"

describe("a lock that another connection holds", () => {
  const locked = Effect.gen(function*() {
    const { file } = yield* database
    const store = yield* make(file, { busyTimeout: "2 seconds" })
    const session = yield* store.open("s", options)
    const other = yield* Effect.acquireRelease(
      Effect.sync(() => new DatabaseSync(file)),
      (db) => Effect.sync(() => db.close())
    )
    other.exec("BEGIN EXCLUSIVE")
    return { file, store, session, other }
  })

  it.effect("is waited for", () =>
    Effect.gen(function*() {
      const { other, session, store } = yield* locked
      const fiber = yield* Effect.forkChild(session.append([notice({ seq: 4 })]))
      yield* TestClock.adjust("1 second")
      other.exec("COMMIT")
      yield* TestClock.adjust("30 millis")
      yield* Fiber.join(fiber)
      assert.strictEqual((yield* store.info("s"))?.head, 4)
    }))

  it.effect("fails an append after the timeout, naming the file, and the append can be repeated", () =>
    Effect.gen(function*() {
      const { file, other, session } = yield* locked
      const fiber = yield* Effect.forkChild(session.append([notice({ seq: 4 })]))
      yield* TestClock.adjust("2100 millis")
      const reason = yield* reasonOf(Fiber.join(fiber))
      assert.strictEqual(reason._tag, "StoreUnavailable")
      assert.include(reason.message, file)
      assert.include(reason.message, "locked")
      assertOneLine(reason.message)
      assert.strictEqual(session.head(), 3)
      other.exec("ROLLBACK")
      yield* session.append([notice({ seq: 4 })])
      assert.strictEqual(session.head(), 4)
    }))

  it.effect("is waited for by appends in order", () =>
    Effect.gen(function*() {
      const { other, session, store } = yield* locked
      const appends = Effect.forEach([4, 5, 6], (seq) => session.append([notice({ seq })]), {
        concurrency: "unbounded"
      })
      const fiber = yield* Effect.forkChild(appends)
      yield* TestClock.adjust("100 millis")
      other.exec("COMMIT")
      yield* TestClock.adjust("100 millis")
      yield* Fiber.join(fiber)
      assert.strictEqual((yield* Stream.runCollect(store.read("s"))).length, 6)
    }))

  it.effect("is waited for even by an append that is interrupted meanwhile", () =>
    Effect.gen(function*() {
      const { other, session, store } = yield* locked
      const fiber = yield* Effect.forkChild(session.append([notice({ seq: 4 })]))
      yield* TestClock.adjust("100 millis")
      const interruption = yield* Effect.forkChild(Fiber.interrupt(fiber), { startImmediately: true })
      other.exec("COMMIT")
      yield* TestClock.adjust("100 millis")
      yield* Fiber.join(interruption)
      assert.strictEqual((yield* store.info("s"))?.head, 4)
      assert.strictEqual(session.head(), 4)
    }))

  it.effect("does not keep others from reading", () =>
    Effect.gen(function*() {
      const { store } = yield* locked
      assert.strictEqual((yield* Stream.runCollect(store.read("s"))).length, 3)
    }))

  it.effect("delays the opening of a store no longer than the timeout", () =>
    Effect.gen(function*() {
      const { file } = yield* locked
      const fiber = yield* Effect.forkChild(reasonOf(Effect.scoped(make(file, { busyTimeout: "50 millis" }))))
      yield* TestClock.adjust("100 millis")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "StoreUnavailable")
    }))

  it.effect("is waited for 5 seconds by default", () =>
    Effect.gen(function*() {
      const { file } = yield* locked
      const fiber = yield* Effect.forkChild(reasonOf(Effect.scoped(make(file))))
      yield* TestClock.adjust("4900 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("200 millis")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "StoreUnavailable")
    }))
})
