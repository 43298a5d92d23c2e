/** The command line of the benchmarks. */
import { parseArgs } from "node:util"

export const usage = `npm run bench -- [scenario ...] [options]

Times fiberloop beside its peers. Every measurement is a process of its own, the rounds go through all contenders in turn,
and every run's events, characters and calls are counted. Trust the ratios, not the times.

  scenario             the scenarios whose names begin so: deltas, steps, parallel, concurrent, durable, abort, "cold start"
  --only <names>       contenders whose names begin so, comma separated: --only fiberloop,pi,floor
  --rounds <n>         rounds, each a measurement of every contender (default 5)
  --json               the rows as JSON, in place of tables
  --plots              writes the plots of what was measured to bench/plots
  --list               names the scenarios and contenders
  --help               this text
`

export interface Options {
  readonly scenarios: ReadonlyArray<string>
  readonly only: ReadonlyArray<string>
  readonly rounds: number
  readonly json: boolean
  readonly plots: boolean
  readonly list: boolean
  readonly help: boolean
}

/** Throws an error with one line that says what is wrong. */
export const parse = (args: ReadonlyArray<string>): Options => {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: "string", default: "" },
      rounds: { type: "string", default: "5" },
      json: { type: "boolean", default: false },
      plots: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  })
  const rounds = Number(values.rounds)
  if (!Number.isInteger(rounds) || rounds < 1) {
    throw new Error(`--rounds takes a whole number of at least 1, not "${values.rounds}"`)
  }
  const { help, json, list, plots } = values
  const only = values.only.split(",").map((name) => name.trim()).filter((name) => name !== "")
  return { scenarios: positionals, only, rounds, json, plots, list, help }
}

/** Those of `all` whose names begin with one of `prefixes`; all where there are none. A prefix that fits none throws. */
export const select = <A extends { readonly name: string }>(
  what: string,
  all: ReadonlyArray<A>,
  prefixes: ReadonlyArray<string>
): ReadonlyArray<A> => {
  const fits = (prefix: string) => (item: A) => item.name.toLowerCase().startsWith(prefix.toLowerCase())
  for (const prefix of prefixes) {
    if (!all.some(fits(prefix))) {
      throw new Error(`no ${what} begins with "${prefix}": ${all.map(({ name }) => name).join(", ")}`)
    }
  }
  return prefixes.length === 0 ? all : all.filter((item) => prefixes.some((prefix) => fits(prefix)(item)))
}
