/** What is typed or piped into the command. Does not own what it means. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/** The result of asking for a message. */
export type Typed =
  | { readonly _tag: "Message"; readonly text: string }
  /** Ctrl-C at the prompt; what was typed so far is lost */
  | { readonly _tag: "Interrupted"; readonly wasEmpty: boolean }
  /** Ctrl-D at the prompt, or the end of the piped input; `isGone`: the terminal went away, whose SIGHUP may come later */
  | { readonly _tag: "Ended"; readonly isGone?: true }
  /** piped input that cannot be read on; `line` says why */
  | { readonly _tag: "Unreadable"; readonly line: string }

/** In UTF-16 units: an event of a session, which is at most 16 MiB of JSON, has no room for a message with more. */
export const longestMessage = 16 * 1024 * 1024

export class Input extends Context.Service<Input, {
  /** whether a person types */
  readonly isTerminal: boolean
  /** whether the terminal went away: nobody answers any more, and the end of the input is no word of anybody */
  readonly isGone: () => boolean
  /**
   * One line typed after `ask`, which writes the question; what was typed before, half a line included, is kept for the next message.
   * `undefined` at the end of the input. Ctrl-C stays a signal. For terminals.
   */
  readonly answer: (ask: Effect.Effect<void>) => Effect.Effect<string | undefined>
  /**
   * A message. On a terminal it is edited at a prompt, with the history of this process, and may have several lines; else
   * it is the next line, with those that follow a backslash at its end.
   */
  readonly message: Effect.Effect<Typed>
  /** Drops what was kept for the next message, as a terminal drops at Ctrl-C what nobody has read. */
  readonly dropAhead: Effect.Effect<void>
}>()("fiberloop/cli/Input") {}
