/** The command's own agent. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as CliAgent from "../../../src/cli/agent/CliAgent.ts"
import * as ShownFiles from "../../../src/cli/tools/write/ShownFiles.ts"
import * as SessionStoreMemory from "../../../src/layers/SessionStoreMemory.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as Watch from "../../support/Watch.ts"

it.effect("gives a model time to think, and to write a long file without a word meanwhile", () =>
  Effect.gen(function*() {
    const gates = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
    const below = Layer.mergeAll(
      ScriptedModel.layer([gates.flatMap((gate) => [ScriptedModel.gate(gate), ScriptedModel.text("more")])]),
      SessionStoreMemory.layer,
      CliAgent.handlers(import.meta.dirname, ShownFiles.make())
    )
    const layer = Layer.provide(CliAgent.writing(""), [below, Layer.provide(CliAgent.forgetting, below)])
    yield* Effect.gen(function*() {
      const { over, until } = yield* Watch.make((yield* CliAgent.CliAgent).stream({ input: "go" }))
      for (const [i, gate] of gates.entries()) {
        yield* gate.started
        yield* TestClock.adjust("4 minutes")
        yield* gate.release
        const next = yield* Effect.raceFirst(until("TextDelta", i + 1), until("AttemptDiscarded"))
        assert.strictEqual(next._tag, "TextDelta")
      }
      yield* over
    }).pipe(Effect.provide(layer))
  }))
