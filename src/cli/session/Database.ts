/**
 * The database that holds the sessions: a file or a Postgres. The folder of the default file is made; any other folder must
 * exist. The password of a Postgres is never shown.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { closeSync, existsSync, mkdirSync, openSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as PgPlace from "../../layers/postgres/PgPlace.ts"
import * as SqliteModule from "../../layers/sqlite/SqliteModule.ts"
import type * as RunError from "../../run/RunError.ts"
import * as SessionStore from "../../services/SessionStore.ts"
import * as ErrorWords from "../ErrorWords.ts"
import * as FileReason from "../FileReason.ts"
import { badInput, type Refusal } from "../Refusal.ts"
import * as Invocation from "../render/Invocation.ts"
import * as Settings from "../Settings.ts"

/**
 * Makes the file where it is missing, and the default folder, which version control then ignores: for this user only, since
 * sessions hold conversations and contents of files. Makes nothing for a session that cannot exist.
 */
export const prepare = Effect.fnUntraced(function*(
  { db, isDefaultDb, session }: Pick<Settings.Settings, "db" | "isDefaultDb" | "session">
): Effect.fn.Return<void, Refusal> {
  if (PgPlace.isUrl(db)) return
  if (session !== undefined && !existsSync(db)) return yield* noDatabase(session, db)
  if (!isDefaultDb) return makePrivate(db)
  yield* Effect.try({
    try: () => {
      const folder = dirname(db)
      const made = mkdirSync(folder, { recursive: true, mode: 0o700 })
      if (made !== undefined) writeFileSync(join(folder, ".gitignore"), "*\n")
    },
    catch: (cause) =>
      badInput(
        `the folder ${JSON.stringify(dirname(db))} for sessions cannot be created (${
          FileReason.of((cause as NodeJS.ErrnoException).code ?? String(cause))
        }): name a file elsewhere with --db`
      )
  })
  makePrivate(db)
})

/** By itself, SQLite makes a file that everybody may read; files beside it get the mode of the database. */
const makePrivate = (db: string): void => {
  try {
    closeSync(openSync(db, "wx", 0o600))
  } catch {
    // it exists, or cannot be made: opening it tells why
  }
}

export const noDatabase = (session: string, db: string): Refusal =>
  badInput(
    `there is no session ${JSON.stringify(session)}, because there is no database ${JSON.stringify(db)}: ` +
      "run it in the folder where the session began, or name its database with --db"
  )

/** What to say where no session is kept yet. */
export const noSessions = (
  { db, flags, isDefaultDb }: Pick<Settings.Settings, "db" | "flags" | "isDefaultDb">
): string => {
  const folder = dirname(db)
  const place = JSON.stringify(Settings.shown(db))
  return isDefaultDb || PgPlace.isUrl(db) || existsSync(folder)
    ? `there are no sessions yet in ${place}: ${Invocation.of("run", [], flags)} "<task>" begins one`
    : `there are no sessions in ${place}: there is no folder ${JSON.stringify(folder)}`
}

/** Why nothing was found, to follow a sentence that says so: a database named by the user that does not exist may be misspelt. */
export const becauseAbsent = ({ db, isDefaultDb }: Pick<Settings.Settings, "db" | "isDefaultDb">): string =>
  !isDefaultDb && isAbsent(db) ? `: there is no database ${JSON.stringify(Settings.shown(db))}` : ""

export const layer = ({ db }: Pick<Settings.Settings, "db">): Layer.Layer<SessionStore.SessionStore, Refusal> =>
  Layer.effect(SessionStore.SessionStore, open(db))

type Existing = (
  place: Pick<Settings.Settings, "db">
) => Effect.Effect<SessionStore.Store | undefined, Refusal, Scope.Scope>

/** The store of an existing database; `undefined` where opening it would make a file. */
export const existing: Existing = ({ db }) => isAbsent(db) ? Effect.succeed(undefined) : open(db)

/** As `existing`, for a command that only reads: a file that this user may not write to is left as it is. */
export const readable: Existing = (place) => {
  const { db } = place
  if (PgPlace.isUrl(db) || isAbsent(db)) return existing(place)
  const opened = Effect.flatMap(SqliteModule.load, (SqliteStore) => SqliteStore.makeReading({ filename: db }))
  return Effect.mapError(opened, ErrorWords.refusal)
}

const open = (db: string): Effect.Effect<SessionStore.Store, Refusal, Scope.Scope> => {
  const opened = PgPlace.isUrl(db)
    ? Effect.flatMap(postgres, (SessionStorePg) => SessionStorePg.make({ url: db }))
    : Effect.flatMap(SqliteModule.load, (SqliteStore) => SqliteStore.makeVisiting({ filename: db }))
  return Effect.mapError(opened, ErrorWords.refusal)
}

/** A question to this store, with what goes wrong in the command's words. */
export const asked = <A, R>(
  store: SessionStore.Store,
  question: Effect.Effect<A, RunError.RunError, R | SessionStore.SessionStore>
): Effect.Effect<A, Refusal, Exclude<R, SessionStore.SessionStore>> =>
  Effect.mapError(Effect.provideService(question, SessionStore.SessionStore, store), ErrorWords.refusal)

/** Loaded on first use. */
const postgres = Effect.promise(() => import("../../layers/SessionStorePg.ts"))

/** An empty file is not a database yet. Where a file cannot be looked at, opening it tells why. */
const isAbsent = (db: string): boolean => {
  if (PgPlace.isUrl(db)) return false
  try {
    const stats = statSync(db, { throwIfNoEntry: false })
    return stats === undefined || (stats.isFile() && stats.size === 0)
  } catch {
    return false
  }
}
