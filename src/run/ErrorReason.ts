/**
 * Why a model call, or a run, fails: the tagged reasons that an error carries, as data that the log keeps. If trying
 * again may help, it is a `...Reason`; if it will not, a `...Refusal`.
 *
 * Does not own the errors; those are in `RunError`.
 */
import * as Schema from "effect/Schema"

/** Every reason says in `message` what happened, without secrets, and what to do. */
const message = { message: Schema.String }

/**
 * `status` is the HTTP status, if there was one; `retryAfter` is how long the provider asks to wait, in milliseconds.
 */
const provider = {
  ...message,
  status: Schema.optionalKey(Schema.Finite),
  retryAfter: Schema.optionalKey(Schema.Finite)
}

/** Why a model call may work when tried again. */
export const ProviderReason = Schema.Union([
  /** too many requests or tokens for now */
  Schema.TaggedStruct("RateLimited", provider),
  /** the provider fails, or has no room */
  Schema.TaggedStruct("Overloaded", provider),
  /** there is no connection, or it broke */
  Schema.TaggedStruct("Network", provider),
  /** a limit of `Timeouts` passed (of the call, up to its first part, between two parts), or the provider gave up on it */
  Schema.TaggedStruct("TimedOut", { ...provider, scope: Schema.Literals(["call", "firstPart", "gap", "provider"]) }),
  /** the stream ended before a finish part */
  Schema.TaggedStruct("StreamTruncated", provider),
  /** the answer cannot be read */
  Schema.TaggedStruct("InvalidResponse", provider),
  /** the model said nothing at all, and not in answer to tool results */
  Schema.TaggedStruct("EmptyResponse", provider)
])
export type ProviderReason = typeof ProviderReason.Type

/** Why a model call will not work when tried again. */
export const ProviderRefusal = Schema.Union([
  /** no key, a wrong one, or one without permission */
  Schema.TaggedStruct("Authentication", provider),
  /** the provider does not take the request as it is */
  Schema.TaggedStruct("InvalidRequest", provider),
  /** the quota is used up for longer than waiting helps */
  Schema.TaggedStruct("QuotaExhausted", provider),
  /** more than the model's context window */
  Schema.TaggedStruct("ContextOverflow", provider),
  /** the provider forbids what was said */
  Schema.TaggedStruct("ContentPolicy", provider),
  /** none of the above; for a run also a defect, which is the error's `cause` */
  Schema.TaggedStruct("Unknown", provider)
])
export type ProviderRefusal = typeof ProviderRefusal.Type

/** Something has `bytes` of JSON, and a store holds at most `limit` of them in an event. */
export const EventTooLarge = Schema.TaggedStruct("EventTooLarge", {
  ...message,
  bytes: Schema.Finite,
  limit: Schema.Finite
})

/** Why an attempt at a model call does not count: the model's reason, or an answer larger than a store holds. */
export const AttemptReason = Schema.Union([...ProviderReason.members, ...ProviderRefusal.members, EventTooLarge])

/** Why a run may work when started or resumed again. */
export const RunReason = Schema.Union([
  /** no attempt at a model call succeeded; `last` is why the last one failed */
  Schema.TaggedStruct("RetriesExhausted", { ...message, last: ProviderReason, attempts: Schema.Finite }),
  /** the session is in use: it has a live run, `runId` if known, or is compacted by hand */
  Schema.TaggedStruct("SessionBusy", {
    ...message,
    sessionId: Schema.String,
    runId: Schema.optionalKey(Schema.String)
  }),
  /** the store cannot be used now; every fact that was shown is stored */
  Schema.TaggedStruct("StoreUnavailable", message),
  /** this process takes no more runs */
  Schema.TaggedStruct("ShuttingDown", message)
])
export type RunReason = typeof RunReason.Type

/** Why a run will not work as it was asked for. */
export const RunRefusal = Schema.Union([
  ...ProviderRefusal.members,
  /** an argument of the caller is not usable; `field` names it */
  Schema.TaggedStruct("InvalidInput", { ...message, field: Schema.String }),
  /** the store has no session with this id, and none was to be created */
  Schema.TaggedStruct("SessionNotFound", { ...message, sessionId: Schema.String }),
  /** the run id exists with other input, or is of another agent */
  Schema.TaggedStruct("RunConflict", { ...message, runId: Schema.String }),
  /**
   * The question is not waiting for an answer: none has this id, it was answered, its call was settled without an
   * answer, it expired, another question about the call replaced it, or the call that its run works for was cut off.
   * Nothing was recorded.
   */
  Schema.TaggedStruct("ApprovalNotOpen", {
    ...message,
    approvalId: Schema.String,
    because: Schema.Literals(["unknown", "answered", "settled", "expired", "replaced", "cutOff"])
  }),
  /** `resume` found no run that can go on */
  Schema.TaggedStruct("NothingToResume", { ...message, sessionId: Schema.String }),
  /** the run was aborted while it was being started, resumed or looked up; the log is as it was */
  Schema.TaggedStruct("AbortedBeforeStart", { ...message, runId: Schema.String }),
  /** another writer took the session over */
  Schema.TaggedStruct("StaleWriter", { ...message, sessionId: Schema.String }),
  /**
   * The store cannot be used as it is: its address, rights or options are wrong, it is damaged or was moved, or a newer version
   * wrote it. Nothing was changed.
   */
  Schema.TaggedStruct("StoreRefused", message),
  EventTooLarge,
  /** the context must shrink and cannot, or its strategy failed */
  Schema.TaggedStruct("CompactionFailed", message),
  /** a call failed while `toolPolicy.continueOnError` is `false` */
  Schema.TaggedStruct("ToolFailed", { ...message, tool: Schema.String, callId: Schema.String }),
  /** the application's own code, a hook or a rule of the agent, stopped the run; `hook` names it */
  Schema.TaggedStruct("HookBlocked", { ...message, hook: Schema.String }),
  /** the final answer does not fit the agent's output schema */
  Schema.TaggedStruct("InvalidOutput", message)
])
export type RunRefusal = typeof RunRefusal.Type
