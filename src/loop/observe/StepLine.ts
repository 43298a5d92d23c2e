/**
 * What the debug line of a step says: `status=calling turn=2/20 attempt=1/4`. Names, counts and times, and no content.
 *
 * Does not own where the drive is, nor who reads the line (`StepLog`).
 */
import * as Message from "../../run/Message.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import * as OpenCall from "../../run/state/OpenCall.ts"
import * as Ends from "./Ends.ts"
import * as Sink from "./Sink.ts"

/** Where a drive is now, in words; `attempt` counts the model's tries in a row, of as many as its policy allows. */
export interface Position {
  readonly drive: Omit<Sink.Drive, "runId">
  readonly turn: string | undefined
  readonly attempt: string
  /** the drive has timed the model call of the turn: it was not an earlier one that had the answer */
  readonly isAnswered: boolean
}

/** `undefined` for an event that is no step. */
export const of = (event: RunEvent.RunEvent, position: Position): string | undefined => {
  const fields: Say<never> | undefined = says[event._tag]
  return fields === undefined ? undefined : format(fields(event as never, position))
}

/** Of the end of a drive that the store has no end of, by the tag of its error. */
export const ofLost = (tag: string): string => format({ ...Ends.lost(tag) })

/** In the order of the line; what is undefined is left out. */
type Fields = Readonly<Record<string, string | number | undefined>>

type Say<Event> = (event: Event, position: Position) => Fields

const format = (fields: Fields): string =>
  Object.entries(fields).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${typeof value === "number" ? value : word(value)}`]
  ).join(" ")

/** A value of a line: in quotes, as JSON writes it, where it would not be one word, so that no name can fake fields or lines. */
export const word = (value: string): string =>
  isWord.test(value) ? value : JSON.stringify(value).replace(unseen, escaped)

const isWord = /^[^\s\p{Cc}"=]+$/u

/** What JSON leaves as it is, but some readers of lines do not. */
const unseen = /[\p{Cc}\p{Zl}\p{Zp}]/gu

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

const isOfAttempt: ReadonlySet<RunEvent.Status> = new Set(["calling", "streaming", "retrying"])

const end: Say<RunEvent.End> = (event) => {
  const { end, reason } = Ends.of(event)
  const { duration, errors, toolCalls, turns } = event.totals
  const why = event._tag === "RunFailed" ? reason : words(reason)
  return { end, reason: why, turns, tools: toolCalls, errors, ms: duration }
}

const says: { readonly [Tag in RunEvent.RunEvent["_tag"]]?: Say<Extract<RunEvent.RunEvent, { _tag: Tag }>> } = {
  RunStarted: (_, { drive: { agent, sessionId } }) => ({ started: agent, session: sessionId }),
  RunResumed: ({ cause, drive }, { drive: { agent, sessionId } }) => ({
    resumed: agent,
    session: sessionId,
    drive,
    cause
  }),
  StatusChanged: ({ to }, { attempt, turn }) => ({
    status: to,
    turn,
    attempt: isOfAttempt.has(to) ? attempt : undefined
  }),
  AttemptDiscarded: ({ attempt, delay, duration, error }) => ({
    discarded: attempt,
    error: error._tag,
    ms: duration,
    delay
  }),
  ModelSwitched: ({ to }) => ({ model: Message.modelName(to) }),
  AssistantMessage: ({ finishReason, model, usage }) => ({
    answered: Message.modelName(model),
    finish: finishReason,
    input: usage.inputTokens,
    output: usage.outputTokens
  }),
  ToolSettled: ({ duration, outcome, tool }, { drive }) => ({
    tool: Sink.toolName(drive, tool),
    outcome: outcome._tag,
    ms: duration
  }),
  ToolPaused: ({ duration, tool, waitsFor }, { drive }) => ({
    tool: Sink.toolName(drive, tool),
    waits: waitsFor.length,
    ms: duration
  }),
  ApprovalRequested: ({ approvalId, tool }, { drive }) => ({ approval: approvalId, tool: Sink.toolName(drive, tool) }),
  ApprovalResolved: (event) => ({ approval: event.approvalId, answer: OpenCall.wordOf(event) }),
  ContextCompacted: ({ after, before, strategy }) => ({ compacted: strategy, before, after }),
  CompactionDiscarded: ({ usage }) => ({
    compaction: "failed",
    input: usage.inputTokens,
    output: usage.outputTokens
  }),
  NoticeAdded: ({ kind }) => ({ notice: kind }),
  TurnFinished: ({ decision, latency }, { isAnswered }) => ({
    decision: decision._tag.toLowerCase(),
    reason: decision._tag === "Fail" ? decision.error.reason._tag : words(decision.reason),
    model: isAnswered ? latency.model : undefined,
    tools: latency.tools
  }),
  RunCompleted: end,
  RunLimited: end,
  RunSuspended: end,
  RunFailed: end,
  RunAborted: end
}

/** A reason as people write it: `toolCalls` is `tool-calls`. */
const words = (reason: string): string => reason.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
