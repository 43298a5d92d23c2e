/** What is typed or piped into the command. Does not own what it means. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/** What came of asking for a message. */
export type Typed =
  | { readonly _tag: "Message"; readonly text: string }
  /** Ctrl-C at the prompt; what was typed so far is gone */
  | { readonly _tag: "Interrupted"; readonly wasEmpty: boolean }
  /** Ctrl-D at the prompt, or the end of what is piped in */
  | { readonly _tag: "Ended" }

export class Input extends Context.Service<Input, {
  /** whether a person types */
  readonly isTerminal: boolean
  /**
   * One line that is typed from `ask` on, which writes the question; what was typed before does not answer. `undefined` at
   * the end of the input. Ctrl-C is a signal as ever. For terminals.
   */
  readonly answer: (ask: Effect.Effect<void>) => Effect.Effect<string | undefined>
  /**
   * A message. On a terminal it is edited at a prompt, with the history of this process, and may have several lines; else
   * it is the next line.
   */
  readonly message: Effect.Effect<Typed>
}>()("fiberloop/cli/Input") {}
