/** Compactions come to an end, and none of them makes a session unusable. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ContextKeyFacts from "../../src/layers/ContextKeyFacts.ts"
import * as ContextPruning from "../../src/layers/ContextPruning.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as Usage from "../../src/run/Usage.ts"
import { type Compaction, ContextManager } from "../../src/services/ContextManager.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Condensing from "../support/Condensing.ts"
import * as Overflows from "../support/Overflows.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Shrinking from "../support/Shrinking.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

describe("an answer that is cut again and again", () => {
  it.effect("ends the run after maxCompactions: a cut answer does not count as one", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make(() => [ScriptedModel.text("on and on"), ScriptedModel.finish("length")], {
        agent: { limits: { maxTurns: 100 } }
      })
      const { compacted, end, requests } = yield* Overflows.run(made, { history: Overflows.history(40) })
      assert.strictEqual(end, "RunLimited(compactions)")
      assert.deepStrictEqual([compacted.length, requests.length], [3, 4])
    }))
})

describe("a trigger smaller than instructions and tools", () => {
  it.effect("does not turn off compaction on a provider's overflow", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([Overflows.overflow, ScriptedModel.text("ok")], {
        info: { provider: "scripted", name: "scripted", contextWindow: 100_000 },
        context: ContextWindow.layerWith({ maxTokens: 200 }),
        agent: { instructions: "Be brief. ".repeat(200) }
      })
      const { compacted, end } = yield* Overflows.run(made, { history: Overflows.history(10) })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(compacted.map(({ cause }) => cause), ["overflow"])
    }))
})

describe("pruning", () => {
  it.effect("leaves out output once something was said after it", () =>
    Effect.gen(function*() {
      const turns = [TestAgent.work(1), Overflows.overflow, Overflows.overflow, ScriptedModel.text("hello")]
      const made = yield* TestAgent.make(turns, {
        context: ContextPruning.layer,
        tool: () => Effect.succeed("x".repeat(20_000))
      })
      assert.strictEqual((yield* Overflows.run(made)).end, "RunFailed(ContextOverflow)")
      assert.strictEqual((yield* Overflows.run(made, { input: "hello" })).end, "RunCompleted(stop)")
    }))
})

describe("a store that fails while a context is compacted", () => {
  it.effect("fails the run with its own error", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make(({ events, store }) =>
        events.some(({ _tag }) => _tag === "AttemptDiscarded") ? Effect.fail(TestStore.unavailable) : store
      )
      const made = yield* TestAgent.make([Overflows.overflow], { store })
      const error = yield* Effect.flip(
        made.agent.run({ sessionId: "s", input: "go", history: Overflows.history(10) })
      )
      assert.strictEqual(error.reason._tag, "StoreUnavailable")
    }))
})

describe("an invalid compaction", () => {
  const giving = (extra: object) =>
    Layer.succeed(ContextManager, {
      plan: (request) => request.force === undefined ? { _tag: "Send" } : { _tag: "Compact", request },
      compact: (request) => Effect.succeed({ ...Shrinking.oldest(request), ...extra } as Compaction)
    })

  it.effect.each<readonly [string, object]>([
    ["with a usage below nothing", { usage: { ...Usage.zero, inputTokens: -5 } }],
    ["with a usage that is no number", { usage: { ...Usage.zero, outputTokens: NaN } }],
    ["without a replacement", { replacement: undefined }],
    ["with a memory that is no JSON", { memory: { text: "x", data: () => 1 } }],
    ["up to nowhere", { upTo: NaN }]
  ])("%s fails with a typed error, and nothing of it is stored", ([, extra]) =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([Overflows.overflow], { context: giving(extra) })
      const { compacted, end } = yield* Overflows.run(made, { history: Overflows.history(10) })
      assert.deepStrictEqual([end, compacted], ["RunFailed(ContextOverflow)", []])
    }))

  it.effect("by hand fails with a typed error when the strategy dies", () =>
    Effect.gen(function*() {
      const dying = Layer.succeed(ContextManager, {
        plan: (request) => request.force === undefined ? { _tag: "Send" } : { _tag: "Compact", request },
        compact: () => Effect.die(new Error("bug"))
      })
      const made = yield* TestAgent.make([ScriptedModel.text("hi")], { context: dying })
      yield* made.agent.run({ sessionId: "s", input: "go" })
      assert.strictEqual((yield* Effect.flip(made.agent.compact("s"))).reason._tag, "CompactionFailed")
    }))
})

describe("the first words of a conversation", () => {
  it.effect("are kept even if they are also the latest when it is first compacted", () =>
    Effect.gen(function*() {
      const facts = ScriptedModel.text(JSON.stringify({ results: ["A file was read."] }))
      const works = Array.from({ length: 6 }, (_, n) => TestAgent.work(n))
      const turns = [...works, Overflows.overflow, ScriptedModel.text("done"), ScriptedModel.text("more"), ...works]
      const made = yield* Condensing.make(
        [...turns, Overflows.overflow, ScriptedModel.text("end")],
        ContextKeyFacts.layer,
        () => facts,
        { tool: () => Effect.succeed("y".repeat(400)) }
      )
      yield* Overflows.run(made, { input: "CANARY is the goal" })
      yield* Overflows.run(made, { input: "and now something else" })
      yield* Overflows.run(made, { input: "go on" })
      const last = (yield* made.script.requests).at(-1)!
      assert.strictEqual(last.messages.some((message) => message.role === "user"), true)
      assert.include(Condensing.textOf(last), "CANARY is the goal")
      assert.isAtLeast(RunLog.only(yield* made.store.log("s"), "ContextCompacted").length, 2)
    }))
})
