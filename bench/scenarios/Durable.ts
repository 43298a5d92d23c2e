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

/** How many runs of a store count, the last ones: in the first ones its files grow, which each sync waits for. */
const counted = 3

/** So many runs, and so long at least, of one runner, whose store is made once; each session is opened again. */
const repeat = async (contender: Contender, script: Script, times: number, millis = 0): Promise<Stored> => {
  const tally = makeTally()
  const runner = await contender.open(script, tally)
  const walls: Array<number> = []
  const bytes: Array<number> = []
  const reopened: Array<number> = []
  const begun = performance.now()
  while (walls.length < times || performance.now() - begun < millis) {
    Object.assign(tally, makeTally())
    const before = runner.bytesOf === "store" ? await runner.bytes!() : 0
    const startedAt = performance.now()
    await runner.run()
    walls.push(performance.now() - startedAt)
    Counts.check(contender.name, script, 1, tally)
    const after = await runner.bytes?.() ?? NaN
    bytes.push(runner.bytesOf === "store" ? after - before : after)
    const reopening = performance.now()
    const results = await runner.reopen?.()
    reopened.push(performance.now() - reopening)
    if (results !== script.turns * script.calls) {
      throw new Error(`${contender.name} has ${results} results in place of ${script.turns} when it is opened again`)
    }
  }
  await runner.close?.()
  const of = (all: ReadonlyArray<number>) => median(all.slice(-counted))
  return { wall: of(walls), bytes: of(bytes), reopened: of(reopened) }
}

export const measure = async (
  entry: Contenders.Entry,
  { script, units, warmUp = script }: Scenario
): Promise<Sample> => {
  const contender = await Contenders.load(entry)
  await repeat(contender, warmUp, 3, 1500)
  const { bytes, reopened, wall } = await repeat(contender, script, 2 * counted)
  return { "us a step": wall * 1000 / units, "bytes a step": bytes / units, "reopened, ms": reopened }
}
