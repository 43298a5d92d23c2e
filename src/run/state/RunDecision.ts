/**
 * What follows from a run's state: which limit forbids the next step, and what happens after a turn. Pure and total.
 *
 * Does not own how a decision is carried out; the loop does.
 */
import type * as DoomLoop from "../DoomLoop.ts"
import * as RunError from "../RunError.ts"
import type * as RunEvent from "../RunEvent.ts"
import type * as RunPolicy from "../RunPolicy.ts"
import * as RunState from "../RunState.ts"
import * as Usage from "../Usage.ts"
import * as Queue from "./Queue.ts"

/**
 * The limit that forbids the next model call, if any: checked before the spending, against what is settled. Turns come
 * first, so that a run at several limits names the one that users know best.
 */
export const limitReached = (state: RunState.RunState, at: number): RunEvent.LimitedReason | undefined => {
  if (hasNoTurnLeft(state)) return "turns"
  const { limitedBy } = state
  // these forbid what an answer leads to, not the call itself: a drive resumed with nothing new would ask in vain
  if (limitedBy === "toolRounds" || limitedBy === "toolCalls" || limitedBy === "compactions") return limitedBy
  return budgetSpent(state, at)
}

/** No model is called any more: nobody would read the results of calls. */
const hasNoTurnLeft = ({ limits: { maxTurns }, totals: { turns } }: RunState.RunState): boolean =>
  maxTurns !== undefined && turns >= maxTurns

/** The limit that forbids the next tool call of a round, if any: everything that is spent except turns. */
export const budgetSpent = (state: RunState.RunState, at: number): RunEvent.LimitedReason | undefined => {
  const { limits, totals } = state
  if (limits.maxDuration !== undefined && RunState.totalsAt(state, at).duration >= limits.maxDuration) return "duration"
  const spent = usageSpent(limits, totals.usage)
  if (spent !== undefined) return spent
  if (limits.maxErrors !== undefined && totals.errors > limits.maxErrors) return "errors"
  return undefined
}

/** The limit of tokens or cost that this much reaches, if any. */
export const usageSpent = (
  { maxCost, maxTokens }: RunPolicy.Limits,
  usage: Usage.Usage
): "tokens" | "cost" | undefined => {
  if (maxTokens !== undefined && Usage.total(usage) >= maxTokens) return "tokens"
  return maxCost !== undefined && isSpent(usage.cost ?? 0, maxCost) ? "cost" : undefined
}

/** Sums of fractions are slightly off. */
const isSpent = (cost: number, maxCost: number): boolean => cost >= maxCost * (1 - 1e-12)

/** How many of a message's calls the limits still allow to run; the rest settle `NotExecuted(limit)`. */
export const callsLeft = (
  state: RunState.RunState
): { readonly count: number; readonly reason: RunEvent.LimitedReason } => {
  const { limits, totals } = state
  if (hasNoTurnLeft(state)) return { count: 0, reason: "turns" }
  if (limits.maxToolRounds !== undefined && totals.toolRounds >= limits.maxToolRounds) {
    return { count: 0, reason: "toolRounds" }
  }
  const count = limits.maxToolCalls === undefined ? Infinity : Math.max(0, limits.maxToolCalls - totals.toolCalls)
  return { count, reason: "toolCalls" }
}

/** What the settled turn was, for `decide`. */
export interface Settled {
  readonly finishReason: RunEvent.FinishReason
  readonly hasCalls: boolean
  /** the model was given the results of tools, and answered with nothing that a reader or a tool could use */
  readonly addsNothing: boolean
  /** the limit that cut the message's calls short */
  readonly cutBy: RunEvent.LimitedReason | undefined
  /** why the answer does not fit the agent's output schema */
  readonly invalidOutput: string | undefined
  /** a call failed, and the run's policy is to end then */
  readonly toolError: RunError.Stored | undefined
  /** the run goes round in circles */
  readonly loop: DoomLoop.Verdict | undefined
  /** the agent's own condition that stopped the run */
  readonly stoppedBy: "stopWhen" | "stopBefore" | undefined
  /** a run around this one has nothing left for another turn */
  readonly isSpentAround: boolean
}

/**
 * What happens after a turn, in `observing`. The first of these decides: a failed call that ends the run; an answer cut
 * at the output limit, for which the context has to shrink; the agent's own stop; the provider's content filter; a
 * limit that cut the calls short. Otherwise the run continues after calls and ends after an answer, whatever the finish
 * reason says.
 */
export const decide = (state: RunState.RunState, turn: Settled, at: number): RunEvent.Decision => {
  const { cutBy, finishReason, invalidOutput, stoppedBy, toolError } = turn
  if (toolError !== undefined) return { _tag: "Fail", error: toolError }
  if (finishReason === "length") return { _tag: "Compact", reason: "length" }
  if (stoppedBy !== undefined) {
    return invalidOutput === undefined ? { _tag: "Complete", reason: stoppedBy } : unfit(invalidOutput)
  }
  if (finishReason === "content-filter") {
    return invalidOutput === undefined ? { _tag: "Complete", reason: "contentFilter" } : fail(filtered)
  }
  if (cutBy !== undefined) return { _tag: "Limit", reason: cutBy }
  return turn.hasCalls ? afterCalls(state, turn) : afterAnswer(state, turn, at)
}

/** The model reads the results. A loop ends a run that would continue, unless a steer is about to bring something new. */
const afterCalls = (state: RunState.RunState, turn: Settled): RunEvent.Decision => {
  const loop = Queue.next(state.queued) === "steer" ? undefined : turn.loop
  if (loop?.next === "end") return { _tag: "Limit", reason: "doomLoop" }
  return { _tag: "Continue", reason: loop === undefined ? "toolCalls" : "doomLoop" }
}

/**
 * An answer is the last one, unless its provider has only paused, or it does not fit the output schema; the model is told
 * that once. The run continues for queued input, unless a limit forbids another turn: then the answer counts as it is.
 * With a steer to come, an answer is not the last one yet.
 */
const afterAnswer = (state: RunState.RunState, turn: Settled, at: number): RunEvent.Decision => {
  const isLimited = limitReached(state, at) !== undefined || turn.isSpentAround
  const next = isLimited ? undefined : Queue.next(state.queued)
  if (next === "steer") return { _tag: "Continue", reason: "steer" }
  // the answer is not whole; a limit ends the run before the model would go on with it
  if (turn.finishReason === "pause") return { _tag: "Continue", reason: "pause" }
  if (turn.invalidOutput !== undefined) {
    return state.corrections === 0 ? { _tag: "Continue", reason: "correction" } : unfit(turn.invalidOutput)
  }
  if (next !== undefined) return { _tag: "Continue", reason: next }
  if (turn.addsNothing) return { _tag: "Complete", reason: "emptyAfterTools" }
  return { _tag: "Complete", reason: turn.finishReason === "stop" ? "stop" : "other" }
}

const fail = (error: RunError.RunError): RunEvent.Decision => ({ _tag: "Fail", error: RunError.toStored(error) })

/** The answer is the last one, and does not fit the agent's output schema. */
const unfit = (problem: string): RunEvent.Decision => fail(RunError.invalidOutput(problem))

const filtered = new RunError.NonRetryableError({
  _tag: "ContentPolicy",
  message: "the provider's content filter ended the answer before it fitted the agent's output schema"
})
