import { assert, describe, it } from "@effect/vitest"
import * as Continuation from "../../../src/cli/chat/Continuation.ts"

const typed = (text: string): Continuation.Line => ({ text, isPasted: false })
const pasted = (text: string): Continuation.Line => ({ text, isPasted: true })

describe("a message", () => {
  it("is complete at the end of a line", () => {
    assert.deepStrictEqual(Continuation.join(undefined, [typed("a")], false), { text: "a", isComplete: true })
  })

  it("continues after a backslash, which is not part of it", () => {
    assert.deepStrictEqual(Continuation.join(undefined, [typed("a\\")], false), { text: "a", isComplete: false })
    assert.deepStrictEqual(Continuation.join("a", [typed("b")], false), { text: "a\nb", isComplete: true })
  })

  it("continues after a pasted line feed, before which a backslash stays", () => {
    const message = Continuation.join(undefined, [pasted("a\\"), pasted("b")], false)
    assert.deepStrictEqual(message, { text: "a\\\nb", isComplete: false })
  })

  it("has all the lines that arrive at once, and waits for the end of the last", () => {
    const burst = [typed("a"), typed("b")]
    assert.deepStrictEqual(Continuation.join(undefined, burst, false), { text: "a\nb", isComplete: true })
    assert.deepStrictEqual(Continuation.join(undefined, burst, true), { text: "a\nb", isComplete: false })
  })

  it("keeps an empty first line", () => {
    assert.deepStrictEqual(Continuation.join("", [typed("b")], false), { text: "\nb", isComplete: true })
  })
})
