/**
 * What a run shows of itself while it goes, for watching: whatever these events carry is restated by the durable event
 * that settles it (`RunEvent`).
 */
import * as Schema from "effect/Schema"
import { call } from "./Pointer.ts"
import { Status } from "./Reason.ts"
import * as RunError from "./RunError.ts"

const transient = <const Tag extends string, const Fields extends Schema.Struct.Fields>(tag: Tag, fields: Fields) =>
  Schema.TaggedStruct(tag, { runId: Schema.String, ...fields })

/**
 * `index` counts the deltas of all kinds of `(runId, turn, attempt)` from 0; a joined delta stands for `count` of them, 1 when
 * absent: those from `index` to before `index + count`, of which a reader who comes back may have seen some. `block` names the part it
 * belongs to.
 */
const delta = {
  turn: Schema.Finite,
  attempt: Schema.Finite,
  index: Schema.Finite,
  count: Schema.optionalKey(Schema.Finite),
  block: Schema.String,
  delta: Schema.String
}

/** Never stored, and without a place in the log: a slow reader may miss them, after deltas have been joined. */
export const Transient = Schema.Union([
  /** A move of `RunStatus`. */
  transient("StatusChanged", { from: Status, to: Status }),
  transient("TextDelta", delta),
  transient("ReasoningDelta", delta),
  /** A piece of the JSON of a call's arguments; `block` is the provider's id of the call. */
  transient("ToolParamsDelta", { ...delta, tool: Schema.String }),
  /** Emitted before the wait. */
  transient("RetryScheduled", {
    turn: Schema.Finite,
    attempt: Schema.Finite,
    error: RunError.ProviderReason,
    /** milliseconds */
    delay: Schema.Finite,
    source: Schema.Literals(["backoff", "retryAfter"])
  }),
  /** A preliminary result of a call at work, in the JSON of its tool's success schema. */
  transient("ToolProgress", { ...call, value: Schema.Json })
])
export type Transient = typeof Transient.Type
