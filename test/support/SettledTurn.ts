/** A settled turn, as what follows from it is decided by: an answer, unless said otherwise. */
import type * as RunDecision from "../../src/run/state/RunDecision.ts"

export const of = (turn: Partial<RunDecision.Settled> = {}): RunDecision.Settled => ({
  finishReason: "stop",
  hasCalls: false,
  isBlank: false,
  cutBy: undefined,
  invalidOutput: undefined,
  toolError: undefined,
  loop: undefined,
  isSpentAround: false,
  stoppedBy: undefined,
  ...turn
})
