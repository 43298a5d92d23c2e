/** A session that another process removes and begins anew while this one has read its log and is about to write to it. */
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Agent from "../../src/Agent.ts"
import type * as RunError from "../../src/run/RunError.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as WorkerAgent from "./WorkerAgent.ts"
import * as Workers from "./Workers.ts"

type Client = Agent.Client<string>

const sessionId = "ada"

const ways: Readonly<Record<string, (agent: Client) => Effect.Effect<unknown, RunError.RunError>>> = {
  resume: (agent) => agent.resumeRun({ sessionId }),
  "an answer": (agent) => agent.decide({ sessionId, approvalId: "first/1.0", approved: true }),
  abort: (agent) => agent.abort(sessionId),
  compact: (agent) => agent.compact(sessionId)
}

for (const [name, act] of Object.entries(ways)) {
  it.live(`${name}: nothing of a removed session gets into the one that follows it under its id`, () =>
    Effect.gen(function*() {
      const folder = yield* temporaryFolder
      const other = yield* Workers.start({ folder })
      const input = { sessionId, input: Workers.plan([{ tool: "refund" }]) }
      yield* other.ask({ do: "run", input: { ...input, runId: "first" } })
      const world = { tell: () => {}, gate: () => Deferred.makeUnsafe<void>() }
      let isFirst = true
      const anew = Effect.suspend(() => {
        if (!isFirst) return Effect.void
        isFirst = false
        return Effect.andThen(
          other.ask({ do: "remove", sessionId }),
          other.ask({ do: "run", input: { ...input, runId: "second" } })
        )
      })
      const layer = WorkerAgent.layer({ folder }, world, (store) => ({
        ...store,
        open: (id, options) => Effect.andThen(anew, store.open(id, options))
      }))
      const error = yield* Effect.flip(WorkerAgent.Worker.use(act)).pipe(Effect.provide(layer))
      assert.strictEqual(error.reason._tag, "SessionNotFound")
      const log = yield* Workers.logOf(folder, sessionId)
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.deepStrictEqual(log.filter(({ runId }) => runId === "first"), [])
      assert.deepStrictEqual(WorkerAgent.effects(folder), [])
    }))
}
