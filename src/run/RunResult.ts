/**
 * What a run returns: one of four ends that are not errors, with what was used up and words that say why.
 *
 * Does not own the words (`Explanation`).
 */
import type * as Schema from "effect/Schema"
import type * as DoomLoop from "./DoomLoop.ts"
import * as Explanation from "./Explanation.ts"
import type * as Pointer from "./Pointer.ts"
import type * as RunError from "./RunError.ts"
import type * as RunEvent from "./RunEvent.ts"
import type * as RunState from "./RunState.ts"
import * as OpenCall from "./state/OpenCall.ts"
import type * as Usage from "./Usage.ts"

/**
 * What every result has: `text` is the last thing the model said; `turns` and `usage` count over all drives of the run.
 */
export interface Totals {
  readonly runId: string
  readonly sessionId: string
  /** the last thing that the model said; empty where it said nothing */
  readonly text: string
  /** settled model calls */
  readonly turns: number
  /** tokens, and `cost` in the unit of the application's prices; includes runs that worked for its tool calls */
  readonly usage: Usage.Usage
  /** for a person: how it ended and what to do next */
  readonly explain: string
}

/** A call that waits for a person: what `decide` is asked about. */
export interface Approval {
  /** the `approvalId` of a decision about it */
  readonly id: string
  /** the session to decide in: for a run that works for a call of this one, that run's own session */
  readonly sessionId: string
  /** the name of the agent whose tool it is */
  readonly agent: string
  readonly callId: string
  readonly tool: string
  readonly params: Schema.Json
  /** milliseconds since the epoch */
  readonly requestedAt: number
  /** milliseconds since the epoch: from then on nobody can say yes */
  readonly expiresAt?: number
  /** a yes must give the call's `result` */
  readonly needsResult?: boolean
}

/** What a requested compaction did to a session's context; `tokens` as estimated. */
export interface Compacted {
  readonly strategy: string
  readonly messages: { readonly before: number; readonly after: number }
  readonly tokens: { readonly before: number; readonly after: number }
  readonly usage: Usage.Usage
}

/**
 * How a run ended that did not fail. `output` is the answer, decoded by the agent's output schema if it has one, else
 * `text`. All but a completed run can be resumed.
 */
export type RunResult<A = string> =
  | Totals & { readonly _tag: "Completed"; readonly output: A }
  | Totals & {
    readonly _tag: "Limited"
    readonly reason: RunEvent.LimitedReason
    /** with the reason `doomLoop`: the calls that were made again and again, and how often */
    readonly loop?: DoomLoop.Loop
    /** the run around it whose limit was reached, if it is not its own */
    readonly around?: Pointer.Run
  }
  | Totals & { readonly _tag: "Suspended"; readonly approvals: ReadonlyArray<Approval> }
  | Totals & { readonly _tag: "Aborted"; readonly reason: RunEvent.AbortedReason }

/**
 * The result of a run that ended without failing, from its state; `output` makes the typed answer from its text. A suspended one has the
 * questions of its state, also those that have expired.
 */
export const fromState = <A>(
  sessionId: string,
  state: RunState.RunState,
  end: Exclude<RunEvent.End, { readonly _tag: "RunFailed" }>,
  output: (text: string) => A
): RunResult<A> => {
  const totals: Totals = {
    runId: end.runId,
    sessionId,
    text: state.text,
    turns: end.totals.turns,
    usage: end.totals.usage,
    explain: Explanation.ofEnd(end)
  }
  switch (end._tag) {
    case "RunCompleted":
      return { ...totals, _tag: "Completed", output: output(state.text) }
    case "RunLimited":
      return {
        ...totals,
        _tag: "Limited",
        reason: end.reason,
        ...(end.loop === undefined ? {} : { loop: end.loop }),
        ...(end.around === undefined ? {} : { around: end.around })
      }
    case "RunSuspended": {
      const suspended: Suspended = { ...totals, _tag: "Suspended", approvals: [] }
      // after such an end only a run that follows gives calls their outcomes
      return state.openCalls.length === 0
        ? { ...suspended, explain: Explanation.followed(end) }
        : waiting(suspended, end, approvals(sessionId, state))
    }
    case "RunAborted":
      return { ...totals, _tag: "Aborted", reason: end.reason }
  }
}

type Suspended = Extract<RunResult, { readonly _tag: "Suspended" }>

/** The result of a suspended run with the questions that are still open. */
export const waiting = (
  result: Suspended,
  end: Extract<RunEvent.End, { readonly _tag: "RunSuspended" }>,
  approvals: ReadonlyArray<Approval>
): Suspended => ({
  ...result,
  approvals,
  // the questions of the end may have been answered since, or have expired
  explain: approvals.length === 0 ? Explanation.decided(end) : Explanation.ofEnd(end)
})

/** The unanswered questions of a state, in call order; not those of runs that its calls wait for. */
export const approvals = (
  sessionId: string,
  { agent = "", openCalls }: Pick<RunState.RunState, "agent" | "openCalls">
): ReadonlyArray<Approval> =>
  openCalls.flatMap((call) => {
    const { approvalId, callId, expiresAt, needsResult, phase, requestedAt, tool } = call
    if (phase !== "awaiting" || approvalId === undefined || requestedAt === undefined) return []
    const more = {
      ...(expiresAt === undefined ? {} : { expiresAt }),
      ...(needsResult === undefined ? {} : { needsResult })
    }
    return [{ id: approvalId, sessionId, agent, callId, tool, params: OpenCall.asked(call), requestedAt, ...more }]
  })

/**
 * One sentence for a person: how the run ended, how far it came, and what to do to go on. Takes an end event, a result,
 * or the error that a run failed with, which only tells why. It repeats what the error says, but nothing of prompts,
 * arguments and results.
 */
export const explain = (of: RunEvent.End | RunResult<unknown> | RunError.RunError): string =>
  "explain" in of ? of.explain : "totals" in of ? Explanation.ofEnd(of) : Explanation.ofError(of)

export { limited, outcome } from "./Explanation.ts"
