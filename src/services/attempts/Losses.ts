/**
 * What a run has lost to attempts at model calls that do not count: a strategy's calls add to it and are bounded by it, as those of
 * turns are.
 *
 * Does not own the bounds (`RetryPolicy`), nor how the log keeps it (`RunState`).
 */
import * as Context from "effect/Context"
import * as Lost from "../../run/Lost.ts"

export interface Losses {
  /** all that was lost, including what is noted here */
  readonly soFar: () => Lost.Lost
  readonly note: (lost: Lost.Lost) => void
}

/** The loop provides it to every strategy, for one compaction. Default: there is no run, and nothing is lost. */
export const Losses = Context.Reference<Losses>("fiberloop/services/attempts/Losses", {
  defaultValue: () => ({ soFar: () => Lost.nothing, note: () => {} })
})

/** Begins with what was lost `before`; `noted` is what was noted since. */
export const make = (before: Lost.Lost): Losses & { readonly noted: () => Lost.Lost } => {
  let noted = Lost.nothing
  return {
    noted: () => noted,
    soFar: () => Lost.add(before, noted),
    note: (lost) => {
      noted = Lost.add(noted, lost)
    }
  }
}
