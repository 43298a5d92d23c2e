/**
 * The closed sets of words by which events say why: how a call finished, where a run stands, what follows a turn, how a
 * run ended.
 */
import * as Schema from "effect/Schema"
import * as RunError from "./RunError.ts"

/**
 * Why a model's answer ended, as effect/ai names it: the provider's word. Its calls run whatever it says, unless it
 * says that they may have been cut: `length` and `content-filter`.
 */
export const FinishReason = Schema.Literals([
  "stop",
  /** at the output limit */
  "length",
  "content-filter",
  "tool-calls",
  /** the provider failed in the middle: the attempt does not count */
  "error",
  /** the provider interrupted a long turn of its own, and goes on with the answer if it is sent back as it is */
  "pause",
  "other",
  "unknown"
])
export type FinishReason = typeof FinishReason.Type

/** Where a run stands; `RunStatus` has the moves between them. */
export const Status = Schema.Literals([
  "idle",
  "preparing",
  "compacting",
  "calling",
  "streaming",
  "retrying",
  "tool_running",
  "awaiting_human",
  "observing",
  "completed",
  "limited",
  "suspended",
  "failed",
  "aborted"
])
export type Status = typeof Status.Type

/** Why a run has nothing more to do. */
export const CompletedReason = Schema.Literals([
  /** the model ended its answer */
  "stop",
  /** the agent's condition held: after a turn, or before its tools ran */
  "stopWhen",
  "stopBefore",
  /** the provider's content filter ended the answer */
  "contentFilter",
  /** the model had nothing to add to the results of its tools */
  "emptyAfterTools",
  /** the model ended its answer without giving a usual reason */
  "other"
])

/** What stopped a run that would go on. The first eight are those of `RunPolicy.Limits`. */
export const LimitedReason = Schema.Literals([
  "turns",
  "toolRounds",
  "toolCalls",
  "errors",
  "compactions",
  "tokens",
  "cost",
  "duration",
  /** the model's output limit, and the context could not be made smaller */
  "length",
  /** equal calls with equal results, also after the model was told */
  "doomLoop",
  /** drives that died one after the other */
  "crashLoop"
])
export type LimitedReason = typeof LimitedReason.Type

/** What a run without a drive waits for: a person's answer to its questions. */
export const SuspendedReason = Schema.Literals(["approval"])

/** Who ended a drive that would have gone on. */
export const AbortedReason = Schema.Literals([
  /** the reader of `stream` or `resume`, or the caller of `run`, left */
  "consumer",
  /** somebody asked for it */
  "requested",
  /** its process shut down */
  "shutdown",
  /** its process died; the next opening of the session found out */
  "crashed",
  /** the session is a copy that was cut there */
  "forked"
])
export type AbortedReason = typeof AbortedReason.Type

/** What caused a compaction: too many messages, too many tokens, the provider, a cut answer, a request. */
export const CompactionCause = Schema.Literals(["messages", "window", "overflow", "length", "manual"])
export type CompactionCause = typeof CompactionCause.Type

/** What happens after a turn, and why; decided by `RunDecision.decide`. */
export const Decision = Schema.Union([
  Schema.TaggedStruct("Continue", {
    reason: Schema.Literals(["toolCalls", "doomLoop", "correction", "steer", "followUp", "pause", "other"])
  }),
  Schema.TaggedStruct("Compact", { reason: Schema.Literals(["length"]) }),
  Schema.TaggedStruct("Complete", { reason: CompletedReason }),
  Schema.TaggedStruct("Limit", { reason: LimitedReason }),
  Schema.TaggedStruct("Fail", { error: RunError.Stored })
])
export type Decision = typeof Decision.Type
