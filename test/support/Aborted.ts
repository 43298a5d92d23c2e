/** What holds for a session whose run was aborted, whoever did it and whenever. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunLog from "./RunLog.ts"
import type * as TestAgent from "./TestAgent.ts"

/** What a reader of the run saw. */
export interface Seen {
  readonly events: ReadonlyArray<RunEvent.RunEvent>
  /** what was not over when the end event arrived */
  readonly early: ReadonlyArray<string>
}

/** The log is closed and legal, says why, and the session answers; `reader` is what a reader saw, if there was one. */
export const check = Effect.fnUntraced(function*(
  made: TestAgent.TestAgent,
  reason: RunEvent.AbortedReason,
  seen: Seen | undefined
) {
  const log = yield* made.store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  assert.strictEqual(RunLog.endOf(log), `RunAborted(${reason})`)
  const requested = log.filter((event) => event._tag === "AbortRequested").length
  assert.strictEqual(requested, reason === "requested" ? 1 : 0)
  assert.strictEqual(yield* made.script.openStreams, 0)
  if (seen !== undefined) {
    assert.deepStrictEqual(seen.early, [])
    assert.strictEqual(RunLog.endOf(seen.events), `RunAborted(${reason})`)
  }
})

/** Whether what begins to wait now is over just before the grace period has passed, and once it has. */
export const overByGrace = Effect.fnUntraced(function*(waiting: Fiber.Fiber<unknown, unknown>) {
  yield* TestClock.adjust("4999 millis")
  const isOverBefore = waiting.pollUnsafe() !== undefined
  yield* TestClock.adjust("1 millis")
  return { before: isOverBefore, after: waiting.pollUnsafe() !== undefined }
})

/** The session accepts the next message. */
export const answers = Effect.fnUntraced(function*({ agent, store }: TestAgent.TestAgent) {
  const result = yield* agent.run({ sessionId: "s", input: "hello?" })
  assert.strictEqual(result._tag, "Completed")
  assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
})
