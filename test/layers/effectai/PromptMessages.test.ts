/** Our messages, including those of old logs, in a form that effect/ai can send. */
import { assert, describe, it } from "@effect/vitest"
import * as PromptMessages from "../../../src/layers/effectai/PromptMessages.ts"
import * as Message from "../../../src/run/Message.ts"

describe("a file with an invalid URL", () => {
  const file: Message.FilePart = { type: "file", mediaType: "image/png", data: "https://exa mple.com/x.png" }
  const lost = { type: "text", text: "[a file is missing here: it cannot be sent]" }

  it("is replaced by a text, whoever sent it", () => {
    const content = [Message.text("look"), file]
    for (const message of [Message.user(content), { role: "assistant" as const, content }]) {
      const parts = PromptMessages.fromMessage(message).content as ReadonlyArray<object>
      assert.deepInclude(parts[0], { type: "text", text: "look" })
      assert.deepInclude(parts[1], lost)
    }
  })
})

it("what a tool shows its model is passed on beside its result", () => {
  const content = [Message.text("a chart"), { type: "file", mediaType: "image/png", data: "AQI" } as const]
  const result = { type: "tool-result", id: "a", name: "draw", result: { n: 1 }, isFailure: false } as const
  const part = (message: Message.Message) => PromptMessages.fromMessage(message).content[0] as object
  assert.deepNestedInclude(part({ role: "tool", content: [{ ...result, content }] }), {
    result: { n: 1 },
    "modelOutput[0].text": "a chart",
    "modelOutput[1].data": "AQI="
  })
  assert.isUndefined((part({ role: "tool", content: [result] }) as { readonly modelOutput?: unknown }).modelOutput)
})
