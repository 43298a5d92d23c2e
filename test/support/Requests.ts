/** Model requests around a log, and what the strictest provider says about them. */
import type * as Tool from "effect/ai/Tool"
import type * as Message from "../../src/run/Message.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import type * as Model from "../../src/services/Model.ts"
import * as StrictModel from "../../src/testing/StrictModel.ts"

export const request = (
  messages: ReadonlyArray<Message.Message>,
  tools: ReadonlyArray<Tool.Any> = []
): Model.ModelRequest => ({
  messages,
  tools,
  toolChoice: tools.length === 0 ? "none" : "auto",
  metadata: { sessionId: "session-1", runId: "run-1", turn: 1, attempt: 1 }
})

/** An input as the loop records it before asking a model that has the last word. */
const input = (seq: number, text = "go on"): Extract<RunEvent.Durable, { _tag: "InputReceived" }> => ({
  _tag: "InputReceived",
  seq,
  at: seq,
  runId: "run-1",
  version: 1,
  kind: "followUp",
  messages: [{ role: "user", content: [{ type: "text", text }] }]
})

/**
 * What is illegal about asking `reader` to continue from here, one violation a line; empty if nothing is. Its own answer that was
 * paused is sent back; another model is told to go on.
 */
export const violations = (
  transcript: Transcript.Transcript,
  seq: number,
  reader?: Message.ModelRef
): string => {
  const asked = Transcript.awaitsModel(transcript) ? transcript : Transcript.append(transcript, input(seq))
  const { continues, messages } = Transcript.prompt(asked, reader, Transcript.messages(asked, reader))
  const sent = request(messages)
  return StrictModel.violations(continues ? { ...sent, continues } : sent).join("\n")
}
