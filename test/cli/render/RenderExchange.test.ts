import { assert, describe, it } from "@effect/vitest"
import * as Paint from "../../../src/cli/render/Paint.ts"
import * as RenderExchange from "../../../src/cli/render/RenderExchange.ts"
import type * as Source from "../../../src/run/Source.ts"

interface Said {
  readonly columns?: number
  readonly isCutOff?: boolean
  readonly sources?: ReadonlyArray<Source.Source>
}

const lines = (question: string, answer: string, { columns = 20, isCutOff = false, sources = [] }: Said = {}) =>
  RenderExchange.lines(
    { question: [{ role: "user", content: [{ type: "text", text: question }] }], answer, isCutOff, sources },
    { paint: Paint.plain, columns, show: "fiberloop show x" }
  )

describe("the last exchange", () => {
  it("is a question and an answer between blank lines", () => {
    assert.strictEqual(lines("why?", "Because."), "\n> why?\n\nBecause.\n\n")
  })

  it("is the question alone where nothing was answered", () => {
    assert.strictEqual(lines("why?", ""), "\n> why?\n\n")
  })

  it("says where an answer was cut off", () => {
    assert.include(lines("why?", "Becau", { isCutOff: true }), "\nBecau\n· cut off there\n")
  })

  it("shows what an answer rests on beneath it, the first few of many", () => {
    const sources = Array.from({ length: 12 }, (_, at) => ({ type: "url", url: `https://a.test/${at}` } as const))
    const shown = lines("why?", "Because.", { sources })
    assert.include(shown, "\nBecause.\n· https://a.test/0\n· https://a.test/1\n")
    assert.match(shown, /\n· https:\/\/a\.test\/9\n· 2 more sources\n\n$/)
  })

  it("has the beginning of a question in one long line, and the end of such an answer", () => {
    assert.strictEqual(
      lines("q".repeat(100), `${"a".repeat(300)}!`),
      `\n> ${"q".repeat(77)}…\n… 23 more characters\n\n… 62 characters before\n…${"a".repeat(238)}!\n` +
        "Read it all with: fiberloop show x\n\n"
    )
  })

  it("counts a line that takes several rows of the terminal as so many, wide characters as two cells", () => {
    const rows = lines("why?", `${"漢".repeat(15)}\n`.repeat(9).trim()).split("\n")
    assert.strictEqual(rows.filter((row) => row.includes("漢")).length, 6)
    assert.include(rows, "… 3 lines before")
  })
})
