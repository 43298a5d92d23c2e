/** Logs written by hand: drafts of durable events, with everything filled in that does not matter to a test. */
import * as Message from "../../run/Message.ts"
import * as RunEvent from "../../run/RunEvent.ts"
import type * as RunInput from "../../run/RunInput.ts"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as Totals from "../../run/Totals.ts"
import * as Usage from "../../run/Usage.ts"

type Of<Tag extends RunEvent.Durable["_tag"]> = Extract<RunEvent.Draft, { readonly _tag: Tag }>

export const model: Message.ModelRef = { provider: "test", name: "model" }

export const totals: RunEvent.Totals = Totals.zero

export type Placed = RunEvent.Draft & { readonly runId?: string; readonly at?: number }

/** A log of these events, one per millisecond, of one run unless a draft says otherwise. */
export const log = <Drafts extends ReadonlyArray<Placed>>(
  ...drafts: Drafts
): { readonly [I in keyof Drafts]: RunEvent.Durable } =>
  drafts.map((draft, i) => ({ seq: i + 1, at: i + 1, runId: "run-1", version: RunEvent.version, ...draft })) as never

export const effective = (content: ReadonlyArray<Message.UserPart>): RunInput.Effective => ({
  messages: [Message.user(content)],
  toolPolicy: {},
  limits: {}
})

export const started = (text: string, input: Partial<RunInput.Effective> = {}): Of<"RunStarted"> => ({
  _tag: "RunStarted",
  agent: "assistant",
  input: { ...effective([Message.text(text)]), ...input },
  instructions: "00"
})

export const resumed = (drive: number, extra: Partial<Of<"RunResumed">> = {}): Of<"RunResumed"> => ({
  _tag: "RunResumed",
  drive,
  cause: "resume",
  ...extra
})

export const turnStarted = (turn: number): Of<"TurnStarted"> => ({
  _tag: "TurnStarted",
  turn,
  model,
  promptSeq: 0,
  inputDigest: "11"
})

export const discarded = (turn: number, attempt: number, usage = Usage.zero): Of<"AttemptDiscarded"> => ({
  _tag: "AttemptDiscarded",
  turn,
  attempt,
  error: { _tag: "Overloaded", message: "busy" },
  usage
})

export const assistant = (
  content: ReadonlyArray<Message.AssistantPart>,
  extra: Partial<Of<"AssistantMessage">> = {}
): Of<"AssistantMessage"> => ({
  _tag: "AssistantMessage",
  turn: 1,
  attempt: 1,
  message: { role: "assistant", content },
  finishReason: "stop",
  model,
  usage: Usage.zero,
  ...extra
})

export const call = (name: string, params: Message.ToolCallPart["params"] = {}): Message.ToolCallPart => ({
  type: "tool-call",
  id: "call",
  name,
  params
})

export const toolStarted = (callId: string, params: Message.ToolCallPart["params"] = {}): Of<"ToolStarted"> => ({
  _tag: "ToolStarted",
  turn: Number.parseInt(callId, 10),
  callId,
  tool: "search",
  params
})

export const toolPaused = (callId: string, ...waitsFor: Of<"ToolPaused">["waitsFor"]): Of<"ToolPaused"> => ({
  _tag: "ToolPaused",
  turn: Number.parseInt(callId, 10),
  callId,
  tool: "search",
  waitsFor,
  duration: 1
})

export const approvalRequested = (callId: string): Of<"ApprovalRequested"> => ({
  _tag: "ApprovalRequested",
  turn: Number.parseInt(callId, 10),
  callId,
  tool: "search",
  approvalId: callId,
  params: {},
  digest: "22"
})

export const approvalResolved = (callId: string, approved = true): Of<"ApprovalResolved"> => ({
  _tag: "ApprovalResolved",
  callId,
  approvalId: callId,
  approved
})

/** A call settled: succeeded with a text, or as the given outcome says. */
export const settled = (
  callId: string,
  outcome: string | ToolOutcome.ToolOutcome,
  extra: Partial<Of<"ToolSettled">> = {}
): Of<"ToolSettled"> => ({
  _tag: "ToolSettled",
  turn: Number.parseInt(callId, 10),
  callId,
  tool: "search",
  outcome: typeof outcome === "string" ? { _tag: "Succeeded", result: outcome } : outcome,
  duration: 1,
  ...extra
})

export const turnFinished = (turn: number): Of<"TurnFinished"> => ({
  _tag: "TurnFinished",
  turn,
  finishReason: "stop",
  latency: { firstPart: 0, model: 0, tools: 0 },
  attempts: 1,
  usage: Usage.zero,
  decision: { _tag: "Continue", reason: "toolCalls" }
})

export const input = (...texts: ReadonlyArray<string>): Of<"InputReceived"> => ({
  _tag: "InputReceived",
  kind: "steer",
  messages: texts.map((text) => Message.user(text))
})

export const notice = (text: string, kind: Of<"NoticeAdded">["kind"] = "resume"): Of<"NoticeAdded"> => ({
  _tag: "NoticeAdded",
  kind,
  text
})

export const compacted = (upTo: number, replacement: ReadonlyArray<Message.Message>): Of<"ContextCompacted"> => ({
  _tag: "ContextCompacted",
  strategy: "test",
  upTo,
  replacement,
  before: 0,
  after: 0,
  usage: Usage.zero
})

export const completed = (extra: Partial<RunEvent.Totals> = {}): Of<"RunCompleted"> => ({
  _tag: "RunCompleted",
  reason: "stop",
  totals: { ...totals, ...extra }
})

export const limited = (extra: Partial<RunEvent.Totals> = {}): Of<"RunLimited"> => ({
  _tag: "RunLimited",
  reason: "turns",
  totals: { ...totals, ...extra }
})

export const suspended: Of<"RunSuspended"> = { _tag: "RunSuspended", reason: "approval", totals }

/** As of a store that did not answer, or of a provider that refused the key. */
export const failed = (tag: "StoreUnavailable" | "Authentication"): Of<"RunFailed"> => ({
  _tag: "RunFailed",
  error: tag === "StoreUnavailable"
    ? { _tag: "RetryableError", reason: { _tag: tag, message: "down" } }
    : { _tag: "NonRetryableError", reason: { _tag: tag, message: "no such key" } },
  totals
})

export const aborted: Of<"RunAborted"> = { _tag: "RunAborted", reason: "requested", totals }
