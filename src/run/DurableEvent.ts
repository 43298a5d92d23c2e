/**
 * The facts of a run, which are its log: stored before anyone sees them, and every state is a fold of them.
 *
 * Plain JSON, so that their encoding is `JSON.stringify`. A call is named by `callId`, unique in its run: the turn and
 * the call's place in the message. Does not own what they mean together; that is `RunState` and `Transcript`.
 */
import * as Schema from "effect/Schema"
import * as DoomLoop from "./DoomLoop.ts"
import { HookTime } from "./HookTime.ts"
import * as Memory from "./Memory.ts"
import * as Message from "./Message.ts"
import { belowCall, Parent, Run, Trace } from "./Pointer.ts"
import {
  AbortedReason,
  CompactionCause,
  CompletedReason,
  Decision,
  FinishReason,
  LimitedReason,
  SuspendedReason
} from "./Reason.ts"
import * as RunError from "./RunError.ts"
import * as RunInput from "./RunInput.ts"
import * as RunPolicy from "./RunPolicy.ts"
import * as ToolOutcome from "./ToolOutcome.ts"
import { Totals } from "./Totals.ts"
import { call } from "./TransientEvent.ts"
import * as Usage from "./Usage.ts"

const durable = <const Tag extends string, const Fields extends Schema.Struct.Fields>(tag: Tag, fields: Fields) =>
  Schema.TaggedStruct(tag, {
    /** gap-free in the session, from 1 */
    seq: Schema.Finite,
    /** milliseconds since the epoch */
    at: Schema.Finite,
    runId: Schema.String,
    version: Schema.Finite,
    ...fields
  })

/** What is said to a run: to be heard with its next turn, or when it would end. */
const input = { kind: Schema.Literals(["steer", "followUp"]), messages: Schema.Array(Message.UserMessage) }

/** Where it is false, somebody asked for a compaction by hand, and what that cost is in the totals of no run. */
const isOfRun = Schema.optionalKey(Schema.Literal(false))

/** What every end says. */
const end = {
  totals: Totals,
  /** what did not end within the grace period, and was left behind: tools, the model, and what tools could not end */
  leftBehind: Schema.optionalKey(Schema.Array(Schema.String)),
  /** of the drive's span, where that is sampled */
  trace: Schema.optionalKey(Trace)
}

/** The same of one that may cut off a model call: what that had used, where its provider had said so; in `totals` too. */
const cutShort = { cutOff: Schema.optionalKey(Schema.Struct({ model: Message.ModelRef, usage: Usage.Usage })), ...end }

/** What a log is made of. Events of one type are told by `_tag`; fields that are absent say nothing. */
export const Durable = Schema.Union([
  /** A run, and its first drive. */
  durable("RunStarted", {
    /** its name */
    agent: Schema.String,
    input: RunInput.Effective,
    /** SHA-256 of the instructions, hex */
    instructions: Schema.String,
    /** the call that it works for, of a run around it */
    parent: Schema.optionalKey(Parent)
  }),
  /** Another drive of the same run. */
  durable("RunResumed", {
    /** counts the run's drives, from 2 */
    drive: Schema.Finite,
    cause: Schema.Literals(["resume", "recovery", "approval"]),
    /** all that hold from here on, where new ones were given */
    limits: Schema.optionalKey(RunPolicy.Limits),
    /** in the place of the input's, where it was given */
    data: Schema.optionalKey(Schema.Json)
  }),
  /** A model is about to be called. */
  durable("TurnStarted", {
    /** counts the run's turns, from 1 */
    turn: Schema.Finite,
    model: Message.ModelRef,
    /** the log up to here was sent; later inputs stand after this turn */
    promptSeq: Schema.Finite,
    /**
     * SHA-256 of the instructions, of the names and descriptions of the tools, and of a choice of tool; where hooks
     * changed what is sent, of all messages and those of the tools; hex
     */
    inputDigest: Schema.String,
    /** the tools that were offered, where this turn was offered fewer than the run may use */
    tools: Schema.optionalKey(Schema.Array(Schema.String)),
    /** tokens of what was sent, as estimated; only where the model's window is known */
    size: Schema.optionalKey(Schema.Finite)
  }),
  /** An attempt that does not count, nor does what it streamed; its cost does. */
  durable("AttemptDiscarded", {
    turn: Schema.Finite,
    /** counts the turn's attempts, from 1 */
    attempt: Schema.Finite,
    error: RunError.AttemptReason,
    usage: Usage.Usage,
    model: Schema.optionalKey(Message.ModelRef),
    /** milliseconds that it took */
    duration: Schema.optionalKey(Schema.Finite),
    /** milliseconds until the same model is tried again; absent where it is not */
    delay: Schema.optionalKey(Schema.Finite)
  }),
  /** A fallback takes over, for the rest of the run. */
  durable("ModelSwitched", { turn: Schema.Finite, from: Message.ModelRef, to: Message.ModelRef }),
  /** The attempt that counts: what the model said, whole. */
  durable("AssistantMessage", {
    turn: Schema.Finite,
    attempt: Schema.Finite,
    message: Message.AssistantMessage,
    finishReason: FinishReason,
    model: Message.ModelRef,
    usage: Usage.Usage
  }),
  /** A person is asked about a call. */
  durable("ApprovalRequested", {
    ...call,
    approvalId: Schema.String,
    params: Schema.Json,
    /** SHA-256 of the canonical arguments, hex */
    digest: Schema.String,
    /** milliseconds since the epoch: from then on nobody can say yes */
    expiresAt: Schema.optionalKey(Schema.Finite),
    /** a yes has to give the call's result: nothing else makes one */
    needsResult: Schema.optionalKey(Schema.Boolean)
  }),
  /** The answer; the first one counts. */
  durable("ApprovalResolved", {
    callId: Schema.String,
    approvalId: Schema.String,
    approved: Schema.Boolean,
    /** who decided, as they were named */
    by: Schema.optionalKey(Schema.String),
    /** the model reads why a call was denied */
    reason: Schema.optionalKey(Schema.String),
    /** the arguments to run with in place of the model's */
    params: Schema.optionalKey(Schema.Json),
    /** what the call is settled with: its handler does not run */
    result: Schema.optionalKey(Schema.Json),
    /** characters of `result` before truncation, where it was truncated */
    originalSize: Schema.optionalKey(Schema.Finite)
  }),
  /** The intent: stored before the handler runs. */
  durable("ToolStarted", { ...call, params: Schema.Json }),
  /** Its handler waits for what people answer to other runs, and ended after so many milliseconds; it is called again. */
  durable("ToolPaused", { ...call, ...belowCall, duration: Schema.Finite }),
  /** The one outcome of a call. */
  durable("ToolSettled", {
    ...call,
    outcome: ToolOutcome.ToolOutcome,
    /** milliseconds */
    duration: Schema.Finite,
    /** characters before truncation, where the output was truncated */
    originalSize: Schema.optionalKey(Schema.Finite),
    /** what the runs that worked for the call spent, and what its executor says was spent besides */
    usage: Schema.optionalKey(Usage.Usage),
    /** the hook that gave this outcome before the call could run */
    hook: Schema.optionalKey(Schema.String),
    /** the arguments it ran with, where they are not the model's */
    edited: Schema.optionalKey(Schema.Json)
  }),
  /** The turn is over, its calls settled: what it took, and what follows. */
  durable("TurnFinished", {
    turn: Schema.Finite,
    finishReason: FinishReason,
    /** milliseconds: the settled model call to its first part and in whole, the tool round */
    latency: Schema.Struct({
      firstPart: Schema.Finite,
      model: Schema.Finite,
      tools: Schema.Finite
    }),
    /** at its model call, with the one that counts */
    attempts: Schema.Finite,
    /** of the attempt that counts */
    usage: Usage.Usage,
    decision: Decision,
    /** of this turn, in its last drive; absent where none ran */
    hooks: Schema.optionalKey(Schema.Array(HookTime))
  }),
  /** What was said to the run, accepted; it is no message yet. */
  durable("InputQueued", input),
  /** A user message; its place is after the turn under way. */
  durable("InputReceived", {
    ...input,
    /** `seq` of the `InputQueued` that it was accepted with */
    queued: Schema.optionalKey(Schema.Finite)
  }),
  /** What the runtime tells the model, in the user's place. */
  durable("NoticeAdded", {
    kind: Schema.Literals(["length", "invalidOutput", "resume", "doomLoop", "limit"]),
    text: Schema.String,
    /** the loop that a notice of `doomLoop` tells of */
    loop: Schema.optionalKey(DoomLoop.Loop)
  }),
  /** A prefix of the messages is replaced by less; the log keeps all. */
  durable("ContextCompacted", {
    /** its name */
    strategy: Schema.String,
    /** messages made of events up to here are replaced */
    upTo: Schema.Finite,
    replacement: Schema.Array(Message.Message),
    /** messages before and after */
    before: Schema.Finite,
    after: Schema.Finite,
    /** tokens of what would be sent, before and after, as estimated */
    tokens: Schema.optionalKey(Schema.Struct({ before: Schema.Finite, after: Schema.Finite })),
    cause: Schema.optionalKey(CompactionCause),
    /** what is remembered from here on of what was left out; nothing without it */
    memory: Schema.optionalKey(Memory.Memory),
    /** long results of tools in messages of events up to here, which are kept, become notes */
    pruned: Schema.optionalKey(Schema.Finite),
    usage: Usage.Usage,
    isOfRun,
    /** what a reader that starts here needs of the log before it; see `Snapshot` */
    snapshot: Schema.optionalKey(Schema.Json)
  }),
  /** A strategy failed, and made nothing smaller; what it cost counts. */
  durable("CompactionDiscarded", {
    message: Schema.String,
    usage: Usage.Usage,
    isOfRun
  }),
  /** Accepted; what it asks for is carried out then. */
  durable("AbortRequested", { reason: AbortedReason }),
  /** The run is over: `resume` does not go on with it. */
  durable("RunCompleted", { reason: CompletedReason, ...end }),
  durable("RunLimited", {
    reason: LimitedReason,
    /** what the run did again and again, with the reason `doomLoop` */
    loop: Schema.optionalKey(DoomLoop.Loop),
    /** the run around it whose limit that is, where it is not its own */
    around: Schema.optionalKey(Run),
    ...cutShort
  }),
  /** Every open call waits for a person, and nobody in this process answers. */
  durable("RunSuspended", { reason: SuspendedReason, ...end }),
  durable("RunFailed", { error: RunError.Stored, ...cutShort }),
  durable("RunAborted", { reason: AbortedReason, ...cutShort })
])
export type Durable = typeof Durable.Type

/** The durable event of a type. */
export type Of<Tag extends Durable["_tag"]> = Extract<Durable, { readonly _tag: Tag }>
