/** Packages of others do not keep to the AI SDK's types: what cannot be read is tried again, and is no defect of the run. */
import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const text = (delta: string) => [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta }]
const finish = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage }
const call = { type: "tool-call", toolCallId: "a", toolName: "look" }
const calls = { ...finish, finishReason: { unified: "tool-calls", raw: "tool_calls" } }

/** A model that sends these parts, and then an answer as it should be. */
const model = (parts: ReadonlyArray<object | null>) => {
  let asked = 0
  const made = {
    specificationVersion: "v4",
    provider: "odd",
    modelId: "m",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("not here")),
    doStream: () => {
      const given = (asked++ === 0 ? parts : [...text("Right."), finish]) as Array<LanguageModelV4StreamPart>
      return Promise.resolve({ stream: ReadableStream.from(given) as ReadableStream<LanguageModelV4StreamPart> })
    }
  } as LanguageModelV4
  return { made, asked: () => asked }
}

const ask = Effect.fnUntraced(function*(parts: ReadonlyArray<object | null>) {
  const { asked, made } = model(parts)
  const { agent } = yield* TestAgent.make([], {
    model: ModelAiSdk.layer({ model: made }),
    agent: { retry: RetryPolicy.make({ base: 0, maxRetries: 1 }) }
  })
  return { result: yield* agent.run({ input: "go" }), asked: asked() }
})

describe("an answer is asked for once more", () => {
  it.live.each<readonly [string, ReadonlyArray<object | null>]>([
    ["a finish without a reason", [...text("Hi"), { type: "finish" }]],
    ["counts that are no JSON", [...text("Hi"), { ...finish, usage: { ...usage, raw: { n: 1n } } }]],
    ["metadata that are no JSON", [{ type: "text-start", id: "1", providerMetadata: { odd: { n: 1n } } }, finish]],
    ["nothing in place of a part", [null, ...text("Hi"), finish]],
    ["no result of its own tool", [
      { ...call, input: "{\"n\":1}", providerExecuted: true },
      { ...call, type: "tool-result" },
      finish
    ]],
    ["no name of a tool that it ran", [
      { ...call, toolName: "web", input: "{}", providerExecuted: true },
      { ...call, type: "tool-result", toolName: undefined, result: 1 },
      ...text("Hi"),
      finish
    ]],
    ["a file without data", [{ type: "file", mediaType: "image/png" }, finish]]
  ])("that has %s", ([, parts]) =>
    Effect.gen(function*() {
      const { asked, result } = yield* ask(parts)
      assert.deepStrictEqual([result.text, asked], ["Right.", 2])
    }))
})

describe("a call counts", () => {
  it.live.each<readonly [string, unknown, string]>([
    ["without input, as one without arguments", undefined, "InvalidArguments"],
    ["whose input is an object", { n: 1 }, "Succeeded"]
  ])("%s", ([, input, outcome]) =>
    Effect.gen(function*() {
      const { made } = model([{ ...call, ...(input === undefined ? {} : { input }) }, calls])
      const { agent, store } = yield* TestAgent.make([], { model: ModelAiSdk.layer({ model: made }) })
      yield* agent.run({ input: "go", sessionId: "s" })
      const settled = (yield* store.log("s")).flatMap((event) =>
        event._tag === "ToolSettled" ? [event.outcome._tag] : []
      )
      assert.deepStrictEqual(settled, [outcome])
    }))
})

it.live("a source with an address that is none is left out", () =>
  Effect.gen(function*() {
    const source = { type: "source", sourceType: "url", id: "s", url: "section 3" }
    const { asked, result } = yield* ask([...text("Hi"), source, finish])
    assert.deepStrictEqual([result.text, asked], ["Hi", 1])
  }))

it.live("a file that the model made is no page that its answer rests on, also where it is only an address", () =>
  Effect.gen(function*() {
    const file = { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://a.test/cat.png") } }
    const { made } = model([...text("Your cat."), file, finish])
    const { agent, store } = yield* TestAgent.make([], { model: ModelAiSdk.layer({ model: made }) })
    const result = yield* agent.run({ input: "go", sessionId: "s" })
    const said = RunLog.only(yield* store.log("s"), "AssistantMessage")
    assert.strictEqual(result.text, "Your cat.")
    assert.deepStrictEqual(said.map(({ sources }) => sources), [undefined])
  }))
