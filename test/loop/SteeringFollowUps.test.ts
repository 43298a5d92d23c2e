/** What is said to a run to be delivered when it would complete. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"

const delivered = (turn: number) => ({ _tag: "Delivered", turn } as const)

describe("a follow-up", () => {
  it.effect("waits until the run would complete", () =>
    Effect.gen(function*() {
      const { gate, run, script, store } = yield* Steering.held(
        [TestAgent.work(1)],
        [ScriptedModel.text("one"), ScriptedModel.text("two")]
      )
      const fiber = yield* Steering.say(run, "followUp", "and now?")
      yield* gate.release
      assert.deepStrictEqual(yield* Fiber.join(fiber), delivered(3))
      assert.strictEqual((yield* run.result).text, "two")
      const requests = yield* script.requests
      assert.deepStrictEqual(requests.map((request) => Steering.said(request).at(-1)), ["go", "go", "and now?"])
      assert.deepStrictEqual(Steering.decisions(yield* store.log("s")), [
        "Continue toolCalls",
        "Continue followUp",
        "Complete stop"
      ])
    }))

  it.effect("gets its own answer, one after another, oldest first, after all steers", () =>
    Effect.gen(function*() {
      const { gate, run, script } = yield* Steering.held(
        [ScriptedModel.text("0")],
        ["1", "2", "3"].map((text) => ScriptedModel.text(text))
      )
      const a = yield* Steering.say(run, "followUp", "a")
      const b = yield* Steering.say(run, "followUp", "b")
      const steer = yield* Steering.say(run, "steer", "first")
      yield* gate.release
      const turns = yield* Effect.all([steer, a, b].map(Fiber.join))
      assert.deepStrictEqual(turns, [delivered(2), delivered(3), delivered(4)])
      yield* run.result
      assert.deepStrictEqual(
        (yield* script.requests).map((request) => Steering.said(request).at(-1)),
        ["go", "first", "a", "b"]
      )
    }))

  it.effect("reaches a model that had nothing to say about its tools' results", () =>
    Effect.gen(function*() {
      const { gate, run, script } = yield* Steering.held([TestAgent.work(1)], [
        ScriptedModel.text(""),
        ScriptedModel.text("two")
      ])
      const fiber = yield* Steering.say(run, "followUp", "well?")
      yield* gate.release
      assert.deepStrictEqual(yield* Fiber.join(fiber), delivered(3))
      yield* run.result
      assert.deepStrictEqual(Steering.said((yield* script.requests)[2]), ["go", "well?"])
    }))

  it.effect("gets its own answer, which may be corrected once", () =>
    Effect.gen(function*() {
      const wrong = ScriptedModel.text("no JSON")
      const { gate, run, store } = yield* Steering.held(
        [wrong],
        [ScriptedModel.text("{\"n\":1}"), wrong, ScriptedModel.text("{\"n\":2}")],
        { agent: { output: Schema.Struct({ n: Schema.Finite }) as never } }
      )
      yield* Steering.say(run, "followUp", "another")
      yield* gate.release
      const result = yield* run.result
      assert.deepStrictEqual<unknown>(result._tag === "Completed" && result.output, { n: 2 })
      assert.deepStrictEqual(Steering.decisions(yield* store.log("s")), [
        "Continue correction",
        "Continue followUp",
        "Continue correction",
        "Complete stop"
      ])
    }))

  it.effect("comes after an answer that fits the output schema", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* Steering.held(
        [ScriptedModel.text("no JSON")],
        [ScriptedModel.text("{\"n\":1}"), ScriptedModel.text("{\"n\":2}")],
        { agent: { output: Schema.Struct({ n: Schema.Finite }) as never } }
      )
      const fiber = yield* Steering.say(run, "followUp", "another")
      yield* gate.release
      assert.deepStrictEqual(yield* Fiber.join(fiber), delivered(3))
      const result = yield* run.result
      assert.deepStrictEqual<unknown>(result._tag === "Completed" && result.output, { n: 2 })
      assert.deepStrictEqual(Steering.decisions(yield* store.log("s")), [
        "Continue correction",
        "Continue followUp",
        "Complete stop"
      ])
    }))
})
