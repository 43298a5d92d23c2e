import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as TerminalText from "../../../src/cli/render/TerminalText.ts"

/** What moves a cursor, changes colours, rings the bell or reverses letters. */
const unsafe = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0x61c, 0x61c],
  [0x200e, 0x200f],
  [0x2028, 0x202e],
  [0x2066, 0x2069]
] as const
const isSafe = (text: string) =>
  text.split("").every((char) =>
    !unsafe.some(([from, to]) => char >= String.fromCharCode(from) && char <= String.fromCharCode(to))
  )

describe("text for a terminal", () => {
  it("keeps lines, tabs and letters of all scripts", () => {
    assert.strictEqual(TerminalText.lines("a\tb\r\nü 日本 😀\n"), "a\tb\nü 日本 😀\n")
  })

  it("shows escapes for control characters", () => {
    assert.strictEqual(
      TerminalText.lines("\u001b[31mred\u001b]0;t\u0007\rx\u009b1m"),
      "\\x1b[31mred\\x1b]0;t\\x07\\x0dx\\x9b1m"
    )
    assert.strictEqual(TerminalText.lines("a\u202ecod.exe"), "a\\u202ecod.exe")
  })

  it("keeps every safe character, and escapes every other", () => {
    const chars = Array.from({ length: 0x1_0000 }, (_, code) => String.fromCharCode(code))
    const shown = chars.filter((char) => TerminalText.lines(char) === char)
    assert.deepStrictEqual(shown, chars.filter(isSafe))
  })

  it("is one line if one line is asked for", () => {
    assert.strictEqual(TerminalText.line("a\nb\tc\r\nd"), "a\\nb\\tc\\nd")
    assert.strictEqual(TerminalText.sentence(" a\n  b\r\n\u001b"), "a b \\x1b")
  })

  it("in JSON keeps its value", () => {
    const value = { text: "\u009b31m\u202e\u2028x\u007f" }
    const json = TerminalText.json(JSON.stringify(value))
    assert.isTrue(isSafe(json))
    assert.deepStrictEqual(JSON.parse(json), value)
  })

  it("that is cut counts its mark as one cell when it is padded", () => {
    assert.strictEqual(TerminalText.pad(TerminalText.cut("abcdefgh", 6), 8), "abcde…  ")
    assert.strictEqual(TerminalText.cut("── abc", 6), "── abc")
  })

  it("is cut by cells, counting wide characters as two", () => {
    assert.strictEqual(TerminalText.cut("abcdef", 6), "abcdef")
    assert.strictEqual(TerminalText.cut("abcdefg", 6), "abcde…")
    assert.strictEqual(TerminalText.cut("日本語", 6), "日本語")
    assert.strictEqual(TerminalText.cut("日本語x", 6), "日本…")
    assert.strictEqual(TerminalText.cut("ab😀😀", 5), "ab…")
  })

  it("is as wide as its tabs make it, which lead to the next eighth cell", () => {
    for (
      const [text, width] of [["\t", 8], ["+\t", 8], ["日本\ta", 9], ["1234567\t", 8], ["12345678\t", 16]] as const
    ) {
      assert.strictEqual(TerminalText.width(text), width, JSON.stringify(text))
    }
    assert.deepStrictEqual([TerminalText.cut("\tab", 9), TerminalText.cut("\ta", 9)], ["\t…", "\ta"])
  })

  it("takes as many rows as a terminal draws, whose tab stops begin anew with each", () => {
    for (
      const [text, rows] of [
        ["", 1],
        ["x".repeat(50), 1],
        ["x".repeat(51), 2],
        ["日".repeat(26), 2],
        [`${"x".repeat(48)}\t`, 1],
        [`${"x".repeat(50)}\t${"y".repeat(42)}`, 2],
        [`${"x".repeat(50)}\t${"y".repeat(43)}`, 3]
      ] as const
    ) {
      assert.strictEqual(TerminalText.rows(text, 50), rows, JSON.stringify(text))
    }
  })

  it.effect.prop("made from any text is safe", [Schema.String], ([text]) =>
    Effect.sync(() => {
      assert.isTrue(isSafe(TerminalText.lines(text)))
      assert.notMatch(TerminalText.line(text), /[\n\t]/)
    }))

  it.effect.prop(
    "in any pieces equals the text as a whole",
    [Schema.Array(Schema.Literals(["a", "\r", "\n", "\ud83d", "\ude00", "\u001b", "", "😀"]))],
    ([pieces]) =>
      Effect.sync(() => {
        let held = ""
        let out = ""
        for (const delta of pieces) {
          const next = TerminalText.piece(held, delta)
          assert.isTrue(next.text.isWellFormed() || !pieces.join("").isWellFormed())
          out += next.text
          held = next.held
        }
        assert.strictEqual(out + TerminalText.lines(held), TerminalText.lines(pieces.join("")))
      })
  )
})
