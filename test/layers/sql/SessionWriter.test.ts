/** What a writer does about appends of unknown outcome, on a real database whose answers get lost. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import * as SqlError from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { OwnerLiveness } from "../../../src/layers/OwnerLiveness.ts"
import * as PgAppend from "../../../src/layers/postgres/PgAppend.ts"
import * as SessionStoreSql from "../../../src/layers/SessionStoreSql.ts"
import * as Answered from "../../../src/layers/sql/Answered.ts"
import type * as SessionAppend from "../../../src/layers/sql/SessionAppend.ts"
import * as SessionClaims from "../../../src/layers/sql/SessionClaims.ts"
import * as SessionRows from "../../../src/layers/sql/SessionRows.ts"
import * as SessionTables from "../../../src/layers/sql/SessionTables.ts"
import * as SqliteAppend from "../../../src/layers/sqlite/SqliteAppend.ts"
import * as SqliteErrors from "../../../src/layers/sqlite/SqliteErrors.ts"
import * as SqliteClient from "../../../src/layers/SqliteClient.ts"
import type * as SessionStore from "../../../src/services/SessionStore.ts"
import { notice, notices, reasonOf } from "../../../src/testing/sessions/Fixtures.ts"
import * as PgDatabases from "../../support/PgDatabases.ts"
import { temporaryFolder } from "../../support/Processes.ts"

type Store = Effect.Effect<boolean, SqlError.SqlError>

const lost = Effect.fail(
  new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: new Error("reset"), message: "reset" }) })
)

const timedOut = Effect.fail(
  new SqlError.SqlError({ reason: new SqlError.StatementTimeoutError({ cause: new Error("slow"), message: "slow" }) })
)

/** A session "s" whose `n`-th append is changed by `answer`, and another connection to its database. */
const writing = Effect.fnUntraced(function*(answer: (n: number, store: Store) => Store) {
  const filename = join(yield* temporaryFolder, "s.db")
  const options = { filename, busyTimeout: "10 millis" } as const
  const client = yield* Effect.provide(SqliteClient.make(options), Reactivity.layer)
  const { add, append } = SqliteAppend.make(client, client.transact)
  let n = 0
  const store = yield* SessionStoreSql.make({
    explain: SqliteErrors.explain(filename),
    add,
    append: (head, events) => answer(++n, append(head, events))
  }).pipe(Effect.provideService(SqlClient.SqlClient, client))
  const session = yield* store.open("s", { runId: "run-1", create: true })
  const other = yield* Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(filename)),
    (db) => Effect.sync(() => db.close())
  )
  return { session, other, store, log: Stream.runCollect(store.read("s")), tries: () => n }
})

it.effect("an append that was stored but reported as lost succeeds", () =>
  Effect.gen(function*() {
    const { log, session, tries } = yield* writing((_, store) => Effect.andThen(store, lost))
    yield* session.append(notices(1, 2))
    yield* session.append([notice({ seq: 3 })])
    assert.deepStrictEqual(yield* log, notices(1, 3))
    assert.strictEqual(tries(), 2)
  }))

it.effect("what owners before it were asked is forgotten with the first append, even if its owner dies right after that", () =>
  Effect.gen(function*() {
    const { store } = yield* writing((n, append) => n === 2 ? Effect.andThen(append, Effect.die("killed")) : append)
    let heard = 0
    const opened = (options: Partial<SessionStore.OpenOptions> = {}) =>
      store.open("t", { runId: "run-1", create: true, onAbortAsked: Effect.sync(() => void heard++), ...options })
    yield* Effect.scoped(Effect.gen(function*() {
      const session = yield* opened()
      yield* session.append([notice({ seq: 1 })])
      assert.isTrue(yield* store.askToAbort!("t", "run-1"))
    }))
    yield* Effect.scoped(Effect.gen(function*() {
      const session = yield* opened({ isAfterAborts: true })
      assert.isTrue(Exit.hasDies(yield* Effect.exit(session.append([notice({ seq: 2 })]))))
    }))
    assert.strictEqual((yield* store.info("t"))?.head, 2)
    yield* Effect.scoped(opened())
    assert.strictEqual(heard, 1)
  }))

it.effect("an append that was lost on its way is retried", () =>
  Effect.gen(function*() {
    const { log, session } = yield* writing((n, store) => n === 2 ? lost : store)
    yield* session.append(notices(1, 2))
    yield* session.append([notice({ seq: 3 })])
    assert.deepStrictEqual(yield* log, notices(1, 3))
  }))

it.effect("an append that is lost again and again is given up, and can be repeated", () =>
  Effect.gen(function*() {
    const { log, session } = yield* writing((n, store) => n > 3 ? store : lost)
    assert.strictEqual((yield* reasonOf(session.append(notices(1, 2))))._tag, "StoreRefused")
    assert.strictEqual(session.head(), 0)
    yield* session.append(notices(1, 3))
    assert.deepStrictEqual(yield* log, notices(1, 3))
  }))

it.effect("an append that arrives after its retry is not stored twice", () =>
  Effect.gen(function*() {
    let late: Store | undefined
    const { log, session } = yield* writing((n, store) => {
      if (n > 1) return store
      late = store
      return lost
    })
    yield* session.append(notices(1, 2))
    assert.isFalse(yield* late!)
    yield* session.append([notice({ seq: 3 })])
    assert.deepStrictEqual(yield* log, notices(1, 3))
  }))

it.effect("an append that arrives after it was given up is not stored", () =>
  Effect.gen(function*() {
    const late: Array<Store> = []
    const { session, store } = yield* writing((_, store) => {
      late.push(store)
      return lost
    })
    yield* Effect.flip(session.append(notices(1, 2)))
    for (const arrival of late) assert.isFalse(yield* arrival)
    assert.isUndefined(yield* store.info("s"))
  }))

for (const isStored of [true, false]) {
  it.effect(`an append that was ${isStored ? "" : "not "}stored, and could not be read back, is settled by the next`, () =>
    Effect.gen(function*() {
      let lock = Effect.void
      const { log, other, session } = yield* writing((n, store) =>
        n > 1 ? store : Effect.andThen(isStored ? store : Effect.void, Effect.andThen(lock, lost))
      )
      lock = Effect.sync(() => other.exec("BEGIN EXCLUSIVE"))
      const fiber = yield* Effect.forkChild(reasonOf(session.append(notices(1, 2))))
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "StoreUnavailable")
      assert.strictEqual(session.head(), 0)
      other.exec("ROLLBACK")
      yield* session.append(notices(1, 3))
      assert.strictEqual(session.head(), 3)
      assert.deepStrictEqual(yield* log, notices(1, 3))
    }))
}

it.effect.each<readonly [string, number, Store]>([
  ["refused", 2, timedOut],
  ["lost again and again", 4, lost]
])(
  "an append that was stored and could not be read back is known when the one after it is %s",
  ([, last, second]) =>
    Effect.gen(function*() {
      let lock = Effect.void
      const { log, other, session } = yield* writing((n, store) =>
        n === 1 ? Effect.andThen(store, Effect.andThen(lock, lost)) : n <= last ? second : store
      )
      lock = Effect.sync(() => other.exec("BEGIN EXCLUSIVE"))
      const fiber = yield* Effect.forkChild(reasonOf(session.append(notices(1, 2))))
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "StoreUnavailable")
      other.exec("ROLLBACK")
      yield* Effect.flip(session.append(notices(1, 3)))
      assert.strictEqual(session.head(), 2)
      yield* session.append(notices(1, 4))
      assert.deepStrictEqual(yield* log, notices(1, 4))
      const again = yield* Effect.exit(session.append(notices(1, 4)))
      assert.isTrue(Exit.hasDies(again), "what was reported as stored is not to be repeated")
    })
)

it.effect("a different append in place of one that was stored but reported as failed is not taken for it", () =>
  Effect.gen(function*() {
    let lock = Effect.void
    const { log, other, session } = yield* writing((n, store) =>
      n > 1 ? store : Effect.andThen(store, Effect.andThen(lock, lost))
    )
    lock = Effect.sync(() => other.exec("BEGIN EXCLUSIVE"))
    const fiber = yield* Effect.forkChild(Effect.flip(session.append(notices(1, 2))))
    yield* TestClock.adjust("9 seconds")
    yield* Fiber.join(fiber)
    other.exec("ROLLBACK")
    const exit = yield* Effect.exit(session.append([notice({ seq: 1 }, "other")]))
    assert.isTrue(Exit.hasDies(exit), "the caller's mistake")
    assert.deepStrictEqual(yield* log, notices(1, 2))
  }))

it.effect("nor when that one fails too before anybody knows what is stored", () =>
  Effect.gen(function*() {
    let lock = Effect.void
    const { log, other, session } = yield* writing((n, store) =>
      n > 1 ? store : Effect.andThen(store, Effect.andThen(lock, lost))
    )
    lock = Effect.sync(() => other.exec("BEGIN EXCLUSIVE"))
    const another = [notice({ seq: 1 }, "other"), notice({ seq: 2 }, "other")] as const
    for (const events of [notices(1, 2), another]) {
      const fiber = yield* Effect.forkChild(reasonOf(session.append(events)))
      yield* TestClock.adjust("9 seconds")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "StoreUnavailable")
    }
    other.exec("ROLLBACK")
    assert.isTrue(Exit.hasDies(yield* Effect.exit(session.append(another))), "the caller's mistake")
    assert.deepStrictEqual(yield* log, notices(1, 2))
  }))

it.effect("a writer in whose place there is an event of another one is stale", () =>
  Effect.gen(function*() {
    const { other, session } = yield* writing((_, store) => store)
    yield* session.append(notices(1, 2))
    const columns = other.prepare("PRAGMA table_info(fiberloop_log)").all().map(({ name }) => String(name))
    const rest = columns.filter((name) => name !== "key").join()
    other.exec(`INSERT INTO fiberloop_log (key, ${rest}) SELECT max(key) + 1, ${rest} FROM fiberloop_log`)
    assert.strictEqual((yield* reasonOf(session.append([notice({ seq: 3 })])))._tag, "StaleWriter")
  }))

it.effect("an append that a trigger of somebody's refuses is refused as such, and can be made once it is gone", () =>
  Effect.gen(function*() {
    const { log, other, session } = yield* writing((_, store) => store)
    yield* session.append(notices(1, 2))
    other.exec("CREATE TRIGGER big BEFORE INSERT ON fiberloop_log BEGIN SELECT RAISE(ABORT, 'too big for us'); END")
    const { _tag, message } = yield* reasonOf(session.append([notice({ seq: 3 })]))
    assert.strictEqual(_tag, "StoreRefused")
    assert.include(message, "(too big for us)")
    other.exec("DROP TRIGGER big")
    yield* session.append([notice({ seq: 3 })])
    assert.deepStrictEqual(yield* log, notices(1, 3))
  }))

it.effect("a writer whose session was taken over meanwhile is stale", () =>
  Effect.gen(function*() {
    const { session, store } = yield* writing((n, store) => n === 1 ? store : lost)
    yield* session.append(notices(1, 2))
    yield* store.open("s", { runId: "run-2", create: true, takeOver: true })
    assert.strictEqual((yield* reasonOf(session.append([notice({ seq: 3 })])))._tag, "StaleWriter")
  }))

it.effect("a closed writer stores nothing more, even if it left an append unsettled and could not give back its session", () =>
  Effect.gen(function*() {
    let lock = Effect.void
    const { other, store } = yield* writing((n, append) => n > 1 ? append : Effect.andThen(lock, lost))
    const scope = yield* Scope.make()
    const session = yield* Scope.provide(store.open("t", { runId: "run-2", create: true }), scope)
    lock = Effect.sync(() => other.exec("BEGIN EXCLUSIVE"))
    const left = yield* Effect.forkChild(reasonOf(session.append(notices(1, 2))))
    yield* TestClock.adjust("9 seconds")
    assert.strictEqual((yield* Fiber.join(left))._tag, "StoreUnavailable")
    const closed = yield* Effect.forkChild(Scope.close(scope, Exit.void))
    yield* TestClock.adjust("100 millis")
    yield* Fiber.join(closed)
    other.exec("ROLLBACK")
    assert.strictEqual((yield* reasonOf(session.append(notices(1, 2))))._tag, "StaleWriter")
    assert.isUndefined(yield* store.info("t"))
  }))

interface Client {
  readonly sql: SqlClient.SqlClient
  readonly append: SessionAppend.Append
}
const clients: Record<string, Effect.Effect<Client, SqlError.SqlError, Reactivity.Reactivity | Scope.Scope>> = {
  SQLite: Effect.flatMap(temporaryFolder, (folder) => {
    const client = SqliteClient.make({ filename: join(folder, "s.db") })
    return Effect.map(client, (sql) => ({ sql, append: SqliteAppend.make(sql, sql.transact).append }))
  }),
  Postgres: Effect.flatMap(PgDatabases.database, (url) => {
    const client = PgClient.make({ url: Redacted.make(url) })
    return Effect.map(client, (sql) => ({ sql, append: PgAppend.make(sql).append }))
  })
}
it.effect.each(Object.entries(clients))(
  "an append that arrives after its session was given back is not stored: %s",
  ([, client]) =>
    Effect.gen(function*() {
      const { append, sql } = yield* Effect.provide(client, Reactivity.layer)
      const answered = Answered.within(undefined)
      const migrated = SessionTables.migrate(SqliteErrors.explain("s"), answered)
      yield* Effect.provideService(migrated, SqlClient.SqlClient, sql)
      const claims = yield* SessionClaims.make(sql, yield* OwnerLiveness, answered)
      const { epoch, info, owner, session } = yield* claims.claim("s", { runId: "run-1", create: true })
      const store = (before: SessionStore.SessionInfo, seq: number) => {
        const next = { ...before, head: seq }
        return Effect.map(
          append({ session, epoch, before, next }, [SessionRows.toRow(notice({ seq }))]),
          (isStored) => ({ isStored, next })
        )
      }
      const { isStored, next } = yield* store(info, 1)
      assert.isTrue(isStored)
      yield* claims.release({ session, epoch, owner, info }, 1)
      assert.isFalse((yield* store(next, 2)).isStored)
    })
)

it.effect("any number of concurrent appends are stored in order", () =>
  Effect.gen(function*() {
    const { log, session } = yield* writing((n, store) => n > 1 ? store : Effect.andThen(Effect.yieldNow, store))
    const events = notices(1, 5000)
    yield* Effect.forEach(events, (event) => session.append([event]), { concurrency: "unbounded" })
    assert.deepStrictEqual(yield* log, events)
  }))

it.effect("an append that dies does not keep the next from being stored", () =>
  Effect.gen(function*() {
    const { log, session } = yield* writing((n, store) => n === 1 ? Effect.die("a bug") : store)
    const circular: Record<string, unknown> = {}
    circular["itself"] = circular
    for (const kind of ["resume", 1n, circular]) {
      yield* Effect.exit(session.append([{ ...notice({ seq: 1 }), kind } as never]))
    }
    yield* session.append(notices(1, 2))
    assert.deepStrictEqual(yield* log, notices(1, 2))
  }))
