/** What happens to the file of a session database while it is open, for real, and how it goes by again. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, renameSync, rmSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"

export interface Fault {
  readonly reason: "StoreUnavailable" | "StoreRefused"
  /** what its error says, beside the name of the file */
  readonly says: string
  /** Begins it; what it gives ends it. */
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

export const faults: Readonly<Record<string, Fault>> = {
  "locked by another program": {
    reason: "StoreUnavailable",
    says: "locked by another program",
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
    begin: (file) => Effect.as(move(file, `${file}.old`), move(`${file}.old`, file))
  },
  "replaced by a database of another program": {
    reason: "StoreRefused",
    says: "deleted, moved or replaced",
    begin: (file) => Effect.as(Effect.andThen(move(file, `${file}.old`), writeOther(file)), move(`${file}.old`, file))
  },
  "without its log of changes": {
    reason: "StoreRefused",
    says: "deleted, moved or replaced",
    begin: (file) => {
      const [wal, kept] = [`${file}-wal`, `${file}-kept`]
      return Effect.as(Effect.sync(() => renameSync(wal, kept)), Effect.sync(() => renameSync(kept, wal)))
    }
  }
}
