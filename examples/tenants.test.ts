import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Metric } from "effect"
import { RunError, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { ask, AssistantLive, Ledger } from "./tenants.ts"

const Test = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  AssistantLive.pipe(Layer.provide([
    SessionStoreMemory.layer,
    ScriptedModel.layer(turns, { info: { provider: "openai-compatible", name: "gpt-5.5" } })
  ]))

/** Costs 0.225. */
const answer = [
  ScriptedModel.text("Light."),
  ScriptedModel.finish("stop", { inputTokens: 100_000, outputTokens: 10_000 })
]

const refused = ScriptedModel.fail(
  new RunError.NonRetryableError({ _tag: "ContentPolicy", message: "not about lamps" })
)

it.effect("what each tenant has spent is known once the layer is closed", () =>
  Effect.gen(function*() {
    yield* Effect.gen(function*() {
      yield* ask("acme", "What is a lamp?")
      yield* ask("acme", "And a torch?")
      yield* ask("globex", "What is a lamp?")
      yield* Effect.flip(ask("initech", "What is a lamp?"))
    }).pipe(Effect.provide(Test(answer, answer, answer, refused)))
    const ledger = yield* Ledger
    assert.deepStrictEqual(
      yield* Effect.forEach(["acme", "globex", "initech"], ledger.of),
      [0.45, 0.225, 0]
    )
  }).pipe(Effect.provide(Ledger.layer)))

it.effect("an answer that was cut off counts as far as its provider had said", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const used = ScriptedModel.parts({ type: "response", usage: { inputTokens: 100_000, outputTokens: 10_000 } })
    yield* Effect.gen(function*() {
      const asked = yield* Effect.forkChild(ask("acme", "What is a lamp?"))
      yield* gate.started
      yield* Fiber.interrupt(asked)
    }).pipe(Effect.provide(Test([used, ScriptedModel.text("Li"), ScriptedModel.gate(gate)])))
    assert.strictEqual(yield* (yield* Ledger).of("acme"), 0.225)
  }).pipe(Effect.provide(Ledger.layer)))

it.effect("a run's metrics have its tenant", () =>
  Effect.gen(function*() {
    yield* ask("acme", "What is a lamp?")
    yield* ask("globex", "What is a lamp?")
    const costs = (yield* Metric.snapshot).filter(({ id }) => id === "fiberloop.cost")
    assert.deepStrictEqual(
      costs.map(({ attributes, state }) => [attributes?.["tenant"], state]),
      ["acme", "globex"].map((tenant) => [tenant, { count: 0.225, incremental: true }])
    )
  }).pipe(
    Effect.provide([Test(answer, answer), Ledger.layer]),
    Effect.provideService(Metric.MetricRegistry, new Map())
  ))
