/**
 * Stores whose n-th operation fails, under every kind of run. Some of the operations here; all of them with
 * `npm run test:sweep`.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import type * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as FaultSweep from "../../src/testing/FaultSweep.ts"
import { canLoad, withPermissions } from "../cli/tools/files/Sandbox.ts"
import type * as DiskFilling from "../support/DiskFilling.ts"
import * as FullDisk from "../support/FullDisk.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as SqliteFaults from "../support/SqliteFaults.ts"
import * as BreakableSubjects from "./BreakableSubjects.ts"
import * as ClassSubjects from "./ClassSubjects.ts"
import * as MemorySubjects from "./MemorySubjects.ts"
import * as SqliteSubjects from "./SqliteSubjects.ts"

const isWhole = process.env["FIBERLOOP_SWEEP"] === "all"

const check = (name: string, { failures, points }: FaultSweep.Report, least: number) => {
  if (isWhole) console.log(`${name}: ${points} points tried, ${failures.length} failed`)
  assert.deepStrictEqual(failures, [])
  assert.isAbove(points, least)
}

for (
  const [name, subjects, every] of [
    ["memory", MemorySubjects.subjects, isWhole ? 1 : 7],
    ["classes", ClassSubjects.subjects, isWhole ? 1 : 30],
    ["SQLite", SqliteSubjects.subjects, isWhole ? 1 : 23]
  ] as const
) {
  it.live(
    `${name}: whichever operation of the store fails, runs end typed and sessions continue`,
    () =>
      Effect.gen(function*() {
        const report = yield* FaultSweep.sweep({ subjects, every })
        check(name, report, 30)
      }),
    600_000
  )
}

/** A file in a folder of its own, which can be closed off while tools still write down what they do elsewhere. */
const fileIn = ({ folder }: CrashSweep.Place) => {
  if (folder !== "") mkdirSync(join(folder, "database"), { recursive: true })
  return join(folder, "database", "sessions.db")
}

const onFile = (faults: typeof SqliteFaults.faults, needsRestart: boolean) => (place: CrashSweep.Place) =>
  Object.entries(faults).map(([name, fault]) => ({ ...fault, name, begin: fault.begin(fileIn(place)), needsRestart }))

for (
  const [claim, outages, asNobody] of [
    ["whatever happens to a database's file", onFile(SqliteFaults.faults, false), false],
    ["whenever a database is damaged", onFile(SqliteFaults.damages, true), false],
    ["whenever a database becomes unwritable", onFile(SqliteFaults.permissions, false), true]
  ] as const
) {
  it.live.skipIf(asNobody && !canLoad)(
    `${claim}, runs end typed and sessions continue once it is repaired`,
    () =>
      Effect.gen(function*() {
        const sweep = FaultSweep.sweep({
          subjects: BreakableSubjects.make(fileIn),
          faults: [],
          outages,
          every: isWhole ? 1 : 31
        })
        const report = yield* asNobody ? withPermissions(sweep) : sweep
        check(claim, report, 10)
      }),
    600_000
  )
}

const fullDisk = Effect.fnUntraced(function*(how: DiskFilling.How) {
  const disk = yield* temporaryFolder
  const script = join(import.meta.dirname, "FullDiskSweep.ts")
  const sweep = [
    process.execPath,
    "--disable-warning=ExperimentalWarning",
    script,
    disk,
    how,
    isWhole ? "1" : "11"
  ] as const
  const [command, ...args] = how === "tmpfs" ? FullDisk.mounted(disk, ...sweep) : sweep
  const { stdout } = yield* Effect.promise(() => promisify(execFile)(command, args))
  const report: FaultSweep.Report = JSON.parse(stdout)
  check(`disk full (${how})`, report, 10)
})

it.live.skipIf(!FullDisk.canMount)(
  "whenever the disk becomes full, runs end typed and sessions continue once there is room",
  () => fullDisk("tmpfs"),
  600_000
)

it.live.skipIf(!FullDisk.canLimit)(
  "whenever files can no longer grow, runs end typed and sessions continue once they can",
  () => fullDisk("limit"),
  600_000
)
