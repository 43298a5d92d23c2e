/**
 * Logs as streams, a page for each pull: up to an end, or without end.
 *
 * Does not own how a page is read (`SessionLog`), nor who wakes a watcher (`SessionSignals`).
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as Ranges from "../store/Ranges.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import type * as SessionSignals from "../store/SessionSignals.ts"
import type * as SessionClaims from "./SessionClaims.ts"
import type * as SessionLog from "./SessionLog.ts"
import type * as SessionRows from "./SessionRows.ts"

type SessionReading = Pick<SessionStore.Store, "read" | "watch">

export const make = (options: {
  readonly claims: SessionClaims.SessionClaims
  readonly log: SessionLog.SessionLog
  readonly signals: SessionSignals.SessionSignals
  /** Bounds the wait for the database, and says what its errors mean. */
  readonly asked: <A>(
    question: Effect.Effect<A, SqlError.SqlError | SessionStore.StoreError>
  ) => Effect.Effect<A, SessionStore.StoreError>
}): SessionReading => {
  const { asked, claims, log, signals } = options

  /** The next page. While its session is being removed, a log looks damaged. */
  const pageOf = (row: SessionRows.SessionRow, cursor: SessionLog.Cursor, to: number) =>
    Effect.catch(
      asked(cursor(to)),
      Effect.fnUntraced(function*(error) {
        const found = yield* asked(claims.get(row.id))
        return yield* found.session === row.session ? error : SessionErrors.notFound(row.id)
      })
    )

  const read = (
    sessionId: string,
    range: { readonly from?: number | undefined; readonly to?: number | undefined } = {}
  ) =>
    Stream.unwrap(Effect.map(asked(claims.get(sessionId)), (row) => {
      const cursor = log.cursor(row, Ranges.first(range.from))
      const to = Ranges.last(range.to, row.head)
      const pull = Effect.flatMap(
        pageOf(row, cursor, to),
        (events) => Arr.isReadonlyArrayNonEmpty(events) ? Effect.succeed(events) : Cause.done()
      )
      return Stream.fromPull(Effect.succeed(pull))
    }))

  const watch = (sessionId: string, from?: number) =>
    Stream.unwrap(Effect.map(signals.listen(sessionId), (latch) => {
      let watched: { readonly session: SessionClaims.Claim["session"]; readonly cursor: SessionLog.Cursor } | undefined
      const pull = Effect.gen(function*() {
        while (true) {
          latch.closeUnsafe()
          const row = yield* asked(claims.find(sessionId))
          if (watched !== undefined && row?.session !== watched.session) {
            return yield* SessionErrors.notFound(sessionId)
          }
          if (row !== undefined) {
            watched ??= { session: row.session, cursor: log.cursor(row, Ranges.first(from)) }
            const events = yield* pageOf(row, watched.cursor, row.head)
            if (Arr.isReadonlyArrayNonEmpty(events)) return events
          }
          yield* Effect.timeoutOption(latch.await, signals.pollEvery())
        }
      })
      return Stream.fromPull(Effect.succeed(pull))
    }))

  return { read, watch }
}
