import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Excerpt from "../../../src/cli/tools/Excerpt.ts"

const Char = Schema.Literals(["a", "b", "\n", "\"", "\u001b", "é", "😀", "\ufffd"])

describe("an excerpt", () => {
  it.effect("is the whole text if it fits", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(Excerpt.ofText("a\nb", 4), { text: "a\nb", isCut: false })
    }))

  it.effect("is head and tail if the text does not fit, and says what is left out", () =>
    Effect.sync(() => {
      assert.deepStrictEqual(Excerpt.ofText("0123456789", 6), {
        text: "012\n… [4 of 10 characters left out] …\n789",
        isCut: true
      })
    }))

  it.effect("counts characters as JSON encodes them", () =>
    Effect.sync(() => {
      assert.strictEqual(Excerpt.ofText("\"\"\"\"\"\"", 8).text, "\"\"\n… [2 of 6 characters left out] …\n\"\"")
    }))

  it.effect("drops halves of surrogate pairs from its ends", () =>
    Effect.sync(() => {
      const { text } = Excerpt.make({ head: "ab\ud83d", tail: "\ude00cd", size: 100 }, 1_000)
      assert.strictEqual(text, "ab\n… [96 of 100 characters left out] …\ncd")
    }))

  it.effect.prop(
    "of any text stays within its JSON size, starts and ends as the text does, and is well-formed",
    [Schema.Array(Char).check(Schema.isMaxLength(60)), Schema.Int.check(Schema.isBetween({ minimum: 2, maximum: 80 }))],
    ([chars, limit]) =>
      Effect.sync(() => {
        const text = chars.join("")
        const cut = Excerpt.ofText(text, limit)
        const parts = cut.text.split(/\n… \[\d+ of \d+ characters left out\] …\n/)
        assert.strictEqual(parts.length, cut.isCut ? 2 : 1)
        assert.isAtMost(JSON.stringify(parts.join("")).length - 2, limit)
        assert.isTrue(text.startsWith(parts[0]!) && text.endsWith(parts.at(-1)!) && cut.text.isWellFormed())
        assert.strictEqual(cut.isCut, JSON.stringify(text).length - 2 > limit)
      }),
    { arbitrary: { runs: 300 } }
  )
})
