/**
 * The hot path of a session in SQLite: appends events under the fence, by prepared statements, all or nothing. Mostly that is
 * one statement; few appends also update the row of the session.
 *
 * Does not own what follows when the answer is lost (`SessionWriter`), nor events that need no fence (`SessionLog`).
 */
import type * as Arr from "effect/Array"
import type * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as SessionAppend from "../sql/SessionAppend.ts"

/** Runs statements as one transaction that the first one guards: when that changes no row, nothing is written; returns `false`. */
type Transact = (statements: SessionAppend.Statements) => Effect.Effect<boolean, SqlError.SqlError>

export const make = (sql: SqlClient.SqlClient, transact: Transact): SessionAppend.Append => {
  const toStatements = throughFence(sql)
  return (head, rows) => transact(toStatements(head, rows))
}

/** How many events the row of a session may lag. */
const rowEvery = 128

/** Stores the events if the row of the session still matches the fence, and updates that row when that is due. */
const throughFence = (sql: SqlClient.SqlClient) => {
  const fence = "SELECT session FROM fiberloop_sessions WHERE session = ? AND epoch = ? AND owner IS NOT NULL"
  const toFenced = SessionAppend.insertingByKey(fence)
  const toInsert = SessionAppend.insertingByKey("SELECT ? AS session")
  const row = SessionAppend.rowUpdate(sql).compile()[0]
  return (head: SessionAppend.Head, rows: SessionAppend.Rows): SessionAppend.Statements => {
    const { epoch, next, session } = head
    const [first, ...more] = SessionAppend.partsOf(rows)
    const statements: Arr.NonEmptyArray<SessionAppend.Statement> = [toFenced([session, epoch], first)]
    for (const part of more) statements.push(toInsert([session], part))
    if (isDue(head)) statements.push([row, [...SessionAppend.rowValues(next), session]])
    return statements
  }
}

/** The row must hold whatever the view of sessions does not derive from the events newer than it. */
const isDue = ({ before, next }: SessionAppend.Head): boolean =>
  before.head === 0 || before.title !== next.title || before.end !== next.end
  || Math.floor(before.head / rowEvery) !== Math.floor(next.head / rowEvery)
