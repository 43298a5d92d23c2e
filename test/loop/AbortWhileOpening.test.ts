/** An abort that is asked of a drive before its first event is stored, and that the drive has heard. */
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

it.effect.each<readonly [string, boolean]>([["by hand", true], ["as it is found", false]])(
  "an abort asked while a run is resumed, %s, ends it",
  ([, isByHand]) =>
    Effect.gen(function*() {
      const store = yield* DeadRun.of(DeadRun.unanswered())
      const [held, go] = [Deferred.makeUnsafe<void>(), Deferred.makeUnsafe<void>()]
      store.onAppend = ({ store }) =>
        Effect.andThen(Deferred.succeed(held, undefined), Effect.andThen(Deferred.await(go), store))
      const { agent, script } = yield* TestAgent.make([ScriptedModel.text("on")], { store })
      const starting = yield* Effect.forkChild(
        isByHand ? Effect.asVoid(agent.resumeStart({ sessionId: "s" })) : Effect.asVoid(agent.recover())
      )
      yield* Deferred.await(held)
      assert.isTrue(yield* store.service.askToAbort!("s", "s run"))
      yield* Effect.repeat(Effect.yieldNow, { times: 50 })
      store.onAppend = ({ store }) => store
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(starting)
      const run = yield* agent.liveIn("s")
      if (run !== undefined) yield* Effect.exit(run.result)
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(requested)")
      assert.lengthOf(yield* script.requests, 0)
    })
)
