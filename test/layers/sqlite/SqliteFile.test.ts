import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import fs, { copyFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SqliteFile from "../../../src/layers/sqlite/SqliteFile.ts"
import { temporaryFolder } from "../../support/Processes.ts"

/** A database in a folder of its own. */
const opened = Effect.gen(function*() {
  const folder = join(yield* temporaryFolder, "sessions")
  mkdirSync(folder)
  const file = join(folder, "s.db")
  const db = yield* Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(file)),
    (db) => Effect.sync(() => db.close())
  )
  const guarded = SqliteFile.guarded(db)
  const exec = (statement: string) => guarded(() => db.exec(statement))
  exec("PRAGMA journal_mode = WAL; CREATE TABLE t (x)")
  return { db, exec, folder, file, write: () => exec("INSERT INTO t VALUES (1)") }
})

/** A database in use for longer than file systems need to tell two changes apart. */
const inUse = Effect.gen(function*() {
  const database = yield* opened
  // on the file system's clock, which no test can move
  yield* Effect.sleep("50 millis")
  database.write()
  return database
})

/** A database on a file system that dates every change of its folder `changedAt`, at the time of day `day`. */
const withTimes = Effect.fnUntraced(function*(changedAt: number, day: number) {
  const database = yield* opened
  const times = { day, elapsed: 0 }
  const folder = dirname(database.db.location()!)
  const [now, elapsed] = [Date.now, performance.now]
  const { statSync } = fs
  const setStat = (to: typeof statSync) => {
    Object.assign(fs, { statSync: to })
    syncBuiltinESMExports()
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      Date.now = () => times.day
      performance.now = () => times.elapsed
      const dated = (...args: Parameters<typeof statSync>) => {
        const found = statSync(...args)
        return found === undefined || args[0] !== folder ? found : Object.assign(found, { ctimeMs: changedAt })
      }
      setStat(dated as typeof statSync)
    }),
    () =>
      Effect.sync(() => {
        Date.now = now
        performance.now = elapsed
        setStat(statSync)
      })
  )
  database.write()
  return { ...database, times }
})

/** Changes what is at a database's path, and returns what undoes it. */
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
  "its write-ahead log is moved away": ({ file }) => {
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
    it.live(`is not written to while ${name}, and works again once that is undone`, () =>
      Effect.gen(function*() {
        const { write, ...place } = yield* inUse
        const undo = change(place)
        assert.throws(write, "is not the file that was opened")
        assert.throws(write, "is not the file that was opened")
        undo()
        write()
      }))
  }

  it.live("keeps working when other files come and go beside it", () =>
    Effect.gen(function*() {
      const { folder, write } = yield* inUse
      writeFileSync(join(folder, "other"), "")
      write()
      rmSync(join(folder, "other"))
      write()
    }))
})

describe("a database whose folder does not show that it was changed", () => {
  const replaced = "is not the file that was opened"
  const soon = 1_000_000_000_123
  const wholeSecond = 1_000_000_000_000

  it.effect.each([["goes on", 1000], ["is set back", -3_600_000]] as const)(
    "is checked again a second after the last check, even if the time of day %s",
    ([, passed]) =>
      Effect.gen(function*() {
        const { file, times, write } = yield* withTimes(soon, soon + 31)
        renameSync(file, `${file}.old`)
        times.elapsed += 999
        write()
        times.elapsed++
        times.day += passed
        assert.throws(write, replaced)
      })
  )

  it.effect.each<readonly [string, number, number]>([
    ["to the millisecond", soon, 30],
    ["to the second", wholeSecond, 3000]
  ])(
    "is checked every time while its timestamps, exact %s, may hide another change",
    ([, changedAt, after]) =>
      Effect.gen(function*() {
        const { file, write } = yield* withTimes(changedAt, changedAt + after)
        renameSync(file, `${file}.old`)
        assert.throws(write, replaced)
      })
  )

  it.effect("is checked when its folder is a different one", () =>
    Effect.gen(function*() {
      const { folder, write } = yield* withTimes(soon, soon + 31)
      renameSync(folder, `${folder}.old`)
      mkdirSync(folder)
      assert.throws(write, replaced)
    }))
})

describe("a database whose file is moved away during a transaction", () => {
  it.live("lets that transaction end, and begins no other", () =>
    Effect.gen(function*() {
      const { db, exec, file } = yield* inUse
      exec("BEGIN")
      renameSync(file, `${file}.old`)
      exec("ROLLBACK")
      assert.isFalse(db.isTransaction)
      assert.throws(() => exec("BEGIN"), "is not the file that was opened")
    }))
})
