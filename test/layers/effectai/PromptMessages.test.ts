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
