/** Which lines are for the conversation, and which for its model. */
import { assert, describe, it } from "@effect/vitest"
import * as Slash from "../../../src/cli/chat/Slash.ts"

describe("a line that begins with a slash", () => {
  it("is a known command, even with blanks around it", () => {
    assert.deepStrictEqual(Slash.read(" /compact \n"), { _tag: "Compact" })
  })

  it("leaves with /quit and /exit, and helps with /help", () => {
    assert.deepStrictEqual(["/quit", "/exit ", "/help"].map(Slash.read), [
      { _tag: "Leave" },
      { _tag: "Leave" },
      { _tag: "Help" }
    ])
  })

  it("is an unknown command if it is a single word", () => {
    for (const word of ["/hlep", "/QUIT", "/COMPACT", "/compact-it"]) {
      assert.deepStrictEqual(Slash.read(word), { _tag: "Unknown", word })
    }
  })

  it("is a message if it is a path, or has more words", () => {
    for (const text of ["/src/cli", "/etc is full, why?", "/ 2", "//", "/compact the\nlist", "/1", "compact"]) {
      assert.isUndefined(Slash.read(text))
    }
  })
})
