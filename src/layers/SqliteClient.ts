/**
 * An effect/sql client over the SQLite that is built into Node: one connection, in WAL mode, its statements prepared
 * once.
 *
 * Does not own what its errors mean to a caller; that is `SqliteErrors`. Integers are JavaScript numbers.
 */
import type * as Arr from "effect/Array"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlConnection from "effect/sql/SqlConnection"
import * as SqlError from "effect/sql/SqlError"
import * as Statement from "effect/sql/Statement"
import * as Stream from "effect/Stream"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import * as SqliteErrors from "./sqlite/SqliteErrors.ts"
import * as SqliteFile from "./sqlite/SqliteFile.ts"

export interface Options {
  /** a path, or `:memory:` */
  readonly filename: string
  /** `os` (default): what was committed outlives the process. `fsync`: it also outlives a loss of power. */
  readonly durability?: "os" | "fsync" | undefined
  /** How long a statement waits for a lock that another connection holds. Default: 5 seconds. */
  readonly busyTimeout?: Duration.Input | undefined
  /** A database that holds tables, but not this one, is refused and left as it is (`SqliteFile.Foreign`). */
  readonly ownTable?: string | undefined
}

export interface SqliteClient extends SqlClient.SqlClient {
  /**
   * Runs statements as one transaction that the first one guards: when that returns no row, or changes none, nothing is
   * written and the result is `false`. Runs in one go, at once where no transaction of this client is open, else behind it.
   */
  readonly transact: (
    statements: Arr.NonEmptyReadonlyArray<readonly [text: string, values: ReadonlyArray<SQLInputValue>]>
  ) => Effect.Effect<boolean, SqlError.SqlError>
}

type Rows = ReadonlyArray<any>
type Shape = "objects" | "arrays" | "raw"

export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<SqliteClient, SqlError.SqlError, Scope.Scope | Reactivity.Reactivity> {
  const db = yield* Effect.acquireRelease(
    Effect.try({ try: () => new DatabaseSync(options.filename), catch: (cause) => sqlError(cause, "open") }),
    (db) => Effect.sync(() => db.close())
  )
  SqliteFile.unlock(db)
  const { run, runGuard } = prepared(db)
  const execute = (text: string, params: ReadonlyArray<unknown> = [], shape: Shape = "objects") =>
    run(text, params.map(toSqlite), shape)
  const runNow = unlocked(db, options.busyTimeout ?? "5 seconds")
  const attempt = <A>(statement: () => A) => Effect.suspend(() => runNow(statement))
  const connection = connectionOf((text, params, shape) => attempt(() => execute(text, params, shape)))

  const { ownTable } = options
  if (ownTable !== undefined) yield* attempt(() => SqliteFile.checkOwner(db, ownTable))
  yield* attempt(() => execute("PRAGMA journal_mode = WAL"))
  yield* attempt(() => execute(`PRAGMA synchronous = ${options.durability === "fsync" ? "FULL" : "NORMAL"}`))

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

  const transaction = (statements: Parameters<SqliteClient["transact"]>[0]) => {
    const [text, values] = statements[0]
    if (statements.length === 1) return runGuard(text, values)
    run("BEGIN IMMEDIATE")
    try {
      const isMet = runGuard(text, values)
      for (const statement of isMet ? statements.slice(1) : []) run(...statement)
      run("COMMIT")
      return isMet
    } catch (cause) {
      if (db.isTransaction) run("ROLLBACK")
      throw cause
    }
  }
  const inTurn = <A>(waiting: Effect.Effect<A, SqlError.SqlError>) => acquirers.borrower(() => waiting)
  const transact: SqliteClient["transact"] = (statements) => {
    const all = () => transaction(statements)
    return Effect.suspend(() => isTransaction() ? inTurn(attempt(all)) : runNow(all, inTurn))
  }
  return Object.assign(client, { transact })
})

export const layer = (options: Options): Layer.Layer<SqlClient.SqlClient, SqlError.SqlError> =>
  Layer.effect(SqlClient.SqlClient, make(options)).pipe(Layer.provide(Reactivity.layer))

/** SQLITE_BUSY and SQLITE_LOCKED, with their extensions. */
const isLocked = (cause: unknown): boolean => {
  const code = SqliteErrors.codeOf(cause)
  return code !== undefined && ((code & 0xff) === 5 || (code & 0xff) === 6)
}

const sqlError = (cause: unknown, operation: string): SqlError.SqlError => {
  const code = SqliteErrors.codeOf(cause)
  return new SqlError.SqlError({
    reason: SqlError.classifySqliteError(
      code === undefined ? cause : Object.assign(cause as Error, { errno: code }),
      { message: `SQLite failed to ${operation}`, operation }
    )
  })
}

/**
 * Runs a statement on the files that were opened, at once when it is called; the effect runs it again while another connection
 * holds a lock that it needs, at most for `timeout`, and `inTurn` makes of that what other fibers are to wait for. Outside of
 * a transaction what found a lock has done nothing. Waits on the clock instead of in SQLite, which would block the process,
 * and with it the very transaction it waits for when that is another connection of this process.
 */
const unlocked = (db: DatabaseSync, timeout: Duration.Input) => {
  const guarded = SqliteFile.guarded(db)
  const schedule = Schedule.min([Schedule.exponential("1 millis"), Schedule.spaced("25 millis")]).pipe(
    Schedule.upTo({ duration: timeout })
  )
  type Attempt<A> = Effect.Effect<A, SqlError.SqlError>
  return <A>(statement: () => A, inTurn: (waiting: Attempt<A>) => Attempt<A> = identity): Attempt<A> => {
    try {
      return Effect.succeed(guarded(statement))
    } catch (cause) {
      if (!isLocked(cause) || db.isTransaction) return Effect.fail(sqlError(cause, "execute"))
      const again = Effect.try({ try: () => guarded(statement), catch: (cause) => sqlError(cause, "execute") })
      return inTurn(Effect.retry(again, { schedule, while: (error) => isLocked(error.reason.cause) }))
    }
  }
}

/** Prepares each text once. The bound is for a client that is used for more than a store, whose texts are few. */
const prepared = (db: DatabaseSync) => {
  const cacheSize = 200
  const cache = new Map<string, { readonly statement: StatementSync; readonly returnsRows: boolean }>()
  const prepare = (text: string) => {
    const statement = db.prepare(text)
    const found = { statement, returnsRows: statement.columns().length > 0 }
    if (cache.size >= cacheSize) cache.clear()
    cache.set(text, found)
    return found
  }
  const run = (text: string, values: ReadonlyArray<SQLInputValue> = [], shape: Shape = "objects"): Rows => {
    const { returnsRows, statement } = cache.get(text) ?? prepare(text)
    if (!returnsRows) {
      const result = statement.run(...values)
      return shape === "raw" ? result as unknown as Rows : []
    }
    statement.setReturnArrays(shape === "arrays")
    return statement.all(...values)
  }
  /** Whether a statement returned a row or changed one. */
  const runGuard = (text: string, values: ReadonlyArray<SQLInputValue>): boolean => {
    const { returnsRows, statement } = cache.get(text) ?? prepare(text)
    return returnsRows ? statement.all(...values).length > 0 : statement.run(...values).changes > 0
  }
  return { run, runGuard }
}

const toSqlite = (value: unknown): SQLInputValue => {
  if (typeof value === "boolean") return value ? 1 : 0
  if (value instanceof Date) return value.toISOString()
  return value === undefined ? null : value as SQLInputValue
}

const connectionOf = (
  run: (text: string, params: ReadonlyArray<unknown>, shape: Shape) => Effect.Effect<Rows, SqlError.SqlError>
): SqlConnection.Connection => {
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
