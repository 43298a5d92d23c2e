/**
 * What a run made is garbage of the young generation once it is over: V8 puts some things straight into the old one, and
 * none of them leads to it.
 */
import { afterAll, assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import { Hooks } from "../../src/services/Hooks.ts"
import * as Model from "../../src/services/Model.ts"
import * as TestAgent from "../support/TestAgent.ts"

setFlagsFromString("--expose-gc")
const gc: (options: { readonly type: "minor" | "major" }) => void = runInNewContext("gc")
setFlagsFromString("--no-expose-gc")

// what else V8 learns to put into the old generation depends on what this process did before: many runs at once live long
setFlagsFromString("--no-allocation-site-pretenuring")
afterAll(() => setFlagsFromString("--allocation-site-pretenuring"))

const used = (type: "minor" | "major"): number => {
  // what survives one young collection is promoted by the next
  for (const _ of Array(2)) gc({ type })
  return process.memoryUsage().heapUsed
}

const usage = { inputTokens: 1, outputTokens: 1 }
/** One stream for all calls: those that effect makes outlive young collections, with what they were made of. */
const answer = Stream.fromArray<Model.ModelPart>([
  { type: "text-delta", block: "0", delta: "Hi." },
  { type: "finish", reason: "stop", usage }
])
const call = Stream.fromArray<Model.ModelPart>([
  { type: "tool-call", id: "c", name: "work", params: { n: 1 } },
  { type: "finish", reason: "tool-calls", usage }
])

const model = (info: Partial<Model.ModelInfo>, first: typeof answer) =>
  Layer.succeed(Model.Model, {
    info: { provider: "test", name: "same", ...info },
    stream: ({ metadata }) => metadata.turn === 1 ? first : answer
  })

const hooked = Context.make(Hooks, [{ name: "looks", afterToolCall: () => Effect.void }])
const runs = 200

describe("garbage of runs", () => {
  for (
    const [what, info, first, options] of [
      ["where nobody knows the window", {}, answer, {}],
      ["with a known window", { contextWindow: 100_000 }, answer, {}],
      ["with a limit below the window", { contextWindow: 100_000 }, answer, {
        context: ContextWindow.layerWith({ maxTokens: 50_000 })
      }],
      ["with a call that a hook sees", {}, call, {}]
    ] as const
  ) {
    it.effect(`dies with a young collection: ${what}`, () =>
      Effect.gen(function*() {
        const { agent } = yield* TestAgent.make([], { model: model(info, first), ...options })
        let sessions = 0
        const all = Effect.gen(function*() {
          for (let i = 0; i < runs; i++) yield* agent.run({ sessionId: `s${sessions++}`, input: "go" })
        }).pipe(Effect.provideContext(hooked))
        const garbage: Array<number> = []
        for (let i = 0; i < 5; i++) {
          used("major")
          yield* all
          const young = used("minor")
          garbage.push((young - used("major")) / runs)
        }
        // bytes a run: 2,000, or 7,000 to 10,000 if something old leads to it; some include what else the process did
        const [, second = Infinity] = garbage.sort((a, b) => a - b)
        assert.isBelow(second, 4_000)
      }))
  }
})
