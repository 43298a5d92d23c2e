/** The loop over an effect/ai LanguageModel: what goes back to the provider, and what of its stream counts. */
import { assert, describe, it } from "@effect/vitest"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
import * as Model from "../../src/services/Model.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as StrictModel from "../../src/testing/StrictModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Scripted from "../support/ScriptedLanguageModel.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const modelOf = Effect.fnUntraced(function*(turns: ReadonlyArray<Scripted.Turn>, options?: ModelLanguageModel.Options) {
  const { asked, model } = yield* Scripted.make(turns)
  const adapted = yield* Effect.provideService(ModelLanguageModel.make(options), LanguageModel.LanguageModel, model)
  return { asked, adapted }
})

describe("the loop over a LanguageModel", () => {
  const Search = Tool.providerDefined({
    id: "acme.search",
    customName: "Search",
    providerName: "web_search",
    parameters: Schema.Struct({ q: Schema.String }),
    success: Schema.Struct({ hits: Schema.Finite })
  })
  const kit = Toolkit.merge(TestAgent.kit, Toolkit.make(Search(undefined)))
  const play = Effect.fnUntraced(function*(turns: ReadonlyArray<Scripted.Turn>) {
    const { adapted, asked } = yield* modelOf(turns)
    const store = yield* TestStore.make()
    const strict = yield* StrictModel.make(adapted)
    const handlers = TestAgent.kit.toLayer({
      work: ({ n }) => Effect.succeed(`done ${n}`),
      look: () => Effect.succeed(""),
      again: () => Effect.succeed("")
    })
    const below = yield* Layer.build(
      Layer.mergeAll(Fiberloop.layer, store.layer, handlers, Layer.succeed(Model.Model, strict))
    )
    const agent = yield* Agent.make({
      instructions: "Be brief.",
      toolkit: kit,
      retry: RetryPolicy.make({ base: 0 })
    }).pipe(Effect.provide(below))
    const run = yield* agent.start({ sessionId: "s", input: "go" })
    const seen = yield* Stream.runCollect(run.events)
    return { asked, seen, result: yield* run.result, log: yield* store.log("s") }
  })
  const assistant = (options: LanguageModel.ProviderOptions | undefined): ReadonlyArray<Prompt.AssistantMessagePart> =>
    options?.prompt.content.flatMap((message) => message.role === "assistant" ? message.content : []) ?? []

  it.effect("runs tools and answers", () =>
    Effect.gen(function*() {
      const { log, result } = yield* play([
        { parts: [{ type: "tool-call", id: "x", name: "work", params: { n: 1 } }, Scripted.finish("tool-calls")] },
        { parts: [...Scripted.text("0", "done"), Scripted.finish()] }
      ])
      assert.strictEqual(result.text, "done")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded"])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("shows the fragments of a call's arguments as they come, under its tool's name", () =>
    Effect.gen(function*() {
      const { seen } = yield* play([
        {
          parts: [
            { type: "tool-params-start", id: "x", name: "work" },
            { type: "tool-params-delta", id: "x", delta: "{\"n\"" },
            { type: "tool-params-start", id: "y", name: "look" },
            { type: "tool-params-delta", id: "y", delta: "{\"n\":2}" },
            { type: "tool-params-delta", id: "x", delta: ":1}" },
            { type: "tool-params-end", id: "x" },
            { type: "tool-params-end", id: "y" },
            { type: "tool-call", id: "x", name: "work", params: { n: 1 } },
            { type: "tool-call", id: "y", name: "look", params: { n: 2 } },
            Scripted.finish("tool-calls")
          ]
        },
        { parts: [...Scripted.text("0", "done"), Scripted.finish()] }
      ])
      const deltas = RunLog.only(seen, "ToolParamsDelta")
      const of = (tool: string) => deltas.filter((event) => event.tool === tool).map((event) => event.delta).join("")
      assert.deepStrictEqual([of("work"), of("look")], ["{\"n\":1}", "{\"n\":2}"])
      assert.deepStrictEqual(deltas.map((event) => event.index), deltas.map((_, i) => i))
      assert.deepStrictEqual(RunLog.outcomes(seen), ["1.0 Succeeded", "1.1 Succeeded"])
    }))

  it.effect("sends reasoning back with all its metadata, whatever part it came in", () =>
    Effect.gen(function*() {
      const { asked } = yield* play([
        {
          parts: [
            { type: "reasoning-start", id: "0", metadata: { test: { a: 1 } } },
            { type: "reasoning-delta", id: "0", delta: "let me " },
            { type: "reasoning-delta", id: "0", delta: "think", metadata: { test2: { b: 2 } } },
            { type: "reasoning-end", id: "0", metadata: { test3: { signature: "sig" } } },
            { type: "tool-call", id: "x", name: "work", params: { n: 1 }, metadata: { test: { thought: "t" } } },
            Scripted.finish("tool-calls")
          ]
        },
        { parts: [...Scripted.text("0", "done"), Scripted.finish()] }
      ])
      const parts = assistant(asked[1])
      const reasoning = parts.find((part) => part.type === "reasoning")
      assert.strictEqual(reasoning?.type === "reasoning" ? reasoning.text : undefined, "let me think")
      assert.deepStrictEqual<unknown>(reasoning?.options, {
        test: { a: 1 },
        test2: { b: 2 },
        test3: { signature: "sig" }
      })
      assert.deepStrictEqual<unknown>(parts.find((part) => part.type === "tool-call")?.options, {
        test: { thought: "t" }
      })
    }))

  it.effect("sends reasoning back that has no text, only metadata (redacted thinking)", () =>
    Effect.gen(function*() {
      const { asked } = yield* play([
        {
          parts: [
            { type: "reasoning-start", id: "0", metadata: { test: { redactedData: "xyz" } } },
            { type: "reasoning-end", id: "0" },
            { type: "tool-call", id: "x", name: "work", params: { n: 1 } },
            Scripted.finish("tool-calls")
          ]
        },
        { parts: [...Scripted.text("0", "done"), Scripted.finish()] }
      ])
      const reasoning = assistant(asked[1]).find((part) => part.type === "reasoning")
      assert.deepStrictEqual<unknown>(reasoning?.options, { test: { redactedData: "xyz" } })
    }))

  it.effect("keeps the metadata of blocks that begin before the one before them ends", () =>
    Effect.gen(function*() {
      const { asked } = yield* play([
        {
          parts: [
            { type: "reasoning-start", id: "0", metadata: { test: { a: 1 } } },
            { type: "text-start", id: "1" },
            { type: "reasoning-delta", id: "0", delta: "think" },
            { type: "text-delta", id: "1", delta: "text" },
            { type: "reasoning-end", id: "0" },
            { type: "text-end", id: "1" },
            { type: "tool-call", id: "x", name: "work", params: { n: 1 } },
            Scripted.finish("tool-calls")
          ]
        },
        { parts: [...Scripted.text("0", "done"), Scripted.finish()] }
      ])
      const parts = assistant(asked[1])
      assert.deepStrictEqual<unknown>(parts.map((part) => [part.type, part.options]), [
        ["reasoning", { test: { a: 1 } }],
        ["text", {}],
        ["tool-call", {}]
      ])
    }))

  it.effect("leaves calls that the provider executed to the provider", () =>
    Effect.gen(function*() {
      const { asked, log, result } = yield* play([
        {
          parts: [
            { type: "tool-call", id: "p", name: "Search", params: { q: "x" }, providerExecuted: true },
            {
              type: "tool-result",
              id: "p",
              name: "Search",
              result: { hits: 1 },
              isFailure: false,
              providerExecuted: true
            },
            { type: "tool-call", id: "x", name: "work", params: { n: 1 } },
            Scripted.finish("tool-calls")
          ]
        },
        { parts: [...Scripted.text("0", "done"), Scripted.finish()] }
      ])
      assert.strictEqual(result._tag, "Completed")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded"])
      const parts = assistant(asked[1])
      assert.deepStrictEqual(parts.map((part) => part.type), ["tool-call", "tool-result", "tool-call"])
      const [called, found] = parts
      assert.isTrue(called?.type === "tool-call" && found?.type === "tool-result" && called.id === found.id)
    }))

  it.effect("retries after an error part, and what came before it does not count", () =>
    Effect.gen(function*() {
      const { log, result } = yield* play([
        { parts: [...Scripted.text("0", "half"), { type: "error", error: "overloaded" }, Scripted.finish()] },
        { parts: [...Scripted.text("0", "whole"), Scripted.finish()] }
      ])
      assert.strictEqual(result.text, "whole")
      assert.deepStrictEqual(RunLog.only(log, "AttemptDiscarded").map((event) => event.error._tag), ["Overloaded"])
    }))

  it.effect("treats a stream without a finish as cut", () =>
    Effect.gen(function*() {
      const { log } = yield* play([
        { parts: [{ type: "tool-call", id: "x", name: "work", params: { n: 1 } }] },
        { parts: [...Scripted.text("0", "whole"), Scripted.finish()] }
      ])
      assert.deepStrictEqual(RunLog.outcomes(log), [])
      assert.deepStrictEqual(RunLog.only(log, "AttemptDiscarded").map((event) => event.error._tag), ["StreamTruncated"])
    }))
})
