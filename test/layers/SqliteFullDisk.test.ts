/** Agents whose disk fills up while they work, as processes of their own. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import type { How } from "../support/DiskFilling.ts"
import * as FullDisk from "../support/FullDisk.ts"
import { temporaryFolder } from "../support/Processes.ts"
import type { Report } from "./FullDiskProcess.ts"

const script = join(import.meta.dirname, "FullDiskProcess.ts")

const run = Effect.fnUntraced(function*(how: How) {
  const folder = yield* temporaryFolder
  const file = join(folder, "s.db")
  const agent = [process.execPath, "--disable-warning=ExperimentalWarning", script, file, how] as const
  const [command, ...args] = how === "tmpfs" ? FullDisk.mounted(folder, ...agent) : agent
  const { stdout } = yield* Effect.promise(() => promisify(execFile)(command, args))
  const report: Report = JSON.parse(stdout)
  return { file, report }
})

const check = (how: How, says: string) =>
  Effect.gen(function*() {
    const { file, report } = yield* run(how)
    assert.strictEqual(report.reason._tag, "StoreUnavailable")
    assert.include(report.reason.message, `"${file}" ${says}`)
    assert.notInclude(report.reason.message, "\n")
    assert.deepStrictEqual(report.ran, [1])
    assert.deepStrictEqual(report.said, ["Completed", "Completed"])
    assert.deepStrictEqual(report.violations, [])
  })

it.live.skipIf(!FullDisk.canMount)(
  "on a full disk the run ends typed, no further call starts, and a message is taken once there is room",
  () => check("tmpfs", "could not grow: its disk is full. Make room, then try again.")
)

it.live.skipIf(!FullDisk.canLimit)(
  "with files that cannot grow the run ends typed, no further call starts, and a message is taken once they can",
  () => check("limit", "could not be read or written (disk I/O error). Check its disk")
)
