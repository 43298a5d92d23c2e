import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as RenderApprovals from "../../../src/cli/render/RenderApprovals.ts"

const now = 1_700_000_000_000
const minutes = (count: number) => count * 60_000
const approval = {
  id: "run-1/1.0",
  sessionId: "session-1",
  agent: "test/Agent",
  callId: "1.0",
  tool: "refund",
  params: { amount: 5 },
  requestedAt: now - minutes(3)
}

describe("a question", () => {
  it.effect("says how long ago it was asked, and when it expires", () =>
    Effect.sync(() => {
      const lines = RenderApprovals.question({ ...approval, expiresAt: now + minutes(2) }, now, "session-1")
      assert.deepStrictEqual(lines, ["  1.0  refund amount=5  asked 3 min ago, expires in 2 min 0 s"])
    }))

  it.effect("that has expired has no time left", () =>
    Effect.sync(() => {
      const [line] = RenderApprovals.question({ ...approval, expiresAt: now - 1 }, now, "session-1")
      assert.include(line, "expires in 0 ms")
    }))
})
