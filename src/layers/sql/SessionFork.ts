/**
 * Copies of sessions in their tables: one transaction, in which rows are copied by the database. What is read is the place
 * where the log is cut, the inputs up to the first title, and, where the copy ends inside a run or behind one with calls
 * open, the events of that run.
 *
 * Does not own where a log may be cut; that is `run/log/Fork`.
 */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as Fork from "../../run/log/Fork.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import * as RunState from "../../run/RunState.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import type * as SessionClaims from "./SessionClaims.ts"
import * as SessionDialect from "./SessionDialect.ts"
import type * as SessionLog from "./SessionLog.ts"
import * as SessionRows from "./SessionRows.ts"

type Fault = SqlError.SqlError | SessionStore.StoreError
type Session = SessionClaims.Claim["session"]

/** The copied events; `id` is the session that they are from, for errors. */
interface Copy {
  readonly session: Session
  readonly id: string
  readonly turns: number
}

export type SessionFork = (
  sessionId: string,
  options: SessionStore.ForkOptions
) => Effect.Effect<SessionStore.SessionInfo, Fault>

export const make = (
  sql: SqlClient.SqlClient,
  claims: SessionClaims.SessionClaims,
  log: SessionLog.SessionLog
): SessionFork => {
  const { events, key, keyIn, order, within } = SessionDialect.make(sql)
  /** `seq` of the last event of these types up to `at`. */
  const lastOf = (session: Session, types: ReadonlyArray<string>, at: number) =>
    sql<{ readonly seq: number }>`
      SELECT seq FROM ${events} WHERE ${within(session, 1, at)} AND type IN ${sql.in(types)}
      ORDER BY ${order} DESC LIMIT 1`.pipe(Effect.map((rows) => rows[0]?.seq))

  /** `seq` of the first event of these types behind `at`. */
  const nextOf = (session: Session, types: ReadonlyArray<string>, at: number) =>
    sql<{ readonly seq: number }>`
      SELECT seq FROM ${events} WHERE ${within(session, at + 1, SessionDialect.lastSeq)} AND type IN ${sql.in(types)}
      ORDER BY ${order} LIMIT 1`.pipe(Effect.map((rows) => rows[0]?.seq))

  /** Looks near `at`, whatever number that is: columns are compared with integers of their range. */
  const placeOf = Effect.fnUntraced(function*({ head, id, session }: SessionRows.SessionRow, at: number | undefined) {
    const limit = at === undefined || Number.isNaN(at) ? head : Math.floor(Math.max(0, Math.min(at, head)))
    const before = yield* lastOf(session, Fork.placeTypes, limit)
    if (before !== undefined && (at === undefined || at === before)) return before
    const after = yield* nextOf(session, Fork.placeTypes, limit)
    return yield* Effect.fail(SessionErrors.noPlace(id, at, [before, after].filter((seq) => seq !== undefined)))
  })

  const copyEvents = Effect.fnUntraced(function*(row: SessionRows.SessionRow, to: Session, place: number) {
    yield* sql`
      INSERT INTO ${events} (${key}, run, type, version, at, body)
      SELECT ${keyIn(to)}, run, type, version, at, body
      FROM ${events} WHERE ${within(row.session, 1, place)} ORDER BY ${order}`
    const [copied] = yield* sql<{ readonly events: number; readonly turns: number; readonly version: number }>`
      SELECT count(*) AS events, count(CASE WHEN type = 'AssistantMessage' THEN 1 END) AS turns, max(version) AS version
      FROM ${events} WHERE ${within(to, 1, SessionDialect.lastSeq)}`
    if (Number(copied!.events) !== place || copied!.version > RunEvent.version) return yield* refuse(row, place)
    const copy: Copy = { session: to, id: row.id, turns: Number(copied!.turns) }
    return copy
  })

  /** What was copied has a gap or is of a newer version: fails as a reader of the log does. */
  const refuse = Effect.fnUntraced(function*(row: SessionRows.SessionRow, place: number) {
    const found = yield* claims.find(row.id)
    if (found?.session !== row.session) return yield* Effect.fail(SessionErrors.notFound(row.id))
    const cursor = log.cursor(row, 1)
    for (let read = 1; read > 0;) read = (yield* cursor(place)).length
    return yield* Effect.die(new Error(`Session "${row.id}" can be read, but was not copied in full`))
  })

  const eventAt = (copy: Copy, seq: number) => Effect.map(log.cursor(copy, seq)(seq), (events) => events[0]!)

  /** The title of the first input that has words. */
  const titleOf = Effect.fnUntraced(function*(copy: Copy) {
    let info = SessionStore.newInfo(copy.id, 0)
    while (info.title === "") {
      const seq = yield* nextOf(copy.session, ["RunStarted"], info.head)
      if (seq === undefined) break
      info = SessionStore.evolveInfo(info, yield* eventAt(copy, seq))
    }
    return info.title
  })

  /** The state after the events of the run that `place` stands in. */
  const stateAt = Effect.fnUntraced(function*(copy: Copy, place: number) {
    let state = RunState.empty
    const cursor = log.cursor(copy, (yield* lastOf(copy.session, ["RunStarted"], place)) ?? 1)
    while (state.seq < place) state = (yield* cursor(place)).reduce(RunState.evolve, state)
    return state
  })

  const fork = Effect.fnUntraced(function*(sessionId: string, { at, to }: SessionStore.ForkOptions) {
    const now = yield* Clock.currentTimeMillis
    const row = yield* claims.get(sessionId)
    const place = yield* placeOf(row, at)
    const copy = yield* copyEvents(row, yield* claims.add(to, now), place)
    const last = yield* eventAt(copy, place)
    const title = row.title === "" ? "" : SessionRows.toTitle(yield* titleOf(copy))
    let info = SessionStore.evolveInfo({ ...SessionStore.newInfo(to, now), title, turns: copy.turns }, last)
    const closing = Fork.isWhole(last) ? [] : Fork.closing(yield* stateAt(copy, place), last, now)
    if (Arr.isReadonlyArrayNonEmpty(closing)) {
      yield* log.add(copy.session, closing)
      info = closing.reduce(SessionStore.evolveInfo, info)
    }
    yield* sql`
      UPDATE fiberloop_sessions SET head = ${info.head}, title = ${title}, turns = ${info.turns},
        ended = ${info.end ?? null}
      WHERE session = ${copy.session}`
    return { ...info, updatedAt: now }
  })

  return (sessionId, options) => sql.withTransaction(fork(sessionId, options))
}
