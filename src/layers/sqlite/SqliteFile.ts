/**
 * Whether the file at a path is ours to write to: no other program's, and still the one that was opened. SQLite goes on
 * writing to a file that was deleted, moved away or replaced: what is stored there is gone with the process, and nobody else
 * reads it.
 */
import { chmodSync, type Stats, statSync } from "node:fs"
import { dirname } from "node:path"
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
 * have none. Costs a look at the folder for each statement outside of transactions, and one at the files where that has changed
 * and once a second: Linux gives a file that was looked at a new time with its next write, which an fsync then waits for.
 */
export const guarded = (db: DatabaseSync): <A>(statement: () => A) => A => {
  const path = db.location()
  if (path === null) return (statement) => statement()
  const [folder, beside] = [dirname(path), `${path}-wal`]
  const main = fileAt(path)
  // comes with the first statement that reads, and stays for as long as a connection is open
  let wal: File
  /** the folder that the files were found in, and for how long it is enough that this is as it was */
  let found: File
  let until = 0
  const look = () => {
    const day = Date.now()
    // the time of day may be set back
    const now = performance.now()
    const there = fileAt(folder)
    if (now < until && isSame(there, found) && there?.ctimeMs === found?.ctimeMs) return
    if (!isSame(fileAt(path), main)) throw gone(path)
    if (wal !== undefined && !isSame(fileAt(beside), wal)) throw gone(beside)
    found = there
    until = isSettled(there, day) ? now + 1000 : 0
  }
  return (statement) => {
    if (db.isTransaction) return statement()
    look()
    if (wal !== undefined) return statement()
    const result = statement()
    wal = fileAt(beside)
    return result
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

type File = Pick<Stats, "dev" | "ino" | "ctimeMs"> | undefined

/** `undefined` where there is none. */
const fileAt = (path: string): File => statSync(path, { throwIfNoEntry: false })

/** Whether two are one file, whatever it is called. */
const isSame = (one: File, other: File): boolean => one?.ino === other?.ino && one?.dev === other?.dev

/**
 * Whether the next change of a folder is sure to give it another time. File systems tell times apart that are 10 ms apart,
 * some old ones only every other second.
 */
const isSettled = (folder: File, day: number): boolean =>
  folder !== undefined && day - folder.ctimeMs > (Number.isInteger(folder.ctimeMs / 1000) ? 3000 : 30)

const gone = (path: string) => Object.assign(new Error(`"${path}" is not the file that was opened`), { errcode: moved })
