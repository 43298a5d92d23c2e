import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as HeadTail from "../../../../src/cli/tools/command/HeadTail.ts"

const keep = (length: number, chunks: ReadonlyArray<Uint8Array>) => {
  const kept = HeadTail.make(length)
  for (const chunk of chunks) kept.push(chunk)
  return kept.end()
}

/** Cuts bytes into chunks of these sizes, and the rest. */
const chunked = (bytes: Buffer, sizes: ReadonlyArray<number>) => {
  const chunks: Array<Buffer> = []
  let from = 0
  for (const size of sizes) chunks.push(bytes.subarray(from, from += size))
  return [...chunks, bytes.subarray(from)]
}

const Chars = Schema.Array(Schema.Literals(["a", "b\n", "é", "€", "😀", "\ufeff"])).check(Schema.isMaxLength(40))
const Sizes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9 }))).check(Schema.isMaxLength(20))

describe("what is kept of an output", () => {
  it.effect.prop(
    "is its start and its end, however it arrives",
    [Chars, Sizes, Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 30 }))],
    ([chars, sizes, length]) =>
      Effect.sync(() => {
        const text = chars.join("")
        const { head, isText, size, tail } = keep(length, chunked(Buffer.from(text), sizes))
        assert.deepStrictEqual([size, isText], [text.length, true])
        assert.strictEqual(head, text.slice(0, length))
        assert.isTrue(text.slice(head.length).endsWith(tail))
        assert.isAtLeast(tail.length, Math.min(length, text.length - head.length))
        assert.isAtMost(tail.length, 2 * length)
      }),
    { arbitrary: { runs: 300 } }
  )

  it.effect("is bounded, while the reported size is not", () =>
    Effect.sync(() => {
      for (const pieces of [1, 1_000]) {
        const chunk = Buffer.from("0123456789".repeat(1_000 / pieces))
        const { head, size, tail } = keep(10, Array.from({ length: pieces }, () => chunk))
        assert.deepStrictEqual([head, tail.slice(-10), size], ["0123456789", "0123456789", 10_000])
        assert.isAtMost(tail.length, 20)
      }
    }))

  it.effect.each([
    ["latin1", Buffer.from([0x63, 0x61, 0x66, 0xe9]), "caf\ufffd"],
    ["a NUL", Buffer.from("a\0b"), "a\ufffdb"],
    ["UTF-16", Buffer.from("ab", "utf16le"), "a\ufffdb\ufffd"],
    ["half a character at the end", Buffer.from("a€").subarray(0, 3), "a\ufffd"]
  ])("of %s is what can be read, marked as not text", ([, bytes, text]) =>
    Effect.sync(() => {
      const { head, isText } = keep(100, [bytes as Buffer])
      assert.deepStrictEqual([head, isText], [text as string, false])
    }))
})
