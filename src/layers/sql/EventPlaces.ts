/**
 * Finds events of certain types in the log of a session.
 *
 * Does not own what is looked for (`SessionFork`, `SessionCopy`), nor landmarks, which have an index (`SessionLog`).
 */
import * as Effect from "effect/Effect"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import * as SessionDialect from "./SessionDialect.ts"
import type * as SessionRows from "./SessionRows.ts"

type Found = Effect.Effect<number | undefined, SqlError.SqlError>

export interface EventPlaces {
  /** `seq` of the last event of these types up to `at`. */
  readonly upTo: (session: SessionRows.SessionRow["session"], types: ReadonlyArray<string>, at: number) => Found
  /** `seq` of the first event of these types after `at`. */
  readonly after: (session: SessionRows.SessionRow["session"], types: ReadonlyArray<string>, at: number) => Found
}

export const make = (sql: SqlClient.SqlClient): EventPlaces => {
  const { events, order, within } = SessionDialect.make(sql)
  return {
    upTo: (session, types, at) =>
      sql<{ readonly seq: number }>`
        SELECT seq FROM ${events} WHERE ${within(session, 1, at)} AND type IN ${sql.in(types)}
        ORDER BY ${order} DESC LIMIT 1`.pipe(Effect.map((rows) => rows[0]?.seq)),
    after: (session, types, at) =>
      sql<{ readonly seq: number }>`
        SELECT seq FROM ${events} WHERE ${within(session, at + 1, SessionDialect.lastSeq)} AND type IN ${sql.in(types)}
        ORDER BY ${order} LIMIT 1`.pipe(Effect.map((rows) => rows[0]?.seq))
  }
}
