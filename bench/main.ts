/**
 * The benchmarks: `npm run bench -- --help`. Does not measure anything itself; each measurement is a process of `measure.ts`.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus } from "node:os"
import { join } from "node:path"
import * as Built from "./harness/Built.ts"
import * as Contenders from "./harness/Contenders.ts"
import * as Measuring from "./harness/Measuring.ts"
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
    const options = Options.parse(process.argv.slice(2), Contenders.all.map(({ name }) => name))
    if (options.help) {
      console.log(Options.usage)
      process.exit(0)
    }
    const scenarios = Options.select("scenario", Scenario.all, options.scenarios)
    const contenders = Options.select("contender", Contenders.all, options.only)
    return { options, scenarios, contenders }
  } catch (error) {
    return fail((error as Error).message)
  }
}

/** Shows on a terminal what is under way. */
const say = (line: string) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`)
}

/** What else the times depend on. */
const machine = () => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../package.json"), "utf8"))
  return { fiberloop: version, node: process.version, cpu: cpus()[0]?.model, cores: availableParallelism() }
}

const { contenders, options, scenarios } = read()
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

for (const { kind, name } of scenarios) {
  if (contenders.some(({ kinds }) => kinds.includes(kind))) continue
  fail(`none of these takes part in "${name}": ${contenders.map(({ name }) => name).join("; ")}`)
}

say("building fiberloop")
try {
  Built.build()
} catch {
  fail("fiberloop cannot be built")
}

let measured: ReadonlyArray<Statistics.Measured> = []
const broken: Array<string> = []
const tell = () => {
  const rows = Statistics.rows(measured)
  if (options.json) console.log(JSON.stringify({ ...machine(), rounds: options.rounds, rows, broken }, null, 1))
  return rows
}

const measuring = Measuring.make()
let isStopped = false
for (const [signal, code] of [["SIGHUP", 129], ["SIGINT", 130], ["SIGTERM", 143]] as const) {
  process.on(signal, async () => {
    if (isStopped) return
    isStopped = true
    say("")
    await measuring.end()
    // what has been measured so far took long enough
    tell()
    process.exit(code)
  })
}
for (const scenario of scenarios) {
  const taking = new Set(contenders.filter(({ kinds }) => kinds.includes(scenario.kind)))
  for (let round = 1; round <= options.rounds; round++) {
    // start with another contender in each round: what one leaves on the disk and in caches then affects all alike
    const order = [...taking]
    const first = (round - 1) % order.length
    for (const contender of [...order.slice(first), ...order.slice(0, first)]) {
      const { name } = contender
      say(`${scenario.name}, round ${round} of ${options.rounds}: ${name}`)
      try {
        const sample = await measuring.measure(name, scenario.name)
        measured = [...measured, { scenario: scenario.name, contender: name, sample }]
      } catch (error) {
        // it takes no further part, and is removed from the rounds before
        taking.delete(contender)
        measured = measured.filter((_) => _.scenario !== scenario.name || _.contender !== name)
        broken.push(`${scenario.name}, ${name}: ${(error as Error).message}`)
      }
    }
  }
  say("")
  if (!options.json) console.log(Table.render(Statistics.rows(measured.filter((_) => _.scenario === scenario.name))))
}
await measuring.end()
const rows = tell()
if (options.plots) {
  mkdirSync(join(import.meta.dirname, "plots"), { recursive: true })
  for (const plot of Plot.all) {
    const svg = Plot.render(plot, rows)
    if (svg !== undefined) writeFileSync(join(import.meta.dirname, "plots", plot.file), svg)
  }
}
for (const line of broken) console.error(line)
process.exitCode = broken.length > 0 ? 1 : 0
