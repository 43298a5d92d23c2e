/**
 * The events of a session in their table: adding to them without a fence, and reading on from a cursor.
 *
 * Reading trusts rows of the version that this code writes: they are parsed, not decoded. Those of older versions are
 * migrated when read; the rows stay as they are.
 *
 * Does not own what a writer appends (`SessionAppend`), nor logs as streams (`SessionReading`).
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as EventMigrations from "../../run/log/EventMigrations.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import type * as SessionAppend from "./SessionAppend.ts"
import type { Claim } from "./SessionClaims.ts"
import * as SessionDialect from "./SessionDialect.ts"
import * as SessionRows from "./SessionRows.ts"

type Fault = SqlError.SqlError | SessionStore.StoreError

export interface SessionLog {
  /** Stores `events` without a fence, in the transaction under way. */
  readonly add: (
    session: Claim["session"],
    events: Arr.NonEmptyReadonlyArray<RunEvent.Durable>
  ) => Effect.Effect<void, SqlError.SqlError>
  /** Fails where a newer version wrote the last event of the log, so that this version may not continue it. */
  readonly check: (sessionId: string) => Effect.Effect<void, Fault>
  /** `seq` of the last event of this type; the cost does not grow with the number of runs. */
  readonly lastOf: (
    sessionId: string,
    type: SessionStore.Landmark,
    runId?: string
  ) => Effect.Effect<number | undefined, SqlError.SqlError>
  /** A cursor at `from`: each call reads on, up to `to`, and returns a page; an empty one when it is past `to`. */
  readonly cursor: (row: { readonly session: Claim["session"]; readonly id: string }, from: number) => Cursor
}

export type Cursor = (to: number) => Effect.Effect<ReadonlyArray<RunEvent.Durable>, Fault>

/** Events in one page. Large events shrink the next page to about this many characters. */
const rowsPerPage = 500
const charactersPerPage = 4 * 1024 * 1024

export const make = (
  sql: SqlClient.SqlClient,
  steps: EventMigrations.Steps,
  addRows: SessionAppend.Add
): SessionLog => {
  const { events, order, run, within } = SessionDialect.make(sql)
  const sessionOf = (sessionId: string) => sql`(SELECT session FROM fiberloop_sessions WHERE id = ${sessionId})`

  const add: SessionLog["add"] = (session, events) => addRows(session, Arr.map(events, SessionRows.toRow))

  const check: SessionLog["check"] = Effect.fnUntraced(function*(sessionId) {
    const [last] = yield* sql<{ readonly seq: number; readonly version: number }>`
      SELECT seq, version FROM ${events} WHERE ${within(sessionOf(sessionId), 1, SessionDialect.lastSeq)}
      ORDER BY ${order} DESC LIMIT 1`
    if (last !== undefined && last.version > RunEvent.version) {
      return yield* SessionErrors.newerVersion(sessionId, last)
    }
  })

  const lastOf: SessionLog["lastOf"] = (sessionId, type, runId) => {
    if (SessionErrors.checkIds(sessionId, runId ?? "") !== undefined) return Effect.undefined
    const session = sessionOf(sessionId)
    // not a parameter: a partial index serves only queries whose text has its condition
    const ofType = sql.literal(`type = '${type}'`)
    const ofRun = runId === undefined ? sql.literal("") : sql`AND ${run} = ${runId}`
    // the index of runs is ordered within one run: the last run of all is searched from the end of the log, which it begins near
    const isAnyRun = type === "RunStarted" && runId === undefined
    return Effect.map(
      isAnyRun
        ? sql<{ readonly seq: number }>`
            SELECT seq FROM ${events} WHERE ${within(session, 1, SessionDialect.lastSeq)} AND ${ofType}
            ORDER BY ${order} DESC LIMIT 1`
        : sql<{ readonly seq: number }>`
            SELECT seq FROM ${events} WHERE session = ${session} AND ${ofType} ${ofRun} ORDER BY seq DESC LIMIT 1`,
      (rows) => rows[0]?.seq
    )
  }

  /** The run of an event whose row holds none: that of the last row before it that does. Refuses a log with a gap between them. */
  const runBefore = Effect.fnUntraced(function*(id: string, session: Claim["session"], seq: number) {
    const [holder] = yield* sql<{ readonly seq: number; readonly run: string }>`
      SELECT seq, ${run} AS run FROM ${events} WHERE ${within(session, 1, seq - 1)} AND ${run} <> ''
      ORDER BY ${order} DESC LIMIT 1`
    const from = holder?.seq ?? 1
    const [found] = yield* sql<{ readonly events: number }>`
      SELECT count(*) AS events FROM ${events} WHERE ${within(session, from, seq - 1)}`
    return holder !== undefined && Number(found!.events) === seq - from
      ? holder.run
      : yield* SessionErrors.damaged(id, seq, "has lost its run")
  })

  const cursor: SessionLog["cursor"] = ({ id, session }, from) => {
    let next = from
    let limit = 100
    let isLong = false
    return Effect.fnUntraced(function*(to): Effect.fn.Return<ReadonlyArray<RunEvent.Durable>, Fault> {
      if (next > to) return []
      // a database in this process answers at once, however much there is: others go between two pages
      if (isLong) yield* Effect.yieldNow
      const values = yield* sql`
        SELECT seq, ${run}, type, version, at, body FROM ${events}
        WHERE ${within(session, next, to)} ORDER BY ${order} LIMIT ${limit}`.values
      const rows = values as ReadonlyArray<SessionRows.EventRow>
      let characters = 1
      for (const row of rows) characters += row[5].length
      limit = Math.max(1, Math.min(rowsPerPage, Math.floor(charactersPerPage * rows.length / characters)))
      isLong = next + rows.length <= to
      const [first] = rows
      const isOfRunBefore = first?.[0] === next && first[1] === ""
      const page = yield* toEvents(id, next, rows, isOfRunBefore ? yield* runBefore(id, session, next) : "", steps)
      next += page.length
      return page
    })
  }

  return { add, check, lastOf, cursor }
}

/**
 * The events of `rows`, the first of which is event `from`, and of the run `runBefore` if it holds none; refuses rows that are
 * missing, damaged, or of a newer version.
 */
const toEvents = (
  sessionId: string,
  from: number,
  rows: ReadonlyArray<SessionRows.EventRow>,
  runBefore: string,
  steps: EventMigrations.Steps
) => {
  const events: Array<RunEvent.Durable> = []
  let run = runBefore
  for (const row of rows) {
    const seq = row[0]
    const version = row[3]
    if (seq !== from + events.length) break
    if (version > RunEvent.version) return Effect.fail(SessionErrors.newerVersion(sessionId, { seq, version }))
    run = row[1] || run
    const stored = SessionRows.toEvent(row, run)
    if (stored === undefined) return Effect.fail(SessionErrors.damaged(sessionId, seq, "holds no JSON"))
    const event = stored.version === RunEvent.version ? stored : EventMigrations.migrate(stored, steps)
    if (event === undefined) return Effect.fail(SessionErrors.unreadable(sessionId, { seq, version }))
    events.push(event)
  }
  return events.length > 0 && events.length === rows.length
    ? Effect.succeed(events)
    : Effect.fail(SessionErrors.damaged(sessionId, from + events.length, "is missing"))
}
