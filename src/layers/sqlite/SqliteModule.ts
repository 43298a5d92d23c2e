/**
 * Loads the SQLite store on first use, with effect's SQL and the errors of stores: Node 22 prints a warning when its SQLite is
 * imported. Does not own the store (`SqliteStore`).
 */
import * as Effect from "effect/Effect"
import * as RunError from "../../run/RunError.ts"

/** Fails on a Node without SQLite. */
export const load = Effect.tryPromise({
  try: () => import("./SqliteStore.ts"),
  catch: (cause) => cause as NodeJS.ErrnoException
}).pipe(
  Effect.catch((error) => error.code === "ERR_UNKNOWN_BUILTIN_MODULE" ? Effect.fail(noSqlite()) : Effect.die(error))
)

const noSqlite = () =>
  new RunError.NonRetryableError({
    _tag: "StoreRefused",
    message:
      `SessionStoreSqlite needs the SQLite that is built into Node 22.19 and newer; this Node, ${process.version}, has none. ` +
      "Update Node, or use another store."
  })
