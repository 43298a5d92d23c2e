/**
 * How a run ended, in words for a person: why, how far it came, and what to do to go on. Every reason of every end has
 * its words; error messages of others are repeated as they are.
 *
 * Does not own which ends there are (`Reason`), nor what else a run returns (`RunResult`).
 */
import * as DoomLoop from "./DoomLoop.ts"
import { count } from "./Quantity.ts"
import type * as RunError from "./RunError.ts"
import * as RunEvent from "./RunEvent.ts"
import type * as RunPolicy from "./RunPolicy.ts"

type Of<Tag extends RunEvent.End["_tag"]> = Extract<RunEvent.End, { _tag: Tag }>

const completed: Record<Of<"RunCompleted">["reason"], string> = {
  stop: "The model finished its answer",
  stopWhen: "The agent's stop condition held",
  stopBefore: "The run stopped before a tool round, as asked",
  contentFilter: "The provider's content filter ended the answer",
  emptyAfterTools: "The model had nothing to add to the tools' results",
  other: "The model ended its answer for an unrecognised reason"
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
  crashLoop: "crashes, or losses of its store, one after another"
}

const higher = (limit: keyof RunPolicy.Limits, run = "the run") => `resume ${run} with a higher ${limit} to go on`

/** What to do about a limit: not every one can be lifted. */
const pastLimit: Record<RunEvent.LimitedReason, string> = {
  turns: higher("maxTurns"),
  toolRounds: higher("maxToolRounds"),
  toolCalls: higher("maxToolCalls"),
  errors: higher("maxErrors"),
  compactions: higher("maxCompactions"),
  tokens: higher("maxTokens"),
  cost: higher("maxCost"),
  duration: higher("maxDuration"),
  length: "give the session a new message that asks for a shorter answer",
  doomLoop: "give the session a new message that says what to do instead, or resume the run for another try",
  crashLoop: "find out why before you resume the run"
}

/** A run around another one, by its id, which is needed to lift its limit. */
const aroundIt = ({ runId }: NonNullable<Of<"RunLimited">["around"]>): string => `run ${JSON.stringify(runId)}`

/** The same, also for a limit of a run around it: only two of these are shared. */
const pastLimitOf = ({ around, reason }: Of<"RunLimited">): string => {
  if (around === undefined) return pastLimit[reason]
  return higher(reason === "cost" ? "maxCost" : "maxTokens", aroundIt(around))
}

const suspended: Record<Of<"RunSuspended">["reason"], readonly [why: string, advice: string]> = {
  approval: [
    "waits for a person to approve a tool call",
    "answer each of its approvals with decide({ sessionId, approvalId, approved }), with a result where it needs one, from any " +
    "process, or provide an Approver; then resume the run"
  ]
}

const aborted: Record<RunEvent.AbortedReason, string> = {
  consumer: "its caller was interrupted, or stopped reading its events",
  requested: "an abort was requested",
  shutdown: "the process shut down",
  crashed: "the process that ran it died",
  forked: "the session was forked there"
}

const failed: Record<RunError.RunError["reason"]["_tag"], readonly [why: string, advice: string]> = {
  RetriesExhausted: ["no attempt at the model call succeeded", "resume the run later"],
  SessionBusy: ["another run is using the session", "try again when that one has ended"],
  StoreUnavailable: ["the store could not be used", "the run can be resumed when the store is back"],
  ShuttingDown: ["its agent was closed, as happens when a process ends", "start the run in another process"],
  Authentication: ["the provider refused the key", "set a key that it accepts, then resume the run"],
  InvalidRequest: [
    "the provider rejected the request",
    "correct the model, its settings or the tools, then resume the run"
  ],
  QuotaExhausted: ["the provider's quota is used up", "raise the quota, or resume the run when a new one begins"],
  ContextOverflow: [
    "the conversation is too long for the model",
    "give the model less to read, or a ContextManager that keeps less"
  ],
  ContentPolicy: ["the provider's content policy forbids it", "give the session a new message in other words"],
  Unknown: ["of something unforeseen", "look into the error before you resume the run"],
  InvalidInput: ["an argument cannot be used", "correct that argument and start again"],
  SessionNotFound: ["there is no such session", "check the id and the store"],
  RunConflict: ["its id belongs to another run", "use another run id, or the same input of the same agent"],
  ApprovalNotOpen: ["the question is not waiting for an answer", "list the approvals that are open"],
  NothingToResume: ["the session has no run to continue", "give the session a new message"],
  AbortedBeforeStart: ["it was aborted before it began", "start the run again"],
  StaleWriter: ["another writer took the session over", "find that writer before you resume the run"],
  StoreRefused: [
    "the store cannot be used as it is",
    "put the store right as that says, then resume the run"
  ],
  EventTooLarge: [
    "something is larger than the store allows",
    "keep large data elsewhere and a reference to it in the session"
  ],
  CompactionFailed: [
    "the conversation could not be made smaller",
    "give the session a shorter message, or another ContextManager"
  ],
  ToolFailed: ["a tool failed, and continueOnError is false", "fix the tool, then resume the run"],
  HookBlocked: ["the application's own code stopped it", "look into that hook or rule, then resume the run"],
  InvalidOutput: [
    "the model did not keep to the output schema",
    "resume the run for another try, or loosen the schema"
  ]
}

/** How a run ended and how far it came, in one sentence. */
export const outcome = (end: RunEvent.End): string => `${said(end)}.`

/** How a run ended and how far it came, with what to do to go on, where something can be done. */
export const ofEnd = (end: RunEvent.End): string => {
  const next = advice(end)
  return next === undefined ? outcome(end) : `${said(end)}; ${next}.`
}

/** Why a run failed whose end is not known. */
export const ofError = ({ reason }: RunError.RunError): string => {
  const [why, advice] = failed[reason._tag]
  return `The run failed because ${why}: ${trimmed(reason.message)}; ${advice}.`
}

const said = (end: RunEvent.End): string => {
  const after = howFar(end)
  switch (end._tag) {
    case "RunCompleted":
      return `${completed[end.reason]}, ${after}`
    case "RunLimited":
      return `The run stopped at ${limited[end.reason]}${evidence(end.loop)}${whose(end.around)}, ${after}`
    case "RunSuspended":
      return `The run ${suspended[end.reason][0]}, ${after}`
    case "RunFailed": {
      const { reason } = end.error
      return `The run failed ${after} because ${failed[reason._tag][0]}: ${trimmed(reason.message)}`
    }
    case "RunAborted":
      return `The run was aborted because ${aborted[end.reason]}, ${after}`
  }
}

/** Of a suspended run whose questions have all been answered, or take no answer. */
export const decided = (end: Of<"RunSuspended">): string =>
  `No question of the run is open any more, ${howFar(end)}; resume the run.`

/** Of a suspended run that another one has followed: its questions are over. */
export const followed = (end: Of<"RunSuspended">): string =>
  `The run waited for a person until another one followed it, ${howFar(end)}; give the session a new message to go on.`

const howFar = ({ totals: { toolCalls, turns } }: RunEvent.End): string =>
  `after ${count(turns, "turn")} and ${count(toolCalls, "tool call")}`

/** On one line, and without the full stop at its end. */
const trimmed = (message: string): string => message.trim().replace(/\s+/g, " ").replace(/\.$/, "")

const evidence = (loop: DoomLoop.Loop | undefined): string =>
  loop === undefined ? "" : ` (${DoomLoop.tools(loop)}, ${count(loop.count, "time")})`

const whose = (around: Of<"RunLimited">["around"]): string =>
  around === undefined ? "" : ` of ${aroundIt(around)}, which it is part of`

const waiting = (messages: number): string =>
  messages === 0 ? "" : `, and is then given ${count(messages, "message")} that it had not read yet`

const advice = (end: RunEvent.End): string | undefined => {
  switch (end._tag) {
    case "RunCompleted":
      return undefined
    case "RunLimited":
      return pastLimitOf(end)
    case "RunSuspended":
      return `${suspended[end.reason][1]}${waiting(RunEvent.keptBy(end).length)}`
    case "RunFailed":
      return `${failed[end.error.reason._tag][1]}${waiting(RunEvent.keptBy(end).length)}`
    case "RunAborted":
      return `the run can be resumed${waiting(RunEvent.keptBy(end).length)}`
  }
}
