/** What the errors of SQLite mean: to effect/sql, and to the user of a store, in one line that names the file and what to check. */
import * as SqlError from "effect/sql/SqlError"
import { accessSync, constants, existsSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import type * as SessionStore from "../../services/SessionStore.ts"
import * as SessionErrors from "../store/SessionErrors.ts"
import * as SqliteFile from "./SqliteFile.ts"

/** The way out for who may not write to a database, in its place, whatever keeps them from it. */
export const copy =
  "Copy it, with the files beside it whose names begin with its own, to a folder that you may write to, and use the copy."

/** By SQLite's primary result codes, see sqlite.org/rescode.html. */
export const explain = (filename: string) => (error: SqlError.SqlError): SessionStore.StoreError => {
  const cause = error.reason.cause
  const database = filename === ":memory:" ? "The session database in memory" : `The session database "${filename}"`
  if (cause instanceof SqliteFile.Foreign) {
    const [first = "", ...more] = cause.tables
    const names = more.length === 0 ? first : `${first}, ...`
    return SessionErrors.refused(
      `${database} holds the tables of another program (${names}); it was left as it is. Choose another file for sessions.`
    )
  }
  const said = cause instanceof Error ? cause.message : String(cause)
  switch (primaryCodeOf(cause)) {
    case undefined:
      return SessionErrors.refused(`${database} cannot be used (${said}). Check the name of the file.`)
    case 5:
    case 6:
      return SessionErrors.unavailable(
        `${database} is locked by another program. Find the one that holds a transaction open on it, then try again.`
      )
    case 8:
      if (isMoved(cause)) {
        return SessionErrors.refused(
          `${database} was deleted, moved or replaced while it was open; nothing was written. Put it back, or start the ` +
            "program again to use what is there now."
        )
      }
      return SessionErrors.refused(
        `${database} is read-only. Allow this user to write to the file and its folder, then start the program again.`
      )
    case 10:
      return SessionErrors.unavailable(
        `${database} could not be read or written (${said}). Check its disk, then try again.`
      )
    case 11:
      return SessionErrors.refused(
        `${database} is damaged (${said}); it was left as it is. Restore a backup, then start the program again.`
      )
    case 13:
      return SessionErrors.unavailable(`${database} could not grow: its disk is full. Make room, then try again.`)
    case 14:
      return unopened(filename, database)
    case 19:
      return SessionErrors.refused(
        `${database} refused a write that does not fit what it holds (${said}). Look for changes that others made to its ` +
          "tables, or restore a backup."
      )
    case 26:
      return SessionErrors.refused(
        `"${filename}" is not a SQLite database; it was left as it is. Choose another file for sessions.`
      )
    case 1:
      return SessionErrors.refused(
        `${database} does not have the tables that this version needs (${said}). If a newer fiberloop changed them, update ` +
          "this one; else restore a backup, or choose another file for sessions."
      )
    default:
      return SessionErrors.unavailable(
        `${database} failed (${said}). Try again; if it fails again, check the file and its disk.`
      )
  }
}

/** SQLite says no more than "unable to open database file"; the file system tells why. */
export const unopened = (filename: string, database: string): SessionStore.StoreError => {
  const folder = dirname(resolve(filename))
  switch (openingFault(filename)) {
    case "EISDIR":
      return SessionErrors.refused(`"${filename}" is a folder. Name a file in it for the session database.`)
    case "ENOTDIR":
      return SessionErrors.refused(`"${folder}" is a file, so there is no session database in it. Choose another path.`)
    case "ENOENT":
      return existsSync(folder)
        ? SessionErrors.refused(
          `${database} cannot be created by this user. Allow the user to write to the folder "${folder}".`
        )
        : SessionErrors.refused(`The folder "${folder}" of the session database does not exist. Create it first.`)
    case "EACCES":
    case "EPERM":
      return SessionErrors.refused(
        `${database} cannot be opened by this user. Allow the user to read and write the file, and to write to its folder.`
      )
    case "EROFS":
      return SessionErrors.refused(`${database} is on a file system that is read-only. ${copy}`)
    default:
      return SessionErrors.unavailable(`${database} could not be opened. Check its disk and the limit of open files.`)
  }
}

/**
 * The code of the error that opening a file for reading and writing would have. Opens nothing: a process that closes a file gives up
 * all of its locks on it, those of SQLite too (sqlite.org/howtocorrupt.html, section 2.2).
 */
const openingFault = (filename: string): unknown => {
  try {
    if (statSync(filename).isDirectory()) return "EISDIR"
    accessSync(filename, constants.R_OK | constants.W_OK)
    return undefined
  } catch (cause) {
    return cause instanceof Error && "code" in cause ? cause.code : undefined
  }
}

/** SQLite's primary result code, where `cause` came from SQLite. */
export const primaryCodeOf = (cause: unknown): number | undefined => {
  const code = codeOf(cause)
  return code === undefined ? undefined : code & 0xff
}

/** Whether the file is not the one that was opened. */
export const isMoved = (cause: unknown): boolean => codeOf(cause) === SqliteFile.moved

/** SQLite's extended result code, where `cause` came from SQLite. */
const codeOf = (cause: unknown): number | undefined =>
  cause instanceof Error && "errcode" in cause && typeof cause.errcode === "number" ? cause.errcode : undefined

/** SQLITE_BUSY and SQLITE_LOCKED, with their extensions. */
export const isLocked = (cause: unknown): boolean => {
  const code = primaryCodeOf(cause)
  return code === 5 || code === 6
}

/** Converts to the error of effect/sql, with which a client fails. */
export const toSqlError = (cause: unknown, operation: string): SqlError.SqlError => {
  const code = codeOf(cause)
  return new SqlError.SqlError({
    reason: SqlError.classifySqliteError(
      code === undefined ? cause : Object.assign(cause as Error, { errno: code }),
      { message: `SQLite failed to ${operation}`, operation }
    )
  })
}
