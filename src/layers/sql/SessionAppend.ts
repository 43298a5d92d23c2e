/**
 * What an append to a session is, and the statements for it that engines share.
 *
 * Does not own how an engine appends under the fence (`SqliteAppend`, `PgAppend`), nor what follows when the answer is lost
 * (`SessionWriter`).
 */
import * as Arr from "effect/Array"
import type * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as SessionRows from "./SessionRows.ts"

/** The session before and after an append, provided that `epoch` is still its fence and `before` what is stored of it. */
export interface Head {
  readonly session: SessionRows.SessionRow["session"]
  readonly epoch: SessionRows.SessionRow["epoch"]
  readonly before: SessionStore.SessionInfo
  readonly next: SessionStore.SessionInfo
}

/** Events as they are in their table. */
export type Rows = Arr.NonEmptyReadonlyArray<SessionRows.EventRow>

/**
 * Stores events and the head, all or nothing. Where the fence has moved, stores nothing and returns `false`; where another's
 * event has the place, fails with the error of a duplicate key.
 */
export type Append = (head: Head, rows: Rows) => Effect.Effect<boolean, SqlError.SqlError>

/** Values that every database takes as they are. */
type Values = ReadonlyArray<string | number | null>

/** A text in the dialect of the database, with its parameters. */
export type Statement = readonly [text: string, values: Values]

export type Statements = Arr.NonEmptyReadonlyArray<Statement>

/** Brings the row of a session up to date, with `rowValues` and the session as its parameters. */
export const rowUpdate = (sql: SqlClient.SqlClient) =>
  sql`
    UPDATE fiberloop_sessions
    SET head = ${0}, title = ${""}, turns = ${0}, ended = ${""}, updated_at = ${0}, parent = ${""}
    WHERE session = ${0}`

export const rowValues = (info: SessionStore.SessionInfo) =>
  [
    info.head,
    SessionRows.toText(info.title),
    info.turns,
    info.end ?? null,
    info.updatedAt,
    SessionRows.toParent(info)
  ] as const

/** Statements that store events without a fence. */
export const inserts = (sql: SqlClient.SqlClient) => {
  const toInsert = sql.onDialectOrElse({
    pg: () => {
      const insert = inserting(insertByNumber(sql))
      return (session: Head["session"], rows: Rows) => insert([], rows.map((row) => [session, ...row]))
    },
    orElse: () => {
      const insert = insertingByKey("SELECT ? AS session")
      return (session: Head["session"], rows: Rows) => insert([session], rows)
    }
  })
  return (session: Head["session"], rows: Rows): Statements => Arr.map(partsOf(rows), (part) => toInsert(session, part))
}

/** Events in one INSERT; bounded by the number of parameters that databases take. */
const rowsPerInsert = 100

/** Parts of at most that size, in the order of the rows; `Arr.chunksOf` would copy all that is left for each. */
export const partsOf = (rows: Rows): Arr.NonEmptyReadonlyArray<Rows> => {
  if (rows.length <= rowsPerInsert) return [rows]
  const partAt = (i: number) => rows.slice(i * rowsPerInsert, (i + 1) * rowsPerInsert) as unknown as Rows
  return Arr.makeBy(Math.ceil(rows.length / rowsPerInsert), partAt)
}

/** Stores one part; `before` holds the parameters before those of the rows. Makes each text once per number of rows. */
const inserting = (textOf: (rows: number) => string) => {
  const texts: Array<string> = []
  return (before: Values, rows: ReadonlyArray<Values>): Statement => {
    const values = [...before]
    for (const row of rows) values.push(...row)
    return [texts[rows.length] ??= textOf(rows.length), values]
  }
}

const insertByNumber = (sql: SqlClient.SqlClient) => (rows: number): string => {
  const row = { session: 0, seq: 0, run: "", type: "", version: 0, at: 0, body: "" }
  return sql`INSERT INTO fiberloop_events ${sql.insert(Arr.makeBy(rows, () => row))}`.compile()[0]
}

/** Stores one part in the session that a query returns, nothing where that returns no row. */
export const insertingByKey = (session: string) => {
  const insert = inserting(insertByKey(session))
  return (before: Values, rows: Rows): Statement => insert(before, SessionRows.withNewRuns(rows))
}

const insertByKey = (session: string) => (rows: number): string =>
  `INSERT INTO fiberloop_log (key, new_run, type, version, at, body)
  SELECT session << 32 | column1, column2, column3, column4, column5, column6
  FROM (${session}), (VALUES ${Array(rows).fill("(?, ?, ?, ?, ?, ?)").join(", ")})`
