/**
 * Times the loop beside a bare Effect stream with the same source, in one interleaved run; every round asserts that
 * nobody skipped work. `npm run bench -- --rounds 9 --only steps`.
 *
 * Numbers are medians of the rounds; trust the ratios, not the times.
 */
import { Console, Effect } from "effect"
import { parseArgs } from "node:util"
import * as Bare from "./Bare.ts"
import * as Fiberloop from "./Fiberloop.ts"
import { scenarios } from "./Scenario.ts"

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    only: { type: "string" },
    json: { type: "boolean", default: false }
  }
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) {
  console.error(`--rounds takes a whole number of at least 1, not "${values.rounds}"`)
  process.exit(2)
}

const contenders = [Bare.contender, ...Fiberloop.contenders]
const chosen = scenarios.filter((scenario) => values.only === undefined || scenario.name.startsWith(values.only))

const median = (times: ReadonlyArray<number>) => [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN

const program = Effect.gen(function*() {
  const results = []
  for (const scenario of chosen) {
    const times = contenders.map((): Array<number> => [])
    for (let round = -1; round < rounds; round++) {
      for (const [i, contender] of contenders.entries()) {
        const counts = yield* contender.run(scenario)
        if (counts.characters !== scenario.characters || counts.calls !== scenario.calls) {
          return yield* Effect.die(
            new Error(`${contender.name} skipped work in ${scenario.name}: ${JSON.stringify(counts)}`)
          )
        }
        // the first round warms up
        if (round >= 0) times[i]!.push((counts.millis * 1000) / scenario.units)
      }
    }
    const floor = median(times[0]!)
    for (const [i, contender] of contenders.entries()) {
      const micros = median(times[i]!)
      results.push({
        scenario: scenario.name,
        contender: contender.name,
        [`us per ${scenario.unit}`]: Number(micros.toFixed(2)),
        best: Number(Math.min(...times[i]!).toFixed(2)),
        ratio: Number((micros / floor).toFixed(2))
      })
    }
  }
  yield* values.json ? Console.log(JSON.stringify(results)) : Console.table(results)
})

await Effect.runPromise(program)
