/** What is frozen, and which copies of it may be modified. */
import { assert, it } from "@effect/vitest"
import * as Frozen from "../../src/run/Frozen.ts"

/** With a part that somebody froze, and one that is not plain data. */
const make = () => ({ list: [{ n: 1 }], part: Object.freeze({ in: { n: 1 } }), bytes: new Uint8Array([1]) })

it("a frozen copy is frozen throughout, shares no plain data with its original, and leaves that unchanged", () => {
  const given = make()
  const odd: unknown = JSON.parse("{\"__proto__\":{\"n\":1}}")
  const copy = Frozen.copy({ given, odd })
  assert.deepStrictEqual(copy, { given, odd })
  assert.deepStrictEqual(Object.entries(copy.odd as object), [["__proto__", { n: 1 }]])
  for (const value of [copy, copy.given, copy.given.list, copy.given.list[0], copy.given.part, copy.given.part.in]) {
    assert.isTrue(Object.isFrozen(value))
  }
  given.list[0]!.n = 2
  given.part.in.n = 2
  given.list.push({ n: 3 })
  assert.deepStrictEqual(copy.given, make())
  // what is not plain data is the same
  assert.strictEqual(copy.given.bytes, given.bytes)
})

it("a list with methods of its own is copied by its items, without calling those methods", () => {
  class Odd extends Array<{ readonly n: number }> {
    override map(): Array<never> {
      return []
    }
  }
  const odd = Odd.from([{ n: 1 }])
  const copy = Frozen.copy({ odd }).odd
  assert.deepStrictEqual(JSON.stringify(copy), "[{\"n\":1}]")
  assert.isTrue(Object.isFrozen(copy[0]))
  assert.notStrictEqual(copy[0], odd[0])
})

it("a mutable copy can be modified, and leaves its original unchanged", () => {
  const given = make()
  const copy = Frozen.thawed(given)
  assert.deepStrictEqual(copy, given)
  Object.assign(copy.part.in, { n: 2 })
  copy.list.push({ n: 2 })
  assert.deepStrictEqual(given, make())
  const odd = JSON.parse("{\"__proto__\":{\"n\":1}}")
  assert.deepStrictEqual(Object.entries(Frozen.thawed(odd)), [["__proto__", { n: 1 }]])
})

it("what is already mutable is not copied", () => {
  const open = { list: [{ n: 1 }], at: Object.freeze(new Date(0)) }
  assert.strictEqual(Frozen.opened(open), open)
  const frozen = make()
  assert.notStrictEqual(Frozen.opened(frozen), frozen)
  assert.strictEqual(Frozen.opened(frozen).bytes, frozen.bytes)
})

it("a list does not look into frozen items, so that the cost of each does not grow with the list", () => {
  let looks = 0
  const before = Object.freeze({
    get content() {
      return ++looks
    }
  })
  const added = { content: [{ text: "more" }] }
  const list = Frozen.list([before, added])
  assert.strictEqual(looks, 0)
  for (const value of [list, added, added.content, added.content[0]]) assert.isTrue(Object.isFrozen(value))
})

it("freezing goes to the end, even past a part that somebody froze", () => {
  const inner = { n: 1 }
  Frozen.deep({ part: Object.freeze({ inner }) })
  assert.isTrue(Object.isFrozen(inner))
})
