import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { execFile } from "node:child_process"
import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { promisify } from "node:util"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { notice, notices, started } from "../../src/testing/sessions/Fixtures.ts"
import { suite } from "../../src/testing/SessionStoreSuite.ts"
import { canLoad } from "../cli/tools/files/Sandbox.ts"
import { temporaryFolder } from "../support/Processes.ts"
import { assertOneLine, database, make, options, plansOf, reasonOf, sqlOn } from "../support/SqliteStores.ts"
import * as Traces from "../support/Traces.ts"
import * as RowBehind from "./RowBehind.ts"

suite(
  "SessionStoreSqlite",
  Layer.unwrap(Effect.map(temporaryFolder, (folder) => SessionStoreSqlite.layer({ filename: join(folder, "s.db") })))
)

/** The connections that prepare to insert events from here on. */
const connectionsThatAppend = Effect.acquireRelease(
  Effect.sync(() => {
    const seen = new Set<DatabaseSync>()
    const { prepare } = DatabaseSync.prototype
    DatabaseSync.prototype.prepare = function(text, ...rest) {
      if (text.includes("INSERT INTO fiberloop_log ")) seen.add(this)
      return prepare.call(this, text, ...rest)
    }
    return { seen, prepare }
  }),
  ({ prepare }) =>
    Effect.sync(() => {
      DatabaseSync.prototype.prepare = prepare
    })
).pipe(Effect.map(({ seen }) => seen))

describe("a file", () => {
  it.effect("still has its sessions when it is opened again", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const store = yield* make(file)
      assert.deepStrictEqual(yield* Stream.runCollect(store.read("s")), [started({ seq: 1 }), ...notices(2, 3)])
      assert.strictEqual((yield* store.open("s", options)).head(), 3)
    }))

  it.effect("fails reads of a session that is removed meanwhile with SessionNotFound", () =>
    Effect.gen(function*() {
      const store = yield* make(":memory:")
      const again = Effect.scoped(
        Effect.flatMap(store.open("s", options), (session) => session.append(notices(1, 1500)))
      )
      yield* again
      for (const next of [again, Effect.void]) {
        const read = store.read("s").pipe(
          Stream.tap((event) => event.seq === 1 ? Effect.andThen(store.remove("s"), next) : Effect.void)
        )
        assert.strictEqual((yield* reasonOf(Stream.runDrain(read)))._tag, "SessionNotFound")
      }
    }))

  it.effect("waits, when closing, for an open session, which can still store its end", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const [storeScope, sessionScope] = [yield* Scope.make(), yield* Scope.make()]
      const store = yield* Scope.provide(make(file), storeScope)
      const session = yield* Scope.provide(store.open("new", options), sessionScope)
      const closing = yield* Effect.forkChild(Scope.close(storeScope, Exit.void))
      yield* Effect.yieldNow
      yield* session.append([notice({ seq: 1 })])
      yield* Scope.close(sessionScope, Exit.void)
      yield* Fiber.join(closing)
      assert.strictEqual((yield* Effect.flatMap(make(file), (again) => again.info("new")))?.head, 1)
    }))

  it.effect("lets a session that outlives the store by more than the grace period close quietly", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const scope = yield* Scope.make()
      const opened = Effect.flatMap(make(file), (store) => Scope.provide(store.open("s", options), scope))
      const closing = yield* Effect.forkChild(Effect.scoped(opened))
      yield* TestClock.adjust("5 seconds")
      const session = yield* Fiber.join(closing)
      assert.strictEqual((yield* reasonOf(session.append([notice({ seq: 4 })])))._tag, "StoreRefused")
      yield* Scope.close(scope, Exit.void)
    }))

  it.effect("keeps titles in characters that every database can store", () =>
    Effect.gen(function*() {
      const store = yield* make(":memory:")
      const session = yield* store.open("s", options)
      yield* session.append([started({ seq: 1 }, "a\0b\ud800c")])
      assert.strictEqual((yield* store.info("s"))?.title, "a\ufffdb\ufffdc")
    }))

  it.effect("leaves nothing beside it once closed", () =>
    Effect.gen(function*() {
      const { folder } = yield* database
      assert.deepStrictEqual(readdirSync(folder), ["sessions.db"])
    }))

  it.effect("is no longer open once the store is closed", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const open = readdirSync("/proc/self/fd").length
      yield* Effect.scoped(make(file))
      assert.strictEqual(readdirSync("/proc/self/fd").length, open)
    }))

  // see https://sqlite.org/pragma.html#pragma_synchronous
  it.effect.each([["os", "NORMAL", 1], ["fsync", "FULL", 2]] as const)(
    "is written with durability %s through a connection that is synchronous = %s",
    ([durability, , synchronous]) =>
      Effect.gen(function*() {
        const folder = yield* temporaryFolder
        const appending = yield* connectionsThatAppend
        const store = yield* make(join(folder, "s.db"), { durability })
        const session = yield* store.open("s", options)
        yield* session.append(notices(1, 3))
        const set = [...appending].map((db) => db.prepare("PRAGMA synchronous").get())
        assert.deepEqual(set, [{ synchronous }])
      })
  )

  it.effect("has no row of a session that was only opened", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const store = yield* make(file)
      yield* Effect.scoped(store.open("unused", options))
      const rows = sqlOn(file, (db) => db.prepare("SELECT id FROM fiberloop_sessions").all())
      assert.deepStrictEqual(rows.map((row) => row["id"]), ["s"])
    }))

  it.effect("takes little more space for an event than its text", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const file = join(folder, "s.db")
      yield* Effect.scoped(Effect.gen(function*() {
        const store = yield* make(file)
        const session = yield* store.open("0198c0de-0000-7000-8000-000000000000", options)
        yield* session.append(notices(1, 2000, "x".repeat(500)))
      }))
      assert.isBelow(statSync(file).size / 2000, 625)
    }))

  it.effect("reads large events in small pages", () =>
    Effect.gen(function*() {
      const store = yield* make(":memory:")
      const session = yield* store.open("s", options)
      yield* session.append(notices(1, 150, "x".repeat(100_000)))
      const pages: Array<number> = []
      yield* Stream.runForEachArray(store.read("s"), (page) => Effect.sync(() => pages.push(page.length)))
      assert.isBelow(pages[1]!, 50)
      assert.strictEqual(pages.reduce((sum, size) => sum + size), 150)
    }))

  it.effect("lists sessions by an index", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const store = yield* make(file)
      const traces = Traces.make()
      yield* Effect.withTracer(Effect.flatMap(store.list(), ([after]) => store.list({ after: after! })), traces.tracer)
      const plans = plansOf(file, traces)
      assert.lengthOf(plans, 2)
      for (const [at, bound] of ["", " ((updated_at,id)<(?,?))"].entries()) {
        const [free, inUse] = plans[at]!.steps.split("RIGHT")
        assert.include(free, `USING INDEX fiberloop_sessions_newest${bound}"`)
        assert.notInclude(free, "TEMP B-TREE")
        assert.include(inUse, "fiberloop_sessions_owned")
      }
    }))

  it.effect("lists more sessions than a call may have arguments", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const store = yield* make(file)
      sqlOn(file, (db) =>
        db.exec(`
          WITH RECURSIVE copies(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM copies WHERE i < 200000)
          INSERT INTO fiberloop_sessions (id, epoch, owner, lease, head, title, turns, created_at, updated_at)
          SELECT id || i, epoch, owner, lease, head, title, turns, created_at, updated_at FROM fiberloop_sessions, copies`))
      assert.lengthOf(yield* store.list(), 200_001)
    }))

  it.effect("finds sessions with rare ends by an index, without scanning the others", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const store = yield* make(file)
      const traces = Traces.make()
      const asked = [[undefined], [undefined, "RunSuspended"], ["RunSuspended"]] as const
      yield* Effect.withTracer(Effect.forEach(asked, (ends) => store.list({ ends, unowned: true })), traces.tracer)
      const plans = plansOf(file, traces)
      assert.lengthOf(plans, asked.length)
      for (const plan of plans) {
        assert.include(plan.steps, "fiberloop_sessions_ended (ended=?")
        assert.notMatch(plan.steps, /SCAN (?!found|row USING INDEX fiberloop_sessions_owned)/)
      }
    }))

  it.effect("has the statements that open a session inside that operation's span", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const store = yield* make(file)
      const traces = Traces.make()
      const opened = Effect.scoped(store.open("s", options))
      yield* Effect.withTracer(Effect.withSpan(opened, "run"), traces.tracer)
      const asked = traces.spans.filter(({ attributes }) => attributes.has("db.query.text"))
      assert.isAtLeast(asked.length, 3)
      // giving it back is not part of opening it
      const above = asked.map((span) => Traces.above(traces, span).join(" < "))
      assert.deepStrictEqual(new Set(above.slice(0, -1)), new Set(["SessionStore.open < run"]))
      assert.strictEqual(above.at(-1), "run")
      assert.strictEqual(Traces.stateOf(traces.named("SessionStore.open")), "ok")
    }))

  it.effect("has the statements that keep a session outside the span of its opening", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const store = yield* make(file)
      const traces = Traces.make()
      yield* Effect.gen(function*() {
        yield* store.open("s", options)
        const opened = traces.spans.length
        yield* TestClock.adjust("11 seconds")
        const renewed = traces.spans.slice(opened)
        assert.include(renewed[0]?.attributes.get("db.query.text"), "lease = ")
        for (const span of renewed) assert.deepStrictEqual(Traces.above(traces, span), ["run"])
      }).pipe(Effect.scoped, Effect.withSpan("run"), Effect.withTracer(traces.tracer))
    }))

  it.effect("has what an abort that is due does outside the span of the opening that finds it", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const store = yield* make(file)
      const asked = Effect.andThen(
        store.open("s", { ...options, onAbortAsked: Effect.void }),
        store.askToAbort!("s", options.runId)
      )
      assert.isTrue(yield* Effect.scoped(asked))
      const traces = Traces.make()
      const opened = store.open("s", { ...options, onAbortAsked: Effect.withSpan(Effect.void, "aborting") })
      yield* opened.pipe(Effect.scoped, Effect.withSpan("run"), Effect.withTracer(traces.tracer))
      assert.deepStrictEqual(Traces.above(traces, traces.named("aborting")), ["run"])
    }))

  it.effect("finds landmarks without sorting or scanning the log", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const store = yield* make(file)
      const traces = Traces.make()
      const looks = [["RunStarted", undefined], ["RunStarted", "run-1"], ["ContextCompacted", undefined]] as const
      yield* Effect.withTracer(
        Effect.forEach(looks, ([type, runId]) => store.lastOf("s", type, runId)),
        traces.tracer
      )
      const plans = plansOf(file, traces)
      assert.lengthOf(plans, looks.length)
      for (const plan of plans) {
        assert.notInclude(plan.steps, "TEMP B-TREE")
        assert.notInclude(plan.steps, "SCAN")
      }
    }))
})

describe("a path that cannot be a store", () => {
  const refused = (claim: string, prepare: (folder: string) => string, ...parts: ReadonlyArray<string>) =>
    it.effect(`${claim} is refused in one line that says why`, () =>
      Effect.gen(function*() {
        const folder = yield* temporaryFolder
        const filename = prepare(folder)
        const reason = yield* reasonOf(Effect.scoped(make(filename)))
        assert.strictEqual(reason._tag, "StoreRefused")
        assertOneLine(reason.message)
        for (const part of [folder, ...parts]) assert.include(reason.message, part)
      }))

  refused("a folder", (folder) => folder, "is a folder")
  refused("a file in a missing folder", (folder) => join(folder, "no", "s.db"), "/no\"", "does not exist")
  refused("a file in a file", (folder) => {
    writeFileSync(join(folder, "file"), "")
    return join(folder, "file", "s.db")
  }, "is a file")
  refused("a text file", (folder) => {
    writeFileSync(join(folder, "notes.txt"), "Dear diary, ".repeat(1000))
    return join(folder, "notes.txt")
  }, "not a SQLite database")
  refused("a short text file", (folder) => {
    writeFileSync(join(folder, "notes.txt"), "Dear diary")
    return join(folder, "notes.txt")
  }, "not a SQLite database")
  refused("a link to a device", (folder) => {
    symlinkSync("/dev/null", join(folder, "s.db"))
    return join(folder, "s.db")
  }, "is no file")
  refused("a database with other tables of the same names", (folder) => {
    sqlOn(join(folder, "s.db"), (db) => db.exec("CREATE TABLE fiberloop_sessions (x)"))
    return join(folder, "s.db")
  }, "tables")

  it.effect.each(["", " \n"])(
    "a blank name, which SQLite takes for a temporary database, is refused: %j",
    (filename) =>
      Effect.gen(function*() {
        const reason = yield* reasonOf(Effect.scoped(make(filename)))
        assert.strictEqual(reason._tag, "StoreRefused")
        assertOneLine(reason.message)
        assert.include(reason.message, "\":memory:\"")
      })
  )

  refused("a database of another program", (folder) => {
    sqlOn(join(folder, "s.db"), (db) => db.exec("CREATE TABLE customers (x); CREATE TABLE orders (y)"))
    return join(folder, "s.db")
  }, "another program (customers, ...)")

  it.effect("a database of another program is left unchanged", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const file = join(folder, "s.db")
      sqlOn(file, (db) => db.exec("CREATE TABLE customers (x)"))
      const before = readFileSync(file)
      yield* reasonOf(Effect.scoped(make(file)))
      assert.isTrue(before.equals(readFileSync(file)))
      assert.deepStrictEqual(readdirSync(folder), ["s.db"])
    }))

  it.effect("a database of SQLite's own tables alone, whose others were dropped, is taken as an empty one", () =>
    Effect.gen(function*() {
      const file = join(yield* temporaryFolder, "s.db")
      sqlOn(file, (db) => db.exec("CREATE TABLE customers (x INTEGER PRIMARY KEY AUTOINCREMENT); DROP TABLE customers"))
      assert.deepStrictEqual(yield* (yield* make(file)).list(), [])
    }))

  it.effect("a text file is left unchanged", () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const file = join(folder, "notes.txt")
      writeFileSync(file, "Dear diary, ".repeat(1000))
      yield* reasonOf(Effect.scoped(make(file)))
      assert.strictEqual(readFileSync(file, "utf8"), "Dear diary, ".repeat(1000))
      assert.deepStrictEqual(readdirSync(folder), ["notes.txt"])
    }))

  /** Who owns no file, because root may write everywhere. A process of its own: `access` asks who started this one. */
  const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {}
  const script = join(import.meta.dirname, "RefusedProcess.ts")
  const refusalIn = (filename: string) =>
    Effect.promise(() => promisify(execFile)(process.execPath, [script, filename], nobody)).pipe(
      Effect.map(({ stdout }): SessionStore.StoreError["reason"] => JSON.parse(stdout))
    )

  const forbidden = (claim: string, forbid: (folder: string, file: string) => string, part: string) =>
    it.live.skipIf(!canLoad)(`${claim} is refused in one line that says why`, () =>
      Effect.gen(function*() {
        const { file, folder } = yield* database
        const filename = forbid(folder, file)
        const { _tag, message } = yield* refusalIn(filename)
        chmodSync(folder, 0o700)
        assert.strictEqual(_tag, "StoreRefused")
        assertOneLine(message)
        assert.include(message, filename)
        assert.include(message, part)
      }))

  forbidden("a file that may not be written", (folder, file) => {
    chmodSync(file, 0o444)
    chmodSync(folder, 0o555)
    return file
  }, "read-only")
  forbidden("a file that may not be read", (folder, file) => {
    chmodSync(file, 0o000)
    chmodSync(folder, 0o755)
    return file
  }, "user")
  forbidden("a new file in a folder that may not be written", (folder) => {
    chmodSync(folder, 0o555)
    return join(folder, "new.db")
  }, "user")
})

describe("a database in another state", () => {
  it.effect("of a newer version is refused and left unchanged", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      sqlOn(file, (db) => db.exec("INSERT INTO fiberloop_migrations (migration_id, name) VALUES (99, 'tomorrow')"))
      const before = readFileSync(file)
      const reason = yield* reasonOf(Effect.scoped(make(file)))
      assert.strictEqual(reason._tag, "StoreRefused")
      assert.include(reason.message, "version 99")
      assert.include(reason.message, "knows 9")
      assert.isTrue(before.equals(readFileSync(file)))
    }))

  it.effect("with damaged pages is refused, naming the file", () =>
    Effect.gen(function*() {
      const { file, folder } = yield* database
      yield* Effect.scoped(Effect.gen(function*() {
        const session = yield* (yield* make(file)).open("big", options)
        yield* session.append(notices(1, 200, "x".repeat(2000)))
      }))
      const bytes = readFileSync(file)
      bytes.fill(7, 4096 * 12, 4096 * 60)
      const damaged = join(folder, "damaged.db")
      writeFileSync(damaged, bytes)
      const reason = yield* reasonOf(Effect.scoped(
        Effect.flatMap(make(damaged), (store) => Stream.runDrain(store.read("big")))
      ))
      assert.strictEqual(reason._tag, "StoreRefused")
      assert.include(reason.message, damaged)
      assert.include(reason.message, "damaged")
      assertOneLine(reason.message)
    }))

  it.effect("with a session whose row is behind its log refuses that session, and can remove it", () =>
    Effect.gen(function*() {
      const file = join(yield* temporaryFolder, "sessions.db")
      const store = yield* make(file)
      yield* RowBehind.check(
        store,
        (head) => Effect.sync(() => sqlOn(file, (db) => db.exec(`UPDATE fiberloop_sessions SET head = ${head}`)))
      )
    }))

  it.effect("that was cut short is refused", () =>
    Effect.gen(function*() {
      const { file, folder } = yield* database
      const cut = join(folder, "cut.db")
      writeFileSync(cut, readFileSync(file).subarray(0, 5000))
      assert.strictEqual((yield* reasonOf(Effect.scoped(make(cut))))._tag, "StoreRefused")
    }))

  for (
    const [claim, damage, part] of [
      ["an event that is not JSON", "UPDATE fiberloop_log SET body = '{\"kind\":' WHERE seq = 2", "Event 2"],
      ["an event that is not an object", "UPDATE fiberloop_log SET body = '5' WHERE seq = 2", "Event 2"],
      ["a missing event", "DELETE FROM fiberloop_log WHERE seq = 2", "Event 2"],
      ["a missing last event", "DELETE FROM fiberloop_log WHERE seq = 3", "Event 3"]
    ] as const
  ) {
    it.effect(`with ${claim} is refused, naming session and event`, () =>
      Effect.gen(function*() {
        const { file } = yield* database
        sqlOn(file, (db) => db.exec(damage))
        const store = yield* make(file)
        const reason = yield* reasonOf(Stream.runDrain(store.read("s")))
        assert.strictEqual(reason._tag, "StoreRefused")
        assert.include(reason.message, part)
        assert.include(reason.message, `"s"`)
      }))
  }

  it.effect("with an event that came beyond the head of an open session is not overwritten", () =>
    Effect.gen(function*() {
      const { file } = yield* database
      const session = yield* (yield* make(file)).open("s", options)
      sqlOn(file, (db) =>
        db.exec(
          `INSERT INTO fiberloop_log (key, new_run, type, version, at, body)
            SELECT key + 1, new_run, type, version, at, body FROM fiberloop_log WHERE seq = 3`
        ))
      assert.strictEqual((yield* reasonOf(session.append([notice({ seq: 4 })])))._tag, "StaleWriter")
      assert.strictEqual(session.head(), 3)
    }))

  it.effect("left by a crash between opening and first write holds no such session", () =>
    Effect.gen(function*() {
      const { file, folder } = yield* database
      const crashed = join(folder, "crashed.db")
      const first = yield* make(file)
      yield* Effect.scoped(Effect.gen(function*() {
        yield* first.open("unused", options)
        sqlOn(file, (db) => db.exec(`VACUUM INTO '${crashed}'`))
      }))
      const store = yield* make(crashed)
      assert.isUndefined(yield* store.info("unused"))
      assert.deepStrictEqual((yield* store.list()).map((info) => info.sessionId), ["s"])
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual((yield* reasonOf(store.open("unused", { ...options, create: false })))._tag, "SessionNotFound")
      const session = yield* store.open("unused", options)
      yield* session.append([started({ seq: 1 })])
      assert.strictEqual((yield* store.info("unused"))?.createdAt, 31_000)
    }))
})

it.effect.each<readonly [object, string]>([
  [{ durabilty: "fsync" }, "SessionStoreSqlite has no \"durabilty\"; it has filename, durability, busyTimeout"],
  [{ durability: "full" }, "durability must be \"os\" or \"fsync\", not \"full\"."],
  [{ busyTimeout: "-5 seconds" }, "busyTimeout must be a duration of at least 0, not \"-5 seconds\"."],
  [{ busyTimeout: "soon" }, "busyTimeout must be a duration of at least 0, not \"soon\"."],
  [{ filename: undefined }, "The file name of the session database is blank."],
  [{ filename: 5 }, "filename must be a string"],
  [{ filename: new URL("file:///tmp/s.db") }, "filename must be a string"]
])(
  "an option that it does not have, or with a value that it cannot have, is refused, and no file is made: %j",
  ([wrong, message]) =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const given = { filename: join(folder, "s.db"), ...wrong } as SessionStoreSqlite.Options
      const error = yield* Effect.flip(SessionStoreSqlite.make(given))
      assert.deepStrictEqual(error.reason._tag, "StoreRefused")
      assert.include(error.message, message)
      assert.deepStrictEqual(readdirSync(folder), [])
    })
)
