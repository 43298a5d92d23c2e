/** An error of SQLite says what to do about it, on one line. Those of real files are in `SqliteFaults` and `SessionStoreSqlite`. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SqliteErrors from "../../../src/layers/sqlite/SqliteErrors.ts"
import { temporaryFolder } from "../../support/Processes.ts"

const ofCode = (errcode: number | undefined): string => {
  const cause = Object.assign(new Error("it says so"), errcode === undefined ? {} : { errcode })
  return SqliteErrors.explain("s.db")(SqliteErrors.toSqlError(cause, "open")).message
}

describe("an error says what to do", () => {
  it.each<readonly [number | undefined, string]>([
    [undefined, "cannot be used (it says so). Check the name of the file."],
    [
      1,
      "needs (it says so). If a newer fiberloop changed them, update this one; else restore a backup, or choose another file for " +
      "sessions."
    ],
    [5, "Find the one that holds a transaction open on it, then try again."],
    [8, "Allow this user to write to the file and its folder, then start the program again."],
    [10, "could not be read or written (it says so). Check its disk, then try again."],
    [11, "Restore a backup, then start the program again."],
    [13, "Make room, then try again."],
    [19, "Look for changes that others made to its tables, or restore a backup."],
    [26, "Choose another file for sessions."],
    [21, "failed (it says so). Try again; if it fails again, check the file and its disk."]
  ])("with the code %s", (code, advice) => assert.isTrue(ofCode(code).endsWith(advice), ofCode(code)))
})

describe("a lock of others", () => {
  it.each<readonly [string, number, boolean]>([
    ["of the file", 5, true],
    ["of the file, with its extension", 261, true],
    ["of a table", 6, true],
    ["that is none", 8, false]
  ])("%s", (_, errcode, isLocked) => {
    assert.strictEqual(SqliteErrors.isLocked(Object.assign(new Error("it says so"), { errcode })), isLocked)
  })
})

const write = `
const db = new (require("node:sqlite").DatabaseSync)(process.argv[1])
try {
  db.exec("BEGIN IMMEDIATE")
} catch ({ message }) {
  process.stdout.write(message)
}`

it.effect("to say why a database could not be opened leaves this process its locks on it", () =>
  Effect.gen(function*() {
    const file = join(yield* temporaryFolder, "s.db")
    const db = yield* Effect.acquireRelease(
      Effect.sync(() => new DatabaseSync(file)),
      (db) => Effect.sync(() => db.close())
    )
    db.exec("CREATE TABLE t (x); BEGIN EXCLUSIVE")
    SqliteErrors.unopened(file, file)
    const other = spawnSync(process.execPath, ["-e", write, file], { encoding: "utf8" })
    assert.strictEqual(other.stdout, "database is locked", other.stderr)
  }))
