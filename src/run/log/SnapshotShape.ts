/**
 * The shape of what a compaction keeps of the log before it: types and checks in one. If `RunState` holds more, or
 * other fields, than are listed here, `Snapshot` does not compile.
 *
 * Does not own what a snapshot means, nor when to believe it.
 */
import * as Schema from "effect/Schema"
import * as SchemaParser from "effect/SchemaParser"
import * as DurableEvent from "../DurableEvent.ts"
import * as Message from "../Message.ts"
import * as Pointer from "../Pointer.ts"
import { AbortedReason, FinishReason, LimitedReason, Status } from "../Reason.ts"
import type * as RunEvent from "../RunEvent.ts"
import * as RunPolicy from "../RunPolicy.ts"
import * as ToolOutcome from "../ToolOutcome.ts"
import { Totals } from "../Totals.ts"
import * as Usage from "../Usage.ts"

const call = { callId: Schema.String, tool: Schema.String, params: Schema.Json }

const OpenCall = Schema.Struct({
  ...call,
  turn: Schema.Finite,
  phase: Schema.Literals(["pending", "awaiting", "started", "paused"]),
  approvalId: Schema.optionalKey(Schema.String),
  requestedAt: Schema.optionalKey(Schema.Finite),
  expiresAt: Schema.optionalKey(Schema.Finite),
  needsResult: Schema.optionalKey(Schema.Boolean),
  startedAt: Schema.optionalKey(Schema.Finite),
  drive: Schema.optionalKey(Schema.Finite),
  tries: Schema.optionalKey(Schema.Finite),
  waitsFor: Schema.optionalKey(Schema.Array(Pointer.Run)),
  beside: Schema.optionalKey(Schema.Array(Pointer.Run)),
  decision: Schema.optionalKey(Schema.Struct({
    approved: Schema.Boolean,
    reason: Schema.optionalKey(Schema.String),
    params: Schema.optionalKey(Schema.Json),
    result: Schema.optionalKey(Schema.Json),
    content: Schema.optionalKey(ToolOutcome.Content),
    originalSize: Schema.optionalKey(Schema.Finite)
  }))
})

/** The trail packed: see `DoomLoop.pack`. */
const Step = Schema.Tuple([
  Schema.Finite,
  Schema.String,
  Schema.String,
  Schema.String,
  Schema.String,
  Schema.optionalKey(Schema.String)
])

const Answer = Schema.Struct({
  attempt: Schema.Finite,
  finishReason: FinishReason,
  usage: Usage.Usage,
  message: Message.AssistantMessage,
  calls: Schema.Finite,
  isBlank: Schema.Boolean,
  settled: Schema.Array(Schema.Struct({ ...call, outcome: ToolOutcome.ToolOutcome }))
})

const Queued = Schema.Struct({
  seq: Schema.Finite,
  kind: Schema.Literals(["steer", "followUp"]),
  messages: Schema.Array(Message.UserMessage),
  isDue: Schema.Boolean
})

const Measure = Schema.Struct({
  model: Message.ModelRef,
  sent: Schema.Finite,
  ratio: Schema.optional(Schema.Finite),
  tooMuch: Schema.optional(Schema.Finite)
})

type Member = typeof DurableEvent.Durable.members[number]
const isEnd = (member: Member): member is Extract<Member, { readonly Type: RunEvent.End }> => "totals" in member.fields
const End = Schema.Union(DurableEvent.Durable.members.filter(isEnd))

/** The state before the compaction, `null` for `undefined`. */
const State = Schema.Struct({
  status: Status,
  runId: Schema.NullOr(Schema.String),
  startSeq: Schema.Finite,
  limits: RunPolicy.Limits,
  drive: Schema.Finite,
  driveStartedAt: Schema.Finite,
  waitingSince: Schema.NullOr(Schema.Finite),
  waited: Schema.Finite,
  turn: Schema.Finite,
  attempts: Schema.Finite,
  retries: Schema.Finite,
  lostTime: Schema.Finite,
  switchedTo: Schema.NullOr(Message.ModelRef),
  switches: Schema.Finite,
  totals: Totals,
  compactionsInARow: Schema.Finite,
  corrections: Schema.Finite,
  openCalls: Schema.Array(OpenCall),
  trail: Schema.Array(Step),
  started: Schema.Record(Schema.String, Schema.Finite),
  offered: Schema.NullOr(Schema.Array(Schema.String)),
  queued: Schema.Array(Queued),
  hasRun: Schema.Boolean,
  limitedBy: Schema.NullOr(LimitedReason),
  answer: Schema.NullOr(Answer),
  text: Schema.String,
  end: Schema.NullOr(End),
  abortRequested: Schema.NullOr(AbortedReason),
  measured: Schema.NullOr(Measure),
  crashes: Schema.Finite
})
export type State = typeof State.Type

export const Shape = Schema.Struct({
  version: Schema.Finite,
  /** the version of the events in `state` */
  events: Schema.Finite,
  /** `seq` of the first event that kept messages are made of */
  from: Schema.Finite,
  /** that event is an input, and came while the model was called */
  isDuringCall: Schema.optionalKey(Schema.Boolean),
  /** ids of calls before `from` that calls after it would otherwise get */
  taken: Schema.Array(Schema.String),
  state: State,
  /** the run's `data` as of the compaction */
  data: Schema.optionalKey(Schema.Json)
})
export type Shape = typeof Shape.Type

/** Whether a value from anywhere is of this shape. */
export const isShape: (value: unknown) => value is Shape = SchemaParser.is(Shape)
