/** What was read of a session before its fence moved is not acted on: the session is then another writer's. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import * as SqlError from "effect/sql/SqlError"
import * as TestClock from "effect/testing/TestClock"
import { join } from "node:path"
import * as OwnerLiveness from "../../../src/layers/OwnerLiveness.ts"
import * as Answered from "../../../src/layers/sql/Answered.ts"
import * as ClaimStatements from "../../../src/layers/sql/ClaimStatements.ts"
import * as SessionAborts from "../../../src/layers/sql/SessionAborts.ts"
import * as SessionClaims from "../../../src/layers/sql/SessionClaims.ts"
import * as SessionList from "../../../src/layers/sql/SessionList.ts"
import * as SessionRows from "../../../src/layers/sql/SessionRows.ts"
import * as SessionSent from "../../../src/layers/sql/SessionSent.ts"
import * as SessionTables from "../../../src/layers/sql/SessionTables.ts"
import * as SqliteErrors from "../../../src/layers/sqlite/SqliteErrors.ts"
import * as SqliteClient from "../../../src/layers/SqliteClient.ts"
import * as Message from "../../../src/run/Message.ts"
import { temporaryFolder } from "../../support/Processes.ts"

/** The row of a session "s" that was free when read, and that somebody has taken since. */
const taken = Effect.gen(function*() {
  const filename = join(yield* temporaryFolder, "s.db")
  const sql = yield* Effect.provide(SqliteClient.make({ filename }), Reactivity.layer)
  const answered = Answered.within(undefined)
  const migrated = SessionTables.migrate(SqliteErrors.explain(filename), answered)
  yield* Effect.provideService(migrated, SqlClient.SqlClient, sql)
  const liveness = yield* OwnerLiveness.OwnerLiveness
  const statements = ClaimStatements.make(sql, liveness.lease)
  yield* statements.insert("s", null, 0)
  const row = yield* Effect.fromNullishOr(yield* statements.look("s", 0))
  yield* statements.raise(row, "somebody", 0)
  const claims = yield* SessionClaims.make(sql, liveness, answered)
  return { claims, row, sql, owner: Effect.map(statements.look("s", 0), (row) => row?.owner), statements }
})

it.effect("an empty session taken since is not removed to free its id", () =>
  Effect.gen(function*() {
    const { owner, row, statements } = yield* taken
    yield* statements.removeEmpty(row)
    assert.strictEqual(yield* owner, "somebody")
  }))

it.effect("a session that was written to since is not removed to free its id", () =>
  Effect.gen(function*() {
    const { owner, sql, statements } = yield* taken
    const row = yield* Effect.fromNullishOr(yield* statements.look("s", 0))
    yield* sql`UPDATE fiberloop_sessions SET head = 1`
    yield* statements.removeEmpty(row)
    assert.strictEqual(yield* owner, "somebody")
  }))

it.effect("a session is given back, and not removed, if its writer does not know that its first write was stored", () =>
  Effect.gen(function*() {
    const { claims, row, sql, statements } = yield* taken
    yield* sql`UPDATE fiberloop_sessions SET head = 1`
    yield* claims.release({ ...row, owner: "somebody", info: SessionRows.toInfo(row) }, 0)
    const left = yield* statements.look("s", 0)
    assert.deepStrictEqual([left?.owner, left?.head], [null, 1])
  }))

it.effect("the owner before renews no lease of the next one", () =>
  Effect.gen(function*() {
    const { row, statements } = yield* taken
    const leaseOf = Effect.map(statements.look("s", 0), (row) => row?.lease)
    const before = yield* leaseOf
    assert.isFalse(yield* statements.renew({ session: row.session, owner: "the one before" }, 60_000))
    assert.strictEqual(yield* leaseOf, before)
  }))

it.effect("removing a session taken since fails with SessionBusy", () =>
  Effect.gen(function*() {
    const { claims, owner, row, sql } = yield* taken
    const { remove } = SessionList.make(sql, { ...claims, look: () => Effect.succeed(row) })
    assert.strictEqual((yield* Effect.flip(remove("s"))).reason._tag, "SessionBusy")
    assert.strictEqual(yield* owner, "somebody")
  }))

it.effect("an input goes to whoever has its session when it is sent", () =>
  Effect.gen(function*() {
    const { row, sql, statements } = yield* taken
    const before = OwnerLiveness.name("run-1", { hearsSent: true })
    const now = OwnerLiveness.name("run-1", { hearsSent: true })
    yield* sql`UPDATE fiberloop_sessions SET owner = ${now}`
    const rows = [{ ...row, owner: before }, yield* Effect.fromNullishOr(yield* statements.look("s", 0))]
    const { send } = SessionSent.make(sql, {
      find: () => Effect.sync(() => rows.shift()),
      ownerOf: (row) => SessionRows.toOwner(row)
    })
    assert.isTrue(
      yield* send("s", "run-1", { _tag: "Input", id: "a", after: 1, kind: "steer", messages: [Message.user("a")] })
    )
    assert.deepStrictEqual(yield* sql`SELECT owner FROM fiberloop_sent`, [{ owner: now }])
  }))

it.effect("whoever took a session since hears no abort meant for the owner before", () =>
  Effect.gen(function*() {
    const { row, sql } = yield* taken
    const owner = OwnerLiveness.name("run-1", { hearsAborts: true })
    const claims = { find: () => Effect.succeed({ ...row, owner }), ownerOf: SessionRows.toOwner }
    assert.isFalse(yield* SessionAborts.make(sql, claims).ask("s", "run-1"))
    assert.deepStrictEqual(yield* sql`SELECT owner FROM fiberloop_aborts`, [])
  }))

it.effect("a fence is raised, and a lease renewed, only as long as an answer is waited for", () =>
  Effect.gen(function*() {
    const { row, sql, statements } = yield* taken
    const over = new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause: new Error("over") }) })
    const claims = yield* SessionClaims.make(sql, yield* OwnerLiveness.OwnerLiveness, () => Effect.fail(over))
    const claim = { ...row, owner: "somebody", info: SessionRows.toInfo(row) }
    assert.strictEqual(yield* Effect.flip(claims.refence(claim)), over)
    const before = yield* statements.look("s", 0)
    yield* Effect.forkChild(claims.keep(claim))
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(yield* statements.look("s", 0), before)
  }))
