/**
 * The benchmarks: `npm run bench -- --help`. Does not measure anything itself; each measurement is a process of `measure.ts`.
 */
import { execFile } from "node:child_process"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import * as Built from "./harness/Built.ts"
import * as Contenders from "./harness/Contenders.ts"
import * as Options from "./harness/Options.ts"
import * as Plot from "./harness/Plot.ts"
import * as Scenario from "./harness/Scenario.ts"
import * as Statistics from "./harness/Statistics.ts"
import * as Table from "./harness/Table.ts"

const fail = (message: string): never => {
  console.error(message)
  process.exit(2)
}

const read = () => {
  try {
    const options = Options.parse(process.argv.slice(2))
    const scenarios = Options.select("scenario", Scenario.all, options.scenarios)
    const contenders = Options.select("contender", Contenders.all, options.only)
    return { options, scenarios, contenders }
  } catch (error) {
    return fail((error as Error).message)
  }
}

const measure = async (contender: string, scenario: string): Promise<Statistics.Sample> => {
  const args = [
    "--disable-warning=ExperimentalWarning",
    "--expose-gc",
    // one that keeps everything is not to take the machine along
    "--max-old-space-size=4096",
    join(import.meta.dirname, "measure.ts"),
    contender,
    scenario
  ]
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 26 })
  return JSON.parse(stdout.slice(stdout.lastIndexOf("{"))) as Statistics.Sample
}

/** The error that a process died of, in one line. */
const reason = (stderr: string) => /^\w*Error\b.*/m.exec(stderr)?.[0] ?? stderr.trim()

/** Says on a terminal what is under way. */
const say = (line: string) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
}

const { contenders, options, scenarios } = read()
if (options.help) {
  console.log(Options.usage)
  process.exit(0)
}
if (options.list) {
  for (const { name } of scenarios) console.log(`scenario   ${name}`)
  for (const { name } of contenders) console.log(`contender  ${name}`)
  process.exit(0)
}
const missing = contenders.filter(({ dependency }) =>
  dependency !== undefined && !existsSync(join(import.meta.dirname, "node_modules", dependency))
)
if (missing.length > 0) {
  fail(`${missing.map(({ name }) => name).join(", ")}: not installed. Run: npm ci --prefix bench`)
}

say("building fiberloop")
try {
  Built.build()
} catch {
  fail("fiberloop cannot be built")
}
const measured: Array<Statistics.Measured> = []
const broken: Array<string> = []
for (const scenario of scenarios) {
  const taking = contenders.filter(({ kinds }) => kinds.includes(scenario.kind))
  for (let round = 1; round <= options.rounds; round++) {
    for (const { name } of taking) {
      say(`${scenario.name}, round ${round} of ${options.rounds}: ${name}`)
      try {
        measured.push({ scenario: scenario.name, contender: name, sample: await measure(name, scenario.name) })
      } catch (error) {
        const { stderr = String(error) } = error as { readonly stderr?: string }
        broken.push(`${scenario.name}, ${name}: ${reason(stderr)}`)
      }
    }
  }
  say("")
  if (!options.json) console.log(Table.render(Statistics.rows(measured.filter((_) => _.scenario === scenario.name))))
}
if (options.json) console.log(JSON.stringify(Statistics.rows(measured), null, 1))
if (options.plots) {
  mkdirSync(join(import.meta.dirname, "plots"), { recursive: true })
  for (const plot of Plot.all) {
    const svg = Plot.render(plot, Statistics.rows(measured))
    if (svg !== undefined) writeFileSync(join(import.meta.dirname, "plots", plot.file), svg)
  }
}
for (const line of broken) console.error(line)
process.exitCode = broken.length > 0 ? 1 : 0
