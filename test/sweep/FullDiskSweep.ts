/**
 * A fault sweep over disks that fill up, as a process of its own: started with the folder that is the disk, how it
 * fills up, and which operations to try. Prints the report as JSON.
 */
import * as Effect from "effect/Effect"
import { rmSync } from "node:fs"
import { basename, join } from "node:path"
import type * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as FaultSweep from "../../src/testing/FaultSweep.ts"
import * as DiskFilling from "../support/DiskFilling.ts"
import * as BreakableSubjects from "./BreakableSubjects.ts"

const [disk = "", how = "", every = ""] = process.argv.slice(2)

/** Tools write down what they do elsewhere. */
const fileOf = ({ folder }: CrashSweep.Place) => join(disk, basename(folder))

const report = await Effect.runPromise(FaultSweep.sweep({
  subjects: BreakableSubjects.make(fileOf),
  faults: [],
  outages: (place) => [{
    name: `full (${how})`,
    reason: "StoreUnavailable",
    refuses: ["open", "new"],
    begin: Effect.acquireRelease(
      DiskFilling.fill(how as DiskFilling.How, fileOf(place)),
      () => Effect.sync(() => rmSync(fileOf(place)))
    )
  }],
  every: Number(every)
}))

process.stdout.write(JSON.stringify(report))
