/** What a run has used up so far, over all its drives: what its limits are checked against. */
import * as Schema from "effect/Schema"
import * as Usage from "./Usage.ts"

export const Totals = Schema.Struct({
  /** settled model calls */
  turns: Schema.Finite,
  /** rounds in which a call was started, or a person gave the result of one */
  toolRounds: Schema.Finite,
  /** calls that were started, or whose result a person gave */
  toolCalls: Schema.Finite,
  /** attempts that do not count, and calls that failed or timed out */
  errors: Schema.Finite,
  compactions: Schema.Finite,
  /** milliseconds that drives took, without time spent waiting for people */
  duration: Schema.Finite,
  /** what models and tools spent, including attempts and compactions that do not count */
  usage: Usage.Usage
})
export type Totals = typeof Totals.Type

/** Of a run that has just begun. */
export const zero: Totals = {
  turns: 0,
  toolRounds: 0,
  toolCalls: 0,
  errors: 0,
  compactions: 0,
  duration: 0,
  usage: Usage.zero
}
