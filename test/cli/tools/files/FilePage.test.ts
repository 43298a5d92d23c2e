import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as FilePage from "../../../../src/cli/tools/files/FilePage.ts"

const small = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 1, maximum }))

const collect = (chunks: ReadonlyArray<string>, request: FilePage.Request) => {
  const collector = FilePage.collector(request)
  for (const chunk of chunks) collector.push(Buffer.from(chunk))
  const page = collector.end()
  return { ...page, bytes: Buffer.from(page.bytes).toString() }
}

/** The same from the whole text: lines with their endings, as many whole lines as fit. */
const reference = (text: string, { fromLine, maxBytes, maxLines }: FilePage.Request) => {
  const lines = text.match(/[^\n]*\n|[^\n]+/g) ?? []
  const wanted = lines.slice(fromLine - 1, fromLine - 1 + maxLines)
  const fitting = wanted.filter((_, index) => wanted.slice(0, index + 1).join("").length <= maxBytes)
  const isLineCut = wanted.length > 0 && fitting.length === 0
  return {
    bytes: isLineCut ? wanted[0]!.slice(0, maxBytes) : fitting.join(""),
    lines: lines.length,
    to: fromLine - 1 + (isLineCut ? 1 : fitting.length),
    isLineCut
  }
}

describe("FilePage", () => {
  it.effect.prop(
    "yields the same page as slicing the whole text, however it is chunked",
    [Schema.Array(Schema.Literals(["a", "bcd", "\n", "\n\n", "ef\n"])), small(6), small(6), small(12)],
    ([chunks, fromLine, maxLines, maxBytes]) =>
      Effect.sync(() => {
        const request = { fromLine, maxLines, maxBytes }
        const text = chunks.join("")
        const expected = reference(text, request)
        assert.deepStrictEqual(collect(chunks, request), expected)
        assert.deepStrictEqual(collect([...text], request), expected)
      }),
    { arbitrary: { runs: 500 } }
  )

  it("holds copies, so that a chunk can be overwritten", () => {
    const collector = FilePage.collector({ fromLine: 1, maxLines: 10, maxBytes: 100 })
    const chunk = Buffer.from("abc")
    collector.push(chunk)
    chunk.fill("x")
    assert.strictEqual(Buffer.from(collector.end().bytes).toString(), "abc")
  })
})
