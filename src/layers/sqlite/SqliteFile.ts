/**
 * Whether the file at a path is ours to write to: not another program's, and still the one that was opened. SQLite goes on
 * writing to a file that was deleted, moved away or replaced: what it stores there is lost with the process, and nobody else
 * can read it.
 */
import { chmodSync, type Stats, statSync } from "node:fs"
import { dirname } from "node:path"
import type { DatabaseSync } from "node:sqlite"

/** SQLITE_READONLY_DBMOVED, see sqlite.org/rescode.html: SQLite itself notices this only where it keeps a rollback journal. */
export const moved = 1032

/** A database that is open. */
export interface Opened {
  readonly db: DatabaseSync
  /** Runs a statement; fails where its result cannot be relied on. */
  readonly guarded: <A>(statement: () => A) => A
}

/** The database holds tables, and none of them is the one that was asked for. */
export class Foreign extends Error {
  readonly tables: ReadonlyArray<string>
  constructor(tables: ReadonlyArray<string>) {
    super("the database is another program's")
    this.tables = tables
  }
}

/** Throws `Foreign` where the tables are another program's. Writes nothing; an empty database belongs to nobody. */
export const checkOwner = (db: DatabaseSync, table: string): void => {
  const rows = db.prepare(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
  )
  const tables = rows.all().map(({ name }) => String(name))
  if (tables.length > 0 && !tables.includes(table)) throw new Foreign(tables)
}

/** Whether what is at a path is neither a file nor a folder, such as a device: SQLite would write to it, and never have a database. */
export const isOther = (path: string): boolean => {
  try {
    const there = statSync(path, { throwIfNoEntry: false })
    return there !== undefined && !there.isFile() && !there.isDirectory()
  } catch {
    // SQLite reports what it cannot open
    return false
  }
}

/**
 * Runs statements, but fails with the code `moved` once a file is not the one that was there before. Databases in memory have
 * no files. Costs a stat of the folder for each statement outside a transaction, and of the files when the folder has changed
 * and once a second. Not more often, because Linux gives a file that was looked at a new time on its next write, and an fsync
 * then waits for that.
 */
export const guarded = (db: DatabaseSync): Opened["guarded"] => {
  const path = db.location()
  if (path === null) return (statement) => statement()
  const [folder, beside] = [dirname(path), `${path}-wal`]
  const main = fileAt(path)
  // comes with the first statement that reads, and stays as long as a connection is open
  let wal: File
  /** the folder in which the files were found, and until when it is enough that the folder is unchanged */
  let found: File
  let until = 0
  const look = () => {
    const day = Date.now()
    // `Date.now()` may be set back
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
 * Lets everyone who may write the database also write the files beside it. SQLite creates them with the database's mode: if it
 * was read-only then, the database would stay read-only for ever.
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
      // the file is missing, or another user's: SQLite reports what comes of that
    }
  }
}

type File = Pick<Stats, "dev" | "ino" | "ctimeMs"> | undefined

/** `undefined` where there is no file. */
export const fileAt = (path: string): File => statSync(path, { throwIfNoEntry: false })

/** Whether both are the same file, whatever its name. */
export const isSame = (one: File, other: File): boolean => one?.ino === other?.ino && one?.dev === other?.dev

/**
 * Whether the next change of a file or a folder is sure to give it another time. File systems distinguish times 10 ms apart, some old
 * ones only 2 seconds apart.
 */
export const isSettled = (file: File, day: number): boolean =>
  file !== undefined && day - file.ctimeMs > (Number.isInteger(file.ctimeMs / 1000) ? 3000 : 30)

const gone = (path: string) => Object.assign(new Error(`"${path}" is not the file that was opened`), { errcode: moved })
