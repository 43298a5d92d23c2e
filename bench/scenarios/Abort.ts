/** Runs that are aborted in mid-stream, all at once: how long until all are over, and what is left of them. */
import { type Contender, makeTally, type Script } from "../harness/Contender.ts"
import * as Contenders from "../harness/Contenders.ts"
import * as Counts from "../harness/Counts.ts"
import { heap } from "../harness/Heap.ts"
import { wait } from "../harness/Promises.ts"
import * as Repeating from "../harness/Repeating.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { median, type Sample } from "../harness/Statistics.ts"

/** how long to wait for runs that do not end, in milliseconds */
const patience = 5000
const metric = `ms for all (${patience}: they never end)`

/** How many rounds are measured. */
const rounds = 10

/** what Node still waits for, and sources that honour their signal but still hang: nobody can know about the others */
const alive = (hanging: number): number =>
  hanging + process.getActiveResourcesInfo().filter((name) => name !== "PipeWrap" && name !== "TTYWrap").length

interface Round {
  /** milliseconds; undefined where the runs never end */
  readonly time: number | undefined
  readonly left: number
}

const round = async (contender: Contender, script: Script, runs: number): Promise<Round> => {
  const tally = makeTally()
  const runner = await contender.open(script, tally)
  const before = alive(0)
  const controllers = Array.from({ length: runs }, () => new AbortController())
  const streaming = new Promise<void>((resolve) => {
    tally.onDelta = () => {
      if (tally.deltas === runs * script.deltas) resolve()
    }
  })
  const all = controllers.map(({ signal }) => runner.run(signal))
  const over = Promise.allSettled(all)
  // a run that fails before it is aborted says why
  await Promise.race([streaming, Promise.all(all).then(() => Promise.reject(new Error("all ended by themselves")))])
  // after the last delta, every source hangs
  await wait(20)
  const startedAt = performance.now()
  for (const controller of controllers) controller.abort()
  const timer = Promise.withResolvers<boolean>()
  const timeout = setTimeout(() => timer.resolve(false), patience)
  const isOver = await Promise.race([over.then(() => true), timer.promise])
  clearTimeout(timeout)
  const time = performance.now() - startedAt
  // each was answered once, as far as its source goes, and none asked again
  Counts.check(contender.name, script, runs, tally)
  if (!isOver) return { time: undefined, left: runs }
  await new Promise((resolve) => setImmediate(resolve))
  const left = alive(tally.hanging) - before
  await runner.close?.()
  return { time, left }
}

export const measure = async (entry: Contenders.Entry, { runs, script }: Scenario): Promise<Sample> => {
  const contender = await Contenders.load(entry)
  let last = await round(contender, script, runs)
  if (last.time === undefined) return { [metric]: patience, left: runs }
  await Repeating.warmUp(async () => ({ wall: (await round(contender, script, runs)).time ?? patience }))
  const before = heap()
  const times: Array<number> = []
  while (times.length < rounds) {
    last = await round(contender, script, runs)
    times.push(last.time ?? patience)
  }
  return {
    [metric]: median(times),
    left: last.left,
    "KB left a run": Math.max(0, heap() - before) / rounds / runs / 1024
  }
}
