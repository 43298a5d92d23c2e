/** Events of a run, as brief as tests want them. */
import type * as Message from "../../src/run/Message.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type * as ToolOutcome from "../../src/run/ToolOutcome.ts"
import * as Usage from "../../src/run/Usage.ts"

const durable = { seq: 1, at: 0, runId: "r", version: 1 }

export const turn: RunEvent.RunEvent = {
  ...durable,
  _tag: "TurnStarted",
  turn: 1,
  model: { provider: "p", name: "m" },
  promptSeq: 1,
  inputDigest: ""
}

export const resumed: RunEvent.RunEvent = { ...durable, _tag: "RunResumed", drive: 2, cause: "resume" }

/** The deltas of a text, numbered from `index`. */
export const deltas = (index: number, ...pieces: ReadonlyArray<string>): ReadonlyArray<RunEvent.RunEvent> =>
  pieces.map((delta, at) => ({
    _tag: "TextDelta",
    runId: "r",
    turn: 1,
    attempt: 1,
    index: index + at,
    block: "t",
    delta
  }))

export const message = (...content: ReadonlyArray<Message.AssistantPart>): RunEvent.RunEvent => ({
  ...durable,
  _tag: "AssistantMessage",
  turn: 1,
  attempt: 1,
  message: { role: "assistant", content },
  finishReason: "stop",
  model: { provider: "p", name: "m" },
  usage: Usage.zero
})

export const text = (text: string): Message.AssistantPart => ({ type: "text", text })
export const call = (name: string, params: Message.ToolCallPart["params"]): Message.AssistantPart => ({
  type: "tool-call",
  id: "c",
  name,
  params
})

export const started = (tool: string, params: Message.ToolCallPart["params"], callId = "1.0"): RunEvent.RunEvent => ({
  ...durable,
  _tag: "ToolStarted",
  turn: 1,
  callId,
  tool,
  params
})

export const asked = (approvalId: string): RunEvent.RunEvent => ({
  ...durable,
  _tag: "ApprovalRequested",
  turn: 1,
  callId: "1.0",
  tool: "t",
  approvalId,
  params: {},
  digest: ""
})

export const answered = (approvalId: string, by: string): RunEvent.RunEvent => ({
  ...durable,
  _tag: "ApprovalResolved",
  callId: "1.0",
  approvalId,
  approved: true,
  by
})

export const settled = (
  tool: string,
  outcome: ToolOutcome.ToolOutcome,
  more: { readonly originalSize?: number; readonly callId?: string } = {}
): Extract<RunEvent.Durable, { _tag: "ToolSettled" }> => ({
  ...durable,
  _tag: "ToolSettled",
  turn: 1,
  callId: "1.0",
  tool,
  outcome,
  duration: 12,
  ...more
})

export const discarded: RunEvent.RunEvent = {
  ...durable,
  _tag: "AttemptDiscarded",
  turn: 1,
  attempt: 1,
  error: { _tag: "Network", message: "the line was cut" },
  usage: Usage.zero
}

export const retry: Extract<RunEvent.RunEvent, { _tag: "RetryScheduled" }> = {
  _tag: "RetryScheduled",
  runId: "r",
  turn: 1,
  attempt: 1,
  error: { _tag: "Network", message: "the line\nwas cut" },
  delay: 1_500,
  source: "backoff"
}

export const totals = (more: Partial<RunEvent.Totals> = {}): RunEvent.Totals => ({
  turns: 2,
  toolRounds: 1,
  toolCalls: 1,
  errors: 0,
  compactions: 0,
  duration: 1_234,
  usage: Usage.zero,
  ...more
})

export const completed: RunEvent.End = { ...durable, _tag: "RunCompleted", reason: "stop", totals: totals() }
export const limited: RunEvent.End = { ...durable, _tag: "RunLimited", reason: "turns", totals: totals() }
export const aborted: RunEvent.End = { ...durable, _tag: "RunAborted", reason: "requested", totals: totals() }
export const failed: RunEvent.End = {
  ...durable,
  _tag: "RunFailed",
  error: { _tag: "NonRetryableError", reason: { _tag: "Authentication", message: "The key\nis wrong" } },
  totals: totals()
}
