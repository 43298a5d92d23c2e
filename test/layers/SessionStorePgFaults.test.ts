/** What becomes of a store when its Postgres refuses it, goes away and comes back: a real server, of this file's own. */
import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import { once } from "node:events"
import { createServer } from "node:net"
import { afterAll, beforeAll } from "vitest"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import * as Message from "../../src/run/Message.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { completed, notice, notices, started } from "../../src/testing/sessions/Fixtures.ts"
import * as CuttingProxy from "../support/CuttingProxy.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import * as Postgres from "../support/Postgres.ts"

let postgres: Postgres.Postgres
beforeAll(async () => {
  postgres = await Postgres.start()
})
afterAll(() => postgres.remove())

let made = 0
/** A new database on the server, with what `statements` create in it. */
const database = Effect.fnUntraced(function*(...statements: ReadonlyArray<string>) {
  const name = `faults_${++made}`
  yield* PgDatabases.query(postgres.url, `CREATE DATABASE ${name}`)
  const url = PgDatabases.named(postgres.url, name)
  for (const statement of statements) yield* PgDatabases.query(url, statement)
  return url
})

const as = (url: string, user: string, password: string) => {
  const named = new URL(url)
  named.username = user
  named.password = password
  return named.href
}
const on = (url: string, port: number) => {
  const named = new URL(url)
  named.port = String(port)
  return named.href
}

const options = { runId: "run-1", create: true }
const reasonOf = <A, R>(effect: Effect.Effect<A, SessionStore.StoreError, R>) =>
  Effect.map(Effect.flip(effect), ({ reason }): { readonly _tag: string; readonly message: string } => reason)
const opening = (url: string) => reasonOf(Effect.scoped(SessionStorePg.make({ url })))
const secret = "s3cret-w0rd"

/** One line that names the thing and leaks no secret. */
const assertSaid = (message: string, ...parts: ReadonlyArray<string>) => {
  assert.notInclude(message, "\n")
  assert.notInclude(message, secret)
  for (const part of parts) assert.include(message, part)
}

describe("a store cannot be made", () => {
  it.live("when nothing listens, which is retryable", () =>
    Effect.gen(function*() {
      const reason = yield* opening(`postgres://me:${secret}@127.0.0.1:1/app`)
      assert.strictEqual(reason._tag, "StoreUnavailable")
      assertSaid(reason.message, "127.0.0.1:1", "Start it")
    }))

  it.live("when the host is not found, which is retryable", () =>
    Effect.gen(function*() {
      const reason = yield* opening(`postgres://me:${secret}@no-such-host.invalid/app`)
      assert.strictEqual(reason._tag, "StoreUnavailable")
      assertSaid(reason.message, "no-such-host.invalid")
    }))

  it.live("when another program listens, which is retryable", () =>
    Effect.gen(function*() {
      const other = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")).listen(0, "127.0.0.1")
      yield* Effect.promise(() => once(other, "listening"))
      const { port } = other.address() as { readonly port: number }
      const reason = yield* opening(`postgres://me:${secret}@127.0.0.1:${port}/app`)
      other.close()
      assert.strictEqual(reason._tag, "StoreUnavailable")
      assertSaid(reason.message, `127.0.0.1:${port}`, "app")
    }))

  it.live("when the server does not answer in time, which is retryable", () =>
    Effect.gen(function*() {
      const silent = createServer().listen(0, "127.0.0.1")
      yield* Effect.promise(() => once(silent, "listening"))
      const { port } = silent.address() as { readonly port: number }
      const url = `postgres://me:${secret}@127.0.0.1:${port}/app`
      const reason = yield* reasonOf(Effect.scoped(SessionStorePg.make({ url, connectTimeout: "50 millis" })))
      silent.close()
      assert.strictEqual(reason._tag, "StoreUnavailable")
      assertSaid(reason.message, `127.0.0.1:${port}`, "the option connectTimeout sets")
    }))

  it.live("when every connection is taken, which is retryable", () =>
    Effect.gen(function*() {
      const url = as(yield* database("CREATE ROLE few LOGIN CONNECTION LIMIT 0"), "few", secret)
      const reason = yield* opening(url)
      assert.strictEqual(reason._tag, "StoreUnavailable")
      assertSaid(reason.message, "no connections left", "few")
    }))

  for (
    const url of ["https://example.com/app", `postgres//me:${secret}@host/app`, "sessions.db", "postgres://%zz@host"]
  ) {
    it.live(`from ${url.replace(secret, "...")}, which is no URL of Postgres`, () =>
      Effect.gen(function*() {
        const reason = yield* opening(url)
        assert.strictEqual(reason._tag, "StoreRefused")
        assertSaid(reason.message, "postgres://user@host:5432/database")
      }))
  }

  it.live("when there is no such database", () =>
    Effect.gen(function*() {
      const reason = yield* opening(PgDatabases.named(as(postgres.url, "postgres", secret), "nowhere"))
      assert.strictEqual(reason._tag, "StoreRefused")
      assertSaid(reason.message, "\"nowhere\"", "Create it")
    }))

  it.live("when the password is wrong or missing", () =>
    Effect.gen(function*() {
      const url = yield* database("CREATE ROLE guarded LOGIN PASSWORD 'right'")
      const wrong = yield* opening(as(url, "guarded", secret))
      assert.strictEqual(wrong._tag, "StoreRefused")
      assertSaid(wrong.message, "password", "\"guarded\"")
      const none = yield* opening(as(url, "guarded", ""))
      assert.strictEqual(none._tag, "StoreRefused")
      assertSaid(none.message, "password", "\"guarded\"")
      yield* PgDatabases.query(url, "GRANT ALL ON SCHEMA public TO guarded")
      yield* Effect.scoped(SessionStorePg.make({ url: as(url, "guarded", "right") }))
    }))

  it.live("when the user may not create tables", () =>
    Effect.gen(function*() {
      const reason = yield* opening(as(yield* database("CREATE ROLE reader LOGIN"), "reader", ""))
      assert.strictEqual(reason._tag, "StoreRefused")
      assertSaid(reason.message, "does not allow", "\"reader\"", "schema public")
    }))

  it.live("when the database is read-only", () =>
    Effect.gen(function*() {
      const url = yield* database()
      yield* PgDatabases.query(
        postgres.url,
        `ALTER DATABASE ${new URL(url).pathname.slice(1)}
        SET default_transaction_read_only = on`
      )
      const reason = yield* opening(url)
      assert.strictEqual(reason._tag, "StoreRefused")
      assertSaid(reason.message, "read-only", "default_transaction_read_only")
    }))

  it.live("when the search path has no schema that is there", () =>
    Effect.gen(function*() {
      const url = new URL(yield* database())
      url.searchParams.set("options", "-c search_path=nowhere")
      const reason = yield* opening(url.href)
      assert.strictEqual(reason._tag, "StoreRefused")
      assertSaid(reason.message, "\"postgres\"", "search_path", "Create one")
    }))

  it.live("when a new database cannot hold every text", () =>
    Effect.gen(function*() {
      const name = `faults_${++made}`
      yield* PgDatabases.query(
        postgres.url,
        `CREATE DATABASE ${name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`
      )
      const url = PgDatabases.named(postgres.url, name)
      const reason = yield* opening(url)
      assert.strictEqual(reason._tag, "StoreRefused")
      assertSaid(reason.message, `"${name}"`, "LATIN1", "UTF8")
      assert.lengthOf(yield* PgDatabases.query(url, "SELECT FROM pg_class WHERE relname LIKE 'fiberloop%'"), 0)
    }))

  it.live("when other tables have its names", () =>
    Effect.gen(function*() {
      const reason = yield* opening(yield* database("CREATE TABLE fiberloop_sessions (x INT)"))
      assert.strictEqual(reason._tag, "StoreRefused")
      assertSaid(reason.message, "does not have the tables that this version needs")
    }))

  it.live("when a newer version has made the tables", () =>
    Effect.gen(function*() {
      const url = yield* database()
      yield* Effect.scoped(SessionStorePg.make({ url }))
      yield* PgDatabases.query(url, "INSERT INTO fiberloop_migrations (migration_id, name) VALUES (99, 'tomorrow')")
      const reason = yield* opening(url)
      assert.strictEqual(reason._tag, "StoreRefused")
      assertSaid(reason.message, "version 99", "knows 8")
    }))
})

it.live("with existing tables no permission to create any is needed", () =>
  Effect.gen(function*() {
    const url = yield* database("CREATE ROLE writer LOGIN")
    yield* Effect.scoped(SessionStorePg.make({ url }))
    yield* PgDatabases.query(url, "GRANT SELECT ON fiberloop_migrations TO writer")
    yield* PgDatabases.query(url, "GRANT ALL ON fiberloop_sessions, fiberloop_events TO writer")
    const store = yield* SessionStorePg.make({ url: as(url, "writer", "") })
    yield* Effect.flatMap(store.open("s", options), (session) => session.append([started({ seq: 1 })]))
  }))

it.live("with existing tables, a user that may read, add, change and delete their rows can do all that a store does", () =>
  Effect.gen(function*() {
    const url = yield* database("CREATE ROLE worker LOGIN")
    yield* Effect.scoped(SessionStorePg.make({ url }))
    yield* PgDatabases.query(url, "GRANT SELECT ON fiberloop_migrations TO worker")
    yield* PgDatabases.query(
      url,
      `GRANT SELECT, INSERT, UPDATE, DELETE
      ON fiberloop_sessions, fiberloop_events, fiberloop_aborts, fiberloop_sent TO worker`
    )
    const store = yield* SessionStorePg.make({ url: as(url, "worker", "") })
    const hears = { onAbortAsked: Effect.void, onSent: () => Effect.void }
    const session = yield* store.open("s", { ...options, ...hears })
    yield* session.append([started({ seq: 1 })])
    assert.strictEqual(yield* store.askToAbort!("s", "run-1"), true)
    const messages = [Message.user("And in Bergen?")]
    const steer = { _tag: "Input", id: "a", after: 1, kind: "steer", messages } as const
    assert.strictEqual(yield* store.send!("s", "run-1", steer), true)
    yield* session.append([completed({ seq: 2 })])
    yield* store.fork("s", { to: "copy" })
    yield* store.remove("copy")
    assert.deepStrictEqual((yield* store.list()).map(({ sessionId }) => sessionId), ["s"])
  }))

/** A store with an open session "s" of two events. */
const writing = Effect.fnUntraced(function*(more: Partial<SessionStorePg.Options> = {}) {
  const url = yield* database()
  const store = yield* SessionStorePg.make({ url, ...more })
  const session = yield* store.open("s", options)
  yield* session.append(notices(1, 2))
  return { log: Stream.runCollect(store.read("s")), session, store, url }
})

/** Appends so many events one by one, and reads them. */
const writeTo = Effect.fnUntraced(function*(store: SessionStore.Store, id: string, count: number) {
  const session = yield* store.open(id, options)
  for (let seq = 1; seq <= count; seq++) yield* session.append([notice({ seq }, id)])
  assert.deepStrictEqual(yield* Stream.runCollect(store.read(id)), notices(1, count, id))
}, Effect.scoped)

describe("an append", () => {
  for (
    const [claim, state, tag, part] of [
      ["for which the disk is full is retryable", "53100", "StoreUnavailable", "disk is full"],
      ["that the server cannot do now is retryable", "55000", "StoreUnavailable", "could not do this now"],
      ["that is not permitted is refused", "42501", "StoreRefused", "does not allow"],
      ["to a read-only database is refused", "25006", "StoreRefused", "read-only"],
      ["stopped by a damaged table is refused", "XX001", "StoreRefused", "damaged"]
    ] as const
  ) {
    it.live(`${claim}, and works once the cause is gone`, () =>
      Effect.gen(function*() {
        const { log, session, url } = yield* writing()
        yield* PgDatabases.query(
          url,
          `CREATE FUNCTION fail() RETURNS trigger AS 'BEGIN RAISE EXCEPTION ''failed'' USING ERRCODE = ''${state}''; END'
            LANGUAGE plpgsql`
        )
        yield* PgDatabases.query(
          url,
          "CREATE TRIGGER fail BEFORE INSERT ON fiberloop_events FOR EACH ROW EXECUTE FUNCTION fail()"
        )
        const reason = yield* reasonOf(session.append([notice({ seq: 3 })]))
        assert.strictEqual(reason._tag, tag)
        assertSaid(reason.message, part)
        assert.strictEqual(session.head(), 2)
        yield* PgDatabases.query(url, "DROP TRIGGER fail ON fiberloop_events")
        yield* session.append([notice({ seq: 3 })])
        assert.deepStrictEqual(yield* log, notices(1, 3))
      }))
  }

  for (
    const [claim, state] of [
      ["cannot be serialised", "40001"],
      ["is in a deadlock", "40P01"],
      ["waits too long for a lock", "55P03"],
      ["takes longer than a statement may", "57014"]
    ] as const
  ) {
    it.live(`that ${claim} is made again, and stored once`, () =>
      Effect.gen(function*() {
        const { log, session, url } = yield* writing()
        for (
          const statement of [
            "CREATE SEQUENCE faults",
            `CREATE FUNCTION fail() RETURNS trigger AS 'BEGIN
              IF nextval(''faults'') <= 2 THEN RAISE EXCEPTION ''failed'' USING ERRCODE = ''${state}''; END IF;
              RETURN NEW;
            END' LANGUAGE plpgsql`,
            "CREATE TRIGGER fail BEFORE INSERT ON fiberloop_events FOR EACH STATEMENT EXECUTE FUNCTION fail()"
          ]
        ) yield* PgDatabases.query(url, statement)
        yield* session.append([notice({ seq: 3 })])
        assert.deepStrictEqual(yield* log, notices(1, 3))
      }))
  }

  it.live("of one of many writers succeeds where the server makes all transactions serializable", () =>
    Effect.gen(function*() {
      const url = yield* database()
      const name = new URL(url).pathname.slice(1)
      yield* PgDatabases.query(url, `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`)
      const store = yield* SessionStorePg.make({ url })
      yield* Effect.forEach(Arr.range(1, 10), (n) => writeTo(store, `s${n}`, 20), { concurrency: "unbounded" })
    }))

  it.live("waits for a connection of its store where the server has no more of them", () =>
    Effect.gen(function*() {
      const url = yield* database("CREATE ROLE one LOGIN CONNECTION LIMIT 1", "GRANT ALL ON SCHEMA public TO one")
      const store = yield* SessionStorePg.make({ url: as(url, "one", "") })
      yield* Effect.forEach(Arr.range(1, 3), (n) => writeTo(store, `s${n}`, 10), { concurrency: "unbounded" })
    }))

  it.live("is stored exactly once when its connection is cut before the answer", () =>
    Effect.gen(function*() {
      const proxy = yield* CuttingProxy.make(Number(new URL(postgres.url).port))
      const url = on(yield* database(), proxy.port)
      const store = yield* SessionStorePg.make({ url })
      const session = yield* store.open("s", options)
      for (let seq = 1; seq <= 10; seq++) {
        proxy.cut(seq % 3)
        yield* session.append([notice({ seq })])
      }
      assert.deepStrictEqual(yield* Stream.runCollect(store.read("s")), notices(1, 10))
    }))

  it.live(
    "fails when nothing answers any more, and holds up neither session nor store",
    () =>
      Effect.gen(function*() {
        const proxy = yield* CuttingProxy.make(Number(new URL(postgres.url).port))
        const url = on(yield* database(), proxy.port)
        yield* Effect.scoped(Effect.gen(function*() {
          const store = yield* SessionStorePg.make({ url, timeout: "1 second", connectTimeout: "1 second" })
          const session = yield* store.open("s", options)
          proxy.hold()
          const reason = yield* reasonOf(session.append([notice({ seq: 1 })]))
          assert.strictEqual(reason._tag, "StoreUnavailable")
          assertSaid(reason.message, `127.0.0.1:${proxy.port}`, "sets", "then try again")
          assert.strictEqual((yield* reasonOf(store.list()))._tag, "StoreUnavailable")
        }))
      }),
    40_000
  )

  it.live("waits no longer than the timeout, as do all other operations", () =>
    Effect.gen(function*() {
      const proxy = yield* CuttingProxy.make(Number(new URL(postgres.url).port))
      const url = on(yield* database(), proxy.port)
      const store = yield* SessionStorePg.make({ url, timeout: "2 seconds", connectTimeout: "30 seconds" })
      const write = Effect.scoped(Effect.flatMap(store.open("s", options), (_) => _.append([notice({ seq: 1 })])))
      yield* write
      const asked: ReadonlyArray<Effect.Effect<unknown, SessionStore.StoreError>> = [
        store.lastOf("s", "RunStarted"),
        Stream.runDrain(store.read("s")),
        store.remove("s")
      ]
      // one open connection for each
      yield* Effect.all(asked.map(() => store.list()), { concurrency: "unbounded" })
      proxy.hold()
      const reasons = yield* Effect.all(asked.map(reasonOf), { concurrency: "unbounded" })
      assert.deepStrictEqual(reasons.map(({ _tag }) => _tag), asked.map(() => "StoreUnavailable"))
      for (const { message } of reasons) assertSaid(message, "no answer within 2s, which the option timeout sets")
    }))

  it.live("fails when its connection stays cut, and storing it again later does not duplicate it", () =>
    Effect.gen(function*() {
      const proxy = yield* CuttingProxy.make(Number(new URL(postgres.url).port))
      const url = on(yield* database(), proxy.port)
      const store = yield* SessionStorePg.make({ url })
      const session = yield* store.open("s", options)
      proxy.cut(Infinity)
      const reason = yield* reasonOf(session.append(notices(1, 2)))
      assert.strictEqual(reason._tag, "StoreUnavailable")
      assertSaid(reason.message, `127.0.0.1:${proxy.port}`, "lost")
      proxy.cut(0)
      yield* session.append(notices(1, 3))
      assert.deepStrictEqual(yield* Stream.runCollect(store.read("s")), notices(1, 3))
    }))
})

for (const isThere of [true, false]) {
  it.live(`an opening whose answer is cut does not lock its own store out of ${isThere ? "the session" : "a new session"}`, () =>
    Effect.gen(function*() {
      const proxy = yield* CuttingProxy.make(Number(new URL(postgres.url).port))
      const url = yield* database()
      const store = yield* SessionStorePg.make({ url: on(url, proxy.port), maxConnections: 1 })
      const write = (id: string) =>
        Effect.scoped(Effect.flatMap(store.open(id, options), (_) => _.append(notices(1, 2))))
      yield* write("s")
      yield* Effect.scoped(store.open("s", options))
      const sessionId = isThere ? "s" : "t"
      // the first answers carry the version and the owner
      proxy.cut(1, 2)
      assert.strictEqual((yield* reasonOf(Effect.scoped(store.open(sessionId, options))))._tag, "StoreUnavailable")
      const owners = yield* PgDatabases.query(url, `SELECT owner FROM fiberloop_sessions WHERE id = '${sessionId}'`)
      assert.isTrue(typeof owners[0]?.["owner"] === "string")
      const session = yield* store.open(sessionId, options)
      yield* session.append([notice({ seq: session.head() + 1 })])
    }))
}

for (const what of ["copy", "removal"] as const) {
  it.live(`a ${what} whose connection is cut at any of its statements fails as unavailable, and is made as a whole or not at all`, () =>
    Effect.gen(function*() {
      const proxy = yield* CuttingProxy.make(Number(new URL(postgres.url).port), (_) => !_.includes("pg_notify"))
      // unprepared: its signals can be told by their texts
      const store = yield* SessionStorePg.make({
        url: on(yield* database(), proxy.port),
        maxConnections: 1,
        pooled: true
      })
      const session = yield* store.open("s", options)
      yield* session.append([started({ seq: 1 }), completed({ seq: 2 })])
      const isThere: Array<boolean> = []
      for (let isMade = false; !isMade;) {
        const to = `copy ${isThere.length}`
        if (what === "removal") yield* store.fork("s", { to })
        proxy.cut(1, isThere.length)
        const made = yield* Effect.result(what === "copy" ? store.fork("s", { to }) : store.remove(to))
        proxy.cut(0)
        isMade = Result.isSuccess(made)
        if (Result.isFailure(made)) assert.strictEqual(made.failure.reason._tag, "StoreUnavailable")
        const info = yield* store.info(to)
        assert.strictEqual(info?.head ?? 2, 2)
        isThere.push(info !== undefined)
      }
      const isDone = isThere.map((isThere) => isThere === (what === "copy"))
      // the last but one is that whose COMMIT was carried out, and its answer lost
      assert.deepStrictEqual(isDone, [...isThere.slice(2).map(() => false), true, true])
      assert.isAbove(isThere.length, 5)
    }))
}

it.live("a removal of what is not there whose connection is cut, if only at its ROLLBACK, fails as unavailable", () =>
  Effect.gen(function*() {
    const proxy = yield* CuttingProxy.make(Number(new URL(postgres.url).port))
    const store = yield* SessionStorePg.make({
      url: on(yield* database(), proxy.port),
      maxConnections: 1,
      pooled: true
    })
    const tags: Array<string> = []
    while (tags.at(-1) !== "SessionNotFound") {
      proxy.cut(1, tags.length)
      tags.push((yield* reasonOf(store.remove("nothing")))._tag)
      proxy.cut(0)
    }
    // BEGIN, the question and ROLLBACK, at the least
    assert.isAbove(tags.length, 3)
    assert.deepStrictEqual(tags.slice(0, -1), tags.slice(1).map(() => "StoreUnavailable"))
  }))

it.live("an opening whose connection is cut while it makes the tables fails as unavailable, and the next one makes them", () =>
  Effect.gen(function*() {
    const proxy = yield* CuttingProxy.make(Number(new URL(postgres.url).port))
    const url = yield* database()
    let cuts = 0
    for (let isCut = true; isCut; cuts++) {
      const inSchema = yield* PgDatabases.schema(url)
      proxy.cut(1, cuts)
      const made = yield* Effect.result(Effect.scoped(SessionStorePg.make({ url: on(inSchema, proxy.port) })))
      isCut = proxy.cuts() === 0
      proxy.cut(0)
      // it may go on: it looks for the first table again, which is there if only the answer was lost
      if (Result.isFailure(made)) assert.strictEqual(made.failure.reason._tag, "StoreUnavailable")
      yield* Effect.scoped(SessionStorePg.make({ url: inSchema }))
    }
    assert.isAbove(cuts, 20)
  }))

describe("a server", () => {
  it.live("that restarts is waited for by appends", () =>
    Effect.gen(function*() {
      const { log, session } = yield* writing()
      yield* Effect.promise(() => postgres.kill())
      const fiber = yield* Effect.forkChild(session.append([notice({ seq: 3 })]), { startImmediately: true })
      yield* Effect.promise(() => postgres.start())
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(yield* log, notices(1, 3))
    }))

  it.live("whose tables are locked does not hold up the opening of a store forever", () =>
    Effect.gen(function*() {
      const url = yield* database()
      yield* Effect.scoped(SessionStorePg.make({ url }))
      const unlock = yield* PgDatabases.lock(url, "fiberloop_migrations")
      const reason = yield* reasonOf(Effect.scoped(SessionStorePg.make({ url, timeout: "200 millis" })))
      assert.strictEqual(reason._tag, "StoreUnavailable")
      yield* unlock
      yield* Effect.scoped(SessionStorePg.make({ url }))
    }))

  it.live("whose tables are read for long is not kept waiting by who would bring them up to date", () =>
    Effect.gen(function*() {
      const url = yield* database()
      const opened = Effect.scoped(SessionStorePg.make({ url }))
      yield* opened
      for (
        const statement of [
          "ALTER TABLE fiberloop_sessions DROP COLUMN parent",
          "DROP TABLE fiberloop_sent",
          "DELETE FROM fiberloop_migrations WHERE migration_id >= 7"
        ]
      ) yield* PgDatabases.query(url, statement)
      const unlock = yield* PgDatabases.keep(url, "fiberloop_sessions")
      const reason = yield* reasonOf(opened)
      assert.strictEqual(reason._tag, "StoreUnavailable")
      assertSaid(reason.message, "lock timeout", "a backup")
      yield* unlock
      yield* opened
    }))

  it.live("that is gone makes every operation fail with StoreUnavailable until it is back", () =>
    Effect.gen(function*() {
      const { log, session, store } = yield* writing()
      yield* Effect.promise(() => postgres.stop())
      const calls: ReadonlyArray<Effect.Effect<unknown, SessionStore.StoreError>> = [
        log,
        store.list(),
        store.info("s"),
        store.remove("t"),
        store.fork("s", { to: "t" }),
        Effect.scoped(store.open("t", options)),
        Stream.runDrain(store.watch("s")),
        session.append([notice({ seq: 3 })])
      ]
      for (const call of calls) {
        const reason = yield* reasonOf(call)
        assert.strictEqual(reason._tag, "StoreUnavailable")
        assertSaid(reason.message, new URL(postgres.url).host)
      }
      yield* Effect.promise(() => postgres.start())
      yield* session.append([notice({ seq: 3 })])
      assert.deepStrictEqual(yield* log, notices(1, 3))
      yield* store.open("t", options)
    }))

  it.live("that dies under many writers loses nothing acknowledged", () =>
    Effect.gen(function*() {
      const store = yield* SessionStorePg.make({ url: yield* database(), maxConnections: 5 })
      let dying: Promise<void> | undefined
      const die = async () => {
        await postgres.kill()
        await postgres.start()
      }
      const write = Effect.fnUntraced(function*(id: string) {
        const session = yield* store.open(id, options)
        for (let seq = 1; seq <= 40; seq++) {
          yield* session.append([notice({ seq }, id)])
          if (id === "s1" && seq === 20) dying = die()
        }
      }, Effect.scoped)
      const ids = Array.from({ length: 12 }, (_, n) => `s${n}`)
      const exits = yield* Effect.forEach(ids, (id) => Effect.exit(write(id)), { concurrency: "unbounded" })
      yield* Effect.promise(async () => dying)
      for (const exit of exits) {
        assert.isTrue(Exit.isSuccess(exit), Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "")
      }
      for (const id of ids) assert.deepStrictEqual(yield* Stream.runCollect(store.read(id)), notices(1, 40, id))
    }))
})
