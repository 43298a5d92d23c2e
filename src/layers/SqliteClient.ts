/**
 * An effect/sql client over the SQLite that is built into Node: one connection, in WAL mode. Integers are JavaScript numbers.
 *
 * Does not own how statements run (`SqliteStatements`), what happens when one meets a lock (`SqliteLocks`), nor what errors
 * mean to a caller (`SqliteErrors`).
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlConnection from "effect/sql/SqlConnection"
import type * as SqlError from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"
import { DatabaseSync } from "node:sqlite"
import type { Guarded } from "./sqlite/Guarded.ts"
import * as SqliteErrors from "./sqlite/SqliteErrors.ts"
import * as SqliteFile from "./sqlite/SqliteFile.ts"
import * as SqliteLocks from "./sqlite/SqliteLocks.ts"
import * as SqliteSnapshot from "./sqlite/SqliteSnapshot.ts"
import * as SqliteStatements from "./sqlite/SqliteStatements.ts"

export interface Options {
  /** a path, or `:memory:` */
  readonly filename: string
  /** `os` (default): what was committed outlives the process. `fsync`: it also outlives a loss of power. */
  readonly durability?: "os" | "fsync" | undefined
  /** How long a statement waits for a lock that another connection holds. Default: 5 seconds. */
  readonly busyTimeout?: Duration.Input | undefined
  /** A database that holds tables, but not this one, is refused and left as it is (`SqliteFile.Foreign`). */
  readonly ownTable?: string | undefined
  /** Opens a file that is there for reading alone, where this user may not write to it (`SqliteSnapshot`). Default: `false`. */
  readonly isReadOnly?: boolean | undefined
}

export interface SqliteClient extends SqlClient.SqlClient {
  /**
   * Runs statements as one transaction that the first one guards: when that returns no row, or changes none, nothing is
   * written and the result is `false`. Runs in one go: at once, or after the transaction that this client has open.
   */
  readonly transact: (statements: Guarded) => Effect.Effect<boolean, SqlError.SqlError>
}

export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<SqliteClient, SqlError.SqlError, Scope.Scope | Reactivity.Reactivity> {
  const { isReadOnly = false } = options
  const { db, guarded } = yield* Effect.acquireRelease(
    Effect.try({
      try: () => isReadOnly ? SqliteSnapshot.open(options.filename) : opened(options.filename),
      catch: (cause) => SqliteErrors.toSqlError(cause, "open")
    }),
    ({ db }) => Effect.sync(() => db.close())
  )
  if (!isReadOnly) SqliteFile.unlock(db)
  const { execute, transaction } = SqliteStatements.make(db)
  const runNow = SqliteLocks.unlocked(db, options.busyTimeout ?? "5 seconds", guarded)
  const attempt = <A>(statement: () => A) => Effect.suspend(() => runNow(statement))
  const connection = connectionOf((text, params, shape) => attempt(() => execute(text, params, shape)))

  const { ownTable } = options
  if (ownTable !== undefined) yield* attempt(() => SqliteFile.checkOwner(db, ownTable))
  if (!isReadOnly) {
    yield* attempt(() => execute("PRAGMA journal_mode = WAL"))
    yield* attempt(() => execute(`PRAGMA synchronous = ${options.durability === "fsync" ? "FULL" : "NORMAL"}`))
  }

  const isTransaction = () => db.isOpen && db.isTransaction
  const acquirers = SqlClient.makeSqliteAcquirers({
    connection: Effect.succeed(connection),
    semaphore: yield* Semaphore.make(1),
    isTransaction
  })
  const client = yield* SqlClient.make({
    ...acquirers,
    driver: "node-sqlite",
    compiler: Statement.makeCompilerSqlite(),
    beginTransaction: "BEGIN IMMEDIATE",
    prepareTransactionControls: true,
    spanAttributes: [["db.system.name", "sqlite"]]
  })

  const inTurn = <A>(waiting: Effect.Effect<A, SqlError.SqlError>) => acquirers.borrower(() => waiting)
  const transact: SqliteClient["transact"] = (statements) => {
    const all = () => transaction(statements)
    return Effect.suspend(() => isTransaction() ? inTurn(attempt(all)) : runNow(all, inTurn))
  }
  return Object.assign(client, { transact })
})

const opened = (filename: string): SqliteFile.Opened => {
  const db = new DatabaseSync(filename)
  return { db, guarded: SqliteFile.guarded(db) }
}

export const layer = (options: Options): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(SqlClient.SqlClient, make(options)).pipe(Layer.provide(Reactivity.layer))

type Run = (
  text: string,
  params: ReadonlyArray<unknown>,
  shape: SqliteStatements.Shape
) => Effect.Effect<SqliteStatements.Rows, SqlError.SqlError>

const connectionOf = (run: Run): SqlConnection.Connection => {
  const execute: SqlConnection.Connection["execute"] = (text, params, transform) =>
    transform === undefined ? run(text, params, "objects") : Effect.map(run(text, params, "objects"), transform)
  return {
    execute,
    executeUnprepared: execute,
    executeRaw: (text, params) => run(text, params, "raw"),
    executeValues: (text, params) => run(text, params, "arrays"),
    executeValuesUnprepared: (text, params) => run(text, params, "arrays"),
    executeStream: (text, params, transform) => Stream.fromIterableEffect(execute(text, params, transform))
  }
}
