/**
 * What did not end in time, by call id where it was a call, and what that makes of the call: nothing, in most runs.
 *
 * Does not own when something is left behind (`Leavable`), nor where its name is written (`Ending`).
 */
import type * as ToolOutcome from "../../run/ToolOutcome.ts"

export interface Left {
  readonly name: string
  readonly outcome?: ToolOutcome.ToolOutcome
}

export class LeftBehind {
  #left: Map<string, Left> | undefined

  set(key: string, left: Left): void {
    this.#left ??= new Map()
    this.#left.set(key, left)
  }

  get(key: string): Left | undefined {
    return this.#left?.get(key)
  }

  /** in the order in which they were left */
  names(): ReadonlyArray<string> {
    return this.#left === undefined ? [] : Array.from(this.#left.values(), (left) => left.name)
  }
}
