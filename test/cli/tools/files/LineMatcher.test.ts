import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as LineMatcher from "../../../../src/cli/tools/files/LineMatcher.ts"

const lines = (...texts: ReadonlyArray<string>) =>
  texts.map((text, index) => ({ number: index + 1, text, isCut: false }))
const regex = (text: string) => LineMatcher.make({ text, isRegex: true, ignoreCase: false })
const plain = (text: string) => LineMatcher.make({ text, isRegex: false, ignoreCase: false })

describe("LineMatcher", () => {
  it.effect("returns the lines that match with the place of the first match", () =>
    Effect.gen(function*() {
      const matches = yield* (yield* plain("b"))(lines("abb", "c", "b"))
      assert.deepStrictEqual(matches.map(({ at, line }) => [line.number, at]), [[1, 1], [3, 0]])
    }))

  it.effect("counts all matches of an expression that cannot backtrack", () =>
    Effect.gen(function*() {
      const matches = yield* (yield* regex("a."))(lines("aba", "abac"))
      assert.deepStrictEqual(matches.map(({ count }) => count), [1, 2])
    }))

  it.effect.each(["a?b", "a*b", "a+b", "a{1}b", "ab|c"])(
    "does not count those of %s, which could take long",
    (text) =>
      Effect.gen(function*() {
        const matches = yield* (yield* regex(text))(lines("abab"))
        assert.deepStrictEqual(matches.map(({ count }) => count), [undefined])
      })
  )

  it.effect("refuses an invalid expression with the reason", () =>
    Effect.gen(function*() {
      const { message, reason } = yield* Effect.flip(regex("(unclosed"))
      assert.strictEqual(reason, "InvalidText")
      assert.include(message, "Invalid regular expression: /(unclosed/: Unterminated group")
    }))

  it.effect("allows Unicode properties in an expression", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* (yield* regex("^\\p{L}+$"))(lines("übung", "1"))).length, 1)
    }))

  it.effect("allows an expression to escape what needs no escape", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* (yield* regex("a\\-b"))(lines("a-b"))).length, 1)
    }))

  it.effect("refuses an empty text", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.flip(plain(""))).reason, "InvalidText")
    }))

  it.effect("refuses a plain text with a line break", () =>
    Effect.gen(function*() {
      assert.include((yield* Effect.flip(plain("a\nb"))).message, "line break")
    }))
})
