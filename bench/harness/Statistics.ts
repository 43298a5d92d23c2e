/** Summarises many rounds: medians, minima and ratios. */

export const median = (values: ReadonlyArray<number>): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2
}

/** The value below which a `share` (0 to 1) of them lies. */
export const quantile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN
}

/** The result of one measurement, by the name of the metric with its unit: `us a delta`. */
export type Sample = Readonly<Record<string, number>>

export interface Row {
  readonly scenario: string
  readonly contender: string
  readonly metric: string
  readonly median: number
  readonly min: number
  readonly rounds: number
  /** one for each round */
  readonly values: ReadonlyArray<number>
  /** ratios of the median to that of the floor, and of pi, where those were measured too */
  readonly toFloor?: number
  readonly toPi?: number
}

export interface Measured {
  readonly scenario: string
  readonly contender: string
  readonly sample: Sample
}

/** What a contender is compared with in a scenario: if it waits for its disk, with a floor that does too. */
const basesOf = (scenario: string, contender: string) =>
  scenario.startsWith("durable")
    ? { floor: `floor: prepared inserts${contender.endsWith("fsync") ? ", fsync" : ""}`, pi: "pi, JSONL session" }
    : { floor: "floor: Effect stream", pi: "pi" }

/** One row for each scenario, metric and contender, in the order in which they were first measured. */
export const rows = (measured: ReadonlyArray<Measured>): ReadonlyArray<Row> => {
  const values = new Map<string, Map<string, Array<number>>>()
  for (const { contender, sample, scenario } of measured) {
    for (const [metric, value] of Object.entries(sample)) {
      const key = JSON.stringify([scenario, metric])
      const by = values.get(key) ?? new Map<string, Array<number>>()
      values.set(key, by.set(contender, [...(by.get(contender) ?? []), value]))
    }
  }
  return [...values].flatMap(([key, by]) => {
    const [scenario, metric] = JSON.parse(key) as [string, string]
    const ratio = (of: number, to: string) => by.has(to) ? of / median(by.get(to)!) : undefined
    return [...by].map(([contender, all]): Row => {
      const bases = basesOf(scenario, contender)
      const middle = median(all)
      const toFloor = ratio(middle, bases.floor)
      const toPi = ratio(middle, bases.pi)
      return {
        scenario,
        contender,
        metric,
        median: middle,
        min: Math.min(...all),
        rounds: all.length,
        values: all,
        ...(toFloor === undefined ? {} : { toFloor }),
        ...(toPi === undefined ? {} : { toPi })
      }
    })
  })
}
