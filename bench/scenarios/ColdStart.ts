/**
 * From the start of a process to the first delta, as an application that is built has it: JavaScript, its packages in
 * `node_modules`. And what there is to ship and to install.
 */
import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import type * as Contenders from "../harness/Contenders.ts"
import * as Installed from "../harness/Installed.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { median, type Sample } from "../harness/Statistics.ts"

const run = promisify(execFile)
const bench = join(import.meta.dirname, "..")
const root = join(bench, "..")
const sources = join(root, "src")

/** Imports the contender and runs it until the first delta. */
const program = (entry: Contenders.Entry, { script }: Scenario) => `
import { contenders } from ${JSON.stringify(join(bench, entry.module))}
import { makeTally } from ${JSON.stringify(join(bench, "harness/Contender.ts"))}
const tally = makeTally()
tally.onDelta = () => {
  process.stdout.write(String(performance.now()), () => process.exit(0))
  tally.onDelta = undefined
}
const contender = contenders.find(({ name }) => name === ${JSON.stringify(entry.name)})
const runner = await contender.open(${JSON.stringify(script)}, tally)
await runner.run()
`

export const measure = async (entry: Contenders.Entry, scenario: Scenario): Promise<Sample> => {
  const { rolldown } = await import("rolldown")
  mkdirSync(join(bench, ".tmp"), { recursive: true })
  const folder = mkdtempSync(join(bench, ".tmp", "start-"))
  try {
    const source = join(folder, "start.ts")
    writeFileSync(source, program(entry, scenario))
    const dist = join(folder, "dist")
    await run(process.execPath, [join(root, "scripts/build.mjs"), dist])

    // what the application wrote is one file, what it installed is not
    const built = {
      name: "built",
      resolveId: (id: string, importer: string | undefined) => {
        const path = importer === undefined ? id : join(dirname(importer), id)
        if (!id.startsWith(".") || !path.startsWith(sources)) return undefined
        return { id: path.replace(sources, dist).replace(/\.ts$/, ".js"), external: "absolute" as const }
      }
    }
    const installed = await rolldown({
      input: source,
      platform: "node",
      external: /^[^./]/,
      plugins: [built],
      logLevel: "silent"
    })
    const started = join(folder, "start.mjs")
    await installed.write({ file: started, format: "esm", codeSplitting: false })
    const bundle = await rolldown({ input: source, platform: "node", logLevel: "silent" })
    const bundled = join(folder, "bundle.mjs")
    await bundle.write({ file: bundled, format: "esm", minify: true, codeSplitting: false })

    const times: Array<number> = []
    for (let i = 0; i < 5; i++) times.push(Number((await run(process.execPath, [started])).stdout))
    const { bytes, packages } = Installed.of(entry)
    return {
      "ms to the first delta": median(times),
      "KB of a minified bundle": statSync(bundled).size / 1024,
      "MB installed": bytes / 1024 / 1024,
      "packages installed": packages
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
