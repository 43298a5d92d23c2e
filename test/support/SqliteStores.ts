/** SQLite session stores on files, for tests that look at what is beside or behind them. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import { notices, started } from "../../src/testing/sessions/Fixtures.ts"
import { temporaryFolder } from "./Processes.ts"
import type * as Traces from "./Traces.ts"

/** Of the one that opens a session. */
export const options = { runId: "run-1", create: true }

export const make = (filename: string, more: Partial<SessionStoreSqlite.Options> = {}) =>
  SessionStoreSqlite.make({ filename, ...more })

/** Why a store cannot be made, or why an effect failed. */
export const reasonOf = <A, R>(effect: Effect.Effect<A, SessionStore.StoreError, R>) =>
  Effect.map(Effect.flip(effect), (error): { readonly _tag: string; readonly message: string } => error.reason)

/** A database with one session of three events. */
export const database = Effect.gen(function*() {
  const folder = yield* temporaryFolder
  const file = join(folder, "sessions.db")
  yield* Effect.scoped(Effect.gen(function*() {
    const store = yield* make(file)
    const session = yield* store.open("s", options)
    yield* session.append([started({ seq: 1 }), ...notices(2, 3)])
  }))
  return { folder, file }
})

export const sqlOn = <A>(file: string, use: (db: DatabaseSync) => A): A => {
  const db = new DatabaseSync(file)
  try {
    return use(db)
  } finally {
    db.close()
  }
}

interface Plan {
  readonly text: string
  /** what the database would do, as JSON */
  readonly steps: string
}

/** The query plans of the statements that a store has run, as they were traced. */
export const plansOf = (file: string, traces: Traces.Traces): ReadonlyArray<Plan> =>
  sqlOn(file, (db) =>
    traces.spans.flatMap(({ attributes }) => {
      const text = attributes.get("db.query.text")
      if (typeof text !== "string") return []
      return [{ text, steps: JSON.stringify(db.prepare(`EXPLAIN QUERY PLAN ${text}`).all()) }]
    }))

export const assertOneLine = (message: string) => {
  assert.notInclude(message, "\n")
  assert.notInclude(message, "    at ")
}
