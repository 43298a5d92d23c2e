/** What is frozen, and what copies of it may be written into. */
import { assert, it } from "@effect/vitest"
import * as Frozen from "../../src/run/Frozen.ts"

/** With a part that somebody froze, and one that is no plain data. */
const make = () => ({ list: [{ n: 1 }], part: Object.freeze({ in: { n: 1 } }), bytes: new Uint8Array([1]) })

it("what a model says is frozen whole, whatever it froze of it before, but for what is no plain data", () => {
  const params = make()
  const content = [{ type: "tool-call", id: "a", name: "work", params }]
  Frozen.said({ _tag: "AssistantMessage", message: { role: "assistant", content } } as never)
  for (const value of [content, params, params.list[0], params.part.in]) assert.isTrue(Object.isFrozen(value))
  params.bytes[0] = 2
  assert.strictEqual(params.bytes[0], 2)
})

it("a copy may be written into, and leaves what it is of as it was", () => {
  const given = make()
  const copy = Frozen.thawed(given)
  assert.deepStrictEqual(copy, given)
  Object.assign(copy.part.in, { n: 2 })
  copy.list.push({ n: 2 })
  assert.deepStrictEqual(given, make())
  const odd = JSON.parse("{\"__proto__\":{\"n\":1}}")
  assert.deepStrictEqual(Object.entries(Frozen.thawed(odd)), [["__proto__", { n: 1 }]])
})

it("what may be written into already is not copied", () => {
  const open = { list: [{ n: 1 }], at: Object.freeze(new Date(0)) }
  assert.strictEqual(Frozen.opened(open), open)
  const frozen = make()
  assert.notStrictEqual(Frozen.opened(frozen), frozen)
  assert.strictEqual(Frozen.opened(frozen).bytes, frozen.bytes)
})
