/** What becomes of a session whose writer left while the database could not be written. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SessionStoreSqlite from "../../../src/layers/SessionStoreSqlite.ts"
import { reasonOf, started } from "../../../src/testing/sessions/Fixtures.ts"
import { temporaryFolder } from "../../support/Processes.ts"

const options = { runId: "run-1", create: true }

/** A session "s" closed while another connection held a lock, since released; and a second store. */
const left = Effect.fnUntraced(function*(isWritten: boolean) {
  const filename = join(yield* temporaryFolder, "s.db")
  const make = SessionStoreSqlite.make({ filename, busyTimeout: "100 millis" })
  const [store, second] = [yield* make, yield* make]
  const scope = yield* Scope.make()
  const session = yield* Scope.provide(store.open("s", options), scope)
  if (isWritten) yield* session.append([started({ seq: 1 })])
  const other = yield* Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(filename)),
    (db) => Effect.sync(() => db.close())
  )
  other.exec("BEGIN EXCLUSIVE")
  const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
  yield* TestClock.adjust("200 millis")
  yield* Fiber.join(closing)
  other.exec("ROLLBACK")
  assert.strictEqual((yield* reasonOf(second.open("s", options)))._tag, "SessionBusy")
  return { store, second, other }
})

for (const isWritten of [true, false]) {
  it.effect(`a session that could not be given back reopens at once in its own store, ${isWritten ? "written" : "unwritten"}`, () =>
    Effect.gen(function*() {
      const { store } = yield* left(isWritten)
      const session = yield* store.open("s", options)
      yield* TestClock.adjust("1 minute")
      yield* session.append([started({ seq: session.head() + 1 })])
      assert.strictEqual((yield* store.info("s"))?.head, isWritten ? 2 : 1)
    }))

  it.effect(`a session that could not be given back soon opens in other stores, ${isWritten ? "written" : "unwritten"}`, () =>
    Effect.gen(function*() {
      const { other, second } = yield* left(isWritten)
      yield* TestClock.adjust("1 second")
      const rows = other.prepare("SELECT owner FROM fiberloop_sessions").all()
      assert.deepStrictEqual(rows.map(({ owner }) => owner), isWritten ? [null] : [])
      yield* second.open("s", options)
    }))
}

it.effect("an opening that fails although it was stored leaves no row behind", () =>
  Effect.gen(function*() {
    const filename = join(yield* temporaryFolder, "s.db")
    const store = yield* SessionStoreSqlite.make({ filename })
    const other = yield* Effect.acquireRelease(
      Effect.sync(() => new DatabaseSync(filename)),
      (db) => Effect.sync(() => db.close())
    )
    // keeps the row that it fails for
    other.exec("CREATE TRIGGER trap AFTER INSERT ON fiberloop_sessions BEGIN SELECT RAISE(FAIL, 'no'); END")
    yield* Effect.flip(store.open("s", options))
    const rows = () => other.prepare("SELECT id FROM fiberloop_sessions").all().map(({ id }) => id)
    assert.deepStrictEqual(rows(), ["s"])
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(rows(), [])
  }))

it.effect("closing a store does not wait for the database", () =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    yield* Scope.provide(left(true), scope)
    yield* Scope.close(scope, Exit.void)
  }))
