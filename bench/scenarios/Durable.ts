/** Steps that are stored: what one takes, in time and bytes, and how long reopening the session takes. */
import { type Contender, makeTally, type Script } from "../harness/Contender.ts"
import * as Contenders from "../harness/Contenders.ts"
import * as Counts from "../harness/Counts.ts"
import * as Repeating from "../harness/Repeating.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { median, type Sample } from "../harness/Statistics.ts"

/** At least so many runs are measured, for at least so many milliseconds. */
const least = { runs: 6, millis: 1500 }

interface Stored extends Repeating.Time {
  readonly bytes: number
  readonly reopened: number
}

/** Makes runs on one runner, whose store is made once; each session is reopened. */
const open = async (contender: Contender, script: Script) => {
  const tally = makeTally()
  const runner = await contender.open(script, tally)
  const run = async (): Promise<Stored> => {
    Object.assign(tally, makeTally())
    const before = runner.bytesOf === "file of all" ? await runner.bytes!() : 0
    const time = await Repeating.timed(() => runner.run())
    if (!contender.onlyWrites) Counts.check(contender.name, script, 1, tally)
    const bytes = (await runner.bytes?.() ?? NaN) - before
    const reopening = performance.now()
    const again = await runner.reopen?.()
    const reopened = performance.now() - reopening
    await again?.end?.()
    if (again?.results !== script.turns * script.calls) {
      throw new Error(`${contender.name} has ${again?.results} results in place of ${script.turns} when opened again`)
    }
    return { ...time, bytes, reopened }
  }
  return { run, close: async () => runner.close?.() }
}

export const measure = async (
  entry: Contenders.Entry,
  { script, units, warmUp = script }: Scenario
): Promise<Sample> => {
  const contender = await Contenders.load(entry)
  const first = await open(contender, warmUp)
  await Repeating.warmUp(first.run)
  await first.close()
  const { close, run } = await open(contender, script)
  const all: Array<Stored> = []
  const begun = performance.now()
  while (all.length < least.runs || performance.now() - begun < least.millis) all.push(await run())
  await close()
  // during the first runs files grow, which each sync waits for
  const later = all.slice(-Math.ceil(all.length / 2))
  const of = (metric: keyof Stored) => median(later.map((stored) => stored[metric]))
  return {
    "us a step": of("wall") * 1000 / units,
    "cpu us a step": of("cpu") * 1000 / units,
    "bytes stored a step": of("bytes") / units,
    "reopened, ms": of("reopened")
  }
}
