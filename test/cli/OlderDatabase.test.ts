/** The command on a database with tables of an older version, which programs of that version may be at work with. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import * as OwnerLiveness from "../../src/layers/OwnerLiveness.ts"
import * as Invoke from "./Invoke.ts"

const dump = readFileSync(new URL("../golden/sqlite-v2.sql", import.meta.url), "utf8")

/** A database of version 2 whose session "dead" has an owner, with a lease of so many milliseconds from now. */
const owned = Effect.fnUntraced(function*(owner: string, lease: number) {
  const { db } = yield* Invoke.workplace()
  const old = yield* Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(db)),
    (old) => Effect.sync(() => old.close())
  )
  old.exec(`BEGIN; ${dump} COMMIT; PRAGMA journal_mode = WAL`)
  old.prepare("UPDATE fiberloop_sessions SET owner = ?, lease = ? WHERE id = 'dead'").run(owner, Date.now() + lease)
  const tables = () => old.prepare("SELECT name, sql FROM sqlite_schema ORDER BY name").all()
  return { db, tables }
})

const live = OwnerLiveness.name("run-1", {})
const died = () => JSON.stringify({ ...OwnerLiveness.self("run-1"), pid: spawnSync(process.execPath, ["-v"]).pid })
const minute = 60_000

describe("a database of an older version", () => {
  it.live.each<readonly [string, ReadonlyArray<string>]>([
    ["sessions", []],
    ["show", ["whole"]],
    ["export", ["whole"]],
    ["abort", ["dead"]],
    ["steer", ["dead", "stop"]],
    ["run", ["2+2"]],
    ["recover", ["--list"]]
  ])(
    "is left as it is by %s while a program is at work on a session with it",
    ([command, args]) =>
      Effect.gen(function*() {
        const { db, tables } = yield* owned(live, minute)
        const before = tables()
        const { code, stderr, stdout } = yield* Invoke.invoke([command, ...args, "--db", db])
        assert.deepStrictEqual([code, stdout], [1, ""])
        assert.match(
          stderr,
          /^fiberloop: a program with an older fiberloop is at work on the session "dead"\. [^\n]+\n$/
        )
        for (const says of ["(2, this one needs ", "try again when the program has ended"]) assert.include(stderr, says)
        assert.deepStrictEqual(tables(), before)
      })
  )

  it.live.each<readonly [string, () => string, number]>([
    ["whose lease is over", () => live, -1],
    ["that is dead, whatever its lease", died, minute],
    ["whose name is damaged", () => "{", minute]
  ])("is brought up to date where a session has an owner %s", ([, owner, lease]) =>
    Effect.gen(function*() {
      const { db, tables } = yield* owned(owner(), lease)
      const { code, stdout } = yield* Invoke.invoke(["sessions", "--db", db])
      assert.strictEqual(code, 0)
      assert.include(stdout, "whole")
      assert.include(tables().map(({ name }) => name), "fiberloop_log")
    }))
})
