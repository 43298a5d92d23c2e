import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Agent, Fiberloop, RetryPolicy, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"

it.effect("a model that says nothing for a minute is given up", () =>
  Effect.gen(function*() {
    const silence = yield* ScriptedModel.makeGate
    yield* Effect.gen(function*() {
      const agent = yield* Agent.make({ instructions: "Answer.", retry: RetryPolicy.make({ maxRetries: 0 }) })
      const error = yield* Effect.forkChild(Effect.flip(agent.run({ input: "Are you there?" })))
      yield* silence.started
      yield* TestClock.adjust("60 seconds")
      yield* silence.closed
      const { reason } = yield* Fiber.join(error)
      assert.strictEqual(reason._tag === "RetriesExhausted" ? reason.last._tag : reason._tag, "TimedOut")
    }).pipe(
      Effect.provide([ScriptedModel.layer([ScriptedModel.gate(silence)]), SessionStoreMemory.layer, Fiberloop.layer])
    )
  }))
