/**
 * The hot path of a session in SQLite: the events behind their fence, as prepared statements, all or nothing. Mostly it is one
 * statement, and the row of the session follows in few of the appends. Of Postgres (`PgAppend`) only what both need.
 *
 * Does not own what follows where its answer gets lost (`SessionWriter`), nor events that need no fence (`SessionLog`).
 */
import * as Arr from "effect/Array"
import type * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as SessionRows from "./SessionRows.ts"

/** What becomes of a session, where `epoch` is still its fence and `before` what is stored of it. */
export interface Head {
  readonly session: SessionRows.SessionRow["session"]
  readonly epoch: SessionRows.SessionRow["epoch"]
  readonly before: SessionStore.SessionInfo
  readonly next: SessionStore.SessionInfo
}

/** Events as they stand in their table. */
export type Rows = Arr.NonEmptyReadonlyArray<SessionRows.EventRow>

/**
 * Stores events and the head, all or nothing; nothing and `false` where the fence has moved, or the error of a key that is
 * taken where another's event stands there.
 */
export type Append = (head: Head, rows: Rows) => Effect.Effect<boolean, SqlError.SqlError>

/** Values that every database takes as they are. */
type Values = ReadonlyArray<string | number | null>

/** A text in the dialect of the database, with its parameters. */
type Statement = readonly [text: string, values: Values]

type Statements = Arr.NonEmptyReadonlyArray<Statement>

/** Runs statements as one transaction that the first one guards: when that changes no row, nothing is written and it is `false`. */
type Transact = (statements: Statements) => Effect.Effect<boolean, SqlError.SqlError>

export const make = (sql: SqlClient.SqlClient, transact: Transact): Append => {
  const toStatements = throughFence(sql)
  return (head, rows) => transact(toStatements(head, rows))
}

/** Brings the row of a session up to date, with `rowValues` and the session as its parameters. */
export const rowUpdate = (sql: SqlClient.SqlClient) =>
  sql`
    UPDATE fiberloop_sessions SET head = ${0}, title = ${""}, turns = ${0}, ended = ${""}, updated_at = ${0}
    WHERE session = ${0}`

export const rowValues = (info: SessionStore.SessionInfo) =>
  [info.head, SessionRows.toTitle(info.title), info.turns, info.end ?? null, info.updatedAt] as const

/** How many events the row of a session may be behind. */
const rowEvery = 128

/** The events are stored where the row of the session is still as the fence has it; that row follows where it is due. */
const throughFence = (sql: SqlClient.SqlClient): (head: Head, rows: Rows) => Statements => {
  const fence = "SELECT session FROM fiberloop_sessions WHERE session = ? AND epoch = ? AND owner IS NOT NULL"
  const toFenced = inserting(insertByKey(fence))
  const toInsert = inserting(insertByKey("SELECT ? AS session"))
  const row = rowUpdate(sql).compile()[0]
  return (head, rows) => {
    const { epoch, next, session } = head
    const [first, ...more] = partsOf(rows)
    const statements: Arr.NonEmptyArray<Statement> = [toFenced([session, epoch], first)]
    for (const part of more) statements.push(toInsert([session], part))
    if (isDue(head)) statements.push([row, [...rowValues(next), session]])
    return statements
  }
}

/** What the view of sessions does not make of the events behind a row must stand in the row. */
const isDue = ({ before, next }: Head): boolean =>
  before.head === 0 || before.title !== next.title || before.end !== next.end
  || Math.floor(before.head / rowEvery) !== Math.floor(next.head / rowEvery)

/** Statements that store events without a fence. */
export const inserts = (sql: SqlClient.SqlClient) => {
  const toInsert = sql.onDialectOrElse({
    pg: () => {
      const insert = inserting(insertByNumber(sql))
      return (session: Head["session"], rows: Rows) => insert([], rows.map((row) => [session, ...row]))
    },
    orElse: () => {
      const insert = inserting(insertByKey("SELECT ? AS session"))
      return (session: Head["session"], rows: Rows) => insert([session], rows)
    }
  })
  return (session: Head["session"], rows: Rows): Statements => Arr.map(partsOf(rows), (part) => toInsert(session, part))
}

/** Events of one INSERT; bounded by the number of parameters that databases take. */
const rowsPerInsert = 100

const partsOf = (rows: Rows): Arr.NonEmptyReadonlyArray<Rows> =>
  rows.length <= rowsPerInsert ? [rows] : Arr.chunksOf(rows, rowsPerInsert)

/** Stores one part, `before` being the parameters before those of the rows. Texts are made once for each number of rows. */
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

/** Events of the session that a query gives, and none where it gives no row. */
const insertByKey = (session: string) => (rows: number): string =>
  `INSERT INTO fiberloop_log (key, run, type, version, at, body)
  SELECT session << 32 | column1, column2, column3, column4, column5, column6
  FROM (${session}), (VALUES ${Array(rows).fill("(?, ?, ?, ?, ?, ?)").join(", ")})`
