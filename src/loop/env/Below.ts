/**
 * What the runs that work for one call spend: each counts once, however often it is asked for or continued. Of a run that is over,
 * only what it spent is kept.
 *
 * Does not own whether the call is under way, nor what follows from what is spent (`Budget`).
 */
import * as Pointer from "../../run/Pointer.ts"
import * as Usage from "../../run/Usage.ts"

/** A run that works for a call. */
export interface Spender extends Pointer.Run {
  /** over all its drives, with what is spent below it; as of now */
  readonly spent: () => Usage.Usage
}

export class Below {
  readonly call: Pointer.Parent
  readonly #live = new Map<string, Spender>()
  readonly #over = new Map<string, Usage.Usage>()
  /** of those that are over; undefined where it must be added up again */
  #sum: Usage.Usage | undefined = Usage.zero

  constructor(call: Pointer.Parent) {
    this.call = call
  }

  /** A run works for the call; the same run again replaces the one before. */
  add(run: Spender): void {
    const key = Pointer.keyOf(run)
    if (this.#over.delete(key)) this.#sum = undefined
    this.#live.set(key, run)
  }

  /** A run is over and has spent `usage`; ignored while another drive of it is under way. */
  end(run: Pointer.Run, usage: Usage.Usage): void {
    const key = Pointer.keyOf(run)
    const live = this.#live.get(key)
    if (live !== undefined && live !== run) return
    this.#live.delete(key)
    this.#sum = this.#sum === undefined || this.#over.has(key) ? undefined : Usage.add(this.#sum, usage)
    this.#over.set(key, usage)
  }

  /** Those that have worked for the call so far. */
  runs(): ReadonlyArray<Pointer.Run> {
    return Array.from(new Set([...this.#live.keys(), ...this.#over.keys()]), runOf)
  }

  spent(): Usage.Usage {
    this.#sum ??= this.#over.values().reduce((sum, usage) => Usage.add(sum, usage), Usage.zero)
    return this.#live.values().reduce((sum, run) => Usage.add(sum, run.spent()), this.#sum)
  }
}

const runOf = (key: string): Pointer.Run => {
  const [sessionId, runId] = JSON.parse(key) as [string, string]
  return { sessionId, runId }
}
