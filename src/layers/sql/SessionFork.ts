/**
 * Copies sessions in their tables: one transaction, in which the database itself copies the rows. It reads the place where the
 * log is cut, the inputs up to the first title, and, where the copy ends inside a run or after one with open calls, the events
 * of that run.
 *
 * Does not own where a log may be cut (`run/log/Fork`), nor the rows of the copy (`SessionCopy`).
 */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as Fork from "../../run/log/Fork.ts"
import * as TimeOfDay from "../../services/fibers/TimeOfDay.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as Ranges from "../store/Ranges.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import * as EventPlaces from "./EventPlaces.ts"
import type * as SessionClaims from "./SessionClaims.ts"
import * as SessionCopy from "./SessionCopy.ts"
import type * as SessionLog from "./SessionLog.ts"
import * as SessionRows from "./SessionRows.ts"
import * as Transaction from "./Transaction.ts"

type Fault = SqlError.SqlError | SessionStore.StoreError

type SessionFork = (
  sessionId: string,
  options: SessionStore.ForkOptions
) => Effect.Effect<SessionStore.SessionInfo, Fault>

export const make = (
  sql: SqlClient.SqlClient,
  claims: SessionClaims.SessionClaims,
  log: SessionLog.SessionLog
): SessionFork => {
  const places = EventPlaces.make(sql)
  const { copy: copyEvents, eventAt, stateAt, titleOf } = SessionCopy.make(sql, claims, log, places)

  /** Looks near `at`, whatever number that is: columns can only be compared with integers in their range. */
  const placeOf = Effect.fnUntraced(function*({ head, id, session }: SessionRows.SessionRow, at: number | undefined) {
    const limit = Ranges.last(at, head)
    const before = yield* places.upTo(session, Fork.placeTypes, limit)
    if (before !== undefined && (at === undefined || at === before)) return before
    const after = yield* places.after(session, Fork.placeTypes, limit)
    return yield* SessionErrors.noPlace(id, at, [before, after].filter((seq) => seq !== undefined))
  })

  const fork = Effect.fnUntraced(function*(sessionId: string, { at, to }: SessionStore.ForkOptions) {
    const now = yield* TimeOfDay.now
    const row = yield* claims.get(sessionId)
    const place = yield* placeOf(row, at)
    const copy = yield* copyEvents(row, yield* claims.add(to, now), place)
    const last = yield* eventAt(copy, place)
    const title = row.title === "" ? "" : SessionRows.toText(yield* titleOf(copy))
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

  return (sessionId, options) => Transaction.run(sql, fork(sessionId, options))
}
