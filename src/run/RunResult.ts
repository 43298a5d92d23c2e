/**
 * What a run gives back: one of four ends that are not errors, with what was used up and words that say why.
 */
import type * as Schema from "effect/Schema"
import * as DoomLoop from "./DoomLoop.ts"
import { count } from "./Quantity.ts"
import type * as RunEvent from "./RunEvent.ts"
import type * as RunPolicy from "./RunPolicy.ts"
import type * as RunState from "./RunState.ts"
import * as OpenCall from "./state/OpenCall.ts"
import type * as Usage from "./Usage.ts"

/** `text` is the last thing the model said; `turns` and `usage` count over all drives of the run. */
export interface Totals {
  readonly runId: string
  readonly sessionId: string
  readonly text: string
  readonly turns: number
  readonly usage: Usage.Usage
  /** for a person: how it ended and what to do next */
  readonly explain: string
}

/** A call that waits for a person: what `decide` is asked about. */
export interface Approval {
  readonly id: string
  readonly callId: string
  readonly tool: string
  readonly params: Schema.Json
  /** milliseconds since the epoch */
  readonly requestedAt: number
  /** milliseconds since the epoch: from then on nobody can say yes */
  readonly expiresAt?: number
}

/** What a compaction that was asked for did to a session's context; `tokens` as estimated. */
export interface Compacted {
  readonly strategy: string
  readonly messages: { readonly before: number; readonly after: number }
  readonly tokens: { readonly before: number; readonly after: number }
  readonly usage: Usage.Usage
}

export type RunResult<A = string> =
  | Totals & { readonly _tag: "Completed"; readonly output: A }
  | Totals & {
    readonly _tag: "Limited"
    readonly reason: RunEvent.LimitedReason
    /** with the reason `doomLoop`: the calls that were made again and again, and how often */
    readonly loop?: DoomLoop.Loop
  }
  | Totals & { readonly _tag: "Suspended"; readonly approvals: ReadonlyArray<Approval> }
  | Totals & { readonly _tag: "Aborted"; readonly reason: RunEvent.AbortedReason }

/** The result of a state whose run has ended otherwise than by failing; `output` makes the typed answer of its text. */
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
    explain: explain(end)
  }
  switch (end._tag) {
    case "RunCompleted":
      return { ...totals, _tag: "Completed", output: output(state.text) }
    case "RunLimited":
      return {
        ...totals,
        _tag: "Limited",
        reason: end.reason,
        ...(end.loop === undefined ? {} : { loop: end.loop })
      }
    case "RunSuspended":
      return {
        ...totals,
        _tag: "Suspended",
        approvals: approvals(state)
      }
    case "RunAborted":
      return { ...totals, _tag: "Aborted", reason: end.reason }
  }
}

/** The questions of a state that have no answer, in call order. */
export const approvals = ({ openCalls }: RunState.RunState): ReadonlyArray<Approval> =>
  openCalls.flatMap((call) => {
    const { approvalId, callId, expiresAt, phase, requestedAt, tool } = call
    if (phase !== "awaiting" || approvalId === undefined || requestedAt === undefined) return []
    const expiry = expiresAt === undefined ? {} : { expiresAt }
    return [{ id: approvalId, callId, tool, params: OpenCall.asked(call), requestedAt, ...expiry }]
  })

const completed: Record<Extract<RunEvent.End, { _tag: "RunCompleted" }>["reason"], string> = {
  stop: "The model finished its answer",
  stopWhen: "The agent's stop condition held",
  stopBefore: "The run stopped before a tool round, as asked",
  contentFilter: "The provider's content filter ended the answer",
  emptyAfterTools: "The model had nothing to add to the tools' results",
  other: "The model ended its answer without giving a usual reason"
}

/** What stopped a limited run: it "stopped at ...". */
export const limited: Record<RunEvent.LimitedReason, string> = {
  turns: "the limit of turns",
  toolRounds: "the limit of tool rounds",
  toolCalls: "the limit of tool calls",
  errors: "the limit of errors",
  compactions: "the limit of compactions without an answer between them",
  tokens: "the limit of tokens",
  cost: "the limit of cost",
  duration: "the limit of time",
  length: "the model's output limit, and the context could not be made smaller",
  doomLoop: "the same call with the same result again and again",
  crashLoop: "one crash after the other"
}

const higher = (limit: keyof RunPolicy.Limits) => `Resume it with a higher ${limit} to go on.`

/** What to do about a limit: not every one of them can be lifted. */
const pastLimit: Record<RunEvent.LimitedReason, string> = {
  turns: higher("maxTurns"),
  toolRounds: higher("maxToolRounds"),
  toolCalls: higher("maxToolCalls"),
  errors: higher("maxErrors"),
  compactions: higher("maxCompactions"),
  tokens: higher("maxTokens"),
  cost: higher("maxCost"),
  duration: higher("maxDuration"),
  length: "Give the session a new message that asks for a shorter answer.",
  doomLoop: "Give the session a new message that says what to do instead, or resume it for another try.",
  crashLoop: "Find out what ends its process before resuming it."
}

const aborted: Record<RunEvent.AbortedReason, string> = {
  consumer: "whoever read its events left",
  requested: "it was asked to",
  shutdown: "the process shut down",
  crashed: "the process that ran it died",
  forked: "the session was forked there"
}

/** How a run ended, and what to do to go on with it. */
export const explain = (end: RunEvent.End): string => [outcome(end), ...advice(end)].join(" ")

/** How a run ended, in one sentence. */
export const outcome = (end: RunEvent.End): string => {
  const { toolCalls, turns } = end.totals
  const after = `after ${count(turns, "turn")} and ${count(toolCalls, "tool call")}`
  switch (end._tag) {
    case "RunCompleted":
      return `${completed[end.reason]}, ${after}.`
    case "RunLimited":
      return `The run stopped at ${limited[end.reason]}${evidence(end.loop)}, ${after}.`
    case "RunSuspended":
      return `The run waits for a person to approve a tool call, ${after}.`
    case "RunFailed":
      return `The run failed ${after}: ${end.error.reason.message}`
    case "RunAborted":
      return `The run was aborted because ${aborted[end.reason]}, ${after}.`
  }
}

const evidence = (loop: DoomLoop.Loop | undefined): string =>
  loop === undefined ? "" : ` (${DoomLoop.tools(loop)}, ${count(loop.count, "time")})`

const advice = (end: RunEvent.End): ReadonlyArray<string> => {
  switch (end._tag) {
    case "RunLimited":
      return [pastLimit[end.reason]]
    case "RunSuspended":
      return [
        "Answer with decide({ sessionId, approvalId, approved }), from any process, or provide an Approver; then resume it."
      ]
    case "RunAborted":
      return ["It can be resumed."]
    default:
      return []
  }
}
