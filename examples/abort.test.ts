import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Agent, Fiberloop, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"

it.effect("an abort closes the model's stream", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const model = ScriptedModel.layer([[ScriptedModel.text("Once upon"), ScriptedModel.gate(gate)]])
    yield* Effect.gen(function*() {
      const agent = yield* Agent.make({ instructions: "Tell a story." })
      const run = yield* agent.start({ input: "A long one." })
      yield* gate.started
      yield* run.abort
      yield* gate.closed
      assert.strictEqual((yield* run.result)._tag, "Aborted")
    }).pipe(Effect.provide(Layer.mergeAll(model, SessionStoreMemory.layer, Fiberloop.layer)))
  }))
