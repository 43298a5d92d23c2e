import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import * as Replacement from "../../../../src/cli/tools/write/Replacement.ts"

const replace = (text: string, oldText: string, newText: string, all = false) =>
  Replacement.replace(text, { path: "a.txt", oldText, newText, all })

const textOf = (replaced: ReturnType<typeof replace>) => Result.getOrThrow(replaced).text

const messageOf = (replaced: ReturnType<typeof replace>) => {
  const { message, reason } = Result.getOrThrow(Result.flip(replaced))
  return `${reason}: ${message}`
}

/** Text with what trips up replacing: line feeds, patterns of String.replace, repetitions, wide characters. */
const Text = Schema.Array(Schema.Literals(["a", "b", "aa", " ", "\n", "\n\n", "$&", "$1", "$$", "\\", "é", "😀", "\t"]))
  .check(Schema.isMaxLength(30))
const Needle = Schema.Array(Schema.Literals(["X", "Y", "\n", "$&", "😀"])).check(Schema.isMaxLength(5))

const crlf = (text: string) => text.replaceAll("\n", "\r\n")

describe("a replacement", () => {
  it.effect.prop(
    "of a needle that occurs once equals that on strings",
    [Text, Needle, Text, Text],
    ([before, middle, after, replacement]) =>
      Effect.sync(() => {
        const needle = `X${middle.join("")}Z`
        const text = before.join("") + needle + after.join("")
        const newText = replacement.join("")
        assert.strictEqual(textOf(replace(text, needle, newText)), text.replace(needle, () => newText))
      }),
    { arbitrary: { runs: 500 } }
  )

  it.effect.prop(
    "of all occurrences equals that on strings",
    [Text, Schema.Literals(["a", "b", "aa", "\n", " ", "$&", "\\", "😀"]), Text],
    ([parts, needle, replacement]) =>
      Effect.sync(() => {
        const [text, newText] = [parts.join(""), replacement.join("")]
        if (!text.includes(needle) || needle === newText) return
        const { replacements, text: replaced } = Result.getOrThrow(replace(text, needle, newText, true))
        assert.strictEqual(replaced, text.replaceAll(needle, () => newText))
        assert.strictEqual(replacements, text.split(needle).length - 1)
      }),
    { arbitrary: { runs: 500 } }
  )

  it.effect.prop(
    "in a file with CRLF is the same one, with CRLF",
    [Text, Needle, Text, Text, Schema.Boolean],
    ([before, middle, after, replacement, isAsked]) =>
      Effect.sync(() => {
        const needle = `X${middle.join("")}Z`
        const text = `${before.join("")}${needle}${after.join("")}\n`
        const newText = replacement.join("")
        const asked = isAsked ? crlf : (part: string) => part
        assert.strictEqual(
          textOf(replace(crlf(text), asked(needle), asked(newText))),
          crlf(textOf(replace(text, needle, newText)))
        )
      }),
    { arbitrary: { runs: 300 } }
  )

  it.effect("in a file with LF does not introduce CRLF", () =>
    Effect.sync(() => {
      assert.strictEqual(textOf(replace("a\nb\nc\n", "a\r\nb", "x\r\ny")), "x\ny\nc\n")
    }))

  it.effect("in a file with both endings takes them literally", () =>
    Effect.sync(() => {
      assert.strictEqual(textOf(replace("a\r\nb\nc", "a\r\nb", "x\ny")), "x\ny\nc")
      assert.include(messageOf(replace("a\r\nb\nc", "a\nb", "x")), "only white space differs from line 1")
    }))

  it.effect("leaves a byte order mark in place", () =>
    Effect.sync(() => {
      assert.strictEqual(textOf(replace("\ufeffone two", "one", "1")), "\ufeff1 two")
      assert.include(messageOf(replace("\ufeffone two", "\ufeffone", "1")), "TextNotFound: ")
    }))
})

describe("a text cannot be replaced", () => {
  it.effect("because it is empty", () =>
    Effect.sync(() => {
      assert.include(messageOf(replace("abc", "", "x")), "TextNotFound: oldText is empty")
    }))

  it.effect("because nothing would change", () =>
    Effect.sync(() => {
      assert.include(messageOf(replace("abc", "b", "b")), "NothingToChange")
    }))

  it.effect("because only its line endings would change", () =>
    Effect.sync(() => {
      assert.include(messageOf(replace("a\r\nb\r\n", "a\nb", "a\r\nb")), "NothingToChange")
    }))

  it.effect("because it occurs more than once, and the error names its lines", () =>
    Effect.sync(() => {
      assert.strictEqual(
        messageOf(replace("x\ny\nx\nxx", "x", "z")),
        "TextNotUnique: oldText is 4 times in \"a.txt\", at lines 1, 3, 4: " +
          "add what is around it, or set all to replace every one."
      )
    }))

  it.effect("because it overlaps itself, not even at its first place", () =>
    Effect.sync(() => {
      assert.include(messageOf(replace("aaa", "aa", "b")), "oldText is 2 times in \"a.txt\", at line 1:")
    }))

  it.effect("because it occurs very often, and the error names the first places", () =>
    Effect.sync(() => {
      const message = messageOf(replace("x\n".repeat(1_000), "x", "z"))
      assert.include(message, "more than 100 times")
      assert.include(message, "18, 19, 20 and further on:")
    }))

  it.effect("because white space differs, and the error names the line in the file", () =>
    Effect.sync(() => {
      assert.strictEqual(
        messageOf(replace("one\n\tif (x)  {\n\t\ty\n\t}\n", "  if (x) {\n    y\n  }", "z")),
        "TextNotFound: oldText is not in \"a.txt\": only white space differs from line 2 on, which is " +
          "\"\\tif (x)  {\". Copy the text exactly."
      )
    }))

  it.effect("because white space within a line differs, and the error names that line", () =>
    Effect.sync(() => {
      assert.include(messageOf(replace("one\na  = 1 + 2\n", "= 1  + 2", "z")), "line 2 on, which is \"a  = 1 + 2\"")
    }))

  it.effect("because only its start matches, and the error names the first line that differs", () =>
    Effect.sync(() => {
      assert.include(
        messageOf(replace("a\nb\nc\na\nb\nd\n", "a\nb\ne", "z")),
        "its first 2 lines are at line 1, but line 3 is \"c\". Read the file again."
      )
    }))

  it.effect("because it is nowhere in the file, and the error gives no hint", () =>
    Effect.sync(() => {
      assert.include(messageOf(replace("abc\n", "xyz", "z")), "read the file again and copy the text")
    }))

  it.effect("because it is all blank, and the error gives no hint", () =>
    Effect.sync(() => {
      assert.include(messageOf(replace("abc", " \n ", "z")), "read the file again and copy the text")
    }))
})
