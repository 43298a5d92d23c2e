/**
 * The facts of a run, which make up its log: stored before anyone sees them, and every state is a fold of them.
 *
 * Plain JSON, so that their encoding is `JSON.stringify`. A call is named by `callId`, unique in its run: the turn and
 * the call's place in the message. Does not own what they mean together; that is `RunState` and `Transcript`.
 */
import * as Schema from "effect/Schema"
import * as DoomLoop from "./DoomLoop.ts"
import { HookTime } from "./HookTime.ts"
import * as CompactionCost from "./log/CompactionCost.ts"
import * as EndFields from "./log/EndFields.ts"
import * as Memory from "./Memory.ts"
import * as Message from "./Message.ts"
import { belowCall, call, Parent, Run } from "./Pointer.ts"
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
import * as Source from "./Source.ts"
import * as ToolOutcome from "./ToolOutcome.ts"
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

/** Input sent to a run: to be read with its next turn, or when it would end. */
const input = { kind: Schema.Literals(["steer", "followUp"]), messages: Schema.Array(Message.UserMessage) }

/** The events that a log is made of. `_tag` tells their types apart; an absent field says nothing. */
export const Durable = Schema.Union([
  /** A run, and its first drive. */
  durable("RunStarted", {
    /** its name */
    agent: Schema.String,
    input: RunInput.Effective,
    /** SHA-256 of the instructions, hex */
    instructions: Schema.String,
    /** the call, of a run around it, that this run works for */
    parent: Schema.optionalKey(Parent)
  }),
  /** Another drive of the same run. */
  durable("RunResumed", {
    /** counts the run's drives, from 2 */
    drive: Schema.Finite,
    cause: Schema.Literals(["resume", "recovery", "approval"]),
    /** all limits that hold from here on, if new ones were given */
    limits: Schema.optionalKey(RunPolicy.Limits),
    /** replaces the input's, if it was given */
    data: Schema.optionalKey(Schema.Json)
  }),
  /** A model is about to be called. */
  durable("TurnStarted", {
    /** counts the run's turns, from 1 */
    turn: Schema.Finite,
    model: Message.ModelRef,
    /** the log up to here was sent; later inputs come after this turn */
    promptSeq: Schema.Finite,
    /**
     * SHA-256, hex, of the instructions, the names and descriptions of the tools, and a choice of tool; where hooks
     * changed what is sent, of all messages instead of the instructions
     */
    inputDigest: Schema.String,
    /** the tools that were offered, if fewer than the run may use */
    tools: Schema.optionalKey(Schema.Array(Schema.String)),
    /** tokens of what was sent, as estimated; only where the model's window is known */
    size: Schema.optionalKey(Schema.Finite)
  }),
  /** An attempt that does not count, and what it streamed does not either; its cost does. */
  durable("AttemptDiscarded", {
    turn: Schema.Finite,
    /** counts the turn's attempts, from 1 */
    attempt: Schema.Finite,
    error: RunError.AttemptReason,
    usage: Usage.Usage,
    model: Schema.optionalKey(Message.ModelRef),
    /** milliseconds that it took */
    duration: Schema.optionalKey(Schema.Finite),
    /** milliseconds until the same model is tried again; absent if it is not */
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
    usage: Usage.Usage,
    /** what it rests on, as far as its provider says; the model is not sent them */
    sources: Schema.optionalKey(Source.Sources)
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
    /** a yes must give the call's result: nothing else makes one */
    needsResult: Schema.optionalKey(Schema.Boolean)
  }),
  /** The answer; the first one counts. */
  durable("ApprovalResolved", {
    callId: Schema.String,
    approvalId: Schema.String,
    approved: Schema.Boolean,
    /** who decided, as given */
    by: Schema.optionalKey(Schema.String),
    /** the model reads why a call was denied */
    reason: Schema.optionalKey(Schema.String),
    /** the arguments to run with in place of the model's */
    params: Schema.optionalKey(Schema.Json),
    /** what the call is settled with: its handler does not run; the model reads `content`, where it is there */
    result: Schema.optionalKey(Schema.Json),
    content: Schema.optionalKey(ToolOutcome.Content),
    /** characters of what the model reads of `result` before truncation, where it was truncated */
    originalSize: Schema.optionalKey(Schema.Finite),
    /** what a process that sent the answer knows it by */
    id: Schema.optionalKey(Schema.String)
  }),
  /** The intent: stored before the handler runs. */
  durable("ToolStarted", { ...call, params: Schema.Json }),
  /** Its handler waits for people to answer other runs, and ended after this many milliseconds; it is called again. */
  durable("ToolPaused", { ...call, ...belowCall, duration: Schema.Finite }),
  /** The one outcome of a call. */
  durable("ToolSettled", {
    ...call,
    outcome: ToolOutcome.ToolOutcome,
    /** milliseconds */
    duration: Schema.Finite,
    /** characters before truncation, where the output was truncated */
    originalSize: Schema.optionalKey(Schema.Finite),
    /** what the runs that worked for the call spent, and what else its executor says was spent */
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
    /**
     * milliseconds: the settled model call to its first part and in whole, the tool round; by the drive that finished the turn, so that the
     * first two are 0 where it took the turn up after the answer: the times of `TurnStarted` and `AssistantMessage` say then
     * how long the call took
     */
    latency: Schema.Struct({ firstPart: Schema.Finite, model: Schema.Finite, tools: Schema.Finite }),
    /** attempts at its model call, including the one that counts */
    attempts: Schema.Finite,
    /** of the attempt that counts */
    usage: Usage.Usage,
    decision: Decision,
    /** in this turn, by its last drive; absent if none ran */
    hooks: Schema.optionalKey(Schema.Array(HookTime))
  }),
  /** Input to the run was accepted; it is not a message yet. `id` is what a sender in another process knows it by. */
  durable("InputQueued", { ...input, id: Schema.optionalKey(Schema.String) }),
  /** A user message; it comes after the turn under way. */
  durable("InputReceived", {
    ...input,
    /** `seq` of the `InputQueued` by which it was accepted */
    queued: Schema.optionalKey(Schema.Finite)
  }),
  /** What the runtime tells the model, in the user's place. */
  durable("NoticeAdded", {
    kind: Schema.Literals(["length", "invalidOutput", "resume", "doomLoop", "limit"]),
    text: Schema.String,
    /** the loop that a `doomLoop` notice is about */
    loop: Schema.optionalKey(DoomLoop.Loop)
  }),
  /** A prefix of the messages is replaced by less; the log keeps everything. */
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
    /** what is remembered from here on of what was left out; if absent, nothing */
    memory: Schema.optionalKey(Memory.Memory),
    /** long tool results in kept messages, made of events up to here, become notes */
    pruned: Schema.optionalKey(Schema.Finite),
    ...CompactionCost.fields,
    /** what a reader that starts here needs to know of the log before it; see `Snapshot` */
    snapshot: Schema.optionalKey(Schema.Json)
  }),
  /** A strategy failed, and made nothing smaller; what it cost counts. */
  durable("CompactionDiscarded", {
    message: Schema.String,
    ...CompactionCost.fields
  }),
  /** An abort was accepted; it is carried out after this. */
  durable("AbortRequested", { reason: AbortedReason }),
  /** The run is over: `resume` does not go on with it. */
  durable("RunCompleted", { reason: CompletedReason, ...EndFields.ofAll }),
  durable("RunLimited", {
    reason: LimitedReason,
    /** what the run did again and again; only with the reason `doomLoop` */
    loop: Schema.optionalKey(DoomLoop.Loop),
    /** the run around it whose limit was reached, if it is not its own */
    around: Schema.optionalKey(Run),
    ...EndFields.cutShort
  }),
  /** Every open call waits for a person, and nobody in this process answers. `kept`: only what an earlier drive left. */
  durable("RunSuspended", { reason: SuspendedReason, ...EndFields.kept, ...EndFields.ofAll }),
  /** `kept`, only with the reason `StoreUnavailable`. */
  durable("RunFailed", { error: RunError.Stored, ...EndFields.kept, ...EndFields.cutShort }),
  /** `kept`, only of a `shutdown`. */
  durable("RunAborted", { reason: AbortedReason, ...EndFields.kept, ...EndFields.cutShort })
])
export type Durable = typeof Durable.Type

/** The durable event of a type. */
export type Of<Tag extends Durable["_tag"]> = Extract<Durable, { readonly _tag: Tag }>
