/** A server that counts Kimi's calls anew in each answer (SGLang before 0.5) gives two calls of a conversation the same id. */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as TestAgent from "../support/TestAgent.ts"

const { data, delta, events, finish, toolCalls } = OpenAi
const call = (n: number) => ({
  index: 0,
  id: "functions.look:0",
  type: "function",
  function: { name: "look", arguments: `{"n":${n}}` }
})

it.live("the ids that go back are unique, and those of results are those of their calls", () =>
  Effect.gen(function*() {
    const server = yield* OpenAi.make(
      events(data(toolCalls(call(1)), finish("tool_calls"))),
      events(data(toolCalls(call(2)), finish("tool_calls"))),
      events(data(delta({ content: "Done." }), finish("stop")))
    )
    const { agent } = yield* TestAgent.make([], {
      model: Layer.orDie(ModelOpenAi.layer({ model: "kimi-k2", baseUrl: server.baseUrl, apiKey: OpenAi.key }))
    })
    yield* agent.run({ input: "go" })
    const messages: ReadonlyArray<any> = server.requests[2]!.body.messages
    const ids = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }: any) => id))
    assert.strictEqual(ids[0], "functions.look:0")
    assert.strictEqual(new Set(ids).size, 2)
    assert.deepStrictEqual(messages.flatMap(({ role, tool_call_id }) => role === "tool" ? [tool_call_id] : []), ids)
  }))

it.live("so they are over the AI SDK", () =>
  Effect.gen(function*() {
    const asked: Array<LanguageModelV4CallOptions["prompt"]> = []
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
    const text = [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: "Done." }]
    const model = {
      specificationVersion: "v4",
      provider: "moonshot",
      modelId: "kimi-k2",
      supportedUrls: {},
      doStream: ({ prompt }: LanguageModelV4CallOptions) => {
        asked.push(prompt)
        const n = asked.length
        const parts = [
          ...(n < 3
            ? [{ type: "tool-call", toolCallId: "functions.look:0", toolName: "look", input: `{"n":${n}}` }]
            : text),
          { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage }
        ] as unknown as Array<LanguageModelV4StreamPart>
        return Promise.resolve({ stream: ReadableStream.from(parts) as ReadableStream<LanguageModelV4StreamPart> })
      }
    } as unknown as LanguageModelV4
    const { agent } = yield* TestAgent.make([], { model: ModelAiSdk.layer({ model }) })
    yield* agent.run({ input: "go" })
    const ids = (type: string) =>
      asked[2]!.flatMap(({ content }) =>
        typeof content === "string"
          ? []
          : content.flatMap((part) => part.type === type ? [(part as any).toolCallId] : [])
      )
    assert.strictEqual(new Set(ids("tool-call")).size, 2)
    assert.deepStrictEqual(ids("tool-result"), ids("tool-call"))
  }))
