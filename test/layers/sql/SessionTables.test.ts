/** Whether a visitor may bring the tables of others up to date. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as OwnerLiveness from "../../../src/layers/OwnerLiveness.ts"
import * as SessionTables from "../../../src/layers/sql/SessionTables.ts"
import * as SqliteErrors from "../../../src/layers/sqlite/SqliteErrors.ts"
import * as SqliteClient from "../../../src/layers/SqliteClient.ts"
import { temporaryFolder } from "../../support/Processes.ts"

const dump = readFileSync(new URL("../../golden/sqlite-v2.sql", import.meta.url), "utf8")

it.effect("a visitor is let in where the program at work has brought the tables up to date meanwhile", () =>
  Effect.gen(function*() {
    const filename = join(yield* temporaryFolder, "s.db")
    const program = yield* Effect.acquireRelease(
      Effect.sync(() => new DatabaseSync(filename)),
      (db) => Effect.sync(() => db.close())
    )
    program.exec(`BEGIN; ${dump} COMMIT; PRAGMA journal_mode = WAL`)
    program.prepare("UPDATE fiberloop_sessions SET owner = ?, lease = 60000").run(OwnerLiveness.name("run-1", {}))
    let asked = 0
    // asked after the tables were looked at
    const isDead = () => {
      asked++
      program.exec("INSERT INTO fiberloop_migrations (migration_id, name) VALUES (9, 'runs')")
      return false
    }
    const client = yield* SqliteClient.make({ filename }).pipe(Effect.provide(Reactivity.layer))
    yield* SessionTables.checkIdle({ isDead })(SqliteErrors.explain(filename), (asking) => asking).pipe(
      Effect.provideService(SqlClient.SqlClient, client)
    )
    assert.strictEqual(asked, 1)
  }))
