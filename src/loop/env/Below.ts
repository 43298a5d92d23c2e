/**
 * What is spent for one call by the runs that work for it: each counts once, however often it is asked for or gone on with. Of
 * a run that is over only that is held.
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
  /** of those that are over, where it is known */
  #sum: Usage.Usage | undefined = Usage.zero

  constructor(call: Pointer.Parent) {
    this.call = call
  }

  /** A run works for the call; the same run again takes its place. */
  add(run: Spender): void {
    const key = Pointer.keyOf(run)
    if (this.#over.delete(key)) this.#sum = undefined
    this.#live.set(key, run)
  }

  /** A run is over and has spent so much, unless another drive of it is under way. */
  end(run: Pointer.Run, usage: Usage.Usage): void {
    const key = Pointer.keyOf(run)
    const live = this.#live.get(key)
    if (live !== undefined && live !== run) return
    this.#live.delete(key)
    this.#sum = this.#sum === undefined || this.#over.has(key) ? undefined : Usage.add(this.#sum, usage)
    this.#over.set(key, usage)
  }

  /** Those that worked for the call by now. */
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
