/**
 * Brings the tables of sessions and events to this version, or refuses those of another.
 *
 * Does not own what the versions are (`SessionMigrations`).
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Migrator from "effect/sql/Migrator"
import * as SqlClient from "effect/sql/SqlClient"
import * as SqlError from "effect/sql/SqlError"
import type * as SessionStore from "../../services/SessionStore.ts"
import type * as OwnerLiveness from "../OwnerLiveness.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import type * as Answered from "./Answered.ts"
import * as Passing from "./Passing.ts"
import * as SessionDialect from "./SessionDialect.ts"
import * as SessionMigrations from "./SessionMigrations.ts"
import * as SessionRows from "./SessionRows.ts"
import * as Transaction from "./Transaction.ts"

const table = "fiberloop_migrations"

type Opening = (
  explain: (error: SqlError.SqlError) => SessionStore.StoreError,
  answered: Answered.Answered
) => Effect.Effect<void, SessionStore.StoreError, SqlClient.SqlClient>

/** What is done to the tables before a store opens: it has as long as one question, and an engine's errors are explained. */
const opening = (
  of: (
    sql: SqlClient.SqlClient
  ) => Effect.Effect<void, SqlError.SqlError | SessionStore.StoreError, SqlClient.SqlClient>
): Opening =>
(explain, answered) =>
  Effect.flatMap(SqlClient.SqlClient, of).pipe(
    answered,
    Effect.catchTag("SqlError", (error) => Effect.fail(explain(error)))
  )

/**
 * Brings the tables up to date; processes that do so at once take turns. Refuses tables that a newer version has changed, and
 * leaves them alone. Tables that are up to date are only looked at: on Postgres, changing them locks out all who use them, and
 * needs permissions that a writer does not.
 */
export const migrate: Opening = opening(
  Effect.fnUntraced(function*(sql) {
    const known = SessionMigrations.of(sql)
    const latest = latestOf(known)
    const version = versionNow(sql)
    // takes a writer's lock, so that a locked file is noticed here and not by the first message
    let found = yield* sql.onDialectOrElse({ pg: () => version, orElse: () => Transaction.run(sql, version) })
    if (found === 0) yield* holdsEveryText(sql)
    if (found < latest) {
      yield* Passing.waited(bring(known))
      found = yield* versionOf(sql)
    }
    if (found > latest) return yield* newer(found, latest)
  })
)

const bring = (known: ReturnType<typeof SessionMigrations.of>) =>
  Effect.catchTag(
    Transaction.faults(Migrator.make({})({ table, loader: Migrator.fromRecord(known) })),
    "MigrationError",
    (error) => Effect.fail(SqlError.isSqlError(error.cause) ? error.cause : SessionErrors.refused(error.message))
  )

/** Refuses tables of another version, for who may only read them. Takes no lock of a writer. */
export const check: Opening = opening(
  Effect.fnUntraced(function*(sql) {
    const latest = latestOf(SessionMigrations.of(sql))
    const found = yield* versionNow(sql)
    if (found > latest) return yield* newer(found, latest)
    if (found < latest) return yield* older(found, latest)
  })
)

/** Refuses tables of an older version while a program has a session in them: its runs may fail once they are brought up to date. */
export const checkIdle = ({ isDead }: Pick<OwnerLiveness.Liveness, "isDead">): Opening =>
  opening(
    Effect.fnUntraced(function*(sql) {
      const latest = latestOf(SessionMigrations.of(sql))
      const found = yield* versionNow(sql)
      if (found === 0 || found >= latest) return
      const { leaseTime } = SessionDialect.make(sql)
      const owned = yield* sql<{ readonly id: string; readonly owner: string }>`
        SELECT id, owner FROM fiberloop_sessions
        WHERE owner IS NOT NULL AND lease > ${leaseTime(yield* Clock.currentTimeMillis)}`
      const held = owned.find((row) => {
        const owner = SessionRows.toOwner(row)
        return owner !== undefined && !isDead(owner)
      })
      // the program may be one of this version, which has brought them up to date meanwhile
      if (held !== undefined && (yield* versionNow(sql)) === found) {
        return yield* inUse(found, latest, held.id)
      }
    })
  )

/** Refuses to begin where an answer with a character that the database lacks would be paid for, and then not stored. */
const holdsEveryText = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient
): Effect.fn.Return<void, SqlError.SqlError | SessionStore.StoreError> {
  const [found] = yield* sql.onDialectOrElse({
    pg: () => sql<Encoded>`SELECT current_database() AS database, current_setting('server_encoding') AS encoding`,
    orElse: () => Effect.succeed<ReadonlyArray<Encoded>>([])
  })
  // SQL_ASCII takes texts as they come
  if (found === undefined || ["UTF8", "SQL_ASCII"].includes(found.encoding)) return
  return yield* SessionErrors.refused(
    `The database "${found.database}" has the encoding ${found.encoding}, which lacks characters that models and people ` +
      "write; nothing was changed. Make one with the encoding UTF8 for sessions."
  )
})

interface Encoded {
  readonly database: string
  readonly encoding: string
}

const latestOf = (known: object): number => Math.max(...Object.keys(known).map((name) => Number.parseInt(name, 10)))

const newer = (found: number, latest: number): SessionStore.StoreError =>
  SessionErrors.refused(
    `A newer fiberloop made the tables of the session database (version ${found}, this one knows ${latest}); ` +
      "nothing was changed. Update fiberloop to use it."
  )

const older = (found: number, latest: number): SessionStore.StoreError =>
  SessionErrors.refused(
    `An older fiberloop made the tables of the session database (version ${found}, this one needs ${latest}), and this user ` +
      "may not write to it to bring them up to date. Copy the database, with the files beside it whose names begin with its " +
      "own, to a folder that you may write to, and use the copy."
  )

const inUse = (found: number, latest: number, sessionId: string): SessionStore.StoreError =>
  SessionErrors.refused(
    `A program with an older fiberloop is at work on the session "${sessionId}". The tables of the session database are of its ` +
      `version (${found}, this one needs ${latest}), and its runs may fail once they are changed; nothing was changed. ` +
      "Use its version of fiberloop, or try again when the program has ended."
  )

/** 0 where there are no tables yet. */
const versionNow = (sql: SqlClient.SqlClient) => {
  const isThere = sql.onDialectOrElse({
    pg: () => Effect.map(sql`SELECT to_regclass(${table}) AS found`, ([row]) => row?.["found"] !== null),
    orElse: () => Effect.map(sql`SELECT 1 FROM sqlite_schema WHERE name = ${table}`, (rows) => rows.length > 0)
  })
  return Effect.flatMap(isThere, (isThere) => isThere ? versionOf(sql) : Effect.succeed(0))
}

const versionOf = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<{ readonly found: number | null }>`SELECT max(migration_id) AS found FROM ${sql(table)}`,
    ([row]) => row?.found ?? 0
  )
