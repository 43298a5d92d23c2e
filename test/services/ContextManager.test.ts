import { assert, describe, it } from "@effect/vitest"
import * as ContextManager from "../../src/services/ContextManager.ts"

describe("a size with another limit", () => {
  const asked: Array<string> = []
  const size: ContextManager.Size = {
    get tokens() {
      asked.push("tokens")
      return 30
    },
    get fixed() {
      asked.push("fixed")
      return 10
    },
    limit: 100,
    of: () => 3,
    ofText: (text) => text.length
  }

  it("counts as the original does, and only when asked", () => {
    const limited = ContextManager.withLimit(size, 20)
    assert.deepStrictEqual(asked, [])
    assert.strictEqual(limited.limit, 20)
    assert.strictEqual(limited.tokens, 30)
    assert.strictEqual(limited.fixed, 10)
    assert.deepStrictEqual(asked, ["tokens", "fixed"])
    assert.strictEqual(limited.of({ role: "user", content: [] }), 3)
    assert.strictEqual(limited.ofText("four"), 4)
    assert.strictEqual(ContextManager.withLimit(limited, undefined).limit, undefined)
    assert.strictEqual(size.limit, 100)
  })
})
