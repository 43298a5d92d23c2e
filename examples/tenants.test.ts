import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Metric } from "effect"
import { RunError, Sessions, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { ask, Assistant, AssistantLive, Ledger } from "./tenants.ts"

const scripted = (turns: ReadonlyArray<ScriptedModel.Turn>) =>
  ScriptedModel.layer(turns, { info: { provider: "openai-compatible", name: "gpt-5.5" } })

const Test = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  AssistantLive.pipe(Layer.provide([SessionStoreMemory.layer, scripted(turns)]))

const used = { inputTokens: 100_000, outputTokens: 10_000 }

/** Each costs 0.225. */
const answer = [ScriptedModel.text("Light."), ScriptedModel.finish("stop", used)]
const order = [ScriptedModel.call("order", { thing: "lamp" }), ScriptedModel.finish("tool-calls", used)]

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
    const told = ScriptedModel.parts({ type: "response", usage: used })
    yield* Effect.gen(function*() {
      const asked = yield* Effect.forkChild(ask("acme", "What is a lamp?"))
      yield* gate.started
      yield* Fiber.interrupt(asked)
    }).pipe(Effect.provide(Test([told, ScriptedModel.text("Li"), ScriptedModel.gate(gate)])))
    assert.strictEqual(yield* (yield* Ledger).of("acme"), 0.225)
  }).pipe(Effect.provide(Ledger.layer)))

it.effect("a run that goes on in another process counts for its tenant, in the ledger and in the metric", () =>
  Effect.gen(function*() {
    const store = Layer.succeedContext(yield* Layer.build(SessionStoreMemory.layer))
    const process = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
      Effect.provide(Layer.fresh(AssistantLive).pipe(Layer.provide([store, scripted(turns)])))
    const asked = yield* ask("acme", "A lamp, please.").pipe(process(order))
    for (const { id: approvalId, sessionId } of asked._tag === "Suspended" ? asked.approvals : []) {
      yield* Effect.provide(Sessions.decide({ sessionId, approvalId, approved: true }), store)
    }
    const goneOn = yield* Effect.gen(function*() {
      const { runs } = yield* (yield* Assistant).recover({ answered: true })
      return yield* Effect.forEach(runs, ({ result }) => result)
    }).pipe(process(answer))
    assert.deepStrictEqual(goneOn.map(({ text }) => text), ["Light."])
    assert.strictEqual(yield* (yield* Ledger).of("acme"), 0.45)
    const costs = (yield* Metric.snapshot).filter(({ id }) => id === "tenants.cost")
    assert.deepStrictEqual(
      costs.map(({ attributes, state }) => [attributes?.["tenant"], state]),
      [["acme", { count: 0.45, incremental: true }]]
    )
  }).pipe(Effect.provide(Ledger.layer), Effect.provideService(Metric.MetricRegistry, new Map())))
