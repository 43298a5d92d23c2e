/** A settled turn, as input to the decision that follows it: an answer, unless stated otherwise. */
import type * as RunDecision from "../../src/run/state/RunDecision.ts"

export const of = (turn: Partial<RunDecision.Settled> = {}): RunDecision.Settled => ({
  finishReason: "stop",
  hasCalls: false,
  addsNothing: false,
  cutBy: undefined,
  invalidOutput: undefined,
  toolError: undefined,
  loop: undefined,
  isSpentAround: false,
  stoppedBy: undefined,
  ...turn
})
