/**
 * The sessions of a database as they are listed and taken away: rows of the sessions table, no log is read.
 *
 * Does not own who has a session (`SessionClaims`), nor how rows are made to what is listed (`SessionRows`).
 */
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Ranges from "../store/Ranges.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import type * as SessionClaims from "./SessionClaims.ts"
import * as SessionDialect from "./SessionDialect.ts"
import * as SessionRows from "./SessionRows.ts"

type Fault = SqlError.SqlError | SessionStore.StoreError

interface SessionList {
  /** Last changed first. */
  readonly list: (options: SessionStore.ListOptions) => Effect.Effect<ReadonlyArray<SessionStore.SessionInfo>, Fault>
  readonly info: (sessionId: string) => Effect.Effect<SessionStore.SessionInfo | undefined, Fault>
  /** Takes a session away with its log, all or nothing. */
  readonly remove: (sessionId: string) => Effect.Effect<void, Fault>
}

export const make = (sql: SqlClient.SqlClient, claims: SessionClaims.SessionClaims): SessionList => {
  const { events, sessions, within } = SessionDialect.make(sql)

  const list = ({ after, limit }: SessionStore.ListOptions) => {
    const before = after === undefined
      ? sql.literal("")
      : sql`AND (updated_at, id) < (${after.updatedAt}, ${after.sessionId})`
    const rows = sql<SessionRows.InfoRow>`
      SELECT id, head, title, turns, ended, created_at, updated_at FROM ${sessions}
      WHERE head > 0 ${before} ORDER BY updated_at DESC, id DESC LIMIT ${Ranges.count(limit, Number.MAX_SAFE_INTEGER)}`
    return Effect.map(rows, (rows) => rows.map(SessionRows.toInfo))
  }

  const info = (sessionId: string) =>
    Effect.map(claims.find(sessionId), (row) => row === undefined ? undefined : SessionRows.toInfo(row))

  const remove = Effect.fnUntraced(function*(sessionId: string) {
    const row = yield* claims.get(sessionId)
    const owner = claims.ownerOf(row)
    if (owner !== undefined) return yield* Effect.fail(SessionErrors.busy(sessionId, owner.runId))
    const removed = yield* sql`
      DELETE FROM fiberloop_sessions WHERE session = ${row.session} AND epoch = ${row.epoch} RETURNING session`
    if (removed.length === 0) return yield* Effect.fail(SessionErrors.busy(sessionId))
    yield* sql`DELETE FROM ${events} WHERE ${within(row.session, 0, SessionDialect.lastSeq)}`
  })

  return { list, info, remove: (sessionId) => sql.withTransaction(remove(sessionId)) }
}
