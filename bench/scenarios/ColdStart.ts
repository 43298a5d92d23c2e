/**
 * From the start of a process to the first delta, as in an application that is built: JavaScript, with its packages in
 * `node_modules`. Also what there is to ship and to install. Of a bundle, only the files loaded by then count: the others belong
 * to other contenders of the same adapter.
 */
import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { promisify } from "node:util"
import * as Built from "../harness/Built.ts"
import type * as Contenders from "../harness/Contenders.ts"
import * as Installed from "../harness/Installed.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { median, type Sample } from "../harness/Statistics.ts"

const run = promisify(execFile)
const bench = join(import.meta.dirname, "..")

/** Imports the contender and runs it until the first delta; reports when it was imported, and when that delta came. */
const program = (entry: Contenders.Entry, { script }: Scenario) => `
import { contenders } from ${JSON.stringify(join(bench, entry.module))}
import { makeTally } from ${JSON.stringify(join(bench, "harness/Contender.ts"))}
const imported = performance.now()
const tally = makeTally()
tally.onDelta = () => {
  process.stdout.write(JSON.stringify([imported, performance.now()]), () => process.exit(0))
  tally.onDelta = undefined
}
const contender = contenders.find(({ name }) => name === ${JSON.stringify(entry.name)})
const runner = await contender.open(${JSON.stringify(script)}, tally)
await runner.run()
`

/** Reports each file that is loaded. */
const telling = `
import { writeSync } from "node:fs"
import { registerHooks } from "node:module"
registerHooks({ load: (url, context, next) => { writeSync(2, url + "\\n"); return next(url, context) } })
`

/** The bytes of a folder's files that a program in it loads. */
const loadedBytes = async (folder: string, program: string): Promise<number> => {
  const hooks = `data:text/javascript,${encodeURIComponent(telling)}`
  const { stderr } = await run(process.execPath, ["--import", hooks, join(folder, program)])
  const files = new Set(stderr.split("\n").filter((url) => url.startsWith(pathToFileURL(folder).href)))
  return [...files].reduce((sum, url) => sum + statSync(new URL(url)).size, 0)
}

export const measure = async (entry: Contenders.Entry, scenario: Scenario): Promise<Sample> => {
  const { rolldown } = await import("rolldown")
  mkdirSync(join(bench, ".tmp"), { recursive: true })
  const folder = mkdtempSync(join(bench, ".tmp", "start-"))
  try {
    const source = join(folder, "start.ts")
    writeFileSync(source, program(entry, scenario))

    /** Imports of our sources resolve to the built modules. */
    const built = (external: false | "absolute") => ({
      name: "built",
      resolveId: (id: string, importer: string | undefined) => {
        if (importer === undefined || !id.startsWith(".")) return undefined
        const module = Built.moduleOf(join(dirname(importer), id))
        return module === undefined ? undefined : { id: module, external }
      }
    })
    const shared = { input: source, platform: "node", logLevel: "silent" } as const
    const files = { format: "esm", entryFileNames: "[name].mjs", chunkFileNames: "[name].mjs" } as const

    // what the application wrote is its own code; what it installed is not
    const installed = await rolldown({ ...shared, external: /^[^./]/, plugins: [built("absolute")] })
    await installed.write({ ...files, dir: folder })
    const bundle = await rolldown({ ...shared, plugins: [built(false)] })
    const bundled = join(folder, "bundle")
    await bundle.write({ ...files, dir: bundled, minify: true })

    const times: Array<readonly [imported: number, first: number]> = []
    for (let i = 0; i < 5; i++) {
      const { stdout } = await run(process.execPath, [join(folder, "start.mjs")])
      times.push(JSON.parse(stdout) as [number, number])
    }
    const { bytes, packages } = Installed.of(entry)
    return {
      "ms until it is imported": median(times.map(([imported]) => imported)),
      "ms to the first delta": median(times.map(([, first]) => first)),
      "KB loaded of a minified bundle": (await loadedBytes(bundled, "start.mjs")) / 1024,
      "MB installed": bytes / 1024 / 1024,
      "packages installed": packages
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
