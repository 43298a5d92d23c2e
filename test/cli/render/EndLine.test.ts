/** What a run has used up, in words. */
import { assert, describe, it } from "@effect/vitest"
import * as EndLine from "../../../src/cli/render/EndLine.ts"
import * as Paint from "../../../src/cli/render/Paint.ts"
import type * as DurableEvent from "../../../src/run/DurableEvent.ts"
import * as Draft from "../../support/Drafts.ts"

const used = (cost?: number) => {
  const usage = { inputTokens: 10, outputTokens: 5, ...(cost === undefined ? {} : { cost }) }
  return EndLine.used({ ...Draft.totals, turns: 1, usage }).join(" · ")
}

it("the end at a limit says if the limit belongs to a run around it", () => {
  const ended = (extra: Partial<DurableEvent.Of<"RunLimited">>) => {
    const place = { seq: 9, at: 0, runId: "r", version: 1 }
    const limited = { _tag: "RunLimited" as const, reason: "tokens" as const, totals: Draft.totals, ...place, ...extra }
    return EndLine.line(limited, "s", Paint.plain)
  }
  assert.match(ended({}), /^✗ stopped at the limit of tokens ·/)
  assert.match(
    ended({ around: { sessionId: "p", runId: "p" } }),
    /^✗ stopped at the limit of tokens of the run that it is part of ·/
  )
})

describe("what was used up", () => {
  it("includes the cost if a price is known", () => {
    assert.strictEqual(used(), "1 turn · 0 tool calls · 15 tokens (10 in, 5 out) · 0 ms")
    assert.strictEqual(used(0.1 + 0.2), "1 turn · 0 tool calls · 15 tokens (10 in, 5 out) · cost 0.3 · 0 ms")
    assert.include(used(0.0123456), "cost 0.01235")
    assert.include(used(0), "cost 0 ")
  })
})
