/** What is measured of an attempt at a model call, when measuring breaks. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as TestAgent from "../../support/TestAgent.ts"

/** A registry that breaks at the durations of model calls. */
class Broken extends Map<string, Metric.Metric.Metadata<any, any>> {
  override get(key: string) {
    if (key.includes("operation.duration")) throw new Error("SECRET")
    return super.get(key)
  }
}

describe("a model call whose metrics break", () => {
  it.effect("continues, and reports that at each attempt", () =>
    Effect.gen(function*() {
      const warnings: Array<string> = []
      const { agent } = yield* TestAgent.make([[TestAgent.work(1)], [ScriptedModel.text("Done.")]])
      const result = yield* agent.run({ sessionId: "s", input: "go" }).pipe(
        Effect.provideService(Metric.MetricRegistry, new Broken()),
        Effect.provide(Logger.layer([Logger.make(({ message }) => void warnings.push(String(message)))]))
      )
      assert.deepStrictEqual([result._tag, result.text], ["Completed", "Done."])
      const warning = `the metrics of "chat scripted" failed and are incomplete`
      assert.deepStrictEqual(warnings, [warning, warning])
    }))
})
