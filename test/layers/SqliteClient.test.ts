import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SqliteClient from "../../src/layers/SqliteClient.ts"
import { temporaryFolder } from "../support/Processes.ts"

const client = Effect.fnUntraced(function*(options: Partial<SqliteClient.Options> = {}) {
  const filename = join(yield* temporaryFolder, "test.db")
  const sql = yield* Effect.provide(SqliteClient.make({ filename, ...options }), Reactivity.layer)
  yield* sql`CREATE TABLE t (x INTEGER PRIMARY KEY, y TEXT)`
  return sql
})

const all = (sql: SqliteClient.SqliteClient) =>
  Effect.map(sql<{ x: number }>`SELECT x FROM t ORDER BY x`, (rows) => rows.map((_) => _.x))

it.effect("uses a write-ahead log, and waits for the disk only when told to", () =>
  Effect.gen(function*() {
    const os = yield* client()
    const fsync = yield* client({ durability: "fsync" })
    assert.deepStrictEqual((yield* os`PRAGMA journal_mode`.values)[0], ["wal"])
    assert.deepStrictEqual((yield* os`PRAGMA synchronous`.values)[0], [1])
    assert.deepStrictEqual((yield* fsync`PRAGMA synchronous`.values)[0], [2])
  }))

it.effect("keeps values unchanged", () =>
  Effect.gen(function*() {
    const sql = yield* client()
    yield* sql`INSERT INTO t ${sql.insert([{ x: 1, y: "a\0b 👩" }, { x: 2 ** 53 - 1, y: null }])}`
    assert.deepStrictEqual(yield* sql`SELECT * FROM t ORDER BY x`.values, [[1, "a\0b 👩"], [2 ** 53 - 1, null]])
    assert.deepStrictEqual(
      yield* Stream.runCollect(sql<{ x: number }>`SELECT x FROM t`.stream),
      yield* sql`SELECT x FROM t`
    )
  }))

it.effect("its layer is a client of effect/sql", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* SqlClient.SqlClient.use((sql) => sql`SELECT 1`.values), [[1]])
  }).pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" }))))

it.effect("a transaction that fails writes nothing", () =>
  Effect.gen(function*() {
    const sql = yield* client()
    yield* Effect.exit(sql.withTransaction(Effect.andThen(sql`INSERT INTO t VALUES (1, '')`, Effect.fail("no"))))
    assert.deepStrictEqual(yield* all(sql), [])
  }))

it.effect("an interrupted transaction writes nothing, and the next one works", () =>
  Effect.gen(function*() {
    const sql = yield* client()
    const written = yield* Deferred.make<void>()
    const fiber = yield* Effect.forkChild(sql.withTransaction(
      Effect.andThen(
        sql`INSERT INTO t VALUES (1, '')`,
        Effect.andThen(Deferred.succeed(written, undefined), Effect.never)
      )
    ))
    yield* Deferred.await(written)
    yield* Fiber.interrupt(fiber)
    yield* sql.withTransaction(sql`INSERT INTO t VALUES (2, '')`)
    assert.deepStrictEqual(yield* all(sql), [2])
  }))

it.effect("a nested transaction is rolled back alone", () =>
  Effect.gen(function*() {
    const sql = yield* client()
    yield* sql.withTransaction(Effect.gen(function*() {
      yield* sql`INSERT INTO t VALUES (1, '')`
      yield* Effect.exit(sql.withTransaction(Effect.andThen(sql`INSERT INTO t VALUES (2, '')`, Effect.fail("no"))))
    }))
    assert.deepStrictEqual(yield* all(sql), [1])
  }))

it.effect("concurrent transactions do not mix", () =>
  Effect.gen(function*() {
    const sql = yield* client()
    const add = sql.withTransaction(Effect.gen(function*() {
      const xs = yield* all(sql)
      yield* Effect.yieldNow
      yield* sql`INSERT INTO t VALUES (${xs.length + 1}, '')`
    }))
    yield* Effect.all(Array.from({ length: 10 }, () => add), { concurrency: "unbounded" })
    assert.deepStrictEqual(yield* all(sql), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  }))

const insert = (x: number) => [`INSERT INTO t VALUES (?, '')`, [x]] as const

it.effect("transact writes all statements when the first returns a row", () =>
  Effect.gen(function*() {
    const sql = yield* client()
    assert.isTrue(yield* sql.transact([["INSERT INTO t VALUES (1, '') RETURNING x", []], insert(2), insert(3)]))
    assert.deepStrictEqual(yield* all(sql), [1, 2, 3])
  }))

it.effect("transact writes nothing when the first returns none", () =>
  Effect.gen(function*() {
    const sql = yield* client()
    assert.isFalse(yield* sql.transact([["UPDATE t SET y = 'z' RETURNING x", []], insert(2)]))
    assert.deepStrictEqual(yield* all(sql), [])
  }))

it.effect("transact is guarded by the number of rows the first statement changes if it returns none", () =>
  Effect.gen(function*() {
    const sql = yield* client()
    assert.isTrue(yield* sql.transact([insert(1), insert(2)]))
    assert.isFalse(yield* sql.transact([["UPDATE t SET y = 'z' WHERE x = 3", []], insert(3)]))
    assert.deepStrictEqual(yield* all(sql), [1, 2])
  }))

it.effect("transact writes nothing when a statement fails, and the next one works", () =>
  Effect.gen(function*() {
    const sql = yield* client()
    const guard = ["INSERT INTO t VALUES (1, '') RETURNING x", []] as const
    yield* Effect.flip(sql.transact([guard, insert(2), insert(2)]))
    assert.deepStrictEqual(yield* all(sql), [])
    yield* sql.transact([guard, insert(2)])
    assert.deepStrictEqual(yield* all(sql), [1, 2])
  }))

it.effect("transact of a single statement writes all of it or nothing", () =>
  Effect.gen(function*() {
    const sql = yield* client()
    yield* Effect.flip(sql.transact([["INSERT INTO t VALUES (1, ''), (2, ''), (1, '')", []]]))
    assert.isFalse(yield* sql.transact([["INSERT INTO t SELECT 1, '' WHERE ?", [0]]]))
    assert.deepStrictEqual(yield* all(sql), [])
    assert.isTrue(yield* sql.transact([["INSERT INTO t VALUES (1, ''), (2, '')", []]]))
    assert.deepStrictEqual(yield* all(sql), [1, 2])
  }))

it.effect("transact waits for a transaction on its connection", () =>
  Effect.gen(function*() {
    const sql = yield* client()
    const [written, goOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const first = yield* Effect.forkChild(sql.withTransaction(Effect.gen(function*() {
      yield* sql`INSERT INTO t VALUES (1, '')`
      yield* Deferred.succeed(written, undefined)
      yield* Deferred.await(goOn)
    })))
    yield* Deferred.await(written)
    const second = yield* Effect.forkChild(sql.transact([["SELECT 1", []], insert(2)]), { startImmediately: true })
    yield* Deferred.succeed(goOn, undefined)
    yield* Fiber.join(first)
    assert.isTrue(yield* Fiber.join(second))
    assert.deepStrictEqual(yield* all(sql), [1, 2])
  }))

it.effect("transact waiting for another connection's lock comes before transactions begun after it", () =>
  Effect.gen(function*() {
    const filename = join(yield* temporaryFolder, "test.db")
    const sql = yield* Effect.provide(SqliteClient.make({ filename }), Reactivity.layer)
    yield* sql`CREATE TABLE t (x INTEGER PRIMARY KEY, y TEXT)`
    const other = yield* Effect.acquireRelease(
      Effect.sync(() => new DatabaseSync(filename)),
      (db) => Effect.sync(() => db.close())
    )
    other.exec("BEGIN IMMEDIATE")
    const first = yield* Effect.forkChild(sql.transact([insert(1)]), { startImmediately: true })
    other.exec("ROLLBACK")
    const goOn = yield* Deferred.make<void>()
    const second = yield* Effect.forkChild(
      sql.withTransaction(Effect.andThen(Deferred.await(goOn), all(sql))),
      { startImmediately: true }
    )
    yield* TestClock.adjust("1 second")
    yield* Deferred.succeed(goOn, undefined)
    assert.isTrue(yield* Fiber.join(first))
    assert.deepStrictEqual(yield* Fiber.join(second), [1])
  }))
