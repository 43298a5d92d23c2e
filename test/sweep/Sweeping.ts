/** Sweeps of subjects that are loaded as a bundle, as are the processes that die: only loading is faster. */
import * as Effect from "effect/Effect"
import { fileURLToPath } from "node:url"
import type * as CrashSweep from "../../src/testing/CrashSweep.ts"
import * as UserModule from "../../src/testing/UserModule.ts"
import * as Bundle from "../support/Bundle.ts"
import type * as SweepRun from "./SweepRun.ts"

const isWhole = process.env["FIBERLOOP_SWEEP"] === "all"

/** The compile cache goes by path, and is removed with the bundle. */
const keptIn = (folder: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const before = process.env["NODE_COMPILE_CACHE"]
      process.env["NODE_COMPILE_CACHE"] = folder
      return before
    }),
    (before) =>
      Effect.sync(() => {
        if (before === undefined) delete process.env["NODE_COMPILE_CACHE"]
        else process.env["NODE_COMPILE_CACHE"] = before
      })
  )

/** Tries every n-th point of the subjects of a module in this folder, or all of them with `npm run test:sweep`. */
export const sweep = Effect.fnUntraced(function*(
  name: string,
  every: number,
  given: Pick<CrashSweep.Sweep, "argument" | "goOn"> = {}
) {
  const bundle = yield* Bundle.make({
    // must be beside the sweep that starts it
    CrashChild: new URL("../../src/testing/CrashChild.ts", import.meta.url),
    SweepRun: new URL("./SweepRun.ts", import.meta.url),
    subjects: new URL(`./${name}.ts`, import.meta.url)
  })
  yield* keptIn(fileURLToPath(new URL("compiled", bundle.subjects)))
  const whole = { every: 1, ...(given.goOn === undefined ? {} : { goOn: ["resume", "recover", "hello"] as const }) }
  const options = { every, ...given, ...(isWhole ? whole : {}), module: bundle.subjects }
  const report = yield* Effect.promise(async (signal) => {
    const { run } = await UserModule.load<typeof SweepRun>(bundle.SweepRun.href)
    return run(options, signal)
  })
  if (isWhole) console.log(`${name}: ${report.points} points tried, ${report.failures.length} failed`)
  return report
})
