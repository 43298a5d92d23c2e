/** Sessions in one SQLite file, the embedded default: for any number of processes of one machine. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import type * as Scope from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import * as SessionStore from "../services/SessionStore.ts"
import * as SessionStoreSql from "./SessionStoreSql.ts"
import * as SessionAppend from "./sql/SessionAppend.ts"
import * as SqliteErrors from "./sqlite/SqliteErrors.ts"
import type * as SqliteClient from "./SqliteClient.ts"

export type Options = Omit<SqliteClient.Options, "ownTable">

/**
 * Opens the database, or creates the file, never its folder. Fails when the path cannot be one, when it holds something
 * else, or what a newer version made.
 */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<SessionStore.SessionStore["Service"], SessionStore.StoreError, Scope.Scope> {
  const explain = SqliteErrors.explain(options.filename)
  // loaded when it is used: Node 22 warns of its SQLite when that is imported
  const SqliteClient = yield* Effect.promise(() => import("./SqliteClient.ts"))
  const client = yield* SqliteClient.make({ ...options, ownTable: "fiberloop_migrations" }).pipe(
    Effect.mapError(explain),
    Effect.provide(Reactivity.layer)
  )
  return yield* SessionStoreSql.make({ explain, append: SessionAppend.make(client, client.transact) }).pipe(
    Effect.provideService(SqlClient.SqlClient, client)
  )
})

export const layer = (options: Options): Layer.Layer<SessionStore.SessionStore, SessionStore.StoreError> =>
  Layer.effect(SessionStore.SessionStore, make(options))
