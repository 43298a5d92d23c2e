/** A service with some of its members replaced, whatever kind of object it is. */
import { assert, it } from "@effect/vitest"
import * as Delegating from "../../src/services/Delegating.ts"

class Counted {
  #n = 0
  readonly step: number = 2
  readonly undo?: () => number

  get count() {
    return this.#n
  }

  add() {
    return this.#n += this.step
  }

  addTwice() {
    return this.add() + this.add()
  }
}

class Named extends Counted {
  readonly #name = "named"

  name() {
    return this.#name
  }
}

it("what is not replaced is that of the object, of its class and of the classes above", () => {
  const named = new Named()
  const made = Delegating.to(named, { add: () => -1 })
  assert.deepStrictEqual([made.name(), made.step, made.count, made.add(), made.undo], ["named", 2, 0, -1, undefined])
  named.add()
  assert.strictEqual(made.count, 2)
})

it("what an object calls on itself is not replaced", () => {
  const made = Delegating.to(new Counted(), { add: () => -1 })
  assert.strictEqual(made.addTwice(), 6)
})

it("a member keeps its object where it is taken off, in a copy, and through another replacement", () => {
  const made = Delegating.to(Delegating.to(new Named(), { undo: () => 0 }), { add: () => -1 })
  const { name, undo } = made
  const copy: Named = Object.assign({}, made)
  assert.deepStrictEqual([name(), undo?.(), copy.name(), copy.add()], ["named", 0, "named", -1])
})

it("a frozen object may have its members replaced", () => {
  const frozen = Object.freeze({ add: (): number => 1, name: () => "frozen" })
  const made = Delegating.to(frozen, { add: () => -1 })
  assert.deepStrictEqual([made.add(), made.name()], [-1, "frozen"])
})
