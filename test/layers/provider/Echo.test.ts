/** What was sent is not told again, however a provider quotes it. */
import { assert, describe, it } from "@effect/vitest"
import * as Echo from "../../../src/layers/provider/Echo.ts"
import * as Sentence from "../../../src/layers/provider/Sentence.ts"

const texts = [
  "My PIN is 4711,\ndo not tell",
  "It's my PIN 4711, do not tell",
  `It's my "PIN" 4711, do not tell`,
  `my "PIN" is 4711`,
  "C:\\back\\files\\new 4711",
  "tab\tand form\ffeed and back\bspace 4711",
  "Grüße, 4711 会话 👋"
]

/** A text as Python's `repr` writes it. */
const repr = (text: string): string => {
  const quote = text.includes("'") && !text.includes("\"") ? "\"" : "'"
  const escapes: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\f": "\\x0c", "\b": "\\x08" }
  const inner = [...text].map((char) => char === quote ? `\\${char}` : escapes[char] ?? char).join("")
  return quote + inner + quote
}

/** As Python's `json.dumps` writes it. */
const ascii = (text: string): string =>
  JSON.stringify(text).replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)

describe("what was sent", () => {
  it.for(texts)("is not told as JSON, in JSON in a text, or as Python writes it: %j", (text) => {
    const json = JSON.stringify(text)
    for (const quote of [text, json, JSON.stringify(json), repr(text), ascii(text)]) {
      const said = `not allowed: {'content': ${quote}}, try again`
      assert.notInclude(Echo.without(said, [text]), "4711", said)
      assert.include(Echo.without(said, [text]), "<redacted>")
      assert.include(Echo.without(said, [text]), "try again")
    }
  })

  it("is not told where it ends the sentence with a period of its own", () => {
    const redact = (text: string) => Echo.without(text, ["My diagnosis is gout."])
    const said = (message: string) => Sentence.of("request", { host: "h", key: "K", message }, redact)
    assert.notInclude(said("Invalid content: My diagnosis is gout."), "gout")
    assert.include(said("That is too long."), ": That is too long (")
  })
})
