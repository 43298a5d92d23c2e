/** How many tokens a text is: a setting, read by the loop at every drive. By default it is estimated. */
import * as Context from "effect/Context"
import * as TokenEstimate from "../run/TokenEstimate.ts"

/**
 * `count` is total on any string, also one with half a surrogate pair, and returns the same whole number of at least 0
 * for the same text. It runs on the agent's thread, once for each text: it must take time linear in its length.
 */
export interface Tokenizer {
  readonly count: (text: string) => number
}

/** Default: `TokenEstimate.text`, which says how close it comes to OpenAI's tokenizers. */
export const Tokenizer = Context.Reference<Tokenizer>("fiberloop/services/Tokenizer", {
  defaultValue: () => ({ count: TokenEstimate.text })
})
