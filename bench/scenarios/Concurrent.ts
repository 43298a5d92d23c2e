/** Many runs at once: how long all take, how late the event loop was, and what memory a run holds. */
import { makeTally } from "../harness/Contender.ts"
import * as Contenders from "../harness/Contenders.ts"
import * as Counts from "../harness/Counts.ts"
import type { Scenario } from "../harness/Scenario.ts"
import { quantile, type Sample } from "../harness/Statistics.ts"

const heap = (): number => {
  if (globalThis.gc === undefined) throw new Error("what runs hold is measured with --expose-gc")
  globalThis.gc()
  const { external, heapUsed } = process.memoryUsage()
  return external + heapUsed
}

export const measure = async (entry: Contenders.Entry, { runs, script }: Scenario): Promise<Sample> => {
  const contender = await Contenders.load(entry)
  const tally = makeTally()
  const runner = await contender.open(script, tally)
  await Promise.all(Array.from({ length: 20 }, () => runner.run()))
  await runner.close?.()

  const counted = makeTally()
  const measured = await contender.open(script, counted)
  const before = heap()
  const startedAt = performance.now()
  let over = 0
  const all = Promise.all(Array.from({ length: runs }, () => measured.run().then(() => void over++)))
  const late: Array<number> = []
  let held: number | undefined
  let pause = 0
  let last = performance.now()
  const timer = setInterval(() => {
    late.push(Math.max(0, performance.now() - last - 5))
    // in the midst of them: all have begun, none is over
    if (held === undefined && over === 0 && counted.requests >= 3 * runs) {
      const looking = performance.now()
      held = heap() - before
      pause = performance.now() - looking
    }
    last = performance.now()
  }, 5)
  await all
  const wall = performance.now() - startedAt - pause
  clearInterval(timer)
  Counts.check(contender.name, script, runs, counted)
  await measured.close?.()
  return {
    "wall ms": wall,
    "p99 event loop lag ms": quantile(late, 0.99),
    // nobody looked while all were under way
    ...(held === undefined ? {} : { "KB a run": held / runs / 1024 })
  }
}
