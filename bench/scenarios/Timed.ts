/** Runs one after the other: how long one takes, per delta or step, for the first of the process and once it is warm. */
import * as Contenders from "../harness/Contenders.ts"
import * as Repeating from "../harness/Repeating.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { median, type Sample } from "../harness/Statistics.ts"

/** How many milliseconds are measured, after some in which a new runner is slower. */
const millis = { settling: 500, measured: 1500 }

/** Makes the runs that one time covers: enough for the collector to take part in each, which it hardly does in a short run. */
const together = ({ run }: Repeating.Repeating, runs: number) => async (): Promise<Repeating.Time> => {
  let [wall, cpu] = [0, 0]
  for (let i = 0; i < runs; i++) {
    const time = await run()
    wall += time.wall
    cpu += time.cpu
  }
  return { wall, cpu }
}

export const measure = async (entry: Contenders.Entry, scenario: Scenario): Promise<Sample> => {
  const { runs, script, unit, units, warmUp } = scenario
  const contender = await Contenders.load(entry)
  const first = await Repeating.open(contender, warmUp ?? script)
  const cold = await first.run()
  await Repeating.warmUp(first.run)
  // with a long script, one run is enough to settle; kept sessions must not pile up with those of the warm-up
  const warm = warmUp === undefined && !first.isKept ? first : await Repeating.open(contender, script)
  if (warm !== first) await first.close()
  const timed = together(warm, runs)
  await Repeating.during(timed, millis.settling)
  const times = await Repeating.during(timed, millis.measured)
  await warm.close()
  const each = (of: (time: Repeating.Time) => number) => (median(times.map(of)) * 1000) / runs / units
  return {
    [`us a ${unit}`]: each(({ wall }) => wall),
    [`cpu us a ${unit}`]: each(({ cpu }) => cpu),
    // with a long script, the first run was of a smaller one
    ...(warmUp === undefined ? { [`us a ${unit}, first run`]: (cold.wall * 1000) / units } : {})
  }
}
