/** Databases as earlier versions made them: `test/golden/sqlite-v2.sql` never changes. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { aborted, answer, completed, notice, notices, reasonOf, started } from "../../src/testing/sessions/Fixtures.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as BegunForCalls from "./BegunForCalls.ts"

const dump = readFileSync(new URL("../golden/sqlite-v2.sql", import.meta.url), "utf8")
const make = (filename: string) => SessionStoreSqlite.make({ filename })
const readAll = (store: SessionStore.Store, sessionId: string) => Stream.runCollect(store.read(sessionId))

/** A database of version 2, changed by `more`. */
const database = Effect.fnUntraced(function*(more = "") {
  const file = join(yield* temporaryFolder, "sessions.db")
  const db = yield* connection(file)
  db.exec(`BEGIN; ${dump} ${more}; COMMIT; PRAGMA journal_mode = WAL`)
  return { file, db }
})

const connection = (file: string) =>
  Effect.acquireRelease(Effect.sync(() => new DatabaseSync(file)), (db) => Effect.sync(() => db.close()))

/** Take back what later versions added. */
const of8 = `UPDATE fiberloop_log SET new_run = (
    SELECT new_run FROM fiberloop_log AS before WHERE before.key <= fiberloop_log.key AND new_run <> ''
    ORDER BY before.key DESC LIMIT 1
  );
  ALTER TABLE fiberloop_log RENAME COLUMN new_run TO run;
  DELETE FROM fiberloop_migrations WHERE migration_id >= 9`
const of6 = `${of8}; DROP TABLE fiberloop_sent; DROP VIEW fiberloop_sessions_current;
  DROP INDEX fiberloop_sessions_parents; ALTER TABLE fiberloop_sessions DROP COLUMN parent;
  DELETE FROM fiberloop_migrations WHERE migration_id >= 7`

const contents = (db: DatabaseSync) =>
  ["fiberloop_migrations", "fiberloop_sessions", "fiberloop_events"].map((table) =>
    db.prepare(`SELECT * FROM ${table}`).all()
  )

const whole = [
  started({ seq: 1 }, `a "quoted"\nquestion 👩 it's`),
  answer({ seq: 2 }, "NUL \0 and half \ud800 of a pair"),
  ...notices(3, 4),
  completed({ seq: 5 }),
  started({ seq: 6, runId: "run-2" }, "again"),
  answer({ seq: 7, runId: "run-2" }),
  completed({ seq: 8, runId: "run-2" })
]
const of1 = `DROP INDEX fiberloop_compactions; DROP INDEX fiberloop_runs;
  DELETE FROM fiberloop_migrations WHERE migration_id = 2`

for (const [version, more] of [[1, of1], [2, ""]] as const) {
  it.effect(`a database of version ${version} is migrated with its logs unchanged`, () =>
    Effect.gen(function*() {
      const { db, file } = yield* database(more)
      const [, sessions = []] = contents(db)
      const store = yield* make(file)
      assert.deepStrictEqual(yield* readAll(store, "whole"), whole)
      assert.deepStrictEqual(yield* readAll(store, "copy"), whole)
      assert.deepStrictEqual(
        (yield* readAll(store, "many")).map(({ seq }) => seq),
        Array.from({ length: 40 }, (_, i) => i + 1)
      )
      assert.strictEqual(yield* store.lastOf("many", "ContextCompacted"), 20)
      assert.strictEqual(yield* store.lastOf("whole", "RunStarted", "run-2"), 6)
      const listed = yield* store.list()
      assert.deepStrictEqual(listed.map(({ sessionId }) => sessionId), ["copy", "dead", "many", "whole"])
      for (const info of listed) {
        const row = sessions.find(({ id }) => id === info.sessionId)!
        const { created_at, ended, head, title, turns, updated_at } = row
        assert.deepStrictEqual([info.title, info.head, info.turns, info.end], [title, head, turns, ended ?? undefined])
        assert.deepStrictEqual([info.createdAt, info.updatedAt], [created_at, updated_at])
        assert.deepStrictEqual(yield* store.info(info.sessionId), info)
      }
    }))
}

it.effect("a database of version 3 gets the index by ends, and sessions that were shut down then have no end", () =>
  Effect.gen(function*() {
    const { db, file } = yield* database()
    yield* Effect.scoped(Effect.gen(function*() {
      const store = yield* make(file)
      for (const reason of ["shutdown", "requested"] as const) {
        const session = yield* store.open(reason, { runId: "run-1", create: true })
        yield* session.append([started({ seq: 1 }), aborted({ seq: 2 }, reason)])
      }
    }))
    db.exec(`UPDATE fiberloop_sessions SET ended = 'RunAborted' WHERE id = 'shutdown';
      DROP INDEX fiberloop_sessions_ended; DROP TABLE fiberloop_aborts; ${of6};
      DELETE FROM fiberloop_migrations WHERE migration_id >= 4`)
    const store = yield* make(file)
    assert.deepStrictEqual(yield* readAll(store, "whole"), whole)
    const idsOf = (end: SessionStore.SessionInfo["end"]) =>
      Effect.map(store.list({ ends: [end] }), (infos) => infos.map(({ sessionId }) => sessionId))
    assert.includeMembers([...yield* idsOf(undefined)], ["shutdown", "dead"])
    assert.deepStrictEqual(yield* idsOf("RunAborted"), ["requested"])
    db.exec("DROP INDEX fiberloop_sessions_ended")
  }))

it.effect("an abort that a database of version 5 has is heard by whoever goes on with its run", () =>
  Effect.gen(function*() {
    const { db, file } = yield* database()
    yield* Effect.scoped(Effect.gen(function*() {
      const store = yield* make(file)
      const session = yield* store.open("s", { runId: "run-1", create: true, onAbortAsked: Effect.void })
      yield* session.append([started({ seq: 1 })])
      yield* store.askToAbort!("s", "run-1")
      db.exec(`ALTER TABLE fiberloop_aborts DROP COLUMN session; ${of6};
        DELETE FROM fiberloop_migrations WHERE migration_id >= 6`)
      yield* Effect.scoped(make(file))
    }))
    const heard: Array<string> = []
    const store = yield* make(file)
    yield* store.open("s", { runId: "run-1", create: false, onAbortAsked: Effect.sync(() => void heard.push("run-1")) })
    assert.deepStrictEqual(heard, ["run-1"])
  }))

it.effect("sessions of a database of version 2 can be written to, even if their writer died", () =>
  Effect.gen(function*() {
    const { file } = yield* database()
    const store = yield* make(file)
    for (const [sessionId, head] of [["dead", 3], ["whole", 8], ["unused", 0], ["new", 0]] as const) {
      const session = yield* store.open(sessionId, { runId: "run-3", create: true })
      assert.strictEqual(session.head(), head)
      yield* session.append([started({ seq: head + 1 })])
      assert.strictEqual((yield* store.info(sessionId))?.head, head + 1)
    }
  }))

it.effect("stores that migrate a database concurrently all read it unchanged", () =>
  Effect.gen(function*() {
    const { file } = yield* database()
    const stores = yield* Effect.all(Array.from({ length: 4 }, () => make(file)), { concurrency: "unbounded" })
    for (const store of stores) assert.deepStrictEqual(yield* readAll(store, "whole"), whole)
  }))

it.effect("a database that cannot be migrated is refused and left unchanged", () =>
  Effect.gen(function*() {
    const { db, file } = yield* database("CREATE TABLE fiberloop_sessions_owned (x)")
    const before = contents(db)
    assert.strictEqual((yield* reasonOf(Effect.scoped(make(file))))._tag, "StoreRefused")
    assert.deepStrictEqual(contents(db), before)
    db.exec("DROP TABLE fiberloop_sessions_owned")
    assert.deepStrictEqual(yield* readAll(yield* make(file), "whole"), whole)
  }))

it.effect("a process of version 2 that still has a migrated database open can no longer write to it", () =>
  Effect.gen(function*() {
    const { db, file } = yield* database()
    const fence = db.prepare("UPDATE fiberloop_sessions SET head = 4 WHERE session = 5 AND epoch = 1 AND head = 3")
    const check = db.prepare("SELECT e.version FROM fiberloop_sessions s JOIN fiberloop_events e ON e.seq = s.head")
    const insert = db.prepare("INSERT INTO fiberloop_events SELECT 5, 4, '', '', 1, 0, ''")
    const store = yield* make(file)
    db.exec("BEGIN IMMEDIATE")
    assert.strictEqual(fence.run().changes, 1)
    assert.throws(() => insert.run(), "no such table")
    db.exec("ROLLBACK")
    assert.throws(() => check.all(), "no such table")
    const session = yield* store.open("dead", { runId: "run-3", create: true })
    yield* session.append([notice({ seq: 4 })])
    assert.strictEqual(fence.run().changes, 0)
  }))

it.effect("sessions of a database of version 6 get the parents that their first events name", () =>
  Effect.gen(function*() {
    const { db, file } = yield* database()
    yield* Effect.scoped(Effect.flatMap(make(file), BegunForCalls.write))
    db.exec(`${of6}; UPDATE fiberloop_log SET body = '{"parent":{' WHERE seq = 1 AND session = (
      SELECT session FROM fiberloop_sessions WHERE id = '${BegunForCalls.damaged}')`)
    yield* BegunForCalls.check(yield* make(file))
    // those in use are listed by the other half of the view
    const reader = yield* make(file)
    const store = yield* make(file)
    yield* store.open("of 0", { runId: "run-1", create: false })
    assert.strictEqual((yield* reader.info("of 0"))?.parent, "0")
    assert.deepStrictEqual((yield* reader.list({ parents: ["0"] })).map(({ sessionId }) => sessionId), ["of 0"])
  }))

it.effect("a process of version 6 that still has a migrated database open reads the columns that it knows", () =>
  Effect.gen(function*() {
    const { db, file } = yield* database()
    yield* Effect.scoped(make(file))
    db.exec(of6)
    const columns = () => db.prepare("SELECT * FROM fiberloop_sessions_now").columns().map(({ name }) => name)
    const before = columns()
    yield* make(file)
    assert.deepStrictEqual(columns(), before)
  }))

it.effect("a process of version 8 that still has a migrated database open can neither read nor write events", () =>
  Effect.gen(function*() {
    const { db, file } = yield* database()
    yield* Effect.scoped(make(file))
    db.exec(of8)
    const select = db.prepare("SELECT seq, run, body FROM fiberloop_log WHERE session = 5")
    const insert = db.prepare(`INSERT INTO fiberloop_log (key, run, type, version, at, body)
      SELECT session << 32 | 4, '', '', 1, 0, '' FROM fiberloop_sessions WHERE session = 5`)
    assert.strictEqual(select.all().length, 3)
    const store = yield* make(file)
    const events = yield* readAll(store, "dead")
    const session = yield* store.open("dead", { runId: "run-3", create: true })
    const more = [notice({ seq: 4, runId: "run-3" }), notice({ seq: 5, runId: "run-3" })] as const
    yield* session.append(more)
    assert.throws(() => select.all(), "no such column")
    assert.throws(() => insert.run(), "no column named run")
    assert.deepStrictEqual(yield* readAll(store, "dead"), [...events, ...more])
  }))
