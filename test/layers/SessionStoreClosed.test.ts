/** What a store answers once it is closed, whatever its database: the same typed error, and no interruption of the caller. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { join } from "node:path"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import { notice, reasonOf, started } from "../../src/testing/sessions/Fixtures.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import { temporaryFolder } from "../support/Processes.ts"

const options = { runId: "run-1", create: true }

for (
  const [name, makes] of [
    ["SessionStoreSqlite", Effect.map(temporaryFolder, (_) => SessionStoreSqlite.make({ filename: join(_, "s.db") }))],
    ["SessionStorePg", Effect.map(PgDatabases.database, (url) => SessionStorePg.make({ url }))]
  ] as const
) {
  /** A store that is closed, one of its sessions still open, and a watcher that waits in it. */
  const closed = Effect.gen(function*() {
    const [storeScope, sessionScope] = [yield* Scope.make(), yield* Scope.make()]
    const store = yield* Scope.provide(yield* makes, storeScope)
    const session = yield* Scope.provide(store.open("s", options), sessionScope)
    yield* session.append([started({ seq: 1 })])
    const made = store.read("s")
    const watcher = yield* Effect.forkChild(Stream.runDrain(store.watch("s", 2)), { startImmediately: true })
    const closing = yield* Effect.forkChild(Scope.close(storeScope, Exit.void), { startImmediately: true })
    yield* TestClock.adjust("5 seconds")
    yield* Fiber.join(closing)
    return { store, session, sessionScope, made, watcher }
  })

  describe(`${name}: once it is closed`, () => {
    it.effect("every operation is refused, saying that it is closed", () =>
      Effect.gen(function*() {
        const { made, session, store } = yield* closed
        const questions = [
          Effect.scoped(store.open("t", options)),
          session.append([notice({ seq: 2 })]),
          Stream.runDrain(made),
          Stream.runDrain(store.watch("s")),
          store.lastOf("s", "RunStarted"),
          store.list(),
          store.info("s"),
          store.fork("s", { to: "copy" }),
          store.remove("s")
        ]
        for (const question of questions) {
          const reason = yield* reasonOf(question as Effect.Effect<unknown, never>)
          assert.strictEqual(reason._tag, "StoreRefused")
          assert.include(reason.message, "is closed")
        }
      }))

    it.effect("watchers are told", () =>
      Effect.gen(function*() {
        const { watcher } = yield* closed
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual((yield* reasonOf(Fiber.join(watcher)))._tag, "StoreRefused")
      }))

    it.effect("a session that outlives it closes quietly", () =>
      Effect.gen(function*() {
        const { sessionScope } = yield* closed
        assert.deepStrictEqual(yield* Effect.exit(Scope.close(sessionScope, Exit.void)), Exit.void)
      }))
  })
}
