/** The harness of the benchmarks, without their dependencies: what it selects, how it computes, whom it refuses. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Built from "../../bench/harness/Built.ts"
import {
  asked,
  began,
  type Contender,
  delta,
  ended,
  makeTally,
  type Script,
  type Tally
} from "../../bench/harness/Contender.ts"
import * as Contenders from "../../bench/harness/Contenders.ts"
import * as Counts from "../../bench/harness/Counts.ts"
import * as Installed from "../../bench/harness/Installed.ts"
import * as Measuring from "../../bench/harness/Measuring.ts"
import * as Options from "../../bench/harness/Options.ts"
import * as Plot from "../../bench/harness/Plot.ts"
import * as Scenario from "../../bench/harness/Scenario.ts"
import * as Statistics from "../../bench/harness/Statistics.ts"
import * as Table from "../../bench/harness/Table.ts"
import { temporaryFolder } from "../support/Processes.ts"

const script: Script = { ...Scenario.all[0]!.script, turns: 4, deltas: 3, chunk: 1 }

/** The counts of an honest contender: what the script says, without a model. */
const honest = (runs: number) => {
  const tally = makeTally()
  for (let run = 0; run < runs; run++) {
    for (let rounds = 0; rounds <= script.turns; rounds++) {
      asked(script, tally, [], rounds)
      tally.deltas += script.deltas
      tally.characters += script.deltas * delta.length
      if (rounds === script.turns) continue
      began(tally, rounds)
      ended(tally)
      tally.results++
    }
  }
  return tally
}

it("a contender that did all of the work is accepted", () => {
  Counts.check("it", script, 1, honest(1))
  Counts.check("it", script, 3, honest(3))
})

for (const name of ["calls", "characters", "deltas", "remembered", "requests", "results", "sum"] as const) {
  it(`a contender with different ${name} is refused`, () => {
    const tally = honest(1)
    const count = tally[name]
    tally[name]--
    assert.throws(
      () => Counts.check("it", script, 1, tally),
      `it did other work than the others: ${count - 1} ${name} in place of ${count}`
    )
  })
}

it("a contender that runs too many calls at once is refused", () => {
  const tally = honest(1)
  Counts.check("it", { ...script, parallel: 2 }, 1, { ...tally, widest: 2 })
  assert.throws(
    () => Counts.check("it", { ...script, parallel: 2 }, 1, { ...tally, widest: 3 }),
    "it did other work than the others: 3 calls at once in place of 2"
  )
})

const names = [
  "floor: async generator",
  "floor: Effect stream",
  "fiberloop",
  "fiberloop, LanguageModel",
  "effect/ai loop"
]

it("fiberloop and the floors do all of the work", async () => {
  for (const entry of Options.select("contender", Contenders.all, names.map((name) => `=${name}`))) {
    const contender = await Contenders.load(entry)
    for (const work of [script, { ...script, calls: 20, toolMillis: 1, parallel: 4 }]) {
      await Counts.prove(contender, work)
    }
  }
})

/** The floor of plain JavaScript, with its requests tampered with or its counts changed after a run. */
const cheating = async (
  { after = () => {}, forget = (conversation) => conversation }: {
    readonly after?: (tally: Tally) => void
    readonly forget?: (conversation: ReadonlyArray<unknown>) => ReadonlyArray<unknown>
  }
): Promise<Contender> => {
  const { name, open } = await Contenders.load(Contenders.all[0]!)
  return {
    name,
    open: async (script, tally) => {
      const { onRequest } = tally
      if (onRequest !== undefined) {
        tally.onRequest = (conversation) => onRequest(forget(conversation as ReadonlyArray<unknown>))
      }
      const { run } = await open(script, tally)
      return { run: () => run().finally(() => after(tally)) }
    }
  }
}

it("a contender whose last request lacks an earlier message is refused", async () => {
  const forgets = await cheating({ forget: (conversation) => conversation.filter((_, at) => at !== 1) })
  const said: unknown = await Counts.prove(forgets, script).catch(String)
  assert.strictEqual(said, "Error: floor: async generator remembers 2 joined texts in place of 3")
})

it("a contender whose last request has text in pieces or lacks a result is refused", () => {
  const it = { name: "it" }
  const text = delta.repeat(script.deltas)
  const two = { ...script, turns: 2 }
  const check = (...conversation: ReadonlyArray<unknown>) =>
    Counts.checkConversation(it, two, JSON.stringify(conversation))
  check(text, { doubled: 0 }, text, JSON.stringify({ doubled: 2 }))
  assert.throws(
    () => check([delta, delta, delta], { doubled: 0 }, text, { doubled: 2 }),
    "it remembers 1 joined texts in place of 2"
  )
  assert.throws(() => check(text, { doubled: 0 }, text, { doubled: 20 }), "it does not remember that 1 was doubled")
})

it("a contender that runs a tool with wrong arguments is refused", async () => {
  const takesAll = await cheating({
    after: (tally) => {
      if (tally.calls === 0) began(tally, 0)
    }
  })
  const said: unknown = await Counts.prove(takesAll, script).catch(String)
  assert.strictEqual(said, "Error: floor: async generator ran a tool with arguments that are none")
})

it("a contender that is never sent wrong arguments is refused", async () => {
  const never = await cheating({
    after: (tally) => {
      if (tally.calls === 0) tally.requests = 0
    }
  })
  const said: unknown = await Counts.prove(never, script).catch(String)
  assert.strictEqual(said, "Error: floor: async generator asked no model for a call with wrong arguments")
})

it("imports of source files, and no others, lead to their built modules", () => {
  const root = join(import.meta.dirname, "../..")
  assert.strictEqual(Built.moduleOf(join(root, "src/run/RunEvent.ts")), join(root, "dist/run/RunEvent.js"))
  assert.isUndefined(Built.moduleOf(join(root, "bench/harness/Counts.ts")))
  assert.isUndefined(Built.moduleOf(join(root, "src-of-mine/Agent.ts")))
})

it("the median of an even number of values lies midway between the middle two", () => {
  assert.strictEqual(Statistics.median([9, 1, 5]), 5)
  assert.strictEqual(Statistics.median([10, 1, 2, 4]), 3)
  assert.isNaN(Statistics.median([]))
})

it("a quantile is one of the values", () => {
  const values = Array.from({ length: 100 }, (_, i) => 100 - i)
  assert.strictEqual(Statistics.quantile(values, 0.99), 100)
  assert.strictEqual(Statistics.quantile(values, 0), 1)
})

const measured = (contender: string, ...values: ReadonlyArray<number>): ReadonlyArray<Statistics.Measured> =>
  values.map((us) => ({ scenario: "steps, 10", contender, sample: { us } }))

it("rows compare the medians with the floor's and pi's", () => {
  const rows = Statistics.rows([
    ...measured("floor: Effect stream", 2, 4, 3),
    ...measured("pi", 6),
    ...measured("fiberloop", 9, 12, 90)
  ])
  assert.deepStrictEqual(rows[2], {
    scenario: "steps, 10",
    contender: "fiberloop",
    metric: "us",
    median: 12,
    min: 9,
    rounds: 3,
    values: [9, 12, 90],
    toFloor: 4,
    toPi: 2
  })
  assert.strictEqual(
    Table.render(rows),
    "steps, 10: us (3 rounds)\n" +
      "                      median  min  to floor  to pi\n" +
      "floor: Effect stream       3    2        1x   0.5x\n" +
      "pi                         6    6        2x     1x\n" +
      "fiberloop                 12    9        4x     2x\n"
  )
})

it("only rows of durable scenarios are compared with bare inserts and pi's session", () => {
  const values = [
    ...measured("floor: prepared inserts", 2),
    ...measured("pi, JSONL session", 8),
    ...measured("fiberloop, SQLite os", 4)
  ]
  const stored = Statistics.rows(values.map((one) => ({ ...one, scenario: "durable, 200" })))
  assert.deepInclude(stored[2], { toFloor: 2, toPi: 0.5 })
  const synced = [...measured("floor: prepared inserts, fsync", 3), ...measured("fiberloop, SQLite fsync", 6)]
  const waiting = Statistics.rows([...values, ...synced].map((one) => ({ ...one, scenario: "durable, 200" })))
  assert.deepInclude(waiting.at(-1), { toFloor: 2, toPi: 0.75 })
  assert.notProperty(Statistics.rows(values)[2], "toPi")
})

it("a ratio is left out when the other contender was not measured", () => {
  assert.notProperty(Statistics.rows(measured("fiberloop", 1))[0], "toPi")
})

it("a plot has a line per contender that rises with the cost", () => {
  const row = (scenario: string, contender: string, median: number): Statistics.Row => ({
    scenario,
    contender,
    metric: "us a step",
    median,
    min: median,
    rounds: 1,
    values: [median]
  })
  const rows = [row("steps, 10", "a", 1), row("steps, 1000", "a", 100), row("steps, 10", "b", 10)]
  const svg = Plot.render(Plot.all[0]!, [...rows, row("deltas, one by one", "c", 5)])!
  assert.deepStrictEqual([...svg.matchAll(/polyline points="([^"]*)"/g)].map(([, points]) => points), [
    "64.0,382.0 550.0,44.0",
    "64.0,213.0"
  ])
  assert.include(svg, ">b</text>")
  assert.notInclude(svg, ">c</text>")
  assert.isUndefined(Plot.render(Plot.all[0]!, rows.slice(2)))
})

const named = ["floor: a", "fiberloop", "fiberloop, SQLite os", "pi"].map((name) => ({ name }))

it("contenders are selected by a prefix of their names, or by `=` and the whole name", () => {
  const names = (...prefixes: ReadonlyArray<string>) =>
    Options.select("contender", named, prefixes).map(({ name }) => name)
  assert.deepStrictEqual(names(), named.map(({ name }) => name))
  assert.deepStrictEqual(names("PI", "floor"), ["floor: a", "pi"])
  assert.deepStrictEqual(names("fiberloop,"), ["fiberloop, SQLite os"])
  assert.deepStrictEqual(names("=fiberloop", "=PI"), ["fiberloop", "pi"])
})

it("an unknown name is refused, listing the known ones", () => {
  assert.throws(
    () => Options.select("contender", named, ["mastra"]),
    `no contender begins with "mastra": floor: a; fiberloop; fiberloop, SQLite os; pi`
  )
})

it("an unknown whole name is refused", () => {
  assert.throws(
    () => Options.select("contender", named, ["=p"]),
    `no contender is called "p": floor: a; fiberloop; fiberloop, SQLite os; pi`
  )
})

it("names are separated by commas or given in repeated options, and may contain commas", () => {
  const { only } = Options.parse(
    ["--only", "pi, floor", "--only", "fiberloop, sqlite", "--only", "=fiberloop, SQLite os"],
    named.map(({ name }) => name)
  )
  assert.deepStrictEqual(only, ["pi", "floor", "fiberloop, sqlite", "=fiberloop, SQLite os"])
})

it("the reason why a process failed is one line", () => {
  assert.strictEqual(Measuring.reason("at x\nTypeError: it is none\n    at y", 1), "TypeError: it is none")
  assert.strictEqual(Measuring.reason("\n<--- GCs --->\nFATAL ERROR: heap\n", "SIGABRT"), "FATAL ERROR: heap")
  assert.strictEqual(Measuring.reason("\nWarning: one\ntwo\n", 13), "Warning: one")
  assert.strictEqual(Measuring.reason("", "SIGKILL"), "it ended with SIGKILL")
})

it("options are parsed", () => {
  const { json, only, rounds, scenarios } = Options.parse([
    "steps",
    "--only",
    "fiberloop, pi",
    "--rounds",
    "3",
    "--json"
  ])
  assert.deepStrictEqual({ json, only, rounds, scenarios }, {
    json: true,
    only: ["fiberloop", "pi"],
    rounds: 3,
    scenarios: ["steps"]
  })
})

it("an invalid number of rounds is refused", () => {
  for (const rounds of ["0", "1.5", "many"]) {
    assert.throws(
      () => Options.parse(["--rounds", rounds]),
      `--rounds takes a whole number of at least 1, not "${rounds}"`
    )
  }
})

it.effect("a package's size counts what it ships, without what its manifest leaves out", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const write = (name: string, bytes: number) => {
      mkdirSync(join(folder, name, ".."), { recursive: true })
      writeFileSync(join(folder, name), "x".repeat(bytes))
    }
    const manifest = JSON.stringify({ files: ["dist", "src", "!src/**/*.md"] })
    writeFileSync(join(folder, "package.json"), manifest)
    for (const name of ["README.md", "LICENSE", "dist/a.js", "src/a.ts"]) write(name, 100)
    for (const name of ["src/a.md", "src/deep/b.md", "test/a.ts", "dist/node_modules/b/c.js"]) write(name, 10_000)
    assert.strictEqual(Installed.shipped(folder), manifest.length + 400)
  }))
