/** Sessions in one SQLite file, the embedded default, for any number of processes on one machine. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as SessionStore from "../services/SessionStore.ts"
import * as SqliteModule from "./sqlite/SqliteModule.ts"
import type * as SqliteClient from "./SqliteClient.ts"

/** Where the file is, how safely it is written, and how long a writer waits for others. */
export type Options = Omit<SqliteClient.Options, "ownTable" | "isReadOnly">

/**
 * Opens the database, or creates the file, never its folder. Fails when the path is unusable, when the file holds something
 * else or was made by a newer version, and on a Node without SQLite.
 */
export const make = (
  options: Options
): Effect.Effect<SessionStore.Store, SessionStore.StoreError, Scope.Scope> =>
  Effect.flatMap(SqliteModule.load, (SqliteStore) => SqliteStore.make(options))

/** The store as a layer, which closes the database with its scope; see `make`. */
export const layer = (options: Options): Layer.Layer<SessionStore.SessionStore, SessionStore.StoreError> =>
  Layer.effect(SessionStore.SessionStore, make(options))
