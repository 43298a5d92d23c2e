/** One answer with many calls, so many at once: its time, beside what the tool's own time makes. */
import { type Contender, makeTally, type Script } from "../harness/Contender.ts"
import * as Contenders from "../harness/Contenders.ts"
import * as Counts from "../harness/Counts.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { median, type Sample } from "../harness/Statistics.ts"

const once = async (contender: Contender, script: Script): Promise<number> => {
  const tally = makeTally()
  const runner = await contender.open(script, tally)
  const startedAt = performance.now()
  await runner.run()
  const time = performance.now() - startedAt
  Counts.check(contender.name, script, 1, tally)
  await runner.close?.()
  return time
}

export const measure = async (entry: Contenders.Entry, { script }: Scenario): Promise<Sample> => {
  const contender = await Contenders.load(entry)
  const times: Array<number> = []
  for (let run = 0; run < 15; run++) times.push(await once(contender, script))
  const ideal = Math.ceil(script.calls / script.parallel) * script.toolMillis
  const millis = median(times.slice(5))
  return { "ms": millis, "to ideal": millis / ideal }
}
