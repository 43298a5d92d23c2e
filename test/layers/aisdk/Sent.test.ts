/** Whatever a call over the AI SDK said to its provider is of what the provider may not repeat. */
import type { LanguageModelV4Message } from "@ai-sdk/provider"
import { assert, it } from "@effect/vitest"
import * as Sent from "../../../src/layers/aisdk/Sent.ts"

const said = "the launch code is 4711"
const call = { toolCallId: "c", toolName: "t" }

it.each<readonly [string, LanguageModelV4Message]>([
  ["the instructions say", { role: "system", content: said }],
  ["a person says", { role: "user", content: [{ type: "text", text: said }] }],
  ["a model thought", { role: "assistant", content: [{ type: "reasoning", text: said }] }],
  ["a tool was called with", { role: "assistant", content: [{ type: "tool-call", ...call, input: { note: said } }] }],
  ["a tool answered", {
    role: "tool",
    content: [{ type: "tool-result", ...call, output: { type: "text", value: said } }]
  }],
  ["a tool answered as JSON", {
    role: "tool",
    content: [{ type: "tool-result", ...call, output: { type: "json", value: [said] } }]
  }]
])("what %s was sent", (_, message) => {
  assert.include(Sent.texts({ prompt: [message] }), said)
})
