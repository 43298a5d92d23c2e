/** Steps that are stored: what one takes, in time and bytes, and how long the session takes to be opened again. */
import { type Contender, makeTally, type Script } from "../harness/Contender.ts"
import * as Contenders from "../harness/Contenders.ts"
import * as Counts from "../harness/Counts.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { median, type Sample } from "../harness/Statistics.ts"

interface Stored {
  readonly wall: number
  readonly bytes: number
  readonly reopened: number
}

const once = async (contender: Contender, script: Script): Promise<Stored> => {
  const tally = makeTally()
  const runner = await contender.open(script, tally)
  const startedAt = performance.now()
  await runner.run()
  const wall = performance.now() - startedAt
  Counts.check(contender.name, script, 1, tally)
  const bytes = await runner.bytes?.() ?? NaN
  const reopening = performance.now()
  const results = await runner.reopen?.()
  const reopened = performance.now() - reopening
  if (results !== script.turns * script.calls) {
    throw new Error(`${contender.name} has ${results} results in place of ${script.turns} when it is opened again`)
  }
  await runner.close?.()
  return { wall, bytes, reopened }
}

export const measure = async (
  entry: Contenders.Entry,
  { script, units, warmUp = script }: Scenario
): Promise<Sample> => {
  const contender = await Contenders.load(entry)
  const repeat = async (script: Script, times: number) => {
    const all: Array<Stored> = []
    while (all.length < times) all.push(await once(contender, script))
    return all
  }
  await repeat(warmUp, 3)
  const all = await repeat(script, 3)
  const of = (part: (stored: Stored) => number) => median(all.map(part))
  return {
    "us a step": of(({ wall }) => wall) * 1000 / units,
    "bytes a step": of(({ bytes }) => bytes) / units,
    "reopened, ms": of(({ reopened }) => reopened)
  }
}
