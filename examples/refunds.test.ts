import { assert, it } from "@effect/vitest"
import { Effect, Layer, Ref, Stream } from "effect"
import { SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { decide, Support, SupportLive, Till } from "./refunds.ts"

const { call, text } = ScriptedModel
const refund = (euros: number) => call("refund", { order: "7", euros })

/** A support agent whose till is a list. */
const withTurns = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.gen(function*() {
    const paid = yield* Ref.make<ReadonlyArray<number>>([])
    const till = Layer.succeed(Till, {
      pay: ({ euros }) => Effect.as(Ref.update(paid, (before) => [...before, euros]), "receipt 1")
    })
    const context = yield* Layer.build(
      SupportLive.pipe(Layer.provide(till), Layer.provideMerge([SessionStoreMemory.layer, ScriptedModel.layer(turns)]))
    )
    const read = Effect.map(
      Effect.flatMap(ScriptedModel.Script, (script) => script.requests),
      (requests) => requests.at(-1)?.messages.at(-1)?.content[0]
    )
    return { context, paid: Ref.get(paid), read }
  })

const ask = Effect.flatMap(Support, (support) => support.run({ sessionId: "lamp", input: "It arrived broken." }))
const resume = Effect.flatMap(Support, (support) => Stream.runLast(support.resume({ sessionId: "lamp" })))

it.effect("a small refund is paid without asking", () =>
  Effect.gen(function*() {
    const { context, paid } = yield* withTurns(refund(20), text("You get 20 euros back."))
    const result = yield* Effect.provide(ask, context)
    assert.strictEqual(result.text, "You get 20 euros back.")
    assert.deepStrictEqual(yield* paid, [20])
  }))

it.effect("a large refund waits for a person, and is paid once", () =>
  Effect.gen(function*() {
    const { context, paid } = yield* withTurns(refund(80), text("You get 80 euros back."))
    yield* Effect.gen(function*() {
      const result = yield* ask
      assert.strictEqual(result._tag, "Suspended")
      assert.deepStrictEqual(yield* paid, [])
      yield* decide("lamp", true)
      assert.deepStrictEqual(yield* paid, [])
      yield* resume
    }).pipe(Effect.provide(context))
    assert.deepStrictEqual(yield* paid, [80])
  }))

it.effect("the model is told of a no, with its reason", () =>
  Effect.gen(function*() {
    const { context, paid, read } = yield* withTurns(refund(80), text("May I see a photo?"))
    yield* Effect.gen(function*() {
      yield* ask
      yield* decide("lamp", false, "Ask for a photo first.")
      yield* resume
      const result = yield* read
      assert.include(JSON.stringify(result), "Denied: Ask for a photo first.")
    }).pipe(Effect.provide(context))
    assert.deepStrictEqual(yield* paid, [])
  }))
