import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import { copyFileSync, existsSync, mkdirSync, statSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SqliteErrors from "../../../src/layers/sqlite/SqliteErrors.ts"
import * as SqliteSnapshot from "../../../src/layers/sqlite/SqliteSnapshot.ts"
import * as SqliteClient from "../../../src/layers/SqliteClient.ts"
import { temporaryFolder } from "../../support/Processes.ts"

const connection = (make: () => DatabaseSync) =>
  Effect.acquireRelease(Effect.sync(make), (db) => Effect.sync(() => db.close()))

/** A database with one row, and a writer of it, whose changes stay in the log of changes until it closes. */
const written = Effect.fnUntraced(function*(file: string) {
  const db = yield* connection(() => new DatabaseSync(file))
  db.exec("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS t (x); INSERT INTO t VALUES (1)")
})

/** A database that nobody has open, long after its last change. */
const closed = Effect.fnUntraced(function*(name = "s.db") {
  const file = join(yield* temporaryFolder, name)
  yield* Effect.scoped(written(file))
  yield* Effect.acquireRelease(
    Effect.sync(() => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 10_000 })),
    () => Effect.sync(() => vi.useRealTimers())
  )
  return file
})

/** Counts the rows. */
const reader = Effect.fnUntraced(function*(file: string) {
  const snapshot = SqliteSnapshot.open(file)
  yield* connection(() => snapshot.db)
  return () => snapshot.guarded(() => snapshot.db.prepare("SELECT count(*) AS rows FROM t").get()?.["rows"])
})

describe("a database that nobody has open", () => {
  it.effect.each(["s.db", "a b%20?c=d#é.db"])("is read without a file beside it: %s", (name) =>
    Effect.gen(function*() {
      const file = yield* closed(name)
      const count = yield* reader(file)
      assert.strictEqual(count(), 1)
      assert.deepStrictEqual([existsSync(`${file}-wal`), existsSync(`${file}-shm`)], [false, false])
    }))

  it.effect("shows nothing once another process has it open", () =>
    Effect.gen(function*() {
      const file = yield* closed()
      const count = yield* reader(file)
      assert.strictEqual(count(), 1)
      yield* written(file)
      assert.throws(count, SqliteSnapshot.Changed)
    }))

  it.effect("shows nothing once another process has changed it", () =>
    Effect.gen(function*() {
      const file = yield* closed()
      const count = yield* reader(file)
      yield* Effect.scoped(written(file))
      assert.throws(count, SqliteSnapshot.Changed)
    }))

  it.effect("cannot be written to", () =>
    Effect.gen(function*() {
      const { db } = SqliteSnapshot.open(yield* closed())
      yield* connection(() => db)
      assert.throws(() => db.exec("INSERT INTO t VALUES (1)"), "readonly")
    }))
})

describe("a database with a log of changes", () => {
  it.effect("is read with it, and with what is added meanwhile", () =>
    Effect.gen(function*() {
      const file = yield* closed()
      yield* written(file)
      const count = yield* reader(file)
      assert.strictEqual(count(), 2)
      yield* written(file)
      assert.strictEqual(count(), 3)
    }))

  it.effect("that its process left behind is read with it", () =>
    Effect.gen(function*() {
      const file = yield* closed()
      yield* written(file)
      for (const beside of ["", "-wal"]) copyFileSync(`${file}${beside}`, `${file}.left${beside}`)
      assert.strictEqual((yield* reader(`${file}.left`))(), 2)
    }))

  it.effect("is read with it through a link elsewhere", () =>
    Effect.gen(function*() {
      const file = yield* closed()
      yield* written(file)
      const link = join(yield* temporaryFolder, "link.db")
      symlinkSync(file, link)
      assert.strictEqual((yield* reader(link))(), 2)
    }))
})

it.effect("a database that changed a moment ago is read under SQLite's locks", () =>
  Effect.gen(function*() {
    const file = yield* closed()
    yield* Effect.scoped(written(file))
    vi.setSystemTime(statSync(file).ctimeMs + 1)
    const count = yield* reader(file)
    yield* Effect.scoped(written(file))
    assert.strictEqual(count(), 3)
  }))

it.effect("a database whose last change was cut off shows nothing of that change", () =>
  Effect.gen(function*() {
    const file = yield* closed()
    const left = `${file}.left`
    const db = yield* connection(() => new DatabaseSync(file))
    // with hardly a cache, the change is written to the file before it is stored
    db.exec("PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN")
    for (let row = 0; row < 100; row++) db.exec("INSERT INTO t VALUES (zeroblob(4000))")
    for (const beside of ["", "-journal"]) copyFileSync(`${file}${beside}`, `${left}${beside}`)
    vi.setSystemTime(Date.now() + 10_000)
    const count = yield* reader(left)
    assert.throws(count, "readonly")
  }))

describe("an error says what to do", () => {
  const explained = (file: string, cause: unknown) =>
    SqliteSnapshot.explain(file)(SqliteErrors.toSqlError(cause, "execute")).reason

  it.effect("where the file changed while it was read", () =>
    Effect.gen(function*() {
      const { _tag, message } = explained(yield* closed(), new SqliteSnapshot.Changed())
      assert.strictEqual(_tag, "StoreUnavailable")
      assert.match(message, /s\.db" was being written to, .*\. Try again\.$/)
    }))

  it.effect("where it is a folder", () =>
    Effect.gen(function*() {
      const folder = join(yield* temporaryFolder, "folder")
      mkdirSync(folder)
      const error = yield* Effect.flip(SqliteClient.make({ filename: folder, isReadOnly: true, ownTable: "t" })).pipe(
        Effect.provide(Reactivity.layer)
      )
      assert.include(SqliteSnapshot.explain(folder)(error).message, "is a folder. Name a file in it")
    }))
})
