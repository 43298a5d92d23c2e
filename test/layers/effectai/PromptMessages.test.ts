/** Messages of ours, also those of old logs, as effect/ai can send them. */
import { assert, describe, it } from "@effect/vitest"
import * as PromptMessages from "../../../src/layers/effectai/PromptMessages.ts"
import * as Message from "../../../src/run/Message.ts"

describe("a file at an address that is no URL", () => {
  const file: Message.FilePart = { type: "file", mediaType: "image/png", data: "https://exa mple.com/x.png" }
  const lost = { type: "text", text: "[a file is missing here: it cannot be sent]" }

  it("is a text in its place, whoever sent it", () => {
    const content = [Message.text("look"), file]
    for (const message of [Message.user(content), { role: "assistant" as const, content }]) {
      const parts = PromptMessages.fromMessage(message).content as ReadonlyArray<object>
      assert.deepInclude(parts[0], { type: "text", text: "look" })
      assert.deepInclude(parts[1], lost)
    }
  })
})
