/** What a drive counts: how often a tokenizer is asked. */
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Schema from "effect/Schema"
import * as Counter from "../../../src/loop/env/Counter.ts"

/** One token a text; `asked` is what it was asked about. */
const tokenizer = () => {
  const asked: Array<string> = []
  return { asked, count: (text: string) => asked.push(text) && 1 }
}

const tool = Tool.make("look", { description: "looks", parameters: Schema.Struct({ at: Schema.String }) })

it("the tools of an agent are counted once for all its drives", () => {
  const one = tokenizer()
  const first = new Counter.Counter(one).tools([tool])
  const { length } = one.asked
  assert.isAbove(length, 0)
  assert.strictEqual(new Counter.Counter(one).tools([tool]), first)
  assert.strictEqual(one.asked.length, length)
})

it("another tokenizer counts the same tools for itself", () => {
  const [one, other] = [tokenizer(), tokenizer()]
  new Counter.Counter(one).tools([tool])
  new Counter.Counter(other).tools([tool])
  assert.deepStrictEqual(other.asked, one.asked)
})

it("a tool is counted as what a model is told of it", () => {
  class Place extends Schema.Class<Place>("Place")({ at: Schema.String }) {}
  const [whole, named] = [tokenizer(), tokenizer()]
  new Counter.Counter(whole).tools([tool])
  new Counter.Counter(named).tools([tool.setParameters(Place)])
  const schema = {
    type: "object",
    properties: { at: { type: "string" } },
    required: ["at"],
    additionalProperties: true
  }
  assert.deepStrictEqual(whole.asked, ["look", "looks", JSON.stringify(schema)])
  assert.deepStrictEqual(named.asked, whole.asked)
})
