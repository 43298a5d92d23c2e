/** The file that holds the sessions: the folder of the default one is made, any other must be there. */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as SessionStoreSqlite from "../layers/SessionStoreSqlite.ts"
import type * as SessionStore from "../services/SessionStore.ts"
import * as Messages from "./Messages.ts"
import { badInput, type Refusal } from "./Refusal.ts"
import type { Settings } from "./Settings.ts"

/** Makes the default folder, which version control ignores; nothing at all to go on with a session that cannot be there. */
export const prepare = Effect.fnUntraced(function*(
  { db, hasOwnDb, session }: Pick<Settings, "db" | "hasOwnDb" | "session">
): Effect.fn.Return<void, Refusal> {
  if (session !== undefined && !existsSync(db)) return yield* noDatabase(session, db)
  if (!hasOwnDb) return
  yield* Effect.try({
    try: () => {
      const folder = dirname(db)
      if (mkdirSync(folder, { recursive: true }) !== undefined) writeFileSync(join(folder, ".gitignore"), "*\n")
    },
    catch: (cause) =>
      badInput(
        `the folder ${JSON.stringify(dirname(db))} for sessions cannot be made (${
          (cause as NodeJS.ErrnoException).code ?? String(cause)
        }): name a file elsewhere with --db`
      )
  })
})

export const noDatabase = (session: string, db: string): Refusal =>
  badInput(
    `there is no session ${JSON.stringify(session)}, because there is no database ${JSON.stringify(db)}: ` +
      "run it in the folder where the session began, or name its database with --db"
  )

export const layer = ({ db }: Pick<Settings, "db">): Layer.Layer<SessionStore.SessionStore, SessionStore.StoreError> =>
  SessionStoreSqlite.layer({ filename: db })

/** The store of a database that is there; `undefined` where opening it would make one. */
export const existing = Effect.fnUntraced(function*(
  { db }: Pick<Settings, "db">
): Effect.fn.Return<SessionStore.SessionStore["Service"] | undefined, Refusal, Scope.Scope> {
  if (isAbsent(db)) return undefined
  return yield* Effect.mapError(SessionStoreSqlite.make({ filename: db }), Messages.refusal)
})

/** An empty file is no database yet; of what cannot be looked at, opening it tells why. */
const isAbsent = (db: string): boolean => {
  try {
    const stats = statSync(db, { throwIfNoEntry: false })
    return stats === undefined || (stats.isFile() && stats.size === 0)
  } catch {
    return false
  }
}
