/**
 * Kimi's models read the ids of their calls in the conversation (`functions.<name>:<n>`), and stop calling tools properly once these
 * are others (https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md).
 */
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as TestAgent from "../support/TestAgent.ts"

const { data, delta, events, finish, toolCalls } = OpenAi
const call = (id: string, index: number) => ({
  index,
  id,
  type: "function",
  function: { name: "look", arguments: "{\"n\":1}" }
})

describe("the ids of Kimi's calls", () => {
  it.live("go back to it as they came, with their results", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(
        events(data(toolCalls(call("functions.look:0", 0), call("functions.look:1", 1)), finish("tool_calls"))),
        events(data(toolCalls(call("functions.look:2", 0)), finish("tool_calls"))),
        events(data(delta({ content: "Done." }), finish("stop")))
      )
      const { agent } = yield* TestAgent.make([], {
        model: Layer.orDie(ModelOpenAi.layer({ model: "kimi-k2", baseUrl: server.baseUrl, apiKey: OpenAi.key }))
      })
      yield* agent.run({ input: "go" })
      const messages: ReadonlyArray<any> = server.requests[2]!.body.messages
      const ids = ["functions.look:0", "functions.look:1", "functions.look:2"]
      assert.deepStrictEqual(messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }: any) => id)), ids)
      assert.deepStrictEqual(messages.flatMap(({ role, tool_call_id }) => role === "tool" ? [tool_call_id] : []), ids)
    }))

  it.live("go back over the AI SDK too", () =>
    Effect.gen(function*() {
      const asked: Array<LanguageModelV4CallOptions["prompt"]> = []
      const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
      const first = { type: "tool-call", toolCallId: "functions.look:0", toolName: "look", input: "{\"n\":1}" }
      const text = [{ type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: "Done." }]
      const model = {
        specificationVersion: "v4",
        provider: "moonshot",
        modelId: "kimi-k2",
        supportedUrls: {},
        doStream: ({ prompt }: LanguageModelV4CallOptions) => {
          asked.push(prompt)
          const parts = [
            ...(asked.length === 1 ? [first] : text),
            { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage }
          ] as unknown as Array<LanguageModelV4StreamPart>
          return Promise.resolve({ stream: ReadableStream.from(parts) as ReadableStream<LanguageModelV4StreamPart> })
        }
      } as unknown as LanguageModelV4
      const { agent } = yield* TestAgent.make([], { model: ModelAiSdk.layer({ model }) })
      yield* agent.run({ input: "go" })
      const ids = asked[1]!.flatMap(({ content }) =>
        typeof content === "string" ? [] : content.flatMap((part) => "toolCallId" in part ? [part.toolCallId] : [])
      )
      assert.deepStrictEqual(ids, ["functions.look:0", "functions.look:0"])
    }))
})
