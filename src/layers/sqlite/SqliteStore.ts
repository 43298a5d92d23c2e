/**
 * The SQL store over a client of a file. Does not own the connection (`SqliteClient`), nor what errors mean to a caller
 * (`SqliteErrors`).
 */
import * as Effect from "effect/Effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import * as InputCheck from "../../run/InputCheck.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as SessionStoreSql from "../SessionStoreSql.ts"
import type { Options } from "../SessionStoreSqlite.ts"
import * as SqliteClient from "../SqliteClient.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import * as SqliteAppend from "./SqliteAppend.ts"
import * as SqliteErrors from "./SqliteErrors.ts"
import * as SqliteFile from "./SqliteFile.ts"
import * as SqliteSnapshot from "./SqliteSnapshot.ts"

/** A misspelt `durability` would be none. */
const optionNames: Record<keyof Options, true> = { filename: true, durability: true, busyTimeout: true }

type Opened = Effect.Effect<SessionStore.Store, SessionStore.StoreError, Scope.Scope>

/** Without a name, SQLite would make a database that is gone with its connection. */
const unnamed = SessionErrors.refused(
  "The file name of the session database is blank. Name a file, or \":memory:\" for sessions that end with the process."
)

/** See `SessionStoreSqlite.make`, which loads this. */
export const make = (options: Options): Opened => open(options, { isReadOnly: false, isVisitor: false })

/** The store of a file that may be another program's to use: see `isVisitor` of `SessionStoreSql`. */
export const makeVisiting = (options: Options): Opened => open(options, { isReadOnly: false, isVisitor: true })

/**
 * The same of a file that is there, for reading. Where this user may not write to it, it is left as it is: only what reads
 * works, and tables of an older version are refused.
 */
export const makeReading = (options: Options): Opened =>
  Effect.suspend(() => {
    const isReadOnly = !SqliteSnapshot.isWritable(options.filename)
    return open(options, { isReadOnly, isVisitor: !isReadOnly })
  })

const open = Effect.fnUntraced(function*(
  options: Options,
  { isReadOnly, isVisitor }: Required<Pick<SessionStoreSql.Options, "isReadOnly" | "isVisitor">>
): Effect.fn.Return<SessionStore.Store, SessionStore.StoreError, Scope.Scope> {
  const others = InputCheck.noOthers("SessionStoreSqlite", options, optionNames)
  if (Result.isFailure(others)) return yield* SessionErrors.refused(others.failure.message)
  // untyped code may give none
  const { filename }: Partial<Options> = options ?? {}
  const text = InputCheck.text("filename", filename)
  if (Result.isFailure(text)) return yield* SessionErrors.refused(text.failure.message)
  if (filename === undefined || filename.trim() === "") return yield* unnamed
  if (SqliteFile.isOther(filename)) {
    return yield* SessionErrors.refused(
      `"${filename}" is no file, but a device, a pipe or a socket; it was left as it is. Name a file for the session database.`
    )
  }
  if (!["os", "fsync"].includes(options.durability ?? "os")) {
    return yield* SessionErrors.refused(
      `durability must be "os" or "fsync", not ${JSON.stringify(options.durability)}.`
    )
  }
  const busyTimeout = InputCheck.duration(
    "busyTimeout",
    options.busyTimeout ?? "5 seconds",
    (millis) => millis >= 0,
    (quoted) => `busyTimeout must be a duration of at least 0, not ${quoted}.`
  )
  if (Result.isFailure(busyTimeout)) return yield* SessionErrors.refused(busyTimeout.failure.message)
  const explain = (isReadOnly ? SqliteSnapshot : SqliteErrors).explain(filename)
  const client = yield* SqliteClient.make({
    ...options,
    busyTimeout: busyTimeout.success,
    isReadOnly,
    ownTable: "fiberloop_migrations"
  }).pipe(
    Effect.mapError(explain),
    Effect.provide(Reactivity.layer)
  )
  const appending = SqliteAppend.make(client, client.transact)
  return yield* SessionStoreSql.make({ explain, isReadOnly, isVisitor, ...appending }).pipe(
    Effect.provideService(SqlClient.SqlClient, client)
  )
})
