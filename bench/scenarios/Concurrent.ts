/** Many runs at once, in waves: how long a wave takes, how late the event loop is meanwhile, and what memory a run holds. */
import { type Contender, makeTally, type Script } from "../harness/Contender.ts"
import * as Contenders from "../harness/Contenders.ts"
import * as Counts from "../harness/Counts.ts"
import { heap } from "../harness/Heap.ts"
import * as Repeating from "../harness/Repeating.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { median, quantile, type Sample } from "../harness/Statistics.ts"

/** How many milliseconds are measured. */
const measured = 2000

/** How often the event loop is checked, in milliseconds. */
const look = 5

interface Wave {
  readonly wall: number
  /** how late something that should happen at once happened, for a request every so many milliseconds */
  readonly late: ReadonlyArray<number>
}

/** One wave; `meanwhile` is called whenever the event loop is checked, until all runs are over. */
const wave = async (
  contender: Contender,
  script: Script,
  runs: number,
  meanwhile: (requests: number, over: number) => void = () => {}
): Promise<Wave> => {
  const tally = makeTally()
  const runner = await contender.open(script, tally)
  let over = 0
  const late: Array<number> = []
  let last = performance.now()
  const timer = setInterval(() => {
    // while the loop is held up, every request made meanwhile waits
    let lag = performance.now() - last - look
    do late.push(Math.max(0, lag))
    while ((lag -= look) > 0)
    meanwhile(tally.requests, over)
    last = performance.now()
  }, look)
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: runs }, () => runner.run().then(() => void over++)))
  const wall = performance.now() - startedAt
  clearInterval(timer)
  Counts.check(contender.name, script, runs, tally)
  await runner.close?.()
  return { wall, late }
}

export const measure = async (entry: Contenders.Entry, { runs, script }: Scenario): Promise<Sample> => {
  const contender = await Contenders.load(entry)
  const make = () => wave(contender, script, runs)
  const first = await make()
  await Repeating.warmUp(make)
  const waves = await Repeating.during(make, measured)
  let held: number | undefined
  const before = heap()
  await wave(contender, script, runs, (requests, over) => {
    // in the middle: all have begun, none is over
    if (held === undefined && over === 0 && requests >= 3 * runs) held = heap() - before
  })
  return {
    "wall ms": median(waves.map(({ wall }) => wall)),
    "wall ms, first wave": first.wall,
    "p99 event loop lag ms": median(waves.map(({ late }) => quantile(late, 0.99))),
    // no check came while all were under way, or so few runs hold less than what else changes meanwhile
    ...(held === undefined || runs < 100 ? {} : { "KB a run": held / runs / 1024 })
  }
}
