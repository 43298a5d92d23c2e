/** A run played to its end under limits, and what the log says about it. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as RunInput from "../../src/run/RunInput.ts"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import type * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "./RunLog.ts"
import * as TestAgent from "./TestAgent.ts"

/** Its tools count how often they ran; the session is "s". */
export const play = Effect.fnUntraced(function*(
  turns: ReadonlyArray<ScriptedModel.Turn>,
  limits: RunPolicy.LimitsInput,
  options: TestAgent.Options = {}
) {
  let ran = 0
  const made = yield* TestAgent.make(turns, { tool: ({ n }) => Effect.sync(() => `done ${n}, ${ran++}`), ...options })
  const resume = Effect.fnUntraced(function*(input: Partial<RunInput.ResumeInput> = {}) {
    return RunLog.endOf(yield* Stream.runCollect(made.agent.resume({ sessionId: "s", ...input })))
  })
  yield* Effect.exit(made.agent.run({ sessionId: "s", input: "go", limits }))
  const log = yield* made.store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  return {
    ...made,
    resume,
    log,
    ran: () => ran,
    end: RunLog.endOf(log),
    requests: Effect.map(made.script.requests, (requests) => requests.length)
  }
})
