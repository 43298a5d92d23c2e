/**
 * What a run made is garbage of the young generation once it is over: the old one, where V8 puts some things at once, leads to
 * nothing of it.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as Model from "../../src/services/Model.ts"
import * as TestAgent from "../support/TestAgent.ts"

setFlagsFromString("--expose-gc")
const gc: (options: { readonly type: "minor" | "major" }) => void = runInNewContext("gc")

const used = (type: "minor" | "major"): number => {
  // what survives one young collection is promoted by the next
  for (const _ of Array(2)) gc({ type })
  return process.memoryUsage().heapUsed
}

/** One stream for all calls: what effect makes of one lives until a full collection, with what it was made of. */
const answer = Stream.fromArray<Model.ModelPart>([
  { type: "text-delta", block: "0", delta: "Hi." },
  { type: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1 } }
])

const modelOf = (info: Partial<Model.ModelInfo>) =>
  Layer.succeed(Model.Model, { info: { provider: "test", name: "same", ...info }, stream: () => answer })

describe("garbage of runs", () => {
  for (
    const [where, info, context] of [
      ["a window that nobody knows", {}, ContextWindow.layer],
      ["a known window", { contextWindow: 100_000 }, ContextWindow.layer],
      ["a limit below the window", { contextWindow: 100_000 }, ContextWindow.layerWith({ maxTokens: 50_000 })]
    ] as const
  ) {
    it.effect(`dies with a young collection: ${where}`, () =>
      Effect.gen(function*() {
        const { agent } = yield* TestAgent.make([], { model: modelOf(info), context })
        const runs = 200
        let sessions = 0
        const all = Effect.gen(function*() {
          for (let i = 0; i < runs; i++) yield* agent.run({ sessionId: `s${sessions++}`, input: "go" })
        })
        for (let i = 0; i < 3; i++) yield* all
        used("major")
        yield* all
        const young = used("minor")
        const garbage = (young - used("major")) / runs
        // bytes: some 2,000 are there, of 60,000; any of a run leads to most of it
        assert.isBelow(garbage, 4_000)
      }))
  }
})
