/** The closed sets of words that events say why with: how a call finished, where a run stands, how it ended. */
import * as Schema from "effect/Schema"

export const FinishReason = Schema.Literals([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "pause",
  "other",
  "unknown"
])
export type FinishReason = typeof FinishReason.Type

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

export const CompletedReason = Schema.Literals([
  "stop",
  "stopWhen",
  "stopBefore",
  "contentFilter",
  "emptyAfterTools",
  "other"
])
export const LimitedReason = Schema.Literals([
  "turns",
  "toolRounds",
  "toolCalls",
  "errors",
  "compactions",
  "tokens",
  "cost",
  "duration",
  "length",
  "doomLoop",
  "crashLoop"
])
export type LimitedReason = typeof LimitedReason.Type
export const SuspendedReason = Schema.Literals(["approval"])
export const AbortedReason = Schema.Literals(["consumer", "requested", "shutdown", "crashed", "forked"])
export type AbortedReason = typeof AbortedReason.Type

/** What a compaction was asked for by: too many messages, too many tokens, the provider, a cut answer, somebody. */
export const CompactionCause = Schema.Literals(["messages", "window", "overflow", "length", "manual"])
export type CompactionCause = typeof CompactionCause.Type
