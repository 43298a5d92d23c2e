/** What holds of forks when connections and processes share a file, and when a fork fails midway. */
import { assert, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as OwnerLiveness from "../../src/layers/OwnerLiveness.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { completed, type Durable, notice, notices, started } from "../../src/testing/sessions/Fixtures.ts"
import { startedProcess, temporaryFolder } from "../support/Processes.ts"
import { plansOf, sqlOn } from "../support/SqliteStores.ts"
import * as Traces from "../support/Traces.ts"

const log: Arr.NonEmptyReadonlyArray<Durable> = [started({ seq: 1 }), ...notices(2, 9), completed({ seq: 10 })]
const options = { runId: "run-1", create: true }
const make = (filename: string) => SessionStoreSqlite.make({ filename })
const readAll = (store: SessionStore.Store, sessionId: string) => Stream.runCollect(store.read(sessionId))
const reasonOf = <A, R>(effect: Effect.Effect<A, SessionStore.StoreError, R>) =>
  Effect.map(Effect.flip(effect), (error): SessionStore.StoreError["reason"] => error.reason)

/** A file with the session "s", and a store on it. */
const database = Effect.gen(function*() {
  const file = join(yield* temporaryFolder, "sessions.db")
  const store = yield* make(file)
  yield* Effect.scoped(Effect.flatMap(store.open("s", options), (session) => session.append(log)))
  return { file, store }
})

/** All rows of both tables except those of session "s", whose number is 1. */
const rowsOfOthers = (file: string) =>
  sqlOn(file, (db) => [
    ...db.prepare("SELECT session FROM fiberloop_sessions WHERE session <> 1").all(),
    ...db.prepare("SELECT session FROM fiberloop_log WHERE session <> 1").all()
  ])

/** Leaves a row behind, like an opener that dies before it writes. */
const leaveOpener = (file: string, runId: string, lease: number) =>
  sqlOn(file, (db) =>
    db.prepare(`
      INSERT INTO fiberloop_sessions (id, epoch, owner, lease, head, title, turns, created_at, updated_at)
      VALUES ('copy', 1, ?, ?, 0, '', 0, 0, 0)`).run(JSON.stringify(OwnerLiveness.self(runId)), lease))

it.effect("a fork is still there when the file is opened again", () =>
  Effect.gen(function*() {
    const { file, store } = yield* database
    const info = yield* store.fork("s", { to: "copy" })
    const again = yield* make(file)
    assert.deepStrictEqual(yield* readAll(again, "copy"), [...log])
    assert.deepStrictEqual(yield* again.info("copy"), info)
  }))

for (
  const [claim, when] of [
    ["while events are copied", "BEFORE INSERT ON fiberloop_log WHEN NEW.session <> 1 AND NEW.seq = 7"],
    ["after they were copied", "BEFORE UPDATE ON fiberloop_sessions WHEN NEW.session <> 1"]
  ] as const
) {
  it.effect(`a fork that fails ${claim} leaves nothing behind and can be repeated`, () =>
    Effect.gen(function*() {
      const { file, store } = yield* database
      sqlOn(file, (db) => db.exec(`CREATE TRIGGER trap ${when} BEGIN SELECT RAISE(ABORT, 'trapped'); END`))
      assert.include((yield* reasonOf(store.fork("s", { to: "copy" }))).message, "trapped")
      assert.deepStrictEqual(rowsOfOthers(file), [])
      sqlOn(file, (db) => db.exec("DROP TRIGGER trap"))
      assert.strictEqual((yield* store.fork("s", { to: "copy" })).head, 10)
    }))
}

it.live("of two connections that fork to one id concurrently, one wins and the other is refused", () =>
  Effect.gen(function*() {
    const { file, store } = yield* database
    leaveOpener(file, "dead", Number.MAX_SAFE_INTEGER)
    let second: Fiber.Fiber<SessionStore.SessionInfo, SessionStore.StoreError> | undefined
    // Called in the midst of the first fork, after it has found the id's owner dead.
    const isDead = () => {
      second = Effect.runFork(store.fork("s", { to: "copy" }))
      return true
    }
    const liveness = { ...(yield* OwnerLiveness.OwnerLiveness), isDead }
    const other = yield* Effect.provideService(make(file), OwnerLiveness.OwnerLiveness, liveness)
    yield* other.fork("s", { to: "copy" })
    const reason = yield* reasonOf(Fiber.join(second!))
    assert.isTrue(reason._tag === "InvalidInput" && reason.field === "to")
    assert.deepStrictEqual(yield* readAll(store, "copy"), [...log])
  }))

it.live("concurrent forks by many connections, each to its own id, are all made", () =>
  Effect.gen(function*() {
    const { file, store } = yield* database
    const stores = yield* Effect.forEach(Arr.range(1, 4), () => make(file))
    yield* Effect.forEach(stores.entries(), ([n, other]) => other.fork("s", { to: `copy ${n}` }), {
      concurrency: "unbounded"
    })
    for (const n of stores.keys()) assert.deepStrictEqual(yield* readAll(store, `copy ${n}`), [...log])
  }))

it.effect("a fork waits for a lock that another connection holds", () =>
  Effect.gen(function*() {
    const { file, store } = yield* database
    const other = yield* Effect.acquireRelease(
      Effect.sync(() => new DatabaseSync(file)),
      (db) => Effect.sync(() => db.close())
    )
    other.exec("BEGIN EXCLUSIVE")
    const fiber = yield* Effect.forkChild(store.fork("s", { to: "copy" }))
    yield* TestClock.adjust("1 second")
    other.exec("COMMIT")
    yield* TestClock.adjust("30 millis")
    assert.strictEqual((yield* Fiber.join(fiber)).head, 10)
  }))

it.live("a session that another process writes to can be forked, and its writer continues", () =>
  Effect.gen(function*() {
    const { file, store } = yield* database
    const child = yield* startedProcess(file)
    yield* child.ask({ do: "open", sessionId: "s", runId: "child-run" })
    yield* child.ask({ do: "append", count: 2 })
    assert.strictEqual((yield* store.fork("s", { to: "copy" })).head, 10)
    assert.deepStrictEqual(yield* child.ask({ do: "append", count: 1 }), { ok: true })
    assert.strictEqual((yield* store.info("s"))?.head, 13)
    assert.deepStrictEqual(yield* readAll(store, "copy"), [...log])
  }))

it.live("an id that another process has open is busy until that process is killed", () =>
  Effect.gen(function*() {
    const { file, store } = yield* database
    const child = yield* startedProcess(file)
    yield* child.ask({ do: "open", sessionId: "copy", runId: "child-run" })
    const reason = yield* reasonOf(store.fork("s", { to: "copy" }))
    assert.isTrue(reason._tag === "SessionBusy" && reason.runId === "child-run")
    yield* child.kill
    assert.strictEqual((yield* store.fork("s", { to: "copy" })).head, 10)
  }))

it.effect("an id is free once its opener's lease has run out, and that opener is stale", () =>
  Effect.gen(function*() {
    const { file, store } = yield* database
    const frozen = { ...(yield* OwnerLiveness.OwnerLiveness), renewEvery: Duration.days(1) }
    const other = yield* Effect.provideService(make(file), OwnerLiveness.OwnerLiveness, frozen)
    const late = yield* other.open("copy", options)
    yield* TestClock.adjust("31 seconds")
    yield* store.fork("s", { to: "copy" })
    assert.strictEqual((yield* reasonOf(late.append([notice({ seq: 1 })])))._tag, "StaleWriter")
    assert.deepStrictEqual(yield* readAll(store, "copy"), [...log])
  }))

for (
  const [claim, damage] of [
    ["with an event missing", "DELETE FROM fiberloop_log WHERE seq = 4"],
    ["with a last event that is not JSON", "UPDATE fiberloop_log SET body = '{' WHERE seq = 10"],
    ["with a first event that is not JSON", "UPDATE fiberloop_log SET body = '{' WHERE seq = 1"]
  ] as const
) {
  it.effect(`a log ${claim} is not forked, naming session and event`, () =>
    Effect.gen(function*() {
      const { file, store } = yield* database
      sqlOn(file, (db) => db.exec(damage))
      const reason = yield* reasonOf(store.fork("s", { to: "copy" }))
      assert.strictEqual(reason._tag, "StoreRefused")
      assert.include(reason.message, `Event ${damage.split("= ").at(-1)} of session "s"`)
      assert.deepStrictEqual(rowsOfOthers(file), [])
    }))
}

it.effect("places to fork at are looked up backwards from the requested one, not from the start of the log", () =>
  Effect.gen(function*() {
    const { file, store } = yield* database
    const traces = Traces.make()
    yield* Effect.withTracer(store.fork("s", { to: "copy", at: 10 }), traces.tracer)
    const lookedUp = plansOf(file, traces).find(({ text }) => /^\s*SELECT seq FROM fiberloop_log/.test(text))
    assert.match(lookedUp?.text ?? "", /ORDER BY key DESC LIMIT 1$/)
    assert.include(lookedUp?.steps, "(rowid>? AND rowid<?)")
    assert.notInclude(lookedUp?.steps, "TEMP B-TREE")
  }))
