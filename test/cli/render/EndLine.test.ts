import { assert, it } from "@effect/vitest"
import * as EndLine from "../../../src/cli/render/EndLine.ts"
import * as Paint from "../../../src/cli/render/Paint.ts"
import type * as DurableEvent from "../../../src/run/DurableEvent.ts"
import * as Draft from "../../support/Drafts.ts"

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
