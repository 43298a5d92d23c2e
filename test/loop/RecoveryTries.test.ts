/** A second try at a call, by an agent that has changed since the first. */
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as RunLog from "../support/RunLog.ts"

const kit = Toolkit.make(
  Tool.make("pay", { parameters: Schema.Struct({ n: Schema.String }), success: Schema.String })
    .annotate(Tool.Idempotent, true)
)

it.effect("a second try at a call whose arguments no longer fit leaves the first one's outcome unknown", () =>
  Effect.gen(function*() {
    // with a number, which fitted then
    const store = yield* DeadRun.of(DeadRun.inTools("pay"))
    yield* Effect.gen(function*() {
      const agent = yield* Agent.make({ instructions: "Be brief.", toolkit: kit })
      yield* Stream.runDrain(agent.resume({ sessionId: "s" }))
    }).pipe(Effect.provide([
      ScriptedModel.layer([ScriptedModel.text("done")]),
      store.layer,
      Fiberloop.layer,
      kit.toLayer({ pay: () => Effect.succeed("paid") })
    ]))
    const log = yield* store.log("s")
    assert.deepStrictEqual([RunLog.outcomes(log), RunLog.endOf(log)], [["1.0 OutcomeUnknown"], "RunCompleted(stop)"])
  }))
