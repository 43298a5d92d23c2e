/**
 * Kimi's models read the ids of their calls in the conversation (`functions.<name>:<n>`), and stop calling tools properly once these
 * are others (https://github.com/MoonshotAI/Kimi-K2/blob/main/docs/tool_call_guidance.md).
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
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
})
