/** Two stores on one database, as two processes have them, each with its own sessions. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { join } from "node:path"
import * as SessionStorePg from "../../src/layers/SessionStorePg.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import * as PgDatabases from "./PgDatabases.ts"
import { temporaryFolder } from "./Processes.ts"

export type Store = SessionStore.Store
type Two = Effect.Effect<readonly [Store, Store], SessionStore.StoreError, Scope.Scope>

export const newFile = Effect.map(temporaryFolder, (folder) => join(folder, "sessions.db"))

export const onFile = (filename: string): Two =>
  Effect.all([SessionStoreSqlite.make({ filename }), SessionStoreSqlite.make({ filename })])

/** On a new file. */
export const made: Two = Effect.flatMap(newFile, onFile)

export const byEngine: Record<string, Two> = {
  SQLite: made,
  Postgres: Effect.flatMap(
    PgDatabases.database,
    (url) => Effect.all([SessionStorePg.make({ url }), SessionStorePg.make({ url })])
  )
}

/** Long enough for a session's owner to look for what others say to it. */
export const looked = TestClock.adjust("1 second")
