/** Sessions in one SQLite file, the embedded default, for any number of processes on one machine. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as SessionStore from "../services/SessionStore.ts"
import type * as SqliteClient from "./SqliteClient.ts"

export type Options = Omit<SqliteClient.Options, "ownTable" | "isReadOnly">

/** Loaded on first use, with effect's SQL: Node 22 prints a warning when its SQLite is imported. */
const store = Effect.promise(() => import("./sqlite/SqliteStore.ts"))

/**
 * Opens the database, or creates the file, never its folder. Fails when the path is unusable, or when the file holds something
 * else or was made by a newer version.
 */
export const make = (
  options: Options
): Effect.Effect<SessionStore.SessionStore["Service"], SessionStore.StoreError, Scope.Scope> =>
  Effect.flatMap(store, (_) => _.make(options))

export const layer = (options: Options): Layer.Layer<SessionStore.SessionStore, SessionStore.StoreError> =>
  Layer.effect(SessionStore.SessionStore, make(options))
