/**
 * Whether the file at a path is ours to write to: no other program's, and still the one that was opened. SQLite goes on
 * writing to a file that was deleted, moved away or replaced: what is stored there is gone with the process, and nobody else
 * reads it.
 */
import { chmodSync, statSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"

/** SQLITE_READONLY_DBMOVED, see sqlite.org/rescode.html: SQLite itself finds this only where it keeps a rollback journal. */
export const moved = 1032

/** The database holds tables, and none of them is the one that was asked for. */
export class Foreign extends Error {
  readonly tables: ReadonlyArray<string>
  constructor(tables: ReadonlyArray<string>) {
    super("the database is another program's")
    this.tables = tables
  }
}

/** Throws `Foreign` where another program's tables are. Writes nothing; an empty database is everybody's. */
export const checkOwner = (db: DatabaseSync, table: string): void => {
  const rows = db.prepare(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
  )
  const tables = rows.all().map(({ name }) => String(name))
  if (tables.length > 0 && !tables.includes(table)) throw new Foreign(tables)
}

/**
 * Runs statements, but fails with the code `moved` once a file is not the one that was there before. Databases in memory
 * have none. Costs 5 microseconds a statement, outside of transactions.
 */
export const guarded = (db: DatabaseSync): <A>(statement: () => A) => A => {
  const path = db.location()
  if (path === null) return (statement) => statement()
  const main = idOf(path)
  // comes with the first statement that reads, and stays for as long as a connection is open
  let wal: string | undefined
  return (statement) => {
    if (db.isTransaction) return statement()
    if (idOf(path) !== main) throw gone(path)
    if (wal === undefined) {
      const result = statement()
      wal = idOf(`${path}-wal`)
      return result
    }
    if (idOf(`${path}-wal`) !== wal) throw gone(`${path}-wal`)
    return statement()
  }
}

/**
 * Lets the files beside a database be written by whom it lets. SQLite makes them with the mode that it has: opened while it
 * was read-only, it is as good as that for ever.
 */
export const unlock = (db: DatabaseSync): void => {
  const path = db.location()
  if (path === null) return
  for (const beside of [`${path}-wal`, `${path}-shm`]) {
    try {
      const { mode } = statSync(beside)
      const missing = statSync(path).mode & ~mode & 0o222
      if (missing !== 0) chmodSync(beside, mode | missing)
    } catch {
      // it is not there, or another user's: SQLite says what comes of that
    }
  }
}

/** The file at a path, whatever it is called; `undefined` where there is none. */
const idOf = (path: string): string | undefined => {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats === undefined ? undefined : `${stats.dev} ${stats.ino}`
}

const gone = (path: string) => Object.assign(new Error(`"${path}" is not the file that was opened`), { errcode: moved })
