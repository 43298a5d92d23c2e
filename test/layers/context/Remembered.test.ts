/** What one strategy remembered is read by another that continues from it. */
import { assert, it } from "@effect/vitest"
import * as Remembered from "../../../src/layers/context/Remembered.ts"

const way = {
  name: "summary",
  parse: (data: unknown) => `parsed ${String(data)}`,
  adopt: (text: string) => `adopted ${text}`
}

it.each([["summary", "parsed data"], ["keyFacts", "adopted words"]])(
  "a summary reads what %s remembered as: %s",
  (by, expected) => {
    assert.strictEqual(Remembered.known(way, { text: "words", data: { by, remembered: "data" } }), expected)
  }
)
