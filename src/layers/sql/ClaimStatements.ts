/**
 * The statements by which a session gets an owner and keeps it: each checks and writes its row in one step.
 *
 * Does not own who may take a session (`SessionClaims`), nor how one is given back (`SessionRelease`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as SessionDialect from "./SessionDialect.ts"
import type * as SessionRows from "./SessionRows.ts"

type Row = SessionRows.SessionRow
/** The row after the change; undefined where the statement found no such session. */
type Changed = Effect.Effect<Row | undefined, SqlError.SqlError>
type Owned = Pick<Row, "session"> & { readonly owner: string }

interface ClaimStatements {
  /** Also finds a session that has no events yet. */
  readonly look: (sessionId: string, now: number) => Effect.Effect<SessionRows.SeenRow | undefined, SqlError.SqlError>
  /** Adds a session; returns nothing where the id is taken. */
  readonly insert: (sessionId: string, owner: string | null, now: number) => Changed
  /** Makes `owner` the owner and raises the fence; returns nothing where the fence has moved since the row was read. */
  readonly raise: (row: Row, owner: string, now: number) => Changed
  /** Raises the fence of a session that `owner` holds. */
  readonly refence: (owned: Owned) => Changed
  /** Renews the lease of a session that `owner` holds; `false` where it does not. */
  readonly renew: (owned: Owned, now: number) => Effect.Effect<boolean, SqlError.SqlError>
  /** Removes a session without events, where the fence has not moved since the row was read. */
  readonly removeEmpty: (row: Row) => Effect.Effect<unknown, SqlError.SqlError>
}

export const make = (sql: SqlClient.SqlClient, lease: Duration.Duration): ClaimStatements => {
  const { caughtUp, isBehind, leaseTime, sessions } = SessionDialect.make(sql)
  const leaseFrom = (now: number) => sql`${leaseTime(now)} + ${Duration.toMillis(lease)}`
  // not `*`: in a transaction, Postgres refuses a prepared statement whose columns have become more, by a later version
  const columns = sql.literal(
    "session, id, epoch, owner, lease, head, title, turns, ended, created_at, updated_at, parent"
  )
  const first = <R>(rows: Effect.Effect<ReadonlyArray<R>, SqlError.SqlError>) => Effect.map(rows, ([row]) => row)

  return {
    look: (sessionId, now) =>
      first(sql<SessionRows.SeenRow>`
        SELECT ${columns}, lease > ${leaseTime(now)} AS leased, ${isBehind} AS behind
        FROM ${sessions} WHERE id = ${sessionId}`),
    insert: (sessionId, owner, now) =>
      first(sql<Row>`
        INSERT INTO fiberloop_sessions (id, epoch, owner, lease, head, title, turns, created_at, updated_at)
        VALUES (${sessionId}, 1, ${owner}, ${owner === null ? 0 : leaseFrom(now)}, 0, '', 0, ${now}, ${now})
        ON CONFLICT (id) DO NOTHING RETURNING ${columns}`),
    raise: ({ epoch, session }, owner, now) =>
      first(sql<Row>`
        UPDATE fiberloop_sessions
        SET epoch = epoch + 1,
          owner = ${owner},
          lease = ${leaseFrom(now)},
          created_at = CASE WHEN head = 0 THEN ${now} ELSE created_at END ${caughtUp}
        WHERE session = ${session} AND epoch = ${epoch} RETURNING ${columns}`),
    refence: ({ owner, session }) =>
      first(sql<Row>`
        UPDATE fiberloop_sessions SET epoch = epoch + 1 ${caughtUp}
        WHERE session = ${session} AND owner = ${owner} RETURNING ${columns}`),
    renew: ({ owner, session }, now) =>
      Effect.map(
        sql`
          UPDATE fiberloop_sessions SET lease = ${leaseFrom(now)}
          WHERE session = ${session} AND owner = ${owner} RETURNING session`,
        (rows) => rows.length > 0
      ),
    removeEmpty: ({ epoch, session }) =>
      sql`DELETE FROM fiberloop_sessions WHERE session = ${session} AND epoch = ${epoch} AND head = 0`
  }
}
