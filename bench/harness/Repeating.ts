/** Runs one after the other, each timed and its work counted; and how a process gets warm. Does not own what is made of the times. */
import { type Contender, makeTally, type Script } from "./Contender.ts"
import * as Counts from "./Counts.ts"
import { median } from "./Statistics.ts"

export interface Time {
  /** milliseconds, by the clock */
  readonly wall: number
  /** milliseconds of this process, its collector's threads included: what the machine's other work disturbs less */
  readonly cpu: number
}

export interface Repeating {
  /** Makes one run, a new session of one runner. */
  readonly run: () => Promise<Time>
  /** each session stays in a file, and all of them in a folder */
  readonly isKept: boolean
  readonly close: () => Promise<void>
}

export const open = async (contender: Contender, script: Script): Promise<Repeating> => {
  const tally = makeTally()
  const runner = await contender.open(script, tally)
  return {
    run: async () => {
      Object.assign(tally, makeTally())
      const usage = process.cpuUsage()
      const begun = performance.now()
      await runner.run()
      const wall = performance.now() - begun
      const { system, user } = process.cpuUsage(usage)
      Counts.check(contender.name, script, 1, tally)
      return { wall, cpu: (system + user) / 1000 }
    },
    isKept: runner.bytesOf !== undefined,
    close: async () => {
      await runner.close?.()
    }
  }
}

/** The times of what is made again and again for so many milliseconds, one at least. */
export const during = async (make: () => Promise<Time>, millis: number): Promise<ReadonlyArray<Time>> => {
  const times: Array<Time> = []
  const startedAt = performance.now()
  do times.push(await make())
  while (performance.now() - startedAt < millis)
  return times
}

/** Seconds: V8 is done with some contenders only after four, with others after more. */
const seconds = { least: 4, most: 12 }

/** Makes runs until those of a second take what those of the second before took, to 3 %. */
export const warmUp = async ({ run }: Repeating): Promise<void> => {
  let before = Infinity
  for (let second = 1; second <= seconds.most; second++) {
    const now = median((await during(run, 1000)).map(({ wall }) => wall))
    if (second >= seconds.least && Math.abs(now - before) <= 0.03 * before) return
    before = now
  }
}
