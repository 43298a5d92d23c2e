import { Effect } from "effect"

/** What every contender does the same amount of. */
export interface Scenario {
  readonly name: string
  readonly unit: "delta" | "step"
  /** deltas or steps, to divide the time by */
  readonly units: number
  /** tool calls before the answer */
  readonly calls: number
  /** deltas of each answer */
  readonly deltas: number
  /** deltas that a source delivers in one array */
  readonly chunk: number
  /** characters of text there are in all */
  readonly characters: number
}

/** What a contender saw, and how long that took once everything it needs was there. */
export interface Counts {
  readonly characters: number
  readonly calls: number
  readonly millis: number
}

/** Times `self`, without what it is provided with. */
export const timed = <E, R>(
  self: Effect.Effect<Omit<Counts, "millis">, E, R>
): Effect.Effect<Counts, E, R> =>
  Effect.suspend(() => {
    const startedAt = performance.now()
    return Effect.map(self, (counts) => ({ ...counts, millis: performance.now() - startedAt }))
  })

export const delta = "abcd"

const deltas = (name: string, chunk: number): Scenario => ({
  name,
  unit: "delta",
  units: 10_000,
  calls: 0,
  deltas: 10_000,
  chunk,
  characters: 10_000 * delta.length
})

const steps = (count: number): Scenario => ({
  name: `steps, ${count}`,
  unit: "step",
  units: count,
  calls: count,
  deltas: 3,
  chunk: 1,
  characters: (count + 1) * 3 * delta.length
})

export const scenarios: ReadonlyArray<Scenario> = [
  deltas("deltas, one by one", 1),
  deltas("deltas, 64 at once", 64),
  steps(10),
  steps(100),
  steps(1_000)
]
