/**
 * The hot path of a session in SQL: the fence and the events behind it, as one transaction of prepared statements, whatever
 * the number of events. Postgres has a faster way, in `PgAppend`.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as SessionRows from "./SessionRows.ts"

/** What becomes of the row of a session, where `epoch` is still its fence and `before` its head. */
export interface Head {
  readonly session: SessionRows.SessionRow["session"]
  readonly epoch: SessionRows.SessionRow["epoch"]
  readonly before: number
  readonly next: SessionStore.SessionInfo
}

/** Stores `events` and the head, all or nothing; nothing and `false` where the fence has moved. */
export type Append = (
  head: Head,
  events: Arr.NonEmptyReadonlyArray<RunEvent.Durable>
) => Effect.Effect<boolean, SqlError.SqlError>

/** Values that every database takes as they are. */
export type Values = ReadonlyArray<string | number | null>

/** A text in the dialect of the database, with its parameters. */
export type Statement = readonly [text: string, values: Values]

/**
 * Runs statements as one transaction that the first one guards: when that changes no row, nothing is written and the
 * result is `false`. An engine may have a faster way than the statements of effect/sql.
 */
export type Transact = (statements: Arr.NonEmptyReadonlyArray<Statement>) => Effect.Effect<boolean, SqlError.SqlError>

const transactWith = (sql: SqlClient.SqlClient): Transact => ([[guard, values], ...rest]) =>
  sql.withTransaction(Effect.gen(function*() {
    const rows = yield* sql.unsafe(`${guard} RETURNING 1`, values)
    if (rows.length === 0) return false
    for (const statement of rest) yield* sql.unsafe(...statement)
    return true
  }))

export const make = (sql: SqlClient.SqlClient, transact: Transact = transactWith(sql)): Append => {
  const fence = fenceOf(sql)
  const toInserts = inserts(sql)
  return (head, events) => transact([[fence, fenceValues(head)], ...toInserts(head.session, events)])
}

/** The text that moves the head of a session where the fence still stands, with `fenceValues` as its parameters. */
export const fenceOf = (sql: SqlClient.SqlClient): string =>
  sql`
    UPDATE fiberloop_sessions SET head = ${0}, title = ${""}, turns = ${0}, ended = ${""}, updated_at = ${0}
    WHERE session = ${0} AND epoch = ${0} AND head = ${0}`.compile()[0]

export const fenceValues = ({ before, epoch, next, session }: Head): Values => [
  next.head,
  SessionRows.toTitle(next.title),
  next.turns,
  next.end ?? null,
  next.updatedAt,
  session,
  epoch,
  before
]

/** Events of one INSERT; bounded by the number of parameters that databases take. */
const rowsPerInsert = 100

/** Statements that store events without a fence. Their texts are made once for the dialect. */
export const inserts = (sql: SqlClient.SqlClient) => {
  const texts = new Map<number, string>()
  const textOf = (rows: number): string => {
    const row = { session: 0, seq: 0, run: "", type: "", version: 0, at: 0, body: "" }
    const text = texts.get(rows)
      ?? sql`INSERT INTO fiberloop_events ${sql.insert(Arr.makeBy(rows, () => row))}`.compile()[0]
    texts.set(rows, text)
    return text
  }
  return (session: Head["session"], events: ReadonlyArray<RunEvent.Durable>): ReadonlyArray<Statement> => {
    const statements: Array<Statement> = []
    for (let from = 0; from < events.length; from += rowsPerInsert) {
      const part = events.slice(from, from + rowsPerInsert)
      statements.push([textOf(part.length), valuesOf(session, part)])
    }
    return statements
  }
}

const valuesOf = (session: Head["session"], events: ReadonlyArray<RunEvent.Durable>): Values => {
  const values: Array<string | number> = []
  for (const event of events) values.push(session, ...SessionRows.toRow(event))
  return values
}
