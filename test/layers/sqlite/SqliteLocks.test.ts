/** What waits for another connection's lock, and what does not. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SqliteLocks from "../../../src/layers/sqlite/SqliteLocks.ts"
import { temporaryFolder } from "../../support/Processes.ts"

/** Two connections to one database; `attempt` runs a statement on the first, and `runs` counts how often. */
const connections = Effect.gen(function*() {
  const file = join(yield* temporaryFolder, "t.db")
  const open = Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(file, { timeout: 0 })),
    (db) => Effect.sync(() => db.close())
  )
  const [db, other] = [yield* open, yield* open]
  db.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x INTEGER PRIMARY KEY)")
  const unlocked = SqliteLocks.unlocked(db, "5 seconds")
  const counter = { runs: 0 }
  const attempt = (statement: string) =>
    Effect.suspend(() =>
      unlocked(() => {
        counter.runs++
        db.exec(statement)
      })
    )
  return { attempt, counter, db, other }
})

it.effect("a statement that fails for another reason than a lock runs once", () =>
  Effect.gen(function*() {
    const { attempt, counter } = yield* connections
    yield* attempt("INSERT INTO t VALUES (1)")
    const error = yield* Effect.flip(attempt("INSERT INTO t VALUES (1)"))
    assert.include(String(error.reason.cause), "UNIQUE")
    assert.strictEqual(counter.runs, 2)
  }))

it.effect("a transaction that another has overtaken fails at once, as waiting cannot help", () =>
  Effect.gen(function*() {
    const { attempt, counter, db, other } = yield* connections
    db.exec("BEGIN; SELECT * FROM t")
    other.exec("INSERT INTO t VALUES (1)")
    const fiber = yield* Effect.forkChild(Effect.flip(attempt("INSERT INTO t VALUES (2)")))
    yield* Effect.yieldNow
    // the clock does not move
    assert.isDefined(fiber.pollUnsafe())
    assert.include(String((yield* Fiber.join(fiber)).reason.cause), "locked")
    assert.strictEqual(counter.runs, 1)
  }))
