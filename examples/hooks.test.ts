import { assert, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { SessionStore, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { ask, Clerk, ClerkLive, masksCards } from "./hooks.ts"

const Test = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  ClerkLive.pipe(Layer.provideMerge([SessionStoreMemory.layer, ScriptedModel.layer(turns)]))

/** The results that the model last read for its calls. */
const lastRead = Effect.gen(function*() {
  const requests = yield* (yield* ScriptedModel.Script).requests
  const last = requests.at(-1)?.messages.at(-1)
  return last?.role === "tool" ? last.content.map((part) => part.result) : []
})

const refund = (euros: number | string) => ScriptedModel.call("refund", { id: 7, euros })

it.effect("a card number is neither sent to the model nor stored", () =>
  Effect.gen(function*() {
    yield* (yield* Clerk).run({ sessionId: "desk", input: "What is order 7?" })
    assert.deepStrictEqual(yield* lastRead, [{ id: 7, euros: 120, paidWith: "card **** 1111" }])
    const log = yield* Stream.runCollect((yield* SessionStore).read("desk"))
    assert.notInclude(JSON.stringify(log), "4111 1111")
  }).pipe(Effect.provide(Test(ScriptedModel.call("get_order", { id: 7 }), ScriptedModel.text("Paid by card.")))))

it.effect("digits of a number are no card number", () =>
  Effect.gen(function*() {
    const result = [2 / 3, 4111111111111111, "Paid by\n4111111111111111", { "card 4111111111111111": null }]
    const call = { sessionId: "desk", runId: "run", turn: 1, data: null, callId: "1.0", tool: "get_order", params: {} }
    const outcome = { _tag: "Succeeded" as const, result }
    const given = { ...call, idempotencyKey: "key", outcome, duration: 1, isPreliminary: false }
    const changed = yield* masksCards.afterToolCall!(given)
    assert.deepStrictEqual(changed, {
      outcome: {
        _tag: "Succeeded",
        result: [2 / 3, 4111111111111111, "Paid by\n**** 1111", { "card 4111111111111111": null }]
      }
    })
  }))

it.effect("a refund above this person's allowance is denied, and the model reads why", () =>
  Effect.gen(function*() {
    yield* ask("Refund all of order 7", 50)
    assert.deepStrictEqual(yield* lastRead, ["Denied: refunds above 50 euros need a manager"])
  }).pipe(Effect.provide(Test(refund(120), ScriptedModel.text("Ask a manager.")))))

it.effect("a smaller refund is paid", () =>
  Effect.gen(function*() {
    yield* ask("Refund 20 of order 7", 50)
    assert.deepStrictEqual(yield* lastRead, ["20 euros of order 7 are on their way"])
  }).pipe(Effect.provide(Test(refund(20), ScriptedModel.text("Done.")))))

it.effect("a call that the guard cannot read does not run", () =>
  Effect.gen(function*() {
    yield* ask("Refund order 7", 50)
    assert.deepStrictEqual(yield* lastRead, [
      `Denied: the hook "limits-refunds" failed, and without its word the call does not run`
    ])
  }).pipe(Effect.provide(Test(refund("all"), ScriptedModel.text("Hm.")))))
