/** A session of many turns: what one turn stores does not grow with those before it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ContextChain from "../../src/layers/ContextChain.ts"
import * as ContextKeyFacts from "../../src/layers/ContextKeyFacts.ts"
import * as ContextPruning from "../../src/layers/ContextPruning.ts"
import * as ContextSummary from "../../src/layers/ContextSummary.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type { ContextManager } from "../../src/services/ContextManager.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const condenser = (n: { asked: number }) =>
  ScriptedModel.layer(({ output }) => {
    n.asked++
    const said = `In part ${n.asked} they looked at ${n.asked} and found a line of it, and so on and on. `
    return ScriptedModel.text(
      output === undefined ? said.repeat(10) : JSON.stringify({ results: [said], files: [`src/file${n.asked}.ts`] })
    )
  })

const strategies = {
  "the window": () => ContextWindow.layerWith({ maxTokens: 8_000 }),
  "a summary": () =>
    Layer.provide(ContextSummary.layerWith({ maxTokens: 8_000, budget: 400 }), condenser({ asked: 0 })),
  "key facts": () =>
    Layer.provide(ContextKeyFacts.layerWith({ maxTokens: 8_000, budget: 400 }), condenser({ asked: 0 })),
  "pruning and the window": () =>
    ContextChain.layer(ContextPruning.layerWith({ maxTokens: 8_000 }), ContextWindow.layerWith({ maxTokens: 8_000 }))
} satisfies Record<string, () => Layer.Layer<ContextManager>>

/** Bytes of JSON that each turn stored, including what lies between it and the turn before. */
const bytesOf = (log: ReadonlyArray<RunEvent.Durable>): ReadonlyArray<number> => {
  const bytes: Array<number> = []
  let open = 0
  for (const event of log) {
    open += JSON.stringify(event).length
    if (event._tag !== "TurnFinished") continue
    bytes.push(open)
    open = 0
  }
  return bytes
}

/** What the provider executed itself, under an id of its own. */
const searched = (id: string) => [
  ScriptedModel.parts(
    { type: "tool-call", id, name: "web", params: {}, providerExecuted: true },
    { type: "tool-result", id, name: "web", result: "found", isFailure: false }
  )
]

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((a, b) => a + b, 0)

describe("a session of 300 turns", () => {
  const turns = 300

  for (
    const [name, runs] of [
      ["the window", 1],
      ["the window", 30],
      ["a summary", 1],
      ["a summary", 30],
      ["key facts", 1],
      ["pruning and the window", 1]
    ] as const
  ) {
    it.effect(`of ${runs === 1 ? "one run" : `${runs} runs`}, compacted by ${name}, writes no more at its end`, () =>
      Effect.gen(function*() {
        const each = turns / runs
        const made = yield* TestAgent.make(({ metadata: { turn } }) =>
          turn % each === 0
            ? ScriptedModel.text(`answer ${turn}, which is not long`)
            : [...searched(`srv_${turn}`), ScriptedModel.text(`I look at ${turn}.`), TestAgent.look(turn)], {
          context: strategies[name](),
          tool: ({ n }) => Effect.succeed(`output ${n}: ${"a line of it, ".repeat(100 + n % 20)}`),
          agent: { limits: { maxTurns: turns, maxCompactions: 1 } }
        })
        for (let i = 0; i < runs; i++) yield* made.agent.run({ sessionId: "s", input: `question ${i}` })
        const log = yield* made.store.log("s")
        const bytes = bytesOf(log)
        assert.strictEqual(bytes.length, turns)
        const compacted = RunLog.only(log, "ContextCompacted").map((event) => JSON.stringify(event).length)
        assert.isAtLeast(compacted.length, 10)
        assert.isAtMost(sum(bytes.slice(-100)), 1.1 * sum(bytes.slice(0, 100)))
        assert.isAtMost(sum(compacted), sum(bytes) / 4)
        assert.isAtMost(compacted.at(-1)!, 1.5 * compacted[Math.floor(compacted.length / 2)]!)
      }))
  }
})
