/** Everything that a call over the AI SDK sent is among the texts that its provider's errors must not repeat. */
import type { LanguageModelV4Message } from "@ai-sdk/provider"
import { assert, it } from "@effect/vitest"
import * as Sent from "../../../src/layers/aisdk/Sent.ts"

const said = "the launch code is 4711"
const call = { toolCallId: "c", toolName: "t" }

it.each<readonly [string, LanguageModelV4Message]>([
  ["the instructions", { role: "system", content: said }],
  ["what a person said", { role: "user", content: [{ type: "text", text: said }] }],
  ["what a model thought", { role: "assistant", content: [{ type: "reasoning", text: said }] }],
  ["a call's arguments", { role: "assistant", content: [{ type: "tool-call", ...call, input: { note: said } }] }],
  ["what a tool answered", {
    role: "tool",
    content: [{ type: "tool-result", ...call, output: { type: "text", value: said } }]
  }],
  ["what a tool answered as JSON", {
    role: "tool",
    content: [{ type: "tool-result", ...call, output: { type: "json", value: [said] } }]
  }]
])("the texts sent include %s", (_, message) => {
  assert.include(Sent.texts({ prompt: [message] }), said)
})
