/** Runs one after the other: how long one takes, by delta or step, the first of the process and when it is warm. */
import { type Contender, makeTally, type Script } from "../harness/Contender.ts"
import * as Contenders from "../harness/Contenders.ts"
import * as Counts from "../harness/Counts.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { mean, median, type Sample } from "../harness/Statistics.ts"

/** how long to run for, warming up and measured, and one run at least; V8 is done with some contenders only after four seconds */
export const millis = { warmUp: 4000, measured: 1000 }

interface Time {
  /** milliseconds, by the clock */
  readonly wall: number
  /** milliseconds of this process, its collector's threads included: what the machine's other work disturbs less */
  readonly cpu: number
}

/** The times of runs, each a new session of one runner, all of their work counted; for `least` milliseconds, one at least. */
const repeat = async (contender: Contender, script: Script, least: number): Promise<ReadonlyArray<Time>> => {
  const tally = makeTally()
  const runner = await contender.open(script, tally)
  const times: Array<Time> = []
  const startedAt = performance.now()
  do {
    Object.assign(tally, makeTally())
    const usage = process.cpuUsage()
    const begun = performance.now()
    await runner.run()
    const wall = performance.now() - begun
    const { system, user } = process.cpuUsage(usage)
    Counts.check(contender.name, script, 1, tally)
    times.push({ wall, cpu: (system + user) / 1000 })
  } while (performance.now() - startedAt < least)
  await runner.close?.()
  return times
}

export const measure = async (entry: Contenders.Entry, scenario: Scenario): Promise<Sample> => {
  const contender = await Contenders.load(entry)
  // of a script that takes long, only when it is warm
  const [first] = scenario.warmUp === undefined ? await repeat(contender, scenario.script, 0) : []
  await repeat(contender, scenario.warmUp ?? scenario.script, millis.warmUp)
  const times = await repeat(contender, scenario.script, millis.measured)
  const each = (of: (time: Time) => number) => (median(times.map(of)) * 1000) / scenario.units
  return {
    [`us a ${scenario.unit}`]: each(({ wall }) => wall),
    [`cpu us a ${scenario.unit}`]: each(({ cpu }) => cpu),
    [`us a ${scenario.unit}, mean`]: (mean(times.map(({ wall }) => wall)) * 1000) / scenario.units,
    ...(first === undefined ? {} : { [`us a ${scenario.unit}, first run`]: (first.wall * 1000) / scenario.units })
  }
}
