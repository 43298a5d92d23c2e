/** Sessions in one SQLite file, the embedded default: for any number of processes of one machine. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as SessionStore from "../services/SessionStore.ts"
import type * as SqliteClient from "./SqliteClient.ts"

export type Options = Omit<SqliteClient.Options, "ownTable">

/** Loaded when it is used, with effect's SQL: Node 22 warns of its SQLite when that is imported. */
const store = Effect.promise(() => import("./sqlite/SqliteStore.ts"))

/**
 * Opens the database, or creates the file, never its folder. Fails when the path cannot be one, when it holds something
 * else, or what a newer version made.
 */
export const make = (
  options: Options
): Effect.Effect<SessionStore.SessionStore["Service"], SessionStore.StoreError, Scope.Scope> =>
  Effect.flatMap(store, (_) => _.make(options))

export const layer = (options: Options): Layer.Layer<SessionStore.SessionStore, SessionStore.StoreError> =>
  Layer.effect(SessionStore.SessionStore, make(options))
