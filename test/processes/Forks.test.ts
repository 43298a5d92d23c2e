/** Copies of sessions beside processes that go on with what was left. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Workers from "./Workers.ts"

it.live("a copy of a run that waits below a call does not go on by itself", () =>
  Effect.gen(function*() {
    const folder = yield* temporaryFolder
    const a = yield* Workers.start({ folder })
    const input = Workers.plan([{ tool: "delegate", plan: [[{ tool: "refund" }]] }, { tool: "pay" }])
    assert.strictEqual(
      Workers.ok(yield* a.ask({ do: "run", input: { sessionId: "s", runId: "r", input } })),
      "Suspended: "
    )
    yield* a.ask({ do: "fork", sessionId: "s", to: "copy" })
    const before = yield* Workers.logOf(folder, "copy")
    const b = yield* Workers.start({ folder })
    assert.deepStrictEqual(Workers.ok(yield* b.ask({ do: "recover", input: { answered: true } })), {
      runs: [],
      refused: []
    })
    assert.deepStrictEqual(yield* Workers.logOf(folder, "copy"), before)
    assert.deepStrictEqual(RunLog.violations(before), [])
    assert.deepStrictEqual(RunLog.outcomes(before), ["1.0 OutcomeUnknown", "1.1 NotExecuted(stopped)"])
    assert.strictEqual(RunLog.endOf(before), "RunAborted(forked)")
    const resumed = yield* b.ask({ do: "resume", input: { sessionId: "copy" } })
    assert.strictEqual(Workers.ok(resumed), "Completed: done")
  }))
