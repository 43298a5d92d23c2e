/** The command on a database that its user may not write to: what only reads works, and nothing is changed. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { copyFileSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as OwnerLiveness from "../../src/layers/OwnerLiveness.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import { started } from "../../src/testing/sessions/Fixtures.ts"
import * as ReadOnlyMount from "../support/ReadOnlyMount.ts"
import * as Child from "./Child.ts"
import * as Invoke from "./Invoke.ts"
import { sandbox } from "./tools/files/Sandbox.ts"

/** The command in a process that may only read the folder of the database. */
const reading = (db: string, command: string, args: ReadonlyArray<string> = []) =>
  Effect.promise(() =>
    new Promise<Child.Ended>((resolve) => {
      const words = [process.execPath, Child.main, command, "--db", db, ...args]
      const [first, ...others] = ReadOnlyMount.mounted(dirname(db), ...words)
      execFile(first, others, { cwd: "/", env: Child.environment }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, stdout, stderr }))
    })
  )

/** Every file in the folder of the database. */
const contents = (db: string) =>
  readdirSync(dirname(db)).map((name) => [name, readFileSync(join(dirname(db), name), "base64")])

/** A database that is still open, with a session whose events are all in its log of changes. */
const inUse = Effect.gen(function*() {
  const place = yield* Invoke.workplace()
  const store = yield* SessionStoreSqlite.make({ filename: place.db })
  const session = yield* store.open("abcdef", { runId: "run-1", create: true })
  yield* session.append([started({ seq: 1 }, "hello there")])
  return place
})

const assertLine = ({ code, stderr }: Child.Ended, says: ReadonlyArray<string>) => {
  assert.strictEqual(code, 1)
  assert.match(stderr, /^fiberloop: [^\n]+\n$/)
  for (const text of says) assert.include(stderr, text)
}

const copying = "Copy it, with the files beside it whose names begin with its own, to a folder that you may write to"

describe.skipIf(!ReadOnlyMount.canMount)("a database on a read-only file system", () => {
  it.live.each<readonly [string, (id: string) => ReadonlyArray<string>]>([
    ["sessions", () => []],
    ["show", (id) => [id]],
    ["show", () => ["last", "--timeline"]],
    ["show", (id) => [id, "--context"]],
    ["stats", () => []],
    ["stats", (id) => ["--session", id]],
    ["export", (id) => [id]],
    ["approvals", () => []],
    ["approvals", (id) => ["--session", id]],
    ["recover", () => ["--list"]]
  ])("is read by %s and left as it is", ([command, args]) =>
    Effect.gen(function*() {
      const { db, id, on } = yield* Invoke.withSession()
      const before = contents(db)
      const read = yield* reading(db, command, args(id))
      assert.deepStrictEqual(contents(db), before)
      const { code, stderr, stdout } = yield* on(command, args(id))
      assert.deepStrictEqual(read, { code, stderr, stdout })
      assert.strictEqual(code, 0)
    }))

  it.live("is read up to its last change while another process writes to it", () =>
    Effect.gen(function*() {
      const { db } = yield* inUse
      const { code, stdout } = yield* reading(db, "sessions")
      assert.strictEqual(code, 0)
      assert.include(stdout, "hello there")
    }))

  it.live("is not read without its last changes: it says to copy it, and the copy has them", () =>
    Effect.gen(function*() {
      const { db } = yield* inUse
      const [left, copy] = [join(yield* sandbox(), "left.db"), join(yield* sandbox(), "copy.db")]
      for (const beside of ["", "-wal"]) copyFileSync(`${db}${beside}`, `${left}${beside}`)
      const refused = yield* reading(left, "sessions")
      assertLine(refused, [`"${left}" cannot be read where it is`, "its last changes", `"${dirname(left)}"`, copying])
      assert.strictEqual(refused.stdout, "")
      for (const beside of ["", "-wal"]) copyFileSync(`${left}${beside}`, `${copy}${beside}`)
      const { stdout } = yield* Invoke.invoke(["sessions", "--db", copy])
      assert.include(stdout, "hello there")
    }))

  it.live("is not brought up to date: it says to copy it", () =>
    Effect.gen(function*() {
      const { db } = yield* Invoke.workplace()
      const old = new DatabaseSync(db)
      const dump = readFileSync(new URL("../golden/sqlite-v2.sql", import.meta.url), "utf8")
      old.exec(`BEGIN; ${dump} COMMIT; PRAGMA journal_mode = WAL`)
      // whether or not a program is at work with it
      old.prepare("UPDATE fiberloop_sessions SET owner = ?, lease = ? WHERE id = 'dead'")
        .run(OwnerLiveness.name("run-1", {}), Date.now() + 60_000)
      old.close()
      const says = ["an older fiberloop made the tables", "version 2", "Copy the database, with the files beside it"]
      assertLine(yield* reading(db, "sessions"), says)
    }))

  it.live("is refused where it is another program's", () =>
    Effect.gen(function*() {
      const { db } = yield* Invoke.workplace()
      const other = new DatabaseSync(db)
      other.exec("CREATE TABLE customers (name TEXT)")
      other.close()
      assertLine(yield* reading(db, "sessions"), ["holds the tables of another program (customers)"])
    }))

  it.live.each<readonly [string, (id: string) => ReadonlyArray<string>]>([
    ["run", () => ["2+2"]],
    ["fork", (id) => [id]],
    ["abort", (id) => [id]],
    ["recover", () => []]
  ])("cannot be used by %s: it says to copy it", ([command, args]) =>
    Effect.gen(function*() {
      const { db, id } = yield* Invoke.withSession()
      const says = [`"${db}" is on a file system that is read-only`, copying]
      assertLine(yield* reading(db, command, args(id)), says)
    }))
})
