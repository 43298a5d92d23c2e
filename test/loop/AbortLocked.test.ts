/** Aborts while an append waits for a database lock, longer than a drive waits, and is stored after all. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Aborted from "../support/Aborted.ts"
import * as Hang from "../support/Hang.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import * as Processes from "../support/Processes.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

/** A database that another connection locks just before the first append that `isLocked` names. */
const locking = Effect.fnUntraced(function*(isLocked: (events: TestStore.Batch) => boolean) {
  const filename = join(yield* Processes.temporaryFolder, "sessions.db")
  const base = yield* Effect.orDie(SessionStoreSqlite.make({ filename, busyTimeout: "1 hour" }))
  const other = yield* Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(filename)),
    (db) => Effect.sync(() => db.close())
  )
  const locked = Deferred.makeUnsafe<void>()
  const released = Deferred.makeUnsafe<void>()
  const store = TestStore.over(base, ({ events, store }) =>
    Effect.suspend(() => {
      if (isLocked(events) && Deferred.doneUnsafe(locked, Effect.void)) other.exec("BEGIN IMMEDIATE")
      return store
    }))
  store.onReleased = Deferred.succeed(released, undefined)
  const unlock = Effect.andThen(
    Effect.suspend(() => {
      other.exec("COMMIT")
      return TestClock.adjust("1 second")
    }),
    Deferred.await(released)
  )
  return { store, locked: Deferred.await(locked), unlock }
})

describe("an abort while the store waits for a lock", () => {
  it.effect("closes a run whose first event is stored after all", () =>
    Effect.gen(function*() {
      const { locked, store, unlock } = yield* locking((events) => events.some(({ _tag }) => _tag === "RunStarted"))
      const made = yield* TestAgent.make([ScriptedModel.text("hello")], { store })
      const fiber = yield* Effect.forkChild(made.agent.run({ sessionId: "s", input: "go" }))
      yield* locked
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("20 seconds")
      yield* Fiber.join(interrupting)
      yield* unlock
      yield* Aborted.check(made, "consumer", undefined)
      yield* Aborted.answers(made)
    }))

  it.effect("closes a run whose intent is stored after all, and the tool does not run", () =>
    Effect.gen(function*() {
      let ran = 0
      const { locked, store, unlock } = yield* locking((events) => events.some(({ _tag }) => _tag === "ToolStarted"))
      const made = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("hello")], {
        store,
        tool: () => Effect.sync(() => `${ran++}`)
      })
      const fiber = yield* Effect.forkChild(made.agent.run({ sessionId: "s", input: "go" }))
      yield* locked
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("20 seconds")
      yield* Fiber.join(interrupting)
      yield* unlock
      assert.strictEqual(ran, 0)
      yield* Aborted.check(made, "consumer", undefined)
      yield* Aborted.answers(made)
    }))
})

describe("an abort of a run whose session cannot be opened yet", () => {
  const check = Effect.fnUntraced(function*(
    base: SessionStore.Store,
    waits: Effect.Effect<unknown>,
    unlock: Effect.Effect<unknown>
  ) {
    const opening = Deferred.makeUnsafe<void>()
    const released = Deferred.makeUnsafe<void>()
    const store = TestStore.over({
      ...base,
      open: (...args) => Effect.andThen(Deferred.succeed(opening, undefined), base.open(...args))
    })
    store.onReleased = Deferred.succeed(released, undefined)
    const made = yield* TestAgent.make([ScriptedModel.text("hello")], { store })
    const fiber = yield* Effect.forkChild(Effect.flip(made.agent.run({ sessionId: "s", runId: "r", input: "go" })))
    yield* Deferred.await(opening)
    yield* waits
    const run = yield* made.agent.live("r", "s")
    const aborting = yield* Effect.forkChild(run!.abort)
    yield* TestClock.adjust("5 seconds")
    assert.isTrue(yield* Hang.ends(Fiber.await(aborting)), "the abort does not return")
    assert.strictEqual((yield* Fiber.join(fiber)).reason._tag, "AbortedBeforeStart")
    yield* unlock
    yield* TestClock.adjust("1 second")
    yield* Deferred.await(released)
    assert.deepStrictEqual(yield* store.log("s"), [])
    yield* Aborted.answers(made)
  })

  it.effect("waits at most the grace period, and leaves nothing, when another program has locked the file", () =>
    Effect.gen(function*() {
      const filename = join(yield* Processes.temporaryFolder, "sessions.db")
      const base = yield* Effect.orDie(SessionStoreSqlite.make({ filename, busyTimeout: "1 hour" }))
      const other = yield* Effect.acquireRelease(
        Effect.sync(() => new DatabaseSync(filename)),
        (db) => Effect.sync(() => db.close())
      )
      other.exec("BEGIN EXCLUSIVE")
      yield* check(base, TestClock.adjust("1 second"), Effect.sync(() => other.exec("COMMIT")))
    }))

  it.effect("does the same when another connection has locked the tables of Postgres", () =>
    Effect.gen(function*() {
      const url = yield* PgDatabases.database
      const base = yield* Effect.orDie(SessionStorePg.make({ url }))
      const unlock = yield* PgDatabases.lock(url, "fiberloop_sessions")
      const waiting = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'fiberloop_sessions'::regclass"
      const waits = PgDatabases.query(
        url,
        `DO $$ BEGIN
        WHILE NOT EXISTS (${waiting}) LOOP PERFORM pg_sleep(0.001); END LOOP;
      END $$`
      )
      yield* check(base, waits, unlock)
    }))
})
