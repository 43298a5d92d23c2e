/** Sessions in one SQLite file, the embedded default, for any number of processes on one machine. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as RunError from "../run/RunError.ts"
import * as SessionStore from "../services/SessionStore.ts"
import type * as SqliteClient from "./SqliteClient.ts"

export type Options = Omit<SqliteClient.Options, "ownTable" | "isReadOnly">

/** Loaded on first use, with effect's SQL and the errors of stores: Node 22 prints a warning when its SQLite is imported. */
const store = Effect.tryPromise({
  try: () => import("./sqlite/SqliteStore.ts"),
  catch: (cause) => cause as NodeJS.ErrnoException
}).pipe(
  Effect.catch((error) => error.code === "ERR_UNKNOWN_BUILTIN_MODULE" ? Effect.fail(noSqlite()) : Effect.die(error))
)

const noSqlite = () =>
  new RunError.NonRetryableError({
    _tag: "StoreRefused",
    message:
      `SessionStoreSqlite needs the SQLite that is built into Node 22.19 and newer; this Node, ${process.version}, has none. ` +
      "Update Node, or use another store."
  })

/**
 * Opens the database, or creates the file, never its folder. Fails when the path is unusable, when the file holds something
 * else or was made by a newer version, and on a Node without SQLite.
 */
export const make = (
  options: Options
): Effect.Effect<SessionStore.SessionStore["Service"], SessionStore.StoreError, Scope.Scope> =>
  Effect.flatMap(store, (_) => _.make(options))

export const layer = (options: Options): Layer.Layer<SessionStore.SessionStore, SessionStore.StoreError> =>
  Layer.effect(SessionStore.SessionStore, make(options))
