/**
 * Lists and removes the sessions of a database: reads rows of the sessions table, never a log.
 *
 * Does not own who holds a session (`SessionClaims`), nor how a row becomes what is listed (`SessionRows`).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Prefix from "../store/Prefix.ts"
import * as Ranges from "../store/Ranges.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import type * as SessionClaims from "./SessionClaims.ts"
import * as SessionDialect from "./SessionDialect.ts"
import * as SessionRows from "./SessionRows.ts"
import * as Transaction from "./Transaction.ts"

type Fault = SqlError.SqlError | SessionStore.StoreError

interface SessionList {
  /** Last changed first. */
  readonly list: (options: SessionStore.ListOptions) => Effect.Effect<ReadonlyArray<SessionStore.SessionInfo>, Fault>
  readonly info: (sessionId: string) => Effect.Effect<SessionStore.SessionInfo | undefined, Fault>
  /** Removes a session with its log, all or nothing. */
  readonly remove: (sessionId: string) => Effect.Effect<void, Fault>
}

/**
 * At least so many rows are looked at in the first step, where most of them may not qualify, and up to twice as many in each step
 * after it: a step costs as much as there are sessions in use.
 */
const leastLookedAt = 100
const mostLookedAt = 3200

export const make = (sql: SqlClient.SqlClient, claims: SessionClaims.SessionClaims): SessionList => {
  const { events, leaseTime, sessions, within } = SessionDialect.make(sql)

  const newestFirst = (limit: number) => sql`ORDER BY updated_at DESC, id DESC LIMIT ${limit}`

  const isOneOf = (parents: NonNullable<SessionStore.ListOptions["parents"]>) => {
    // no row has one that can be no session's id, which the database might take for another
    const named = parents.map((parent) => SessionRows.toParent({ parent })).filter((parent) => parent !== null)
    const conditions = [
      ...(parents.includes(undefined) ? [sql`parent IS NULL`] : []),
      ...(named.length === 0 ? [] : [sql.in("parent", named)])
    ]
    return conditions.length === 0 ? sql`1 = 0` : sql.or(conditions)
  }

  /** A range, which an index of the ids has. */
  const beginsWith = (prefix: string) => {
    const range = Prefix.rangeOf(prefix)
    if (range === undefined) return sql`1 = 0`
    return range.before === undefined ? sql`id >= ${range.from}` : sql`id >= ${range.from} AND id < ${range.before}`
  }

  /** Selects the sessions of each end by themselves: databases cannot use an index for several ends at once. */
  const pageOf = ({ after, ends, parents, prefix = "" }: SessionStore.ListOptions, limit: number, now: number) => {
    const withParent = parents === undefined ? sql.literal("") : sql`AND ${isOneOf(parents)}`
    const withPrefix = prefix === "" ? sql.literal("") : sql`AND ${beginsWith(prefix)}`
    const before = after === undefined
      ? sql.literal("")
      : sql`AND (updated_at, id) < (${after.updatedAt}, ${after.sessionId})`
    const select = (withEnd: Statement.Fragment) =>
      sql`
        SELECT id, head, title, turns, ended, created_at, updated_at, parent, owner, lease > ${leaseTime(now)} AS leased
        FROM ${sessions} WHERE head > 0 ${withEnd} ${withParent} ${withPrefix} ${before} ${newestFirst(limit)}`
    if (ends === undefined) return sql<SessionRows.ListedRow>`${select(sql.literal(""))}`
    const [first, ...others] = new Set(ends).values().map((end) =>
      sql`SELECT * FROM (${select(end === undefined ? sql`AND ended IS NULL` : sql`AND ended = ${end}`)}) AS found`
    )
    if (first === undefined) return Effect.succeed([])
    const all = others.reduce((all, more) => sql`${all} UNION ALL ${more}`, first)
    return sql<SessionRows.ListedRow>`${all} ${newestFirst(limit)}`
  }

  const list = Effect.fnUntraced(function*(options: SessionStore.ListOptions) {
    const most = Ranges.count(options.limit, Number.MAX_SAFE_INTEGER)
    const isUnowned = options.unowned === true
    let page = isUnowned ? Math.max(most, leastLookedAt) : most
    const now = yield* Clock.currentTimeMillis
    const infos: Array<SessionStore.SessionInfo> = []
    for (let { after } = options; infos.length < most;) {
      const rows = yield* pageOf({ ...options, after }, page, now)
      // the database cannot tell whether an owner lives
      const listed = isUnowned ? rows.filter((row) => claims.ownerOf(row) === undefined) : rows
      for (const row of listed.slice(0, most - infos.length)) infos.push(SessionRows.toInfo(row))
      if (rows.length < page) break
      after = SessionRows.toInfo(rows.at(-1)!)
      page = Math.max(page, Math.min(page * 2, mostLookedAt))
    }
    return infos
  })

  const info = (sessionId: string) =>
    Effect.map(claims.find(sessionId), (row) => row === undefined ? undefined : SessionRows.toInfo(row))

  const remove = Effect.fnUntraced(function*(sessionId: string) {
    const row = yield* claims.look(sessionId)
    if (row === undefined) return yield* SessionErrors.notFound(sessionId)
    const owner = claims.ownerOf(row)
    if (owner !== undefined) return yield* SessionErrors.busy(sessionId, owner.runId)
    const removed = yield* sql`
      DELETE FROM fiberloop_sessions WHERE session = ${row.session} AND epoch = ${row.epoch} RETURNING session`
    if (removed.length === 0) return yield* SessionErrors.busy(sessionId)
    yield* sql`DELETE FROM ${events} WHERE ${within(row.session, 0, SessionDialect.lastSeq)}`
    yield* sql`DELETE FROM fiberloop_sent WHERE session = ${row.session}`
  })

  return { list, info, remove: (sessionId) => Transaction.run(sql, remove(sessionId)) }
}
