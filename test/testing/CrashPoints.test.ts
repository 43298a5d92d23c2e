/** The points of a process's death, around whatever kind of store, session and executor is below. */
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import * as ToolExecutor from "../../src/services/ToolExecutor.ts"
import * as CrashPoints from "../../src/testing/CrashPoints.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Bound from "../support/Bound.ts"
import * as ClassStore from "../support/ClassStore.ts"
import * as TestAgent from "../support/TestAgent.ts"

const executor = Layer.effect(
  ToolExecutor.ToolExecutor,
  Effect.map(
    Layer.build(ToolExecutorToolkit.layer),
    (context) => Bound.only(Context.get(context, ToolExecutor.ToolExecutor))
  )
)

it.effect("a run over instances of classes passes a point before and after each write and each call", () =>
  Effect.gen(function*() {
    const points: Array<string> = []
    const below = CrashPoints.layer(
      Layer.merge(ClassStore.layer, executor),
      (n, what) => points.push(`${n} ${what}`)
    )
    const model = ScriptedModel.layer([TestAgent.work(1), ScriptedModel.text("done")])
    const { agent } = yield* TestAgent.make([], { model: Layer.merge(model, below) })
    const { text } = yield* agent.run({ sessionId: "s", input: "go" })
    assert.strictEqual(text, "done")
    assert.deepStrictEqual(points.slice(0, 4), [
      "1 before opening the session",
      "2 after opening the session",
      "3 before storing RunStarted",
      "4 after storing RunStarted"
    ])
    const ofCall = points.filter((point) => point.includes("running")).map((point) => point.replace(/^\d+ /, ""))
    assert.deepStrictEqual(ofCall, ["before running work", "after running work"])
    assert.deepStrictEqual((yield* agent.recover()).runs, [])
  }))
