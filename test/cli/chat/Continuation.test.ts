import { assert, describe, it } from "@effect/vitest"
import * as Continuation from "../../../src/cli/chat/Continuation.ts"

const typed = (text: string): Continuation.Line => ({ text, isPasted: false })
const pasted = (text: string): Continuation.Line => ({ text, isPasted: true })

describe("a message", () => {
  it("is complete at the end of a line", () => {
    assert.deepStrictEqual(Continuation.join(undefined, [typed("a")], ""), { text: "a", isComplete: true, ahead: "" })
  })

  it("continues after a backslash, which is not part of it", () => {
    assert.deepStrictEqual(Continuation.join(undefined, [typed("a\\")], ""), {
      text: "a",
      isComplete: false,
      ahead: ""
    })
    assert.deepStrictEqual(Continuation.join("a", [typed("b")], ""), { text: "a\nb", isComplete: true, ahead: "" })
  })

  it("continues after a pasted line feed, before which a backslash stays", () => {
    const message = Continuation.join(undefined, [pasted("a\\"), pasted("b")], "")
    assert.deepStrictEqual(message, { text: "a\\\nb", isComplete: false, ahead: "" })
  })

  it("has all the lines that arrive at once, and waits for the end of the last", () => {
    const burst = [typed("a"), typed("b")]
    assert.deepStrictEqual(Continuation.join(undefined, burst, ""), { text: "a\nb", isComplete: true, ahead: "" })
    assert.deepStrictEqual(Continuation.join(undefined, burst, "c"), { text: "a\nb", isComplete: false, ahead: "" })
  })

  it("keeps an empty first line", () => {
    assert.deepStrictEqual(Continuation.join("", [typed("b")], ""), { text: "\nb", isComplete: true, ahead: "" })
  })

  it("ends before a word with a slash, even one that has not ended, and such a word is one of its own", () => {
    const cases: ReadonlyArray<readonly [lines: ReadonlyArray<string>, rest: string, text: string, ahead: string]> = [
      [["a", "b", "/quit"], "", "a\nb", "/quit\n"],
      [["/compact", "a"], "b", "/compact", "a\nb"],
      [["/compact", "/quit"], "", "/compact", "/quit\n"],
      [["/quit"], "b", "/quit", "b"],
      [["a"], "/qu", "a", "/qu"]
    ]
    for (const [lines, rest, text, ahead] of cases) {
      assert.deepStrictEqual(Continuation.join(undefined, lines.map(typed), rest), { text, isComplete: true, ahead })
    }
  })

  it("may have a word with a slash in a line that a backslash continues, and in a marked paste", () => {
    for (const lines of [[typed("a\\"), typed("/quit")], [pasted("a"), typed("/quit")]]) {
      const message = Continuation.join(undefined, lines, "")
      assert.deepStrictEqual(message, { text: "a\n/quit", isComplete: true, ahead: "" })
    }
    const continued = Continuation.join("a", [typed("/quit"), typed("b")], "")
    assert.deepStrictEqual(continued, { text: "a\n/quit\nb", isComplete: true, ahead: "" })
  })
})
