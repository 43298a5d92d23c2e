/** The command on unusable databases: one line that names the file, nothing changed; once mended, it works. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { execFile } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { promisify } from "node:util"
import * as Database from "../../src/cli/session/Database.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as LogRules from "../../src/testing/LogRules.ts"
import * as FullDisk from "../support/FullDisk.ts"
import * as OpenAiServer from "../support/OpenAiServer.ts"
import { faults } from "../support/SqliteFaults.ts"
import * as Child from "./Child.ts"
import * as Invoke from "./Invoke.ts"
import * as Replies from "./Replies.ts"
import { sandbox, withPermissions } from "./tools/files/Sandbox.ts"

/** A workplace with a session of one completed run. */
const withSession = Effect.fnUntraced(function*() {
  const place = yield* Invoke.withSession()
  const log = Effect.provide(
    SessionStore.SessionStore.use((store) => Stream.runCollect(store.read(place.id))),
    place.store
  )
  return { ...place, goOn: place.run(["--session", place.id, "3+3"]), log }
})

type Place = Effect.Success<ReturnType<typeof withSession>>

const assertLine = (stderr: string, db: string, says: string) => {
  assert.match(stderr, /^fiberloop: [^\n]+\n$/)
  assert.include(stderr, `"${db}"`)
  assert.include(stderr, says)
}

/** A session continues where it stopped. */
const assertGoesOn = Effect.fnUntraced(function*({ goOn, log }: Place) {
  const { code, stdout } = yield* goOn
  assert.deepStrictEqual([code, stdout], [0, "3+3 = 6\n"])
  const events = yield* log
  assert.deepStrictEqual(LogRules.violations(events), [])
  assert.strictEqual(events.filter(({ _tag }) => _tag === "RunCompleted").length, 2)
})

/** Overwrites bytes of the file. */
const overwrite = (from: number, to: number) => (bytes: Buffer) => Buffer.from(bytes).fill(7, from, to)

describe("a database that is damaged", () => {
  for (
    const [where, damage, says] of [
      ["in its header", overwrite(0, 100), "is not a SQLite database"],
      ["in its first table", overwrite(100, 4096), "is damaged"],
      ["in the middle", overwrite(4096, 5 * 4096), "is damaged"],
      ["at its end, which is missing", (bytes: Buffer) => bytes.subarray(0, 5000), "is damaged"]
    ] as const
  ) {
    it.effect(`${where} is refused, left as it is, and used once a backup is restored`, () =>
      Effect.gen(function*() {
        const place = yield* withSession()
        const { db, goOn, on } = place
        const backup = readFileSync(db)
        writeFileSync(db, damage(backup))
        const damaged = readFileSync(db)
        for (const { code, stderr } of [yield* goOn, yield* on("sessions")]) {
          assert.strictEqual(code, 1)
          assertLine(stderr, db, says)
        }
        assert.isTrue(damaged.equals(readFileSync(db)))
        writeFileSync(db, backup)
        yield* assertGoesOn(place)
      }))
  }
})

it.effect("a database of another program is refused by every command, and left as it is", () =>
  Effect.gen(function*() {
    const { db, on, run } = yield* Invoke.workplace()
    const other = new DatabaseSync(db)
    other.exec("CREATE TABLE customers (name TEXT)")
    other.close()
    const before = readFileSync(db)
    for (const { code, stderr } of [yield* run(["2+2"]), yield* on("sessions"), yield* on("show", ["abcdef"])]) {
      assert.strictEqual(code, 1)
      assertLine(stderr, db, "holds the tables of another program (customers)")
    }
    assert.isTrue(before.equals(readFileSync(db)))
  }))

describe("a database without write permission", () => {
  for (
    const [claim, forbid] of [
      ["because of its file", (db: string) => chmodSync(db, 0o444)],
      ["because of its folder", (db: string) => chmodSync(dirname(db), 0o555)]
    ] as const
  ) {
    it.effect(`${claim} is refused, and used once permitted`, () =>
      Effect.gen(function*() {
        const place = yield* withSession()
        const { db, goOn } = place
        const permit = () => {
          chmodSync(dirname(db), 0o777)
          chmodSync(db, 0o666)
        }
        permit()
        forbid(db)
        const { code, stderr } = yield* withPermissions(goOn)
        assert.strictEqual(code, 1)
        assertLine(stderr, db, "is read-only. Allow this user to write to the file and its folder")
        permit()
        yield* withPermissions(assertGoesOn(place))
      }))
  }
})

describe("a folder for sessions that cannot be created", () => {
  for (
    const [why, forbid] of [
      ["permission denied", (root: string) => chmodSync(root, 0o555)],
      ["a file is in its place", (root: string) => writeFileSync(join(root, ".fiberloop"), "")]
    ] as const
  ) {
    it.effect(`is named with its reason: ${why}`, () =>
      Effect.gen(function*() {
        const root = yield* sandbox()
        forbid(root)
        const place = { db: join(root, ".fiberloop/sessions.db"), isDefaultDb: true, session: undefined }
        const { line } = yield* withPermissions(Effect.flip(Database.prepare(place)))
        chmodSync(root, 0o755)
        assert.include(line, `.fiberloop" for sessions cannot be created (${why}): name a file elsewhere with --db`)
      }))
  }
})

it.effect("a database locked by another program is waited for, then named, and used once it is free", () =>
  Effect.gen(function*() {
    const place = yield* withSession()
    const unlock = yield* faults["locked by another program"]!.begin(place.db)
    const fiber = yield* Effect.forkChild(place.goOn)
    while (fiber.pollUnsafe() === undefined) yield* TestClock.adjust("1 second")
    const { code, stderr } = yield* Fiber.join(fiber)
    assert.strictEqual(code, 1)
    assertLine(stderr, place.db, "is locked by another program")
    yield* unlock
    yield* assertGoesOn(place)
  }))

it.live("a database that is moved away ends the run before its next tool, and the run continues once it is back", () =>
  Effect.gen(function*() {
    const place = yield* withSession()
    const { db, id, root } = place
    const model = yield* OpenAiServer.make(Replies.calls(
      ["run_command", { command: ["mv", db, `${db}.old`] }],
      ["write_file", { path: "second.txt", content: "" }]
    ))
    const flags = ["--root", root, "--db", db, "--session", id, "--model", "m", "--yes"]
    const { code, stderr } = yield* Child.run(["run", ...flags, "go"], { cwd: root, env: Replies.env(model) })
    assert.strictEqual(code, 1)
    assertLine(stderr.slice(stderr.lastIndexOf("fiberloop: ")), db, "was deleted, moved or replaced while it was open")
    assert.isFalse(existsSync(join(root, "second.txt")))
    assert.isFalse(existsSync(db))
    renameSync(`${db}.old`, db)
    yield* assertGoesOn({ ...place, goOn: place.run(["--session", id, "--model", "offline", "3+3"]) })
  }))

it.live.skipIf(!FullDisk.canMount)(
  "a database on a full disk is named, and used once there is room",
  () =>
    Effect.gen(function*() {
      const cwd = yield* sandbox()
      mkdirSync(join(cwd, "small"))
      const script = `
      cat /dev/zero > small/filler 2> /dev/null; "$@"; echo "code $?"
      rm small/filler; "$@"; echo "code $?"`
      const run = [process.execPath, Child.main, "run", "--db", "small/s.db", "2+2"]
      const [command, ...args] = FullDisk.mounted("small", "sh", "-c", script, "sh", ...run)
      const { stderr, stdout } = yield* Effect.promise(() =>
        promisify(execFile)(command, args, { cwd, env: Child.environment })
      )
      assert.strictEqual(stdout, "code 1\n2+2 = 4\ncode 0\n")
      assert.include(
        stderr,
        "fiberloop: the session database \"small/s.db\" could not grow: its disk is full. Make room"
      )
    })
)
