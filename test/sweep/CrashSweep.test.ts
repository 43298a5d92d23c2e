/**
 * Processes killed with SIGKILL at points of every kind of run, whose sessions continue. Some of the points here; all with
 * `npm run test:sweep`.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as PgDatabases from "../support/PgDatabases.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as Sweeping from "./Sweeping.ts"

const limit = 1_800_000

const check = (subjects: string, every: number, options: Parameters<typeof Sweeping.sweep>[2] = {}) =>
  Effect.map(Sweeping.sweep(subjects, every, options), ({ failures, points }) => {
    assert.deepStrictEqual(failures, [])
    assert.isAbove(points, 20)
  })

it.live(
  "SQLite: wherever a process is killed, nothing is lost and nothing is done twice",
  // each death has a file of its own, so its agent finds nothing else there to take up
  () => check("SqliteSubjects", 37, { goOn: ["recover", "hello"] }),
  limit
)

it.live(
  "Postgres: wherever a process is killed, nothing is lost and nothing is done twice",
  () => Effect.flatMap(PgDatabases.database, (argument) => check("PgSubjects", 61, { argument })),
  limit
)

it.live(
  "a process that ends with an error of its own counts as one failure and ends the sweep of its subject",
  () =>
    Effect.gen(function*() {
      const module = new URL("./BrokenSubjects.ts", import.meta.url)
      const { failures, points } = yield* CrashSweep.sweep({ module, goOn: ["resume"] })
      assert.strictEqual(points, 0)
      assert.deepStrictEqual(failures.map(({ point, subject }) => [subject, point]), [["broken", "1"]])
      assert.include(failures[0]?.what, "broken by itself")
    }),
  60_000
)

it.live("a process that cannot be started counts as one failure and ends the sweep of its subject", () =>
  Effect.gen(function*() {
    const { execPath } = process
    yield* Effect.acquireRelease(
      Effect.sync(() => void (process.execPath = "/nowhere/node")),
      () => Effect.sync(() => void (process.execPath = execPath))
    )
    const module = new URL("./BrokenSubjects.ts", import.meta.url)
    const { failures, points } = yield* CrashSweep.sweep({ module, goOn: ["resume"] })
    assert.strictEqual(points, 0)
    assert.deepStrictEqual(failures.map(({ point, what }) => [point, what]), [
      ["1", "the process could not be started: spawn /nowhere/node ENOENT"]
    ])
  }))

it.live(
  "a log that cannot be read after a death is reported as such",
  () =>
    Effect.gen(function*() {
      const module = new URL("./UnreadableSubjects.ts", import.meta.url)
      const { failures } = yield* CrashSweep.sweep({ module, goOn: ["hello"], every: 1000 })
      assert.deepStrictEqual(failures.map(({ what }) => what), [
        "it does not go on: the log cannot be read: the disk is gone"
      ])
    }),
  60_000
)

/** The ids of processes that subjects wrote to a file. */
const leftIn = (file: string): ReadonlyArray<number> =>
  existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").map(Number) : []

it.live(
  "what a process has started, and what lives on with its stderr, is not waited for",
  () =>
    Effect.gen(function*() {
      const argument = join(yield* temporaryFolder, "pid")
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => leftIn(argument).forEach((pid) => process.kill(pid, "SIGKILL")))
      )
      const module = new URL("./LeavingSubjects.ts", import.meta.url)
      const report = yield* CrashSweep.sweep({ module, goOn: ["hello"], every: 1000, argument })
      assert.deepStrictEqual(report, { points: 1, failures: [] })
      // of the process that was killed, and of one that ended; signal 0 only asks whether they are there
      assert.deepStrictEqual(leftIn(argument).map((pid) => process.kill(pid, 0)), [true, true])
    }),
  120_000
)

it.live.each<readonly [string, Omit<CrashSweep.Sweep, "module">, string]>([
  [
    "a run that is not taken up",
    // the points before the session is opened, and before its second event is stored
    { only: ["unlisted"], goOn: ["recover"], every: 4 },
    "5, before storing TurnStarted: its run was not taken up"
  ],
  [
    "an event that was confirmed and is lost",
    { only: ["forgetful"], goOn: ["hello"], every: 4 },
    "5, before storing TurnStarted: the store had confirmed event 1, and its log ends with event 0"
  ],
  [
    "a message that is not answered",
    { only: ["endless"], goOn: ["hello"], every: 1000 },
    "1, before opening the session: \"hello\" was not answered: The run stopped at the same call with the same result " +
    "again and again (search, 4 times)"
  ]
])(
  "%s after a death is reported as such",
  ([, options, expected]) =>
    Effect.gen(function*() {
      const module = new URL("./WrongSubjects.ts", import.meta.url)
      const { failures } = yield* CrashSweep.sweep({ module, ...options })
      const found = failures.map(({ point, what }) => `${point}: ${what.replace(/, after .*/, "")}`)
      assert.deepStrictEqual(found, [expected])
    }),
  120_000
)
