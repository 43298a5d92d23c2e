/**
 * The file of a database opened for reading alone, where this user may not write to it. Never shows what was not stored, nor
 * less than was stored when it was opened; makes no change, though SQLite may add the index of a log of changes.
 *
 *     log of changes beside it ─┬─ yes ─▶ read with it, under SQLite's locks: others may write meanwhile
 *                               └─ no ──▶ read as a file that does not change, and fails with `Changed` if it does
 *
 * In the first case SQLite must find the index of that log (`-shm`) or may make it; else opening fails, because without the log
 * the last changes would be missing.
 *
 * Does not own statements (`SqliteStatements`), nor who writes.
 */
import type * as SqlError from "effect/sql/SqlError"
import { accessSync, constants, realpathSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { pathToFileURL } from "node:url"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import * as SqliteErrors from "./SqliteErrors.ts"
import * as SqliteFile from "./SqliteFile.ts"

/** The file changed while it was read as one that does not: what was read is wrong. */
export class Changed extends Error {}

/** Throws what SQLite or the file system says where it cannot be read. */
export const open = (filename: string): SqliteFile.Opened => {
  const path = realpathSync(filename)
  const before = SqliteFile.fileAt(path)
  if (hasLog(path) || !SqliteFile.isSettled(before, Date.now())) {
    const db = new DatabaseSync(path, { readOnly: true })
    return { db, guarded: SqliteFile.guarded(db) }
  }
  const db = new DatabaseSync(`${pathToFileURL(path).href}?immutable=1`, { readOnly: true })
  const check = () => {
    const now = SqliteFile.fileAt(path)
    if (!SqliteFile.isSame(now, before) || now?.ctimeMs !== before?.ctimeMs || hasLog(path)) throw new Changed()
  }
  return {
    db,
    guarded: (statement) => {
      try {
        return statement()
      } finally {
        check()
      }
    }
  }
}

/** Whether changes wait beside the file, or may be under way: SQLite keeps no empty rollback journal, but an empty log. */
const hasLog = (path: string): boolean => sizeOf(`${path}-wal`) > 0 || sizeOf(`${path}-journal`) > 0

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** Whether this user may write to the database: to the file, and to those beside it or to its folder. */
export const isWritable = (filename: string): boolean => {
  if (!isAllowed(filename, constants.W_OK)) return false
  const path = realpathSync(filename)
  return isAllowed(dirname(path), constants.W_OK)
    || (isAllowed(`${path}-wal`, constants.W_OK) && isAllowed(`${path}-shm`, constants.W_OK))
}

const isAllowed = (path: string, mode: number): boolean => {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

/** As `SqliteErrors.explain`, with what helps a user who may only read. */
export const explain = (filename: string) => {
  const others = SqliteErrors.explain(filename)
  const database = `The session database "${filename}"`
  return (error: SqlError.SqlError): SessionStore.StoreError => {
    const { cause } = error.reason
    if (cause instanceof Changed) return changed(database)
    if (isFolder(filename)) return SqliteErrors.unopened(filename, database)
    const code = SqliteErrors.primaryCodeOf(cause)
    if ((code !== 8 && code !== 14) || SqliteErrors.isMoved(cause)) return others(error)
    if (!isAllowed(filename, constants.R_OK)) {
      return SessionErrors.refused(`${database} cannot be read by this user. Allow the user to read the file.`)
    }
    if (!hasLog(realpathSync(filename))) return changed(database)
    return SessionErrors.refused(
      `${database} cannot be read where it is: its last changes are in a file beside it, and to read that, this user must ` +
        `be able to write to the folder "${dirname(resolve(filename))}". ${SqliteErrors.copy}`
    )
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true

const changed = (database: string): SessionStore.StoreError =>
  SessionErrors.unavailable(
    `${database} was being written to, and this user may not wait for that by locking it. Try again.`
  )
