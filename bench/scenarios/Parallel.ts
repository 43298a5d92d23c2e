/** One answer with many calls, so many at once: its time, compared with the tool's own time. */
import * as Contenders from "../harness/Contenders.ts"
import * as Repeating from "../harness/Repeating.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { median, type Sample } from "../harness/Statistics.ts"

/** How many milliseconds are measured. */
const measured = 2000

export const measure = async (entry: Contenders.Entry, { script }: Scenario): Promise<Sample> => {
  const runs = await Repeating.open(await Contenders.load(entry), script)
  const first = await runs.run()
  await Repeating.warmUp(runs.run)
  const times = await Repeating.during(runs.run, measured)
  await runs.close()
  const ideal = Math.ceil(script.calls / script.parallel) * script.toolMillis
  const millis = median(times.map(({ wall }) => wall))
  return {
    "ms": millis,
    "to ideal": millis / ideal,
    "cpu ms": median(times.map(({ cpu }) => cpu)),
    "ms, first run": first.wall
  }
}
