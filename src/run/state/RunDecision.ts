/**
 * What follows from a run's state: which limit forbids the next step, and what happens after a turn. Pure and total.
 *
 * Does not own how a decision is carried out; that is the loop.
 */
import type * as DoomLoop from "../DoomLoop.ts"
import * as RunError from "../RunError.ts"
import type * as RunEvent from "../RunEvent.ts"
import * as RunState from "../RunState.ts"
import * as Usage from "../Usage.ts"
import * as Queue from "./Queue.ts"

/**
 * The limit that forbids the next model call, if any: checked before the spending, against what is settled. Turns come
 * first, so that a run at several limits names the one a user knows best.
 */
export const limitReached = (state: RunState.RunState, at: number): RunEvent.LimitedReason | undefined => {
  const { limitedBy, limits, totals } = state
  if (limits.maxTurns !== undefined && totals.turns >= limits.maxTurns) return "turns"
  // these forbid what an answer leads to and not the call: a drive resumed with nothing new would ask in vain
  if (limitedBy === "toolRounds" || limitedBy === "toolCalls" || limitedBy === "compactions") return limitedBy
  return budgetSpent(state, at)
}

/** The limit that forbids the next tool call of a round, if any: what is spent besides turns. */
export const budgetSpent = (state: RunState.RunState, at: number): RunEvent.LimitedReason | undefined => {
  const { limits, totals } = state
  if (limits.maxDuration !== undefined && RunState.totalsAt(state, at).duration >= limits.maxDuration) return "duration"
  if (limits.maxTokens !== undefined && Usage.total(totals.usage) >= limits.maxTokens) return "tokens"
  if (limits.maxCost !== undefined && isSpent(totals.usage.cost ?? 0, limits.maxCost)) return "cost"
  if (limits.maxErrors !== undefined && totals.errors > limits.maxErrors) return "errors"
  return undefined
}

/** Sums of fractions are a hair off. */
const isSpent = (cost: number, maxCost: number): boolean => cost >= maxCost * (1 - 1e-12)

/** How many of a message's calls the limits still allow to run; the rest settle `NotExecuted(limit)`. */
export const callsLeft = (
  state: RunState.RunState
): { readonly count: number; readonly reason: RunEvent.LimitedReason } => {
  const { limits, totals } = state
  if (limits.maxTurns !== undefined && totals.turns >= limits.maxTurns) return { count: 0, reason: "turns" }
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
  readonly isEmpty: boolean
  /** a limit cut the message's calls short */
  readonly cutBy: RunEvent.LimitedReason | undefined
  /** the answer does not fit the agent's output schema */
  readonly invalidOutput: string | undefined
  readonly toolError: RunError.Stored | undefined
  /** the run goes round in circles */
  readonly loop: DoomLoop.Verdict | undefined
  /** the agent's own condition that says stop */
  readonly stoppedBy: "stopWhen" | "stopBefore" | undefined
}

/**
 * What happens after a turn, in `observing`. Parsed calls decide, not the finish reason; `length` compacts by force,
 * and ends the run where nothing can shrink. A loop ends what would go on. What is queued is gone on for, unless a limit
 * forbids another turn: then the answer is what it is.
 */
export const decide = (state: RunState.RunState, turn: Settled, at: number): RunEvent.Decision => {
  if (turn.toolError !== undefined) return { _tag: "Fail", error: turn.toolError }
  if (turn.finishReason === "length") return { _tag: "Compact", reason: "length" }
  if (turn.stoppedBy !== undefined) {
    return turn.invalidOutput === undefined
      ? { _tag: "Complete", reason: turn.stoppedBy }
      : { _tag: "Fail", error: RunError.toStored(RunError.invalidOutput(turn.invalidOutput)) }
  }
  if (turn.cutBy !== undefined && turn.finishReason !== "content-filter") return { _tag: "Limit", reason: turn.cutBy }
  if (turn.hasCalls && turn.finishReason !== "content-filter") {
    // a steer to come is news to the model
    const loop = Queue.next(state.queued) === "steer" ? undefined : turn.loop
    if (loop?.next === "end") return { _tag: "Limit", reason: "doomLoop" }
    return { _tag: "Continue", reason: loop === undefined ? "toolCalls" : "doomLoop" }
  }
  const next = turn.finishReason === "content-filter" || limitReached(state, at) !== undefined
    ? undefined
    : Queue.next(state.queued)
  // with a steer to come, an answer is not the last one yet
  if (next === "steer") return { _tag: "Continue", reason: "steer" }
  if (turn.invalidOutput !== undefined) {
    if (turn.finishReason === "content-filter") return { _tag: "Fail", error: RunError.toStored(filtered) }
    return state.corrections === 0
      ? { _tag: "Continue", reason: "correction" }
      : { _tag: "Fail", error: RunError.toStored(RunError.invalidOutput(turn.invalidOutput)) }
  }
  return next === undefined
    ? { _tag: "Complete", reason: completion(state, turn) }
    : { _tag: "Continue", reason: next }
}

const filtered = new RunError.NonRetryableError({
  _tag: "ContentPolicy",
  message: "the provider's content filter ended the answer before it fitted the agent's output schema"
})

const completion = (
  state: RunState.RunState,
  turn: Settled
): Extract<RunEvent.Decision, { _tag: "Complete" }>["reason"] => {
  if (turn.finishReason === "content-filter") return "contentFilter"
  if (turn.isEmpty && state.totals.toolRounds > 0) return "emptyAfterTools"
  return turn.finishReason === "stop" ? "stop" : "other"
}
