/**
 * The hot path of a session in SQLite: the events behind their fence, as prepared statements, all or nothing. Mostly it is one
 * statement, and the row of the session follows in few of the appends.
 *
 * Does not own what follows where its answer gets lost (`SessionWriter`), nor events that need no fence (`SessionLog`).
 */
import type * as Arr from "effect/Array"
import type * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as SessionAppend from "../sql/SessionAppend.ts"

/** Runs statements as one transaction that the first one guards: when that changes no row, nothing is written and it is `false`. */
type Transact = (statements: SessionAppend.Statements) => Effect.Effect<boolean, SqlError.SqlError>

export const make = (sql: SqlClient.SqlClient, transact: Transact): SessionAppend.Append => {
  const toStatements = throughFence(sql)
  return (head, rows) => transact(toStatements(head, rows))
}

/** How many events the row of a session may be behind. */
const rowEvery = 128

/** The events are stored where the row of the session is still as the fence has it; that row follows where it is due. */
const throughFence = (sql: SqlClient.SqlClient) => {
  const fence = "SELECT session FROM fiberloop_sessions WHERE session = ? AND epoch = ? AND owner IS NOT NULL"
  const toFenced = SessionAppend.inserting(SessionAppend.insertByKey(fence))
  const toInsert = SessionAppend.inserting(SessionAppend.insertByKey("SELECT ? AS session"))
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

/** What the view of sessions does not make of the events newer than a row must stand in the row. */
const isDue = ({ before, next }: SessionAppend.Head): boolean =>
  before.head === 0 || before.title !== next.title || before.end !== next.end
  || Math.floor(before.head / rowEvery) !== Math.floor(next.head / rowEvery)
