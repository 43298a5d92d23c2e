import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { AssistantLive, program } from "./hello.ts"

const Model = ScriptedModel.layer([
  [ScriptedModel.call("get_weather", { city: "Oslo" }), ScriptedModel.call("get_weather", { city: "Rome" })],
  ScriptedModel.text("It is warmer ", "in Rome.")
])
const Test = Layer.provideMerge([SessionStoreMemory.layer, Model])

it.effect("looks both cities up, then answers", () =>
  Effect.gen(function*() {
    assert.strictEqual(yield* program, "It is warmer in Rome.")
    const [, second] = yield* (yield* ScriptedModel.Script).requests
    assert.deepStrictEqual(
      second?.messages.at(-1)?.content,
      [
        { type: "tool-result", id: "c00000300", name: "get_weather", result: { celsius: 4 }, isFailure: false },
        { type: "tool-result", id: "c00000301", name: "get_weather", result: { celsius: 19 }, isFailure: false }
      ]
    )
  }).pipe(Effect.provide(AssistantLive.pipe(Test))))
