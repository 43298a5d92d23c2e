/** Runs that are aborted in mid-stream, all at once: how long until all are over, and what is left of them. */
import { makeTally } from "../harness/Contender.ts"
import * as Contenders from "../harness/Contenders.ts"
import { wait } from "../harness/Promises.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { median, type Sample } from "../harness/Statistics.ts"

/** how long to wait for runs that do not end, in milliseconds */
const patience = 5000
const metric = `ms for all (${patience}: they never end)`

/** what Node still waits for, and sources that honour their signal and still hang: of the others nobody can know */
const alive = (hanging: number): number =>
  hanging + process.getActiveResourcesInfo().filter((name) => name !== "PipeWrap" && name !== "TTYWrap").length

export const measure = async (entry: Contenders.Entry, { runs, script }: Scenario): Promise<Sample> => {
  const contender = await Contenders.load(entry)
  const times: Array<number> = []
  let left = 0
  for (let round = 0; round < 10; round++) {
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
    // behind the last delta, every source hangs
    await wait(20)
    const startedAt = performance.now()
    for (const controller of controllers) controller.abort()
    const timer = Promise.withResolvers<boolean>()
    const timeout = setTimeout(() => timer.resolve(false), patience)
    const isOver = await Promise.race([over.then(() => true), timer.promise])
    clearTimeout(timeout)
    times.push(performance.now() - startedAt)
    await new Promise((resolve) => setImmediate(resolve))
    left = alive(tally.hanging) - before
    if (!isOver) return { [metric]: patience, left: runs }
    await runner.close?.()
  }
  return { [metric]: median(times.slice(3)), left }
}
