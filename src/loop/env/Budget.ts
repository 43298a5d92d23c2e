/**
 * What a run may spend, shared with the runs that work for its tool calls: what those spend counts for it while the call is under
 * way, and its limits of tokens and cost hold them too. It is read where a model is about to be called; nothing is kept up to
 * date meanwhile.
 *
 * Does not own when a limit is reached (`RunDecision`), which run works for which call (`open/Kin`), nor what the log says of it
 * (`round/CallStep`).
 */
import * as Context from "effect/Context"
import type * as Pointer from "../../run/Pointer.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as RunDecision from "../../run/state/RunDecision.ts"
import * as Usage from "../../run/Usage.ts"
import * as ToolExecutor from "../../services/ToolExecutor.ts"

type Call = Pointer.Parent

/** A run that works for a call. */
export interface Spender {
  readonly sessionId: string
  readonly runId: string
  readonly parent: Call | undefined
  /** over all its drives, with what is spent below it */
  readonly spent: () => Usage.Usage
}

/** A limit that is reached: the run's own, or that of one around it. */
export interface Reached {
  readonly reason: RunEvent.LimitedReason
  readonly around?: { readonly sessionId: string; readonly runId: string }
}

/** The call that whatever is in a context works for; `budget` is that of its run, where this process drives it. */
export interface Place {
  readonly call: Call
  readonly budget: Budget | undefined
}

/** Reads a log as it grows: what it holds is as of now. */
interface Log {
  readonly state: RunState.RunState
}

export class Budget implements Spender {
  readonly sessionId: string
  readonly runId: string
  parent: Call | undefined
  #around: Budget | undefined
  #log: Log | undefined
  #below: ReadonlyArray<Spender> | undefined

  constructor({ runId, sessionId }: { readonly sessionId: string; readonly runId: string }) {
    this.sessionId = sessionId
    this.runId = runId
  }

  /** From now on it is this log that says what was spent. */
  follow(log: Log): void {
    this.#log = log
  }

  /** The drive is over: nothing is spent any more, and what it worked with is not held. */
  close(): void {
    if (this.#log !== undefined) this.#log = { state: this.#log.state }
  }

  /** The run works for a call. */
  workFor({ budget, call }: Place): void {
    this.parent = call
    this.#around = budget
    budget?.add(this)
  }

  /** A run works for a call of this one; the same run again takes its place. */
  add(spender: Spender): void {
    const others = this.#below?.filter((other) => this.#isUnderWay(other.parent) && !isSame(other, spender)) ?? []
    this.#below = [...others, spender]
  }

  isOf(call: Call): boolean {
    return this.parent !== undefined && isSame(this.parent, call) && this.parent.callId === call.callId
  }

  spent(): Usage.Usage {
    const state = this.#log?.state
    // before its first event the log is that of another run
    const own = state?.runId === this.runId ? state.totals.usage : Usage.zero
    return Usage.add(own, this.#spentUnderWay() ?? Usage.zero)
  }

  /** What was spent below a call of the run that the log is about; undefined where nothing was. */
  spentIn(callId: string): Usage.Usage | undefined {
    return this.#below === undefined
      ? undefined
      : sumOf(this.#below, (call) => this.#isOurs(call) && call.callId === callId)
  }

  /** The limit that forbids the next model call, if any; `more` was spent besides and is not in the log yet. */
  limitReached(at: number, more?: Usage.Usage): Reached | undefined {
    const reason = RunDecision.limitReached(this.#counted(more), at)
    return reason === undefined ? this.limitAround(more) : { reason }
  }

  /** That of a run around this one. */
  limitAround(more: Usage.Usage = Usage.zero): Reached | undefined {
    if (this.#around === undefined) return undefined
    for (const { limits, run } of this.#holding()) {
      if (limits.maxTokens === undefined && limits.maxCost === undefined) continue
      const reason = RunDecision.usageSpent(limits, Usage.add(run.spent(), more))
      if (reason !== undefined) return { reason, around: { sessionId: run.sessionId, runId: run.runId } }
    }
    return undefined
  }

  /** The limit that forbids the next tool call of a round, if any. */
  spentInRound(at: number): RunEvent.LimitedReason | undefined {
    return RunDecision.budgetSpent(this.#counted(), at)
  }

  /** A run around this one whose cost is limited. */
  costLimitAround(): string | undefined {
    return this.#holding().find(({ limits }) => limits.maxCost !== undefined)?.run.runId
  }

  /** The budget of a run, where it is this one or one around it. */
  find(run: Omit<Call, "callId">): Budget | undefined {
    return isSame(this, run) ? this : this.#around?.find(run)
  }

  /** The runs around it, from the nearest one on, for as long as the calls between them are under way. */
  #holding(): ReadonlyArray<{ readonly run: Budget } & Pick<RunState.RunState, "limits">> {
    const run = this.#around
    const log = run === undefined ? undefined : run.#log
    if (run === undefined || log === undefined || !run.#isUnderWay(this.parent)) return []
    return [{ run, limits: log.state.limits }, ...run.#holding()]
  }

  /** The state, with what is spent that the log does not hold yet. */
  #counted(more?: Usage.Usage): RunState.RunState {
    const { state } = this.#log!
    const below = this.#spentUnderWay()
    if (below === undefined && more === undefined) return state
    const usage = Usage.add(Usage.add(state.totals.usage, below ?? Usage.zero), more ?? Usage.zero)
    return { ...state, totals: { ...state.totals, usage } }
  }

  #spentUnderWay(): Usage.Usage | undefined {
    return this.#below === undefined ? undefined : sumOf(this.#below, (call) => this.#isUnderWay(call))
  }

  /** It has no outcome; what it spent is in the totals then. */
  #isUnderWay(call: Call | undefined): boolean {
    const openCalls = this.#log?.state.openCalls ?? []
    return call !== undefined && this.#isOurs(call) && OpenCall.indexOf(openCalls, call.callId) >= 0
  }

  /** Of the run that the log is about by now. */
  #isOurs({ runId, sessionId }: Call): boolean {
    return sessionId === this.sessionId && runId === this.#log?.state.runId
  }
}

const isSame = (a: Omit<Call, "callId">, b: Omit<Call, "callId">): boolean =>
  a.sessionId === b.sessionId && a.runId === b.runId

/** Of those that work for such calls; undefined where that is nothing. */
const sumOf = (spenders: ReadonlyArray<Spender>, isAsked: (call: Call) => boolean): Usage.Usage | undefined => {
  let sum = Usage.zero
  for (const spender of spenders) {
    if (spender.parent !== undefined && isAsked(spender.parent)) sum = Usage.add(sum, spender.spent())
  }
  return Usage.total(sum) === 0 && (sum.cost ?? 0) === 0 ? undefined : sum
}

/** That of the drive around; each provides its own to all that it runs. */
export const Around = Context.Reference<Budget | undefined>("fiberloop/loop/Budget", { defaultValue: () => undefined })

export const placeIn = (context: Context.Context<never>): Place | undefined => {
  const known = Context.getOrUndefined(context, ToolExecutor.ToolCall)
  if (known === undefined) return undefined
  const { callId, runId, sessionId } = known
  const call = { sessionId, runId, callId }
  // code that an agent below the call runs besides its tools works for that call too
  return { call, budget: Context.get(context, Around)?.find(call) }
}
