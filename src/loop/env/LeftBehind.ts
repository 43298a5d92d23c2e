/**
 * What did not end in time, by call id where it was a call, with the outcome that the call then has. Most runs leave nothing behind.
 *
 * Does not own when something is left behind (`Leavable`), who says so (`LeaveBehind`, `AppCode`), nor where its
 * name is written (`Ending`, `Recovery`, `Aborting`).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import { ToolCall } from "../../services/ToolCall.ts"

interface Left {
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

  /** as an end has it: in the order in which they were left, and nothing where none was */
  named(): { readonly leftBehind?: ReadonlyArray<string> } {
    return this.#left === undefined ? {} : { leftBehind: Array.from(this.#left.values(), (left) => left.name) }
  }
}

/** Takes the name of something that code started and could not end; once for each tool call, where it works for one. */
export const listener = (leftBehind: LeftBehind) => (name: string): Effect.Effect<void> =>
  Effect.withFiberSucceed(({ context }) => {
    const call = Context.getOrUndefined(context, ToolCall)
    leftBehind.set(call === undefined ? name : `${name} of ${call.callId}`, { name })
  })
