/** Makes runs one after the other, times each and checks its counts; and warms a process up. Does not own what the times mean. */
import { type Contender, makeTally, type Script } from "./Contender.ts"
import * as Counts from "./Counts.ts"
import { median } from "./Statistics.ts"

export interface Time {
  /** milliseconds, by the clock */
  readonly wall: number
  /** milliseconds of this process's CPU time, with its collector's threads: disturbed less by the machine's other work */
  readonly cpu: number
}

export interface Repeating {
  /** Makes one run: a new session on one runner. */
  readonly run: () => Promise<Time>
  /** whether each session stays in a file, and all of them in a folder */
  readonly isKept: boolean
  readonly close: () => Promise<void>
}

export const open = async (contender: Contender, script: Script): Promise<Repeating> => {
  const tally = makeTally()
  const runner = await contender.open(script, tally)
  return {
    run: async () => {
      Object.assign(tally, makeTally())
      const time = await timed(() => runner.run())
      Counts.check(contender.name, script, 1, tally)
      return time
    },
    isKept: runner.bytesOf !== undefined,
    close: async () => {
      await runner.close?.()
    }
  }
}

/** How long something takes. */
export const timed = async (make: () => Promise<void>): Promise<Time> => {
  const usage = process.cpuUsage()
  const begun = performance.now()
  await make()
  const wall = performance.now() - begun
  const { system, user } = process.cpuUsage(usage)
  return { wall, cpu: (system + user) / 1000 }
}

/** What comes of something that is repeated for so many milliseconds, at least once. */
export const during = async <A>(make: () => Promise<A>, millis: number): Promise<ReadonlyArray<A>> => {
  const all: Array<A> = []
  const startedAt = performance.now()
  do all.push(await make())
  while (performance.now() - startedAt < millis)
  return all
}

/** How many milliseconds warming up takes: V8 finishes optimising some contenders only after four seconds, others later. */
const millis = { least: 4000, most: 12_000 }

/** Makes runs, or what consists of some, until those of one second take as long as those of the second before, within 3 %. */
export const warmUp = async (make: () => Promise<Pick<Time, "wall">>): Promise<void> => {
  const begun = performance.now()
  for (let before = Infinity, taken = 0; taken < millis.most;) {
    const now = median((await during(make, 1000)).map(({ wall }) => wall))
    taken = performance.now() - begun
    if (taken >= millis.least && Math.abs(now - before) <= 0.03 * before) return
    before = now
  }
}
