/** What a handler says it could not end is in the end event, whatever that end is. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { LeaveBehind } from "../../src/services/LeaveBehind.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const leave = (name: string) => Effect.flatMap(LeaveBehind, (leaveBehind) => leaveBehind(name))

describe("what a handler names as left behind", () => {
  it.effect("is in the end of a run that completes, once for each call", () =>
    Effect.gen(function*() {
      const turns = [[TestAgent.work(1, "a"), TestAgent.work(2, "b")], ScriptedModel.text("done")]
      const { agent, store } = yield* TestAgent.make(turns, {
        tool: ({ n }) => Effect.as(Effect.andThen(leave(`job ${n}`), leave("lock")), "started")
      })
      yield* agent.run({ sessionId: "s", input: "go" })
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 Succeeded"])
      assert.deepStrictEqual(RunLog.only(log, "RunCompleted")[0]?.leftBehind, ["job 1", "lock", "job 2", "lock"])
    }))

  it.effect("is in the end of a run even if a hook names it", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([ScriptedModel.text("done")], {
        agent: { hooks: [{ name: "h", afterModelCall: () => leave("job of a hook") }] }
      })
      yield* agent.run({ sessionId: "s", input: "go" })
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.only(log, "RunCompleted")[0]?.leftBehind, ["job of a hook"])
    }))

  it.effect("is in the end of a run that is aborted, even if a finalizer names it", () =>
    Effect.gen(function*() {
      const reached = yield* Deferred.make<void>()
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1)], {
        tool: () =>
          Effect.andThen(Deferred.succeed(reached, undefined), Effect.never).pipe(Effect.ensuring(leave("job")))
      })
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      yield* Deferred.await(reached)
      yield* run.abort
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Interrupted"])
      assert.deepStrictEqual(RunLog.only(log, "RunAborted")[0]?.leftBehind, ["job"])
    }))
})
