/**
 * The one outcome that every tool call gets, and the words in which a model reads it.
 *
 * Does not own who decides an outcome: `ToolExecutor` for calls that run, the loop for those that do not.
 */
import * as Schema from "effect/Schema"
import * as Canonical from "./Canonical.ts"
import * as Message from "./Message.ts"

/** What a model reads in place of a result: texts and files. */
export const Content = Schema.Array(Message.UserPart)
export type Content = typeof Content.Type

/** The handler returned a result: `result` in the JSON of the tool's success schema, `content` as its `toModelOutput` shows it. */
export const Succeeded = Schema.TaggedStruct("Succeeded", { result: Schema.Json, content: Schema.optionalKey(Content) })
/** The handler failed or died. `result` is its encoded failure, or a sentence. */
export const Failed = Schema.TaggedStruct("Failed", { result: Schema.Json })
/** The arguments do not fit the tool's schema, or were not JSON; the handler did not run. */
export const InvalidArguments = Schema.TaggedStruct("InvalidArguments", { message: Schema.String })
/** The turn was not offered a tool of this name; `available` lists those that it was offered. */
export const UnknownTool = Schema.TaggedStruct("UnknownTool", { available: Schema.Array(Schema.String) })
/** A person, a hook, or a new message said no; the handler did not run. */
export const Denied = Schema.TaggedStruct("Denied", { reason: Schema.String })
/** `limit` in milliseconds. */
export const TimedOut = Schema.TaggedStruct("TimedOut", { limit: Schema.Finite })
/** It was running when the run ended. */
export const Interrupted = Schema.TaggedStruct("Interrupted", {})
/** It never started. */
export const NotExecuted = Schema.TaggedStruct("NotExecuted", {
  reason: Schema.Literals(["truncated", "limit", "stopped", "superseded", "aborted", "failed"])
})
/** It started and nobody knows whether it took effect: the process crashed, or the handler was left behind. */
export const OutcomeUnknown = Schema.TaggedStruct("OutcomeUnknown", {})
/** It succeeded, but its result does not fit the tool's success schema or JSON. */
export const NotEncodable = Schema.TaggedStruct("NotEncodable", { message: Schema.String })

/** All but `Succeeded` reach the model as failed results; see `toResult`. */
export const ToolOutcome = Schema.Union([
  Succeeded,
  Failed,
  InvalidArguments,
  UnknownTool,
  Denied,
  TimedOut,
  Interrupted,
  NotExecuted,
  OutcomeUnknown,
  NotEncodable
])
export type ToolOutcome = typeof ToolOutcome.Type

/** Whether `maxErrors` counts the call; with `continueOnError: false` it ends the run. */
export const isError = (outcome: ToolOutcome): boolean => outcome._tag === "Failed" || outcome._tag === "TimedOut"

const notExecuted: Record<(typeof NotExecuted.Type)["reason"], string> = {
  truncated: "Not executed: the message ended before the call was complete. Send the call again.",
  limit: "Not executed: a limit of this run was reached.",
  stopped: "Not executed: the run was stopped before this call.",
  superseded: "Not executed: a new message arrived first.",
  aborted: "Not executed: the run was aborted before this call.",
  failed: "Not executed: the run failed before this call."
}

interface Result {
  readonly result: Schema.Json
  readonly isFailure: boolean
  readonly content?: Content
}

/**
 * How the model reads an outcome: `Succeeded` is a result, everything else a failed result in words. `edited` are the
 * arguments that the call ran with, if they are not the model's own: the model is told so.
 */
export const toResult = (outcome: ToolOutcome, edited?: Schema.Json): Result => {
  const read = readingOf(outcome)
  if (edited === undefined) return read
  const { content, isFailure, result } = read
  const told = { note: "Ran with edited arguments.", arguments: edited }
  const noted = { result: { ...told, result }, isFailure }
  return content === undefined ? noted : { ...noted, content: [Message.text(JSON.stringify(told)), ...content] }
}

/**
 * Whether somebody who made `left` of `before` changed the result and left its content as it was: they have not thought of the content,
 * so it is dropped, and the model reads the result.
 */
export const isStale = (
  before: Pick<Result, "result" | "content">,
  left: Pick<Result, "result" | "content">
): boolean =>
  before.content !== undefined && left.content !== undefined && !isSame(before.result, left.result) &&
  isSame(before.content, left.content)

const isSame = (a: Schema.Json | Content, b: Schema.Json | Content): boolean =>
  a === b || Canonical.canonical(a) === Canonical.canonical(b)

/** `left`, which somebody made of `before`, without content that is stale. */
export const changed = (before: ToolOutcome, left: ToolOutcome): ToolOutcome =>
  before._tag === "Succeeded" && left._tag === "Succeeded" && isStale(before, left)
    ? { _tag: "Succeeded", result: left.result }
    : left

const readingOf = (outcome: ToolOutcome): Result => {
  switch (outcome._tag) {
    case "Succeeded": {
      const { content, result } = outcome
      return content === undefined ? { result, isFailure: false } : { result, isFailure: false, content }
    }
    case "Failed":
      return { result: outcome.result, isFailure: true }
    case "InvalidArguments":
      return failure(`Invalid arguments: ${outcome.message}`)
    case "UnknownTool":
      return failure(
        outcome.available.length === 0
          ? "There is no such tool; this agent has no tools."
          : `There is no such tool. Available: ${outcome.available.join(", ")}.`
      )
    case "Denied":
      return failure(`Denied: ${outcome.reason}`)
    case "TimedOut":
      return failure(`Timed out after ${outcome.limit} ms.`)
    case "Interrupted":
      return failure("Interrupted: the run ended while this call was running; it may have taken effect. Check first.")
    case "NotExecuted":
      return failure(notExecuted[outcome.reason])
    case "OutcomeUnknown":
      return failure("Outcome unknown: the call started, and it is not known whether it took effect. Check first.")
    case "NotEncodable":
      return failure(`The call succeeded, but its result could not be encoded: ${outcome.message}`)
  }
}

const failure = (result: string) => ({ result, isFailure: true })
