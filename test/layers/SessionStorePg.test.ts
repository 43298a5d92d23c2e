/** Sessions in a real Postgres. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import { afterAll, beforeAll } from "vitest"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { aborted, completed, started } from "../../src/testing/sessions/Fixtures.ts"
import { suite } from "../../src/testing/SessionStoreSuite.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import * as Traces from "../support/Traces.ts"
import * as BegunForCalls from "./BegunForCalls.ts"
import * as RowBehind from "./RowBehind.ts"

const scope = Scope.makeUnsafe()
let url: string
beforeAll(async () => {
  url = await Effect.runPromise(Scope.provide(PgDatabases.database, scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

suite(
  "SessionStorePg",
  Layer.unwrap(
    Effect.map(Effect.suspend(() => PgDatabases.schema(url)), (url) => SessionStorePg.layer({ url, maxConnections: 4 }))
  )
)

it.effect("the spans of its statements name server and database", () =>
  Effect.gen(function*() {
    const { spans, tracer } = Traces.make()
    const inSchema = yield* PgDatabases.schema(url)
    yield* Effect.scoped(Effect.andThen(SessionStorePg.make({ url: inSchema }), Effect.void)).pipe(
      Effect.provideService(Tracer.Tracer, tracer)
    )
    const { hostname, pathname, port } = new URL(url)
    const told = spans.filter(({ attributes }) => attributes.has("db.system.name"))
    assert.isNotEmpty(told)
    for (const { attributes } of told) {
      const of = ["server.address", "server.port", "db.namespace"].map((name) => attributes.get(name))
      assert.deepStrictEqual(of, [hostname, Number(port), pathname.slice(1)])
    }
  }))

/** A store of 20,000 sessions, and what its server does for the queries of lists. */
const many = Effect.gen(function*() {
  const inSchema = yield* PgDatabases.schema(url)
  const store = yield* SessionStorePg.make({ url: inSchema })
  yield* PgDatabases.query(
    inSchema,
    `INSERT INTO fiberloop_sessions (id, epoch, lease, head, title, turns, ended, parent, created_at, updated_at)
    SELECT 's' || n, 1, 0, 1, '', 1, CASE WHEN n <= 200 THEN 'RunSuspended' ELSE 'RunCompleted' END,
      CASE WHEN n % 100 = 0 THEN NULL ELSE 's' || n - n % 100 END, n, n
    FROM generate_series(1, 20000) AS n`
  )
  yield* PgDatabases.query(inSchema, "ANALYZE fiberloop_sessions")
  const plansOf = Effect.fnUntraced(function*(asked: ReadonlyArray<SessionStore.ListOptions>) {
    const { spans, tracer } = Traces.make()
    yield* Effect.withTracer(Effect.forEach(asked, (options) => store.list({ ...options, limit: 100 })), tracer)
    const texts = spans.flatMap(({ attributes }) => {
      const text = attributes.get("db.query.text")
      return typeof text === "string" ? [text] : []
    })
    assert.lengthOf(texts, asked.length)
    return yield* Effect.forEach(texts, (text) =>
      Effect.map(
        PgDatabases.query(inSchema, `EXPLAIN ${text.replaceAll(/\$\d+/g, "'1'")}`),
        (plan) => plan.map((row) => JSON.stringify(row)).join("\n")
      ))
  })
  return { store, plansOf }
})

it.live("a session whose row is behind its log is refused, and can be removed", () =>
  Effect.gen(function*() {
    const inSchema = yield* PgDatabases.schema(url)
    yield* RowBehind.check(
      yield* SessionStorePg.make({ url: inSchema }),
      (head) => PgDatabases.query(inSchema, `UPDATE fiberloop_sessions SET head = ${head}`)
    )
  }))

it.live("sessions with rare ends are found by an index, without scanning the others", () =>
  Effect.gen(function*() {
    const { plansOf, store } = yield* many
    const [after] = yield* store.list({ ends: ["RunSuspended"], limit: 1 })
    assert.strictEqual(after?.sessionId, "s200")
    const plans = yield* plansOf([
      { ends: [undefined] },
      { ends: [undefined, "RunSuspended"] },
      { ends: ["RunSuspended"], after }
    ])
    for (const plan of plans) {
      assert.include(plan, "fiberloop_sessions_ended")
      assert.notMatch(plan, /Seq Scan|fiberloop_sessions_newest|Filter/)
    }
  }))

it.live("the sessions of a parent are found by an index, without scanning the others", () =>
  Effect.gen(function*() {
    const { plansOf } = yield* many
    const [plan] = yield* plansOf([{ parents: ["s100"] }])
    assert.include(plan, "fiberloop_sessions_parents")
    assert.notMatch(plan!, /Seq Scan|fiberloop_sessions_newest|Filter/)
  }))

it.live("sessions of a database of version 6 get the parents that their first events name", () =>
  Effect.gen(function*() {
    const inSchema = yield* PgDatabases.schema(url)
    yield* Effect.scoped(Effect.flatMap(SessionStorePg.make({ url: inSchema }), BegunForCalls.write))
    for (
      const statement of [
        "ALTER TABLE fiberloop_sessions DROP COLUMN parent",
        "DROP TABLE fiberloop_sent",
        "DELETE FROM fiberloop_migrations WHERE migration_id >= 7",
        `UPDATE fiberloop_events SET body = '{"parent":{' WHERE seq = 1 AND session = (
          SELECT session FROM fiberloop_sessions WHERE id = '${BegunForCalls.damaged}')`
      ]
    ) yield* PgDatabases.query(inSchema, statement)
    yield* BegunForCalls.check(yield* SessionStorePg.make({ url: inSchema }))
  }))

it.live("a process goes on where a later version has added a column to its tables, in transactions too", () =>
  Effect.gen(function*() {
    const inSchema = yield* PgDatabases.schema(url)
    const store = yield* SessionStorePg.make({ url: inSchema, maxConnections: 1 })
    const append = Effect.fnUntraced(function*(seq: number) {
      const session = yield* store.open("s", { runId: "run-1", create: true })
      yield* session.append([started({ seq }), completed({ seq: seq + 1 })])
    }, Effect.scoped)
    yield* append(1)
    yield* store.fork("s", { to: "before" })
    yield* store.remove("before")
    yield* PgDatabases.query(inSchema, "ALTER TABLE fiberloop_sessions ADD COLUMN tomorrow TEXT")
    yield* store.fork("s", { to: "after" })
    yield* store.remove("after")
    yield* append(3)
    assert.strictEqual((yield* store.info("s"))?.head, 4)
  }))

it.live("a database of an earlier version is migrated, and sessions that were shut down then have no end", () =>
  Effect.gen(function*() {
    const inSchema = yield* PgDatabases.schema(url)
    yield* Effect.scoped(Effect.gen(function*() {
      const store = yield* SessionStorePg.make({ url: inSchema })
      for (const reason of ["shutdown", "requested"] as const) {
        const session = yield* store.open(reason, { runId: "run-1", create: true })
        yield* session.append([started({ seq: 1 }), aborted({ seq: 2 }, reason)])
      }
    }))
    for (
      const statement of [
        "UPDATE fiberloop_sessions SET ended = 'RunAborted'",
        "DROP INDEX fiberloop_sessions_ended",
        "DROP TABLE fiberloop_aborts",
        "DROP TABLE fiberloop_sent",
        "ALTER TABLE fiberloop_sessions DROP COLUMN parent",
        "DELETE FROM fiberloop_migrations WHERE migration_id >= 4"
      ]
    ) yield* PgDatabases.query(inSchema, statement)
    const store = yield* SessionStorePg.make({ url: inSchema })
    const ends = (yield* store.list()).map(({ end, sessionId }) => [sessionId, end])
    assert.sameDeepMembers(ends, [["shutdown", undefined], ["requested", "RunAborted"]])
  }))
