/**
 * Appending to a session in Postgres: fence and events in one statement, so that an append is one round trip and its
 * outcome is one answer. Only an append that is too large for one message takes a transaction of several.
 */
import * as PgTypes from "@effect/sql-pg/PgTypes"
import type * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as SqlClient from "effect/sql/SqlClient"
import * as SessionAppend from "../sql/SessionAppend.ts"
import type * as SessionRows from "../sql/SessionRows.ts"
import * as Transaction from "../sql/Transaction.ts"

/** A message of Postgres holds a gigabyte; a character takes up to three bytes. */
const charactersPerStatement = 64 * 1024 * 1024

export const make = (sql: SqlClient.SqlClient): SessionAppend.Appending => {
  const fence = fenceOf(sql)
  const columns = "session, seq, run, type, version, at, body"
  const storing = (beside: string) => `
    WITH fence AS (${fence} RETURNING session), stored AS (
      INSERT INTO fiberloop_events (${columns})
      SELECT fence.session, event.* FROM fence, ${eventsFrom(10)}
    )${beside}
    SELECT session FROM fence`
  const first = storing("")
  const firstAfterAborts = storing(`, dropped AS (
      DELETE FROM fiberloop_aborts USING fence WHERE fiberloop_aborts.session = fence.session AND owner <> $16
    )`)
  const more = `INSERT INTO fiberloop_events (${columns}) SELECT $1::bigint, event.* FROM ${eventsFrom(2)}`

  const store = (session: SessionAppend.Head["session"], pages: ReadonlyArray<Page>) =>
    Effect.forEach(pages, (page) => sql.unsafe(more, [session, ...arraysOf(page)]), { discard: true })

  return {
    append: (head, rows) => {
      const [page, ...pages] = pagesOf(rows)
      const { onlyAbortsOf } = head
      const values = [...fenceValues(head), ...arraysOf(page)]
      const fenced = Effect.map(
        onlyAbortsOf === undefined
          ? sql.unsafe(first, values)
          : sql.unsafe(firstAfterAborts, [...values, onlyAbortsOf]),
        (rows) => rows.length > 0
      )
      return pages.length === 0 ? fenced : Transaction.run(
        sql,
        Effect.tap(fenced, (isMet) => isMet ? store(head.session, pages) : Effect.void)
      )
    },
    add: (session, rows) => store(session, pagesOf(rows))
  }
}

/** The text that moves a session's head where the fence still holds, with `fenceValues` as its parameters. */
const fenceOf = (sql: SqlClient.SqlClient): string =>
  sql`${SessionAppend.rowUpdate(sql)} AND epoch = ${0} AND head = ${0}`.compile()[0]

const fenceValues = ({ before, epoch, next, session }: SessionAppend.Head): ReadonlyArray<string | number | null> => [
  ...SessionAppend.rowValues(next),
  session,
  epoch,
  before.head
]

/** The rows in the parameters from `$n` on, one column each, in the order of `EventRow`. */
const eventsFrom = (n: number): string =>
  `unnest($${n}::int[], $${n + 1}::text[], $${n + 2}::text[], $${n + 3}::int[], $${n + 4}::bigint[], $${n + 5}::text[])
    AS event (seq, run, type, version, at, body)`

const { int4, int8, text } = PgTypes.OID

const arraysOf = (rows: Page): ReadonlyArray<unknown> => [
  array(rows.map((row) => row[0]), int4),
  array(rows.map((row) => row[1]), text),
  array(rows.map((row) => row[2]), text),
  array(rows.map((row) => row[3]), int4),
  array(rows.map((row) => BigInt(row[4])), int8),
  array(rows.map((row) => row[5]), text)
]

const array = (values: ReadonlyArray<unknown>, oid: number): PgTypes.Parameter =>
  Result.getOrThrow(PgTypes.array(values, oid))

type Page = ReadonlyArray<SessionRows.EventRow>

const pagesOf = (rows: SessionAppend.Rows): Arr.NonEmptyReadonlyArray<Page> => {
  const [first, ...rest] = rows
  let page = [first]
  const pages: Arr.NonEmptyArray<Page> = [page]
  let characters = first[5].length
  for (const row of rest) {
    characters += row[5].length
    if (characters > charactersPerStatement) {
      page = []
      pages.push(page)
      characters = row[5].length
    }
    page.push(row)
  }
  return pages
}
