import { assert, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { Agent, Fiberloop, RunStats, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { evaluate, logOf } from "./evaluate.ts"

const numbersOf = (sessionId: string) =>
  Effect.map(logOf(sessionId), (events) => RunStats.summarize(events.reduce(RunStats.evolve, RunStats.make())))

const { call, layer, text } = ScriptedModel
const Stock = Toolkit.make(
  Tool.make("count", { parameters: Schema.Struct({ of: Schema.String }), success: Schema.Int })
)

it.effect("another model is told what the recorded one was, and answers in fewer turns", () =>
  Effect.gen(function*() {
    let counted = 0
    const agentWith = (model: ReturnType<typeof layer>) =>
      Agent.make({ instructions: "Answer.", toolkit: Stock }).pipe(
        Effect.provide([model, Stock.toLayer({ count: () => Effect.sync(() => ++counted) })])
      )
    const [lamps, bulbs] = [call("count", { of: "lamps" }), call("count", { of: "bulbs" })]
    const first = yield* agentWith(layer([lamps, bulbs, text("1 lamp, 2 bulbs.")]))
    yield* first.run({ sessionId: "recorded", input: "What is left?" })
    const second = yield* agentWith(layer([[bulbs, lamps, call("count", { of: "cords" })], text("2 bulbs, 1 lamp.")]))
    const { results, unrecorded } = yield* evaluate(second, "recorded", "evaluated")

    assert.deepStrictEqual(results.map(({ text }) => text), ["2 bulbs, 1 lamp."])
    assert.strictEqual(counted, 2)
    assert.deepStrictEqual(unrecorded.map(({ params }) => params), [{ of: "cords" }])
    const outcomes = (yield* logOf("evaluated")).flatMap((event) => event._tag === "ToolSettled" ? [event.outcome] : [])
    assert.deepStrictEqual(outcomes, [
      { _tag: "Succeeded", result: 2 },
      { _tag: "Succeeded", result: 1 },
      { _tag: "Denied", reason: "the recording has no such call" }
    ])
    const [before, after] = yield* Effect.all([numbersOf("recorded"), numbersOf("evaluated")])
    assert.deepStrictEqual([before.turns.total, after.turns.total], [3, 2])
  }).pipe(Effect.provide(Layer.merge(SessionStoreMemory.layer, Fiberloop.layer))))
