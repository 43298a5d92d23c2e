/**
 * The hot path of a session in SQLite: appends events under the fence, by prepared statements, all or nothing. Mostly that is
 * one statement; few appends also update the row of the session.
 *
 * Does not own what follows when the answer is lost (`SessionWriter`).
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as SessionAppend from "../sql/SessionAppend.ts"
import * as SessionRows from "../sql/SessionRows.ts"

/** A text with its parameters. */
type Statement = readonly [text: string, values: Values]
type Values = ReadonlyArray<string | number | null>

/** Runs statements as one transaction that the first one guards: when that changes no row, nothing is written; returns `false`. */
type Transact = (statements: Arr.NonEmptyReadonlyArray<Statement>) => Effect.Effect<boolean, SqlError.SqlError>

export const make = (sql: SqlClient.SqlClient, transact: Transact): SessionAppend.Appending => {
  const toStatements = throughFence(sql)
  return {
    append: (head, rows) => transact(toStatements(head, rows)),
    add: (session, rows) =>
      Effect.forEach(partsOf(rows), (part) => sql.unsafe(...insert([session], part)), { discard: true })
  }
}

const dropAborts = "DELETE FROM fiberloop_aborts WHERE session = ? AND owner <> ?"

/** How many events the row of a session may lag. */
const rowEvery = 128

/** Stores the events if the row of the session still matches the fence, and updates that row when that is due. */
const throughFence = (sql: SqlClient.SqlClient) => {
  const fence = "SELECT session FROM fiberloop_sessions WHERE session = ? AND epoch = ? AND owner IS NOT NULL"
  const insertFenced = inserting(fence)
  const row = SessionAppend.rowUpdate(sql).compile()[0]
  return (head: SessionAppend.Head, rows: SessionAppend.Rows): Arr.NonEmptyReadonlyArray<Statement> => {
    const { epoch, next, onlyAbortsOf, session } = head
    const [first, ...more] = partsOf(rows)
    const statements: Arr.NonEmptyArray<Statement> = [insertFenced([session, epoch], first)]
    for (const part of more) statements.push(insert([session], part))
    if (isDue(head)) statements.push([row, [...SessionAppend.rowValues(next), session]])
    if (onlyAbortsOf !== undefined) statements.push([dropAborts, [session, onlyAbortsOf]])
    return statements
  }
}

/** The row must hold whatever the view of sessions does not derive from the events newer than it. */
const isDue = ({ before, next }: SessionAppend.Head): boolean =>
  before.head === 0 || before.title !== next.title || before.end !== next.end
  || Math.floor(before.head / rowEvery) !== Math.floor(next.head / rowEvery)

/** Events in one INSERT; bounded by the number of parameters that SQLite takes. */
const rowsPerInsert = 100

/** Parts of at most that size, in the order of the rows; `Arr.chunksOf` would copy all that is left for each. */
const partsOf = (rows: SessionAppend.Rows): Arr.NonEmptyReadonlyArray<SessionAppend.Rows> => {
  if (rows.length <= rowsPerInsert) return [rows]
  const partAt = (i: number) => rows.slice(i * rowsPerInsert, (i + 1) * rowsPerInsert) as unknown as SessionAppend.Rows
  return Arr.makeBy(Math.ceil(rows.length / rowsPerInsert), partAt)
}

/**
 * Stores one part in the session that a query returns, nothing where that returns no row; `before` holds the parameters of the
 * query. Makes each text once per number of rows.
 */
const inserting = (session: string) => {
  const texts: Array<string> = []
  return (before: Values, rows: SessionAppend.Rows): Statement => {
    const values = [...before]
    for (const row of SessionRows.withNewRuns(rows)) values.push(...row)
    return [texts[rows.length] ??= insertInto(session, rows.length), values]
  }
}

const insertInto = (session: string, rows: number): string =>
  `INSERT INTO fiberloop_log (key, new_run, type, version, at, body)
  SELECT session << 32 | column1, column2, column3, column4, column5, column6
  FROM (${session}), (VALUES ${Array(rows).fill("(?, ?, ?, ?, ?, ?)").join(", ")})`

const insert = inserting("SELECT ? AS session")
