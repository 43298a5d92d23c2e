/** A run that waits in the middle of its answer. */
import * as Effect from "effect/Effect"
import type * as RunInput from "../../src/run/RunInput.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as TestAgent from "./TestAgent.ts"

/** Run "r" of session "s" waits at `gate` between "a" and "b"; `more` is what the model says in later turns. */
export const start = Effect.fnUntraced(function*(...more: ReadonlyArray<ScriptedModel.Turn>) {
  const gate = yield* ScriptedModel.makeGate
  const made = yield* TestAgent.make([
    [ScriptedModel.text("a"), ScriptedModel.gate(gate), ScriptedModel.text("b")],
    ...more
  ])
  const input: RunInput.RunInput = { sessionId: "s", runId: "r", input: "go", data: { a: 1, b: 2 } }
  const run = yield* made.agent.start(input)
  yield* gate.started
  return { ...made, gate, input, run }
})
