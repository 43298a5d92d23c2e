/**
 * What a run may spend, shared with the runs that work for its tool calls: what they spend counts towards it while the call is
 * under way, and its limits on tokens and cost bind them too. It is added up when a model is about to be called; nothing is kept
 * up to date in between.
 *
 * Does not own when a limit is reached (`RunDecision`), which run works for which call (`open/Kin`), what the runs of one call spent
 * (`Below`), nor what the log says of it (`round/CallStep`).
 */
import * as Pointer from "../../run/Pointer.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as RunState from "../../run/RunState.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as RunDecision from "../../run/state/RunDecision.ts"
import * as Usage from "../../run/Usage.ts"
import * as Below from "./Below.ts"

/** A limit that is reached: the run's own, or that of one around it. */
export interface Reached {
  readonly reason: RunEvent.LimitedReason
  readonly around?: Pointer.Run
}

/** Milliseconds since the epoch. */
type Now = () => number

/** A log that grows: `state` is as of now. */
interface Log {
  readonly state: RunState.RunState
}

export class Budget implements Below.Spender {
  readonly sessionId: string
  readonly runId: string
  /** the call that the run works for */
  parent: Pointer.Parent | undefined
  #around: Budget | undefined
  #log: Log | undefined
  /** by the ids of calls; also of some that are over */
  #below: Map<string, Below.Below> | undefined
  #spent: Usage.Usage | undefined

  constructor({ runId, sessionId }: Pointer.Run) {
    this.sessionId = sessionId
    this.runId = runId
  }

  /** From now on this log says what was spent. */
  follow(log: Log): void {
    this.#log = log
  }

  /** The drive is over: nothing more is spent, and only what was spent is kept. */
  close(): void {
    if (this.parent !== undefined) {
      this.#spent = this.spent()
      this.#around?.tell(this.parent, this, this.#spent)
    }
    this.#log = undefined
    this.#below = undefined
  }

  /**
   * The run works for a call, unless the call is over: what a handler still has at work then is on its own. `around` is the budget of
   * the call's run, where this process drives it.
   */
  workFor(call: Pointer.Parent, around: Budget | undefined): void {
    if (around !== undefined) {
      if (!around.#isUnderWay(call)) return
      around.#belowOf(call).add(this)
    }
    this.parent = call
    this.#around = around
  }

  isOf(call: Pointer.Parent): boolean {
    return this.parent !== undefined && Pointer.isSameCall(this.parent, call)
  }

  /** Whether that run is among those that the call last paused for. */
  waitsFor(call: Pointer.Parent, run: Pointer.Run): boolean {
    const open = this.#isOurs(call) ? OpenCall.find(this.#log?.state.openCalls ?? [], call.callId) : undefined
    return open?.waitsFor?.some((known) => Pointer.isSameRun(known, run)) === true
  }

  /** A run that works for a call of this one is over, or not driven by this process, and has spent `usage`. */
  tell(call: Pointer.Parent, run: Pointer.Run, usage: Usage.Usage): void {
    if (this.#isUnderWay(call)) this.#belowOf(call).end(run, usage)
  }

  spent(): Usage.Usage {
    if (this.#spent !== undefined) return this.#spent
    const state = this.#log?.state
    // before this run's first event the log's state is that of another run
    const own = state?.runId === this.runId ? state.totals.usage : Usage.zero
    const below = this.#spentUnderWay()
    return below === undefined ? own : Usage.add(own, below)
  }

  /** What was spent below a call of the run that the log is about; undefined where nothing was. */
  spentIn(callId: string): Usage.Usage | undefined {
    const spent = this.#belowOurs(callId)?.spent()
    return spent === undefined || Usage.isNothing(spent) ? undefined : spent
  }

  /** The runs that have worked so far for a call of the run that the log is about. */
  runsFor(callId: string): ReadonlyArray<Pointer.Run> {
    return this.#belowOurs(callId)?.runs() ?? []
  }

  /** The limit that forbids the next model call, if any; `more` was spent besides and is not in the log yet, as are so many `errors`. */
  limitReached(now: Now, more?: Usage.Usage, errors?: number): Reached | undefined {
    const reason = RunDecision.limitReached(this.#counted(more, errors), this.#at(now))
    return reason === undefined ? this.limitAround(more) : { reason }
  }

  /** The limit of a run around this one that forbids it, if any. */
  limitAround(more: Usage.Usage = Usage.zero): Reached | undefined {
    if (this.#around === undefined) return undefined
    for (let run = this.#holder(); run !== undefined; run = run.#holder()) {
      const limits = run.#limits()
      if (limits.maxTokens === undefined && limits.maxCost === undefined) continue
      const reason = RunDecision.usageSpent(limits, Usage.add(run.spent(), more))
      if (reason !== undefined) return { reason, around: { sessionId: run.sessionId, runId: run.runId } }
    }
    return undefined
  }

  /** The limit that forbids the next tool call of a round, if any. */
  spentInRound(now: Now): RunEvent.LimitedReason | undefined {
    return RunDecision.budgetSpent(this.#counted(), this.#at(now))
  }

  /** Which limits count what models use, by this run or one around it. */
  usageLimits(): ReadonlyArray<"maxTokens" | "maxCost"> {
    const limits = [this.#limits()]
    for (let run = this.#holder(); run !== undefined; run = run.#holder()) limits.push(run.#limits())
    return usageLimits.filter((name) => limits.some((limits) => limits[name] !== undefined))
  }

  /** The id of a run around this one whose cost is limited, if any. */
  costLimitAround(): string | undefined {
    let run = this.#holder()
    while (run !== undefined && run.#limits().maxCost === undefined) run = run.#holder()
    return run?.runId
  }

  /** The budget of `run`, where that is this run or one around it. */
  find(run: Pointer.Run): Budget | undefined {
    return Pointer.isSameRun(run, this) ? this : this.#around?.find(run)
  }

  /** The run around it, for as long as the call between them is under way. */
  #holder(): Budget | undefined {
    return this.#around !== undefined && this.#around.#isUnderWay(this.parent) ? this.#around : undefined
  }

  #limits(): RunState.RunState["limits"] {
    return this.#log?.state.limits ?? {}
  }

  /** What is spent for a call that is under way. */
  #belowOf(call: Pointer.Parent): Below.Below {
    const known = this.#belowOurs(call.callId)
    if (known !== undefined) return known
    const below = new Below.Below(call)
    this.#below = this.#kept()
    this.#below.set(call.callId, below)
    return below
  }

  /** What is known of calls, without those that are over once they are the most. */
  #kept(): Map<string, Below.Below> {
    const openCalls = this.#log?.state.openCalls ?? []
    if (this.#below !== undefined && this.#below.size <= 2 * openCalls.length) return this.#below
    const open = openCalls.flatMap(({ callId }) => this.#belowOurs(callId) ?? [])
    return new Map(open.map((below) => [below.call.callId, below]))
  }

  #belowOurs(callId: string): Below.Below | undefined {
    const below = this.#below?.get(callId)
    return below !== undefined && this.#isOurs(below.call) ? below : undefined
  }

  /** The clock is read only where the run's time is limited. */
  #at(now: Now): number {
    return this.#limits().maxDuration === undefined ? 0 : now()
  }

  /** The state, with spending and errors added that the log does not hold yet. */
  #counted(more?: Usage.Usage, errors = 0): RunState.RunState {
    const { state } = this.#log!
    const below = this.#spentUnderWay()
    if (below === undefined && more === undefined && errors === 0) return state
    const usage = Usage.add(Usage.add(state.totals.usage, below ?? Usage.zero), more ?? Usage.zero)
    return { ...state, totals: { ...state.totals, usage, errors: state.totals.errors + errors } }
  }

  /** What is spent for calls without an outcome; undefined where that is nothing. Calls that are over were settled with theirs. */
  #spentUnderWay(): Usage.Usage | undefined {
    if (this.#below === undefined) return undefined
    let sum = Usage.zero
    let left = this.#below.size
    for (const { callId } of this.#log?.state.openCalls ?? []) {
      const below = this.#belowOurs(callId)
      if (below === undefined) continue
      sum = Usage.add(sum, below.spent())
      if (--left === 0) break
    }
    return Usage.isNothing(sum) ? undefined : sum
  }

  /** The call has no outcome yet; once it has one, what was spent for it is in the totals. */
  #isUnderWay(call: Pointer.Parent | undefined): boolean {
    const openCalls = this.#log?.state.openCalls ?? []
    return call !== undefined && this.#isOurs(call) && OpenCall.indexOf(openCalls, call.callId) >= 0
  }

  /** The call belongs to the run that the log is about now. */
  #isOurs({ runId, sessionId }: Pointer.Parent): boolean {
    return sessionId === this.sessionId && runId === this.#log?.state.runId
  }
}

const usageLimits = ["maxTokens", "maxCost"] as const
