/** The arguments of a call, from the text that a model wrote. */
import { assert, it } from "@effect/vitest"
import * as Parameters from "../../../src/layers/provider/Parameters.ts"

it.each<readonly [string, unknown]>([
  ["", {}],
  [" \n", {}],
  ["null", {}],
  ["[]", {}],
  ["\"\"", {}],
  ["{\"n\":1}", { n: 1 }],
  ["\"{\\\"n\\\":1}\"", { n: 1 }],
  ["[1]", [1]],
  ["{\"n\":1e300,\"m\":-1e-400}", { n: 1e300, m: -0 }]
])("%j is read", (text, params) => {
  assert.deepStrictEqual(Parameters.fromText(text), params)
})

it.each([
  "{\"n\":1",
  "look",
  "\"look\"",
  "\"5\"",
  "{\"__proto__\":{\"n\":1}}",
  "{\"n\":1e400}",
  "{\"n\":[{\"m\":-1e400}]}",
  "1e400",
  `{"n":1${"0".repeat(309)}}`,
  "\"{\\\"n\\\":1e400}\""
])("%j, which no log could keep or which is not JSON, stays a text", (text) => {
  assert.strictEqual(Parameters.fromText(text), text)
})

it("arguments that are nested too deeply for any log are read, and not taken for a text that is no JSON", () => {
  const levels = 20_000
  const read = Parameters.fromText(`${"{\"n\":".repeat(levels)}1${"}".repeat(levels)}`)
  assert.strictEqual(typeof read, "object")
})
