import { assert, describe, it } from "@effect/vitest"
import * as Used from "../../../src/cli/render/Used.ts"
import * as Draft from "../../support/Drafts.ts"

const used = (cost?: number) => {
  const usage = { inputTokens: 10, outputTokens: 5, ...(cost === undefined ? {} : { cost }) }
  return Used.words({ ...Draft.totals, turns: 1, usage }).join(" · ")
}

describe("what was used up", () => {
  it("includes the cost if a price is known", () => {
    assert.strictEqual(used(), "1 turn · 0 tool calls · 15 tokens (10 in, 5 out) · 0 ms")
    assert.strictEqual(used(0.1 + 0.2), "1 turn · 0 tool calls · 15 tokens (10 in, 5 out) · cost 0.3 · 0 ms")
    assert.include(used(0.0123456), "cost 0.01235")
    assert.include(used(0), "cost 0 ")
  })
})
