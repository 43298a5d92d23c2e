import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as cl100k from "gpt-tokenizer/encoding/cl100k_base"
import * as o200k from "gpt-tokenizer/encoding/o200k_base"
import { readFileSync } from "node:fs"
import * as TokenEstimate from "../../src/run/TokenEstimate.ts"

const plain = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() }
const references = [["o200k_base", o200k], ["cl100k_base", cl100k]] as const

const kinds = ["english", "chinese", "code", "json", "german", "japanese", "korean", "russian", "emoji"]
const corpus = (kind: string) => readFileSync(new URL(`../corpora/${kind}.txt`, import.meta.url), "utf8")

/** Every window of 500 characters, 50 apart; a shorter text as a whole. */
const windows = (text: string): ReadonlyArray<string> => {
  const out = [text.slice(0, 500)]
  for (let at = 50; at + 500 <= text.length; at += 50) out.push(text.slice(at, at + 500))
  return out
}

const within = (text: string, reference: typeof o200k | typeof cl100k, low: number, high: number, name: string) => {
  const [estimate, truth] = [TokenEstimate.text(text), reference.countTokens(text, plain)]
  const ratio = estimate / truth
  assert.isTrue(ratio >= low && ratio <= high, `${name}: ${estimate} for ${truth} is ${ratio.toFixed(2)}`)
}

describe("TokenEstimate", () => {
  for (const [name, reference] of references) {
    for (const kind of kinds) {
      it(`is 0.8 to 1.5 times what ${name} counts: ${kind}`, () => within(corpus(kind), reference, 0.8, 1.5, kind))

      it(`is 0.7 to 1.7 times what ${name} counts in any 500 characters: ${kind}`, () => {
        for (const [i, text] of windows(corpus(kind)).entries()) within(text, reference, 0.7, 1.7, `window ${i}`)
      })
    }

    it(`is 0.8 to 1.6 times what ${name} counts: Chinese of companies, manuals and encyclopedias`, () =>
      within(corpus("chinese-modern"), reference, 0.8, 1.6, "modern"))

    it(`is 0.8 to 1.5 times what ${name} counts: base64, hexadecimal, a table of numbers`, () => {
      const bytes = Buffer.from(corpus("chinese") + corpus("russian"))
      within(bytes.toString("base64"), reference, 0.8, 1.5, "base64")
      within(bytes.toString("hex"), reference, 0.8, 1.5, "hexadecimal")
      const rows = Array.from(
        { length: 200 },
        (_, i) => `${i},${(i * 7919) % 1000 / 10},2026-01-${10 + i % 20},${i * i}`
      )
      within(rows.join("\n"), reference, 0.8, 1.5, "numbers")
    })
  }

  it("is 0 for no text, and at least 1 for any", () => {
    assert.deepStrictEqual(["", " ", "a", "\n", "\0", "\ud800", "\udc00"].map(TokenEstimate.text), [
      0,
      1,
      1,
      1,
      1,
      2,
      2
    ])
  })

  it("is a whole number for every code unit, even half a character, in any place", () => {
    for (let unit = 0; unit <= 0xffff; unit++) {
      const one = String.fromCharCode(unit)
      for (const text of [one, `${one}${one}`, `a${one}b`, `A ${one}`]) {
        const tokens = TokenEstimate.text(text)
        if (!Number.isSafeInteger(tokens) || tokens < 1) assert.fail(`${tokens} for ${JSON.stringify(text)}`)
      }
    }
  })

  const ascii = ["a", "word", "A", "B", "AB", "1", "23", " ", "  ", "\n", "\r\n", "\t", ".", "=", "==", "\"", "_", "\0"]
  const beyond = ["é", "ж", "λ", "א", "ก", "ế", "中", "。", "か", "한글", "🎉", "\ud83c", "\udf89", "—", "\ue000"]
  const Piece = Schema.Array(Schema.Literals([...ascii, ...beyond]))

  it.effect.prop(
    "of two joined texts is never less than that of either",
    [Piece, Piece],
    ([a, b]) =>
      Effect.sync(() => {
        const [first, second] = [a.join(""), b.join("")]
        const joined = TokenEstimate.text(first + second)
        assert.isTrue(
          joined >= TokenEstimate.text(first) && joined >= TokenEstimate.text(second),
          JSON.stringify([first, second])
        )
      }),
    { arbitrary: { runs: 2_000, size: 30 } }
  )
})
