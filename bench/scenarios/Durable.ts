/** Steps that are stored: what one takes, in time and bytes, and how long reopening the session takes. */
import { type Contender, makeTally, type Script } from "../harness/Contender.ts"
import * as Contenders from "../harness/Contenders.ts"
import * as Counts from "../harness/Counts.ts"
import * as Repeating from "../harness/Repeating.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { median, type Sample } from "../harness/Statistics.ts"

/** Measured at least so many times, and for so many milliseconds. */
const least = { times: 6, millis: 1500 }

interface Stored extends Repeating.Time {
  readonly bytes: number
}

/** A runner, whose store is made once. */
const open = async (contender: Contender, script: Script) => {
  const tally = makeTally()
  const runner = await contender.open(script, tally)

  const run = async (): Promise<Stored> => {
    Object.assign(tally, makeTally())
    const before = runner.bytesOf === "file of all" ? await runner.bytes!() : 0
    const time = await Repeating.timed(() => runner.run())
    if (!contender.onlyWrites) Counts.check(contender.name, script, 1, tally)
    return { ...time, bytes: (await runner.bytes?.() ?? NaN) - before }
  }

  /** Makes another run, and opens its session again: that is what is timed. */
  const reopen = async () => {
    await run()
    const begun = performance.now()
    const again = await runner.reopen?.()
    const wall = performance.now() - begun
    await again?.end?.()
    if (again?.results !== script.turns * script.calls) {
      throw new Error(`${contender.name} has ${again?.results} results in place of ${script.turns} when opened again`)
    }
    return { wall }
  }

  return { run, reopen, close: async () => runner.close?.() }
}

/** The later half: during the first runs files grow, which each sync waits for. */
const later = async <A>(make: () => Promise<A>): Promise<ReadonlyArray<A>> => {
  const all: Array<A> = []
  const begun = performance.now()
  while (all.length < least.times || performance.now() - begun < least.millis) all.push(await make())
  return all.slice(-Math.ceil(all.length / 2))
}

export const measure = async (
  entry: Contenders.Entry,
  { script, units, warmUp = script }: Scenario
): Promise<Sample> => {
  const contender = await Contenders.load(entry)
  const first = await open(contender, warmUp)
  await Repeating.warmUp(first.run)
  await first.close()
  const { close, reopen, run } = await open(contender, script)
  const runs = await later(run)
  // by itself: V8 optimises a run anew where another agent's is among them
  await Repeating.warmUp(reopen)
  const reopened = await later(reopen)
  await close()
  const of = (metric: keyof Stored) => median(runs.map((stored) => stored[metric]))
  return {
    "us a step": of("wall") * 1000 / units,
    "cpu us a step": of("cpu") * 1000 / units,
    "bytes stored a step": of("bytes") / units,
    "reopened, ms": median(reopened.map(({ wall }) => wall))
  }
}
