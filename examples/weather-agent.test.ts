import { assert, it } from "@effect/vitest"
import { Effect, Layer, type Schema } from "effect"
import { SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { advise, AdviserLive, Forecasts } from "./weather-agent.ts"

const Test = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  AdviserLive.pipe(Layer.provideMerge([Forecasts.layer, SessionStoreMemory.layer, ScriptedModel.layer(turns)]))

/** The result of the first call, as the model reads it. */
const forecast = (result: Schema.Json, isFailure = false) =>
  ({ type: "tool-result", id: "c00000300", name: "get_forecast", result, isFailure }) as const

/** The last result that the model read. */
const lastRead = Effect.gen(function*() {
  const requests = yield* (yield* ScriptedModel.Script).requests
  return requests.at(-1)?.messages.at(-1)?.content
})

it.effect("the answer is a value of the output schema", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* advise("Oslo"), { city: "Oslo", bring: "umbrella" })
    assert.deepStrictEqual(yield* lastRead, [forecast({ celsius: 4, rainMillimetres: 12 })])
  }).pipe(Effect.provide(Test(
    ScriptedModel.call("get_forecast", { city: "Oslo" }),
    ScriptedModel.text(`{ "city": "Oslo", "bring": "umbrella" }`)
  ))))

it.effect("an unknown city is a typed failure, which the model reads", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* advise("Roma"), { city: "Rome", bring: "sunglasses" })
    const [, second] = yield* (yield* ScriptedModel.Script).requests
    const failure = { _tag: "UnknownCity", city: "Roma", hint: "Use the English name, without the country." }
    assert.deepStrictEqual(second?.messages.at(-1)?.content, [forecast(failure, true)])
  }).pipe(Effect.provide(Test(
    ScriptedModel.call("get_forecast", { city: "Roma" }),
    ScriptedModel.call("get_forecast", { city: "Rome" }),
    ScriptedModel.text(`{ "city": "Rome", "bring": "sunglasses" }`)
  ))))

it.effect("an answer that does not fit goes back to the model once", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* advise("Oslo"), { city: "Oslo", bring: "coat" })
    assert.match(JSON.stringify(yield* lastRead), /does not fit the output schema: .*umbrella.*sunglasses.*coat/)
  }).pipe(Effect.provide(Test(
    ScriptedModel.text(`{ "city": "Oslo", "bring": "a boat" }`),
    ScriptedModel.text(`{ "city": "Oslo", "bring": "coat" }`)
  ))))

it.effect("an answer that does not fit twice is InvalidOutput", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(advise("Oslo"))
    assert.strictEqual(error.reason._tag, "InvalidOutput")
  }).pipe(Effect.provide(Test(ScriptedModel.text("Take a boat."), ScriptedModel.text("Really, a boat.")))))
