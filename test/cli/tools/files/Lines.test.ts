import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { join } from "node:path"
import * as Lines from "../../../../src/cli/tools/files/Lines.ts"
import { list, sandbox, write } from "./Sandbox.ts"

const texts = Schema.Array(Schema.Literals(["a", "\n", "\r\n", "\r", "é", "", "😀", "two words"]))

/** What `wc -l` says, plus one for an unterminated last line. */
const reference = (text: string): number => text.split("\n").length - (text === "" || text.endsWith("\n") ? 1 : 0)

const split = (pieces: ReadonlyArray<string>, longest = 100) => {
  const splitter = Lines.splitter(longest)
  return [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()]
}

describe("counting lines", () => {
  it.effect.prop("agrees with a simple reference", [texts], ([parts]) =>
    Effect.gen(function*() {
      const text = parts.join("")
      const listed = yield* list(yield* sandbox({ "file.txt": text }), {})
      assert.deepStrictEqual(listed.entries, [
        { path: "file.txt", bytes: Buffer.byteLength(text), lines: reference(text) }
      ])
    }))

  it.effect("agrees with it across chunk boundaries", () =>
    Effect.gen(function*() {
      const root = yield* sandbox()
      for (const length of [65_535, 65_536, 65_537, 131_072]) {
        const text = "x\n".repeat(length).slice(0, length)
        yield* write(root, { [`${length}.txt`]: text })
        const [entry] = (yield* list(root, { pattern: `${length}.txt` })).entries
        assert.strictEqual(entry?.lines, reference(text), join(root, `${length}`))
      }
    }))
})

describe("isBinary", () => {
  it("is true for a NUL byte near the start", () => {
    assert.isTrue(Lines.isBinary(Buffer.from("text\0text")))
  })

  it("is false for a NUL byte further on, and for bytes that are not UTF-8", () => {
    assert.isFalse(Lines.isBinary(Buffer.from(`${"x".repeat(8_192)}\0`)))
    assert.isFalse(Lines.isBinary(Buffer.from([0xff, 0xfe, 0x80])))
  })
})

describe("splitter", () => {
  it.effect.prop("yields the same lines however the text is split", [texts], ([parts]) =>
    Effect.sync(() => {
      const text = parts.join("")
      const expected = text.split("\n").map((line, index, all) =>
        index < all.length - 1 && line.endsWith("\r") ? line.slice(0, -1) : line
      )
      if (expected.at(-1) === "") expected.pop()
      assert.deepStrictEqual(split(parts).map((line) => line.text), expected)
      assert.deepStrictEqual(split([...text]), split([text]))
    }))

  it("numbers lines from 1, including empty ones", () => {
    assert.deepStrictEqual(split(["a\n", "\nb"]).map((line) => [line.number, line.text]), [[1, "a"], [2, ""], [3, "b"]])
  })

  it("cuts a long line and says so, whether in pieces or in one", () => {
    const expected = [{ number: 1, text: "abc", isCut: true }, { number: 2, text: "d", isCut: false }]
    assert.deepStrictEqual(split(["abcd", "efghij\nd"], 3), expected)
    assert.deepStrictEqual(split("abcdefghij\nd".split(""), 3), expected)
  })

  it("distinguishes a carriage return in a long line from an ending", () => {
    assert.deepStrictEqual(split(["abc\rde\n"], 3), [{ number: 1, text: "abc", isCut: true }])
  })

  it("does not count the line ending in the length", () => {
    assert.deepStrictEqual(split(["abc\r\n"], 3), [{ number: 1, text: "abc", isCut: false }])
  })
})

describe("cut", () => {
  it("never splits a surrogate pair", () => {
    assert.strictEqual(Lines.cut("a😀b", 2), "a")
    assert.strictEqual(Lines.cut("a😀b", 3), "a😀")
  })
})
