/** `ToolCall.runAgent`: an agent works for a call, whose outcome is what came of it. How it waits for people is in `Paused`. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type Observer, Observers } from "../../src/services/Observers.ts"
import { ToolCall } from "../../src/services/ToolExecutor.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Watch from "../support/Watch.ts"

type Input = Parameters<Family.Client["run"]>[0]

const done = JSON.stringify({})

/** How the call is settled for which an agent runs these inputs, one behind the other, and all logs. */
const settledBy = (...inputs: ReadonlyArray<Input>) =>
  Effect.gen(function*() {
    const { logs, root } = yield* Family.make({
      handler: (agent, _, call) =>
        Effect.forEach(inputs, (input) => ToolCall.runAgent(agent, input)).pipe(
          Effect.map((answers) => answers.join()),
          Effect.mapError((message) => ({ message })),
          Effect.provideService(ToolCall, call)
        )
    })
    yield* root({ turns: [[{}]] })
    const found = yield* logs
    return { found, outcome: RunLog.only(found.get("root")!, "ToolSettled")[0]?.outcome }
  })

describe("an agent that a call has work for it", () => {
  it.effect("answers in a run with the call's key", () =>
    Effect.gen(function*() {
      const { found, outcome } = yield* settledBy({ input: done })
      assert.deepInclude(outcome, { _tag: "Succeeded", result: "done" })
      assert.deepStrictEqual([...found.keys()].sort(), ["root", "root//1.0"])
    }))

  it.effect("takes all that a run may be given", () =>
    Effect.gen(function*() {
      const { found } = yield* settledBy({ input: done, data: { customer: 7 }, allowedTools: ["ask"] })
      const [started] = RunLog.only(found.get("root//1.0")!, "RunStarted")
      assert.deepInclude(started?.input, { data: { customer: 7 }, allowedTools: ["ask"] })
    }))

  it.effect("is not the only one where each run has an id of its own", () =>
    Effect.gen(function*() {
      const { found, outcome } = yield* settledBy({ runId: "first", input: done }, { runId: "second", input: done })
      assert.deepInclude(outcome, { _tag: "Succeeded", result: "done,done" })
      assert.deepStrictEqual([...found.keys()].sort(), ["first", "root", "second"])
    }))

  it.effect("is told once where it is asked the same again, and refused where it is asked for something else", () =>
    Effect.gen(function*() {
      const again = yield* settledBy({ input: done }, { input: done })
      assert.deepInclude(again.outcome, { _tag: "Succeeded", result: "done,done" })
      const other = yield* settledBy({ input: done }, { input: "{ }" })
      assert.strictEqual(other.outcome?._tag, "Failed")
      assert.include(JSON.stringify(other.outcome), "root//1.0")
    }))

  it.effect("is watched by observers of the handler, which may show what it says meanwhile", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const below = yield* TestAgent.make([
        [ScriptedModel.text("Two a "), ScriptedModel.gate(gate), ScriptedModel.text("day.")]
      ])
      const handler = (
        _: unknown,
        { preliminary }: { readonly preliminary: (text: string) => Effect.Effect<void> }
      ) => {
        const progress: Observer = {
          name: "progress",
          observe: ({ events }) =>
            Effect.forEach(events, (event) => event._tag === "TextDelta" ? preliminary(event.delta) : Effect.void)
        }
        return ToolCall.runAgent(below.agent, { input: "go" }).pipe(Effect.provideService(Observers, [progress]))
      }
      const { over, seen, until } = yield* Watch.started([TestAgent.work(1), ScriptedModel.text("ok")], {
        tool: handler as never
      })
      yield* until("ToolProgress")
      assert.deepStrictEqual(RunLog.only(seen, "ToolProgress").map(({ value }) => value), ["Two a "])
      yield* gate.release
      yield* over
      assert.deepInclude(RunLog.only(seen, "ToolSettled")[0]?.outcome, { _tag: "Succeeded", result: "Two a day." })
    }))

  it.effect("that comes to no answer has the model read how it ended", () =>
    Effect.gen(function*() {
      const { outcome } = yield* settledBy({ input: JSON.stringify({ turns: [[{}]] }), limits: { maxTurns: 1 } })
      assert.strictEqual(outcome?._tag, "Failed")
      assert.include(JSON.stringify(outcome), "limit")
    }))

  it.effect("that fails has the model read the error's message", () =>
    Effect.gen(function*() {
      const { found, outcome } = yield* settledBy({ input: " " })
      assert.strictEqual(outcome?._tag, "Failed")
      assert.include(JSON.stringify(outcome), "input")
      assert.deepStrictEqual([...found.keys()], ["root"])
    }))
})
