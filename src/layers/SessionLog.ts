/**
 * The events of a session in their table: fenced appends, and reading on from a cursor.
 *
 * An append is one transaction of prepared statements, whatever the number of events. Reading trusts rows of the version
 * that this code writes: they are parsed, not decoded. Those of older versions are migrated, the rows stay as they are.
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as EventMigrations from "../run/EventMigrations.ts"
import * as RunEvent from "../run/RunEvent.ts"
import type * as SessionStore from "../services/SessionStore.ts"
import type { Claim } from "./SessionClaims.ts"
import * as SessionErrors from "./SessionErrors.ts"
import * as SessionRows from "./SessionRows.ts"

type Fault = SqlError.SqlError | SessionStore.StoreError

export interface SessionLog {
  /** Stores `events`, after which the session shows `next`; stores nothing and is `false` once another moved the fence. */
  readonly append: (
    claim: Claim,
    events: Arr.NonEmptyReadonlyArray<RunEvent.Durable>,
    before: SessionStore.SessionInfo,
    next: SessionStore.SessionInfo
  ) => Effect.Effect<boolean, SqlError.SqlError>
  /** Stores `events` without a fence, in the transaction under way. */
  readonly add: (
    session: Claim["session"],
    events: Arr.NonEmptyReadonlyArray<RunEvent.Durable>
  ) => Effect.Effect<void, SqlError.SqlError>
  /** Fails where a newer version wrote the last event of the log, so that this one may not go on with it. */
  readonly check: (sessionId: string) => Effect.Effect<void, Fault>
  /** `seq` of the last event of this type, from its index. */
  readonly lastOf: (
    sessionId: string,
    type: SessionStore.Landmark,
    runId?: string
  ) => Effect.Effect<number | undefined, SqlError.SqlError>
  /** A cursor at `from`: each call reads on, up to `to`, and gives a page; an empty one when it is past `to`. */
  readonly cursor: (row: { readonly session: Claim["session"]; readonly id: string }, from: number) => Cursor
}

/** A text in the dialect of the database, with its parameters. */
export type Statement = readonly [text: string, params: ReadonlyArray<unknown>]

/**
 * Runs statements as one transaction that the first one guards: when that returns no row, nothing is written and the
 * result is `false`. An engine may have a faster way than the statements of effect/sql.
 */
export type Transact = (statements: Arr.NonEmptyReadonlyArray<Statement>) => Effect.Effect<boolean, SqlError.SqlError>

const transactWith = (sql: SqlClient.SqlClient): Transact => ([guard, ...rest]) =>
  sql.withTransaction(Effect.gen(function*() {
    const rows = yield* sql.unsafe(...guard)
    if (rows.length === 0) return false
    for (const statement of rest) yield* sql.unsafe(...statement)
    return true
  }))

export type Cursor = (to: number) => Effect.Effect<ReadonlyArray<RunEvent.Durable>, Fault>

/** Events of one INSERT; bounded by the number of parameters that databases take. */
const rowsPerInsert = 100
/** Events of one page. Large events shrink the next one to about this many characters. */
const rowsPerPage = 500
const charactersPerPage = 4 * 1024 * 1024

export const make = (
  sql: SqlClient.SqlClient,
  steps: EventMigrations.Steps,
  transact: Transact = transactWith(sql)
): SessionLog => {
  // The hot path: texts are made once for the dialect, then go to the connection as they are.
  const fence = sql`
    UPDATE fiberloop_sessions SET head = ${0}, title = ${""}, turns = ${0}, ended = ${""}, updated_at = ${0}
    WHERE session = ${0} AND epoch = ${0} AND head = ${0} RETURNING session`.compile()[0]
  const inserts = new Map<number, string>()
  const insertOf = (rows: number): string => {
    const row = { session: 0, seq: 0, run: "", type: "", version: 0, at: 0, body: "" }
    const text = inserts.get(rows)
      ?? sql`INSERT INTO fiberloop_events ${sql.insert(Arr.makeBy(rows, () => row))}`.compile()[0]
    inserts.set(rows, text)
    return text
  }

  const insertsOf = (session: Claim["session"], events: ReadonlyArray<RunEvent.Durable>): ReadonlyArray<Statement> => {
    const statements: Array<Statement> = []
    for (let i = 0; i < events.length; i += rowsPerInsert) {
      const part = events.slice(i, i + rowsPerInsert)
      const values: Array<unknown> = []
      for (const event of part) {
        const body = SessionRows.toBody(event)
        values.push(session, event.seq, event.runId, event._tag, event.version, event.at, body)
      }
      statements.push([insertOf(part.length), values])
    }
    return statements
  }

  const append: SessionLog["append"] = ({ epoch, session }, events, before, next) => {
    const title = SessionRows.toTitle(next.title)
    const head = [next.head, title, next.turns, next.end ?? null, next.updatedAt, session, epoch, before.head]
    return Effect.catchIf(
      transact([[fence, head], ...insertsOf(session, events)]),
      isConflict,
      () => Effect.succeed(false)
    )
  }

  const add: SessionLog["add"] = (session, events) =>
    Effect.forEach(insertsOf(session, events), (statement) => sql.unsafe(...statement), { discard: true })

  const check: SessionLog["check"] = Effect.fnUntraced(function*(sessionId) {
    const [last] = yield* sql<{ readonly seq: number; readonly version: number }>`
      SELECT e.seq, e.version FROM fiberloop_sessions s JOIN fiberloop_events e ON e.session = s.session AND e.seq = s.head
      WHERE s.id = ${sessionId}`
    if (last !== undefined && last.version > RunEvent.version) {
      return yield* Effect.fail(SessionErrors.newerVersion(sessionId, last))
    }
  })

  const lastOf: SessionLog["lastOf"] = (sessionId, type, runId) => {
    const ofRun = runId === undefined ? sql.literal("") : sql`AND e.run = ${runId}`
    // not a parameter: an index of some rows is for queries whose text says that they want no others
    return Effect.map(
      sql<{ readonly seq: number }>`
        SELECT e.seq FROM fiberloop_sessions s JOIN fiberloop_events e ON e.session = s.session
        WHERE s.id = ${sessionId} AND e.type = ${sql.literal(`'${type}'`)} ${ofRun} ORDER BY e.seq DESC LIMIT 1`,
      (rows) => rows[0]?.seq
    )
  }

  const cursor: SessionLog["cursor"] = ({ id, session }, from) => {
    let next = Math.max(1, from)
    let limit = 100
    return (to) =>
      Effect.suspend(() => {
        if (next > to) return Effect.succeed([])
        return Effect.flatMap(
          sql`
            SELECT seq, run, type, version, at, body FROM fiberloop_events
            WHERE session = ${session} AND seq >= ${next} AND seq <= ${to} ORDER BY seq LIMIT ${limit}`.values,
          (values) => {
            const rows = values as ReadonlyArray<SessionRows.EventRow>
            const characters = rows.reduce((sum, row) => sum + row[5].length, 1)
            limit = Math.max(1, Math.min(rowsPerPage, Math.floor(charactersPerPage * rows.length / characters)))
            return Effect.map(toEvents(id, next, rows, steps), (events) => {
              next += events.length
              return events
            })
          }
        )
      })
  }

  return { append, add, check, lastOf, cursor }
}

/** Engines differ in what they call an event that is there already. */
const isConflict = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "UniqueViolation" || reason._tag === "ConstraintError"

/** The events of `rows`, of which the first is event `from`; refuses rows that are missing, damaged, or of a newer version. */
const toEvents = (
  sessionId: string,
  from: number,
  rows: ReadonlyArray<SessionRows.EventRow>,
  steps: EventMigrations.Steps
) => {
  const events: Array<RunEvent.Durable> = []
  for (const row of rows) {
    const [seq, , , version] = row
    if (seq !== from + events.length) break
    if (version > RunEvent.version) return Effect.fail(SessionErrors.newerVersion(sessionId, { seq, version }))
    const stored = SessionRows.toEvent(row)
    if (stored === undefined) return Effect.fail(SessionErrors.damaged(sessionId, seq, "holds no JSON"))
    const event = EventMigrations.migrate(stored, steps)
    if (event === undefined) return Effect.fail(SessionErrors.unreadable(sessionId, { seq, version }))
    events.push(event)
  }
  return events.length > 0 && events.length === rows.length
    ? Effect.succeed(events)
    : Effect.fail(SessionErrors.damaged(sessionId, from + events.length, "is missing"))
}
