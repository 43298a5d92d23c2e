/** What really happens to the file of a session database while it is open, and how it passes. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"

export interface Fault {
  readonly reason: "StoreUnavailable" | "StoreRefused"
  /** what its error says, beside the name of the file */
  readonly says: string
  /** which stores accept no message while it lasts, as in `FaultSweep` */
  readonly refuses: ReadonlyArray<"open" | "new">
  /** Begins it; the returned effect ends it. */
  readonly begin: (file: string) => Effect.Effect<Effect.Effect<void>, never, Scope.Scope>
}

const files = (file: string) => [file, `${file}-wal`, `${file}-shm`]

const move = (from: string, to: string) =>
  Effect.sync(() => {
    for (const file of files(to)) rmSync(file, { force: true })
    files(from).forEach((file, i) => existsSync(file) && renameSync(file, files(to)[i]!))
  })

const lock = `
const db = new (require("node:sqlite").DatabaseSync)(process.argv[1])
db.exec("BEGIN EXCLUSIVE")
process.stdout.write("locked")
setInterval(() => {}, 1000)`

/** Another program's database, in rollback mode. */
const writeOther = (file: string) =>
  Effect.sync(() => {
    const db = new DatabaseSync(file)
    db.exec("CREATE TABLE customers (name TEXT); INSERT INTO customers VALUES ('Ada')")
    db.close()
  })

/** Dies if a database that must not be touched was written to. */
const assertSame = (bytes: Buffer, file: string) => {
  if (!bytes.equals(readFileSync(file))) throw new Error(`"${file}" was written to`)
}

/**
 * Changes the bytes of the file, all of them being there: another program has moved what waited in its log of changes
 * into it. Ends with a copy of the good file in its place, and dies if the damaged one was written to.
 */
const damage = (change: (bytes: Buffer) => Buffer) => (file: string) =>
  Effect.sync(() => {
    const db = new DatabaseSync(file)
    db.exec("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    const good = readFileSync(file)
    const damaged = change(Buffer.from(good))
    writeFileSync(file, damaged)
    return Effect.sync(() => {
      assertSame(damaged, file)
      writeFileSync(file, good)
    })
  })

/** What a program survives. */
export const faults: Readonly<Record<string, Fault>> = {
  "locked by another program": {
    reason: "StoreUnavailable",
    says: "locked by another program",
    refuses: ["open", "new"],
    begin: (file) =>
      Effect.gen(function*() {
        const child = yield* Effect.acquireRelease(
          Effect.sync(() => spawn(process.execPath, ["-e", lock, file], { stdio: ["ignore", "pipe", "ignore"] })),
          (child) => Effect.sync(() => child.kill("SIGKILL"))
        )
        const exited = once(child, "exit")
        yield* Effect.promise(() => once(child.stdout, "data"))
        return Effect.promise(async () => {
          child.kill("SIGKILL")
          await exited
        })
      })
  },
  "moved away": {
    reason: "StoreRefused",
    says: "deleted, moved or replaced",
    refuses: ["open"],
    begin: (file) => Effect.as(move(file, `${file}.old`), move(`${file}.old`, file))
  },
  "replaced by a database of another program": {
    reason: "StoreRefused",
    says: "deleted, moved or replaced",
    refuses: ["open", "new"],
    begin: (file) =>
      Effect.gen(function*() {
        yield* move(file, `${file}.old`)
        yield* writeOther(file)
        const other = readFileSync(file)
        return Effect.andThen(
          Effect.sync(() => assertSame(other, file)),
          move(`${file}.old`, file)
        )
      })
  },
  "without its log of changes": {
    reason: "StoreRefused",
    says: "deleted, moved or replaced",
    refuses: ["open"],
    begin: (file) => {
      const [wal, kept] = [`${file}-wal`, `${file}-kept`]
      return Effect.as(Effect.sync(() => renameSync(wal, kept)), Effect.sync(() => renameSync(kept, wal)))
    }
  }
}

/** What a program must be restarted after. */
export const damages: Readonly<Record<string, Fault>> = {
  "damaged in its header": {
    reason: "StoreRefused",
    says: "is not a SQLite database",
    refuses: ["open", "new"],
    begin: damage((bytes) => bytes.fill(7, 0, 100))
  },
  "damaged in its tables": {
    reason: "StoreRefused",
    says: "is damaged",
    refuses: ["open", "new"],
    begin: damage((bytes) => bytes.fill(7, 4096))
  },
  "cut off in the middle": {
    reason: "StoreRefused",
    says: "is damaged",
    refuses: ["open", "new"],
    begin: damage((bytes) => bytes.subarray(0, 5000))
  },
  "overwritten with a database of another program": {
    reason: "StoreRefused",
    says: "does not have the tables that this version needs",
    refuses: ["open", "new"],
    begin: (file) =>
      Effect.flatMap(writeOther(`${file}-other`), () => damage(() => readFileSync(`${file}-other`))(file))
  }
}

/**
 * Takes permissions away. SQLite reopens a file with a descriptor left by a closed connection, whatever may be done
 * with the file now: a connection of our own leaves one.
 */
const forbid = (path: (file: string) => string, mode: number, before: number) => (file: string) =>
  Effect.sync(() => {
    const db = new DatabaseSync(file)
    db.exec("SELECT name FROM sqlite_schema")
    chmodSync(path(file), mode)
    return Effect.sync(() => {
      chmodSync(path(file), before)
      db.close()
    })
  })

/** What an open database keeps working under. Has no effect on root. */
export const permissions: Readonly<Record<string, Fault>> = {
  "read-only": {
    reason: "StoreRefused",
    says: "is read-only",
    refuses: ["new"],
    begin: forbid((file) => file, 0o444, 0o644)
  },
  "in a read-only folder": {
    reason: "StoreRefused",
    says: "is read-only",
    refuses: [],
    begin: forbid(dirname, 0o555, 0o755)
  }
}
