/** The command line of the benchmarks. */
import { parseArgs } from "node:util"

export const usage = `npm run bench -- [scenario ...] [options]

Times fiberloop beside its peers. Every measurement is a process of its own, the rounds go through all contenders in turn,
and every run's events, characters and calls are counted. Trust the ratios, not the times. A measurement takes 6 to 40
seconds, of the slowest contenders some minutes: a round of all takes three quarters of an hour.

  scenario             the scenarios whose names begin so: deltas, steps, parallel, concurrent, durable, abort, "cold start"
  --only <names>       contenders whose names begin so, comma separated, and again: --only fiberloop,pi --only floor
                       A name after = is meant whole: --only =fiberloop,=pi "=steps, 10"
  --rounds <n>         rounds, each a measurement of every contender (default 5)
  --json               rows, machine and failures as JSON, in place of tables; npm adds lines of its own without -s:
                       npm run -s bench -- steps --json > steps.json
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

/** Whether a name begins with the selection, or equals it where that begins with `=`; both ignore case. */
const fits = (selection: string, name: string): boolean => {
  const [wanted, given] = [selection.toLowerCase(), name.toLowerCase()]
  return wanted.startsWith("=") ? wanted.slice(1) === given : given.startsWith(wanted)
}

/** Throws an error that says in one line what is wrong. `names` are those of contenders, which may contain a comma. */
export const parse = (args: ReadonlyArray<string>, names: ReadonlyArray<string> = []): Options => {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      only: { type: "string", multiple: true, default: [] },
      rounds: { type: "string", default: "5" },
      json: { type: "boolean", default: false },
      plots: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false }
    }
  })
  const rounds = Number(values.rounds)
  if (!Number.isInteger(rounds) || rounds < 1) {
    throw new Error(`--rounds takes a whole number of at least 1, not "${values.rounds}"`)
  }
  const { help, json, list, plots } = values
  const only = values.only
    .flatMap((value) => names.some((name) => fits(value, name)) ? [value] : value.split(","))
    .map((name) => name.trim())
    .filter((name) => name !== "")
  return { scenarios: positionals, only, rounds, json, plots, list, help }
}

/** Those of `all` that fit one of `selections`; all where there are none. A selection that fits none throws. */
export const select = <A extends { readonly name: string }>(
  what: string,
  all: ReadonlyArray<A>,
  selections: ReadonlyArray<string>
): ReadonlyArray<A> => {
  for (const selection of selections) {
    if (!all.some(({ name }) => fits(selection, name))) {
      const how = selection.startsWith("=") ? `is called "${selection.slice(1)}"` : `begins with "${selection}"`
      throw new Error(`no ${what} ${how}: ${all.map(({ name }) => name).join("; ")}`)
    }
  }
  return selections.length === 0 ? all : all.filter(({ name }) => selections.some((selection) => fits(selection, name)))
}
