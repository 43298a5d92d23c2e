/** Steps that are stored: what one takes, in time and bytes, and how long reopening the session takes. */
import { type Contender, makeTally, type Script } from "../harness/Contender.ts"
import * as Contenders from "../harness/Contenders.ts"
import * as Counts from "../harness/Counts.ts"
import * as Repeating from "../harness/Repeating.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { median, type Sample } from "../harness/Statistics.ts"

/** How many milliseconds to warm up with runs, and to measure them. */
const millis = { warmUp: 4000, measured: 1500 }

interface Stored extends Repeating.Time {
  readonly bytes: number
  readonly reopened: number
}

/**
 * At least so many runs, for at least so long, on one runner, whose store is made once; each session is reopened. Only the later
 * half counts: during the first runs files grow, which each sync waits for.
 */
const repeat = async (contender: Contender, script: Script, times: number, least: number) => {
  const tally = makeTally()
  const runner = await contender.open(script, tally)
  const all: Array<Stored> = []
  const begun = performance.now()
  while (all.length < times || performance.now() - begun < least) {
    Object.assign(tally, makeTally())
    const before = runner.bytesOf === "file of all" ? await runner.bytes!() : 0
    const time = await Repeating.timed(() => runner.run())
    if (!contender.onlyWrites) Counts.check(contender.name, script, 1, tally)
    const bytes = (await runner.bytes?.() ?? NaN) - before
    const reopening = performance.now()
    const again = await runner.reopen?.()
    all.push({ ...time, bytes, reopened: performance.now() - reopening })
    await again?.end?.()
    if (again?.results !== script.turns * script.calls) {
      throw new Error(`${contender.name} has ${again?.results} results in place of ${script.turns} when opened again`)
    }
  }
  await runner.close?.()
  const later = all.slice(-Math.ceil(all.length / 2))
  const of = (metric: keyof Stored) => median(later.map((stored) => stored[metric]))
  return {
    wall: of("wall"),
    cpu: of("cpu"),
    bytes: of("bytes"),
    reopened: of("reopened")
  }
}

export const measure = async (
  entry: Contenders.Entry,
  { script, units, warmUp = script }: Scenario
): Promise<Sample> => {
  const contender = await Contenders.load(entry)
  await repeat(contender, warmUp, 3, millis.warmUp)
  const { bytes, cpu, reopened, wall } = await repeat(contender, script, 6, millis.measured)
  return {
    "us a step": wall * 1000 / units,
    "cpu us a step": cpu * 1000 / units,
    "bytes stored a step": bytes / units,
    "reopened, ms": reopened
  }
}
