/** Long output keeps its head and its tail, and neither begins or ends inside a character or an escape. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { truncate } from "../../../src/layers/tools/Truncation.ts"
import { dice } from "../../support/Odd.ts"

const check = (runs: number) => ({ arbitrary: { runs, size: 60, seed: "truncation" } })
const seed = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 ** 31 - 1 }))
const limits = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 120 }))

const marker = /\n… \[(\d+) of (\d+) characters left out\] …\n/

/** Head, tail and the numbers in the marker. */
const cut = (text: string, limit: number) => {
  const truncated = truncate(text, limit)
  const found = marker.exec(truncated.text)
  assert.isNotNull(found, truncated.text)
  const head = truncated.text.slice(0, found!.index)
  const tail = truncated.text.slice(found!.index + found![0].length)
  return { head, tail, left: Number(found![1]), size: Number(found![2]), originalSize: truncated.originalSize }
}

/** Text of at least `length` units, made of the given pieces. */
const textOf = (pieces: ReadonlyArray<string>, length: number, seed: number) => {
  const die = dice(seed)
  let text = ""
  while (text.length < length) text += die.pick(pieces)
  return text
}

const plain = ["a", "b", " ", "\n", "\u{1f600}", "\u{1f469}\u200d\u{1f4bb}", "é", "\\", "\\u", "\\u12", "\"", "{}"]

describe("a short text", () => {
  it.prop("stays unchanged, without an original size", [Schema.String], ([text]) => {
    assert.deepStrictEqual(truncate(text, text.length), { text })
    assert.deepStrictEqual(truncate(text, text.length + 1), { text })
    assert.deepStrictEqual(truncate(text, 30_000), { text })
  }, check(100))
})

describe("a long text", () => {
  it.prop("keeps at most the limit, from its beginning and its end", [seed, limits], ([seed, limit]) => {
    const text = textOf(plain, limit + 1, seed)
    const { head, tail } = cut(text, limit)
    assert.isAtMost(head.length + tail.length, limit)
    assert.isTrue(text.startsWith(head))
    assert.isTrue(text.endsWith(tail))
  }, check(500))

  it.prop("keeps nearly the whole limit, half of it at each end", [seed, limits], ([seed, limit]) => {
    const { head, tail } = cut(textOf(plain, limit + 20, seed), limit)
    assert.isAtLeast(head.length, Math.ceil(limit / 2) - 6)
    assert.isAtLeast(tail.length, Math.floor(limit / 2) - 6)
  }, check(500))

  it.prop("says its size and how much is left out", [seed, limits], ([seed, limit]) => {
    const text = textOf(plain, limit + 1, seed)
    const { head, left, originalSize, size, tail } = cut(text, limit)
    assert.deepStrictEqual([originalSize, size, left], [
      text.length,
      text.length,
      text.length - head.length - tail.length
    ])
  }, check(500))

  it.prop("never has half a surrogate pair", [seed, limits], ([seed, limit]) => {
    const { head, tail } = cut(textOf(plain, limit + 1, seed), limit)
    assert.isTrue(head.isWellFormed(), "head")
    assert.isTrue(tail.isWellFormed(), "tail")
  }, check(500))

  const sequences = ["\u001b[31m", "\u001b[0m", "\u001b[1;38;5;208m", "\u001b[2K", "\u001b]8;;http://x.y\u0007"]

  it.prop("never has half a terminal escape sequence", [seed, limits], ([seed, limit]) => {
    const text = textOf([...sequences, "a", "\n", "\u{1f600}"], limit + 20, seed)
    const { head, tail } = cut(text, limit)
    const rest = (part: string) => sequences.reduce((left, each) => left.replaceAll(each, ""), part)
    assert.notInclude(rest(head), "\u001b")
    assert.match(rest(tail), /^[a\n\u{1f600}]*$/u)
    const json = JSON.stringify(text).slice(1, -1)
    const asJson = cut(json, limit)
    assert.notInclude(rest(JSON.parse(`"${asJson.head}"`)), "\u001b")
    assert.match(rest(JSON.parse(`"${asJson.tail}"`)), /^[a\n\u{1f600}]*$/u)
  }, check(1000))

  it.prop("that is JSON never has half an escape", [seed, limits], ([seed, limit]) => {
    const pieces = ["a", "\n", "\"", "\\", "\\\\", "\u001b", "\u0001", "\u001f", "\ud800", "\u{1f600}", "u", "n"]
    const json = JSON.stringify(textOf(pieces, limit + 1, seed)).slice(1, -1)
    const { head, tail } = cut(json, limit)
    assert.doesNotThrow(() => JSON.parse(`"${head}"`), undefined, undefined, `head: ${head}`)
    assert.doesNotThrow(() => JSON.parse(`"${tail}"`), undefined, undefined, `tail: ${tail}`)
    assert.strictEqual(JSON.parse(`"${json}"`).startsWith(JSON.parse(`"${head}"`)), true, "head means the same")
    assert.strictEqual(JSON.parse(`"${json}"`).endsWith(JSON.parse(`"${tail}"`)), true, "tail means the same")
  }, check(1000))

  it("of escaped backslashes keeps each whole", () => {
    for (const limit of [8, 9, 10, 11]) {
      const { head, tail } = cut("\\\\".repeat(50), limit)
      assert.strictEqual(head.length % 2, 0, `head at ${limit}`)
      assert.strictEqual(tail.length % 2, 0, `tail at ${limit}`)
    }
  })

  it("of nothing but backslashes is cut in linear time", () => {
    let reads = 0
    const counted = new Proxy(new String("\\".repeat(10_000)), {
      get: (text, key) => {
        reads++
        const found: unknown = Reflect.get(text, key, text)
        return typeof found === "function" ? found.bind(text) : found
      }
    })
    truncate(counted as string, 100)
    // each is read once for the tail, and a few around the cuts
    assert.isAtMost(reads, 11_000)
  })

  it("with a backslash before an emoji keeps the emoji whole", () => {
    for (const limit of [8, 9, 10, 11, 12, 13]) {
      const { head, tail } = cut(`${"a".repeat(20)}\\\u{1f600}bc`, limit)
      assert.isTrue(head.isWellFormed() && tail.isWellFormed(), `at ${limit}`)
    }
  })

  it("that ends in what looks like an escape is counted correctly", () => {
    const { left } = cut(`${"a".repeat(10)}\\u`, 2)
    assert.isAtMost(left, 12)
  })

  it("may be left out entirely", () => {
    assert.deepStrictEqual(cut("abc", 0), { head: "", tail: "", left: 3, size: 3, originalSize: 3 })
  })

  it("is cut in the middle", () => {
    assert.strictEqual(truncate("abcdefghij", 5).text, "abc\n… [5 of 10 characters left out] …\nij")
  })
})
