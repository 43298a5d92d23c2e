import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SqliteFile from "../../../src/layers/sqlite/SqliteFile.ts"
import { temporaryFolder } from "../../support/Processes.ts"

/** A database in a folder of its own, in use for longer than file systems take to tell a change from the one before. */
const inUse = Effect.gen(function*() {
  const folder = join(yield* temporaryFolder, "sessions")
  mkdirSync(folder)
  const file = join(folder, "s.db")
  const db = yield* Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(file)),
    (db) => Effect.sync(() => db.close())
  )
  const run = SqliteFile.guarded(db)
  const write = () => run(() => db.exec("INSERT INTO t VALUES (1)"))
  run(() => db.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x)"))
  // of the file system's clock, which no test moves
  yield* Effect.sleep("50 millis")
  write()
  return { folder, file, write }
})

/** Changes what is at the place of a database, and gives what undoes it. */
const changes: Readonly<Record<string, (place: { readonly folder: string; readonly file: string }) => () => void>> = {
  "its file is moved away": ({ file }) => {
    renameSync(file, `${file}.old`)
    return () => renameSync(`${file}.old`, file)
  },
  "its file is replaced by a copy": ({ file }) => {
    copyFileSync(file, `${file}.new`)
    renameSync(file, `${file}.old`)
    renameSync(`${file}.new`, file)
    return () => renameSync(`${file}.old`, file)
  },
  "its log of changes is moved away": ({ file }) => {
    renameSync(`${file}-wal`, `${file}-kept`)
    return () => renameSync(`${file}-kept`, `${file}-wal`)
  },
  "its folder is moved away": ({ folder }) => {
    renameSync(folder, `${folder}.old`)
    return () => renameSync(`${folder}.old`, folder)
  },
  "its folder is replaced": ({ folder }) => {
    renameSync(folder, `${folder}.old`)
    mkdirSync(folder)
    return () => {
      rmSync(folder, { recursive: true })
      renameSync(`${folder}.old`, folder)
    }
  }
}

describe("a database that has been in use for a while", () => {
  for (const [name, change] of Object.entries(changes)) {
    it.live(`is not written to when ${name}, and is again when that is undone`, () =>
      Effect.gen(function*() {
        const { write, ...place } = yield* inUse
        const undo = change(place)
        assert.throws(write, "is not the file that was opened")
        assert.throws(write, "is not the file that was opened")
        undo()
        write()
      }))
  }

  it.live("goes on when other files come and go beside it", () =>
    Effect.gen(function*() {
      const { folder, write } = yield* inUse
      writeFileSync(join(folder, "other"), "")
      write()
      rmSync(join(folder, "other"))
      write()
    }))
})
