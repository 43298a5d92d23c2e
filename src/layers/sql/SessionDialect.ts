/**
 * How sessions and events are found in their tables. In Postgres, an event's key is its session and number, and the row of a
 * session is always up to date. In SQLite an append writes only the end of one tree: an event's key is one integer, the session
 * above 32 bits of number, the row of a session in use may lag behind its last event, and an event whose row holds no run is of
 * the run of the row before it.
 */
import type * as SqlClient from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import type { SessionRow } from "./SessionRows.ts"

type Session = SessionRow["session"] | Fragment

interface SessionDialect {
  /**
   * The current time for leases, in milliseconds; `now` is this process's. In Postgres it is the server's, because the clocks
   * of machines differ.
   */
  readonly leaseTime: (now: number) => Fragment
  /** What sessions are read from: rows that are up to date with each one's last event. */
  readonly sessions: Fragment
  /** True of a row of `sessions` whose log goes on after its last event, as none does that only this code wrote. */
  readonly isBehind: Fragment
  /** Assignments to append to others, in an UPDATE of `fiberloop_sessions`, that bring the row up to date. */
  readonly caughtUp: Fragment
  /** The table of events. */
  readonly events: Fragment
  /** The column of an event's run; in SQLite, events can be looked for by it only if they are landmarks. */
  readonly run: Fragment
  /** What the table of events has instead of `session, seq`. */
  readonly key: Fragment
  /** The key in a session of the event whose number is the column `seq`. */
  readonly keyIn: (session: Session) => Fragment
  /** True of the events of the session from one number to another. */
  readonly within: (session: Session, from: number, to: number) => Fragment
  /** Orders events of one session by their numbers. */
  readonly order: Fragment
}

/** No event has a higher number. */
export const lastSeq = 2 ** 31 - 1

export const make = (sql: SqlClient.SqlClient): SessionDialect =>
  sql.onDialectOrElse({
    pg: () => ({
      leaseTime: () => sql.literal("CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"),
      sessions: sql.literal("fiberloop_sessions"),
      isBehind: sql.literal(
        "EXISTS (SELECT 1 FROM fiberloop_events AS log WHERE log.session = fiberloop_sessions.session AND log.seq > head)"
      ),
      caughtUp: sql.literal(""),
      events: sql.literal("fiberloop_events"),
      run: sql.literal("run"),
      key: sql.literal("session, seq"),
      keyIn: (session: Session) => sql`CAST(${session} AS BIGINT), seq`,
      within: (session: Session, from: number, to: number) =>
        sql`session = ${session} AND seq >= ${from} AND seq <= ${to}`,
      order: sql.literal("seq")
    }),
    orElse: () => ({
      leaseTime: (now: number) => sql`${now}`,
      sessions: sql.literal("fiberloop_sessions_current"),
      // the row of a session in use is made from its last event
      isBehind: sql.literal(
        `owner IS NULL AND EXISTS (
          SELECT 1 FROM fiberloop_log AS log
          WHERE log.key > (fiberloop_sessions_current.session << 32 | head)
            AND log.key < (fiberloop_sessions_current.session + 1 << 32)
        )`
      ),
      caughtUp: sql.literal(`,
        (head, turns, updated_at) = (
          SELECT head, turns, updated_at
          FROM fiberloop_sessions_current AS now WHERE now.session = fiberloop_sessions.session
        )`),
      events: sql.literal("fiberloop_log"),
      run: sql.literal("new_run"),
      key: sql.literal("key"),
      keyIn: (session: Session) => sql`${session} << 32 | seq`,
      within: (session: Session, from: number, to: number) =>
        sql`key BETWEEN (${session} << 32 | ${from}) AND (${session} << 32 | ${to})`,
      order: sql.literal("key")
    })
  })
