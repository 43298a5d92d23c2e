/** Arguments that a server sends as an object, nested more deeply than can be written, settle as invalid. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as TestAgent from "../support/TestAgent.ts"

it.live("arguments nested too deeply, sent as an object, are the model's mistake and no defect", () =>
  Effect.gen(function*() {
    const levels = 20_000
    const nested = `${"{\"n\":".repeat(levels)}1${"}".repeat(levels)}`
    const call = `{"index":0,"id":"a","function":{"name":"look","arguments":${nested}}}`
    const server = yield* OpenAi.make(
      OpenAi.events(
        `data: {"choices":[{"index":0,"delta":{"tool_calls":[${call}]}}]}\n\n`,
        OpenAi.data(OpenAi.finish("tool_calls"))
      ),
      OpenAi.events(OpenAi.data(OpenAi.delta({ content: "Sorry." }), OpenAi.finish("stop")))
    )
    const { agent, store } = yield* TestAgent.make([], {
      model: Layer.orDie(ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key }))
    })
    assert.strictEqual((yield* agent.run({ input: "go", sessionId: "s" })).text, "Sorry.")
    const outcomes = (yield* store.log("s")).flatMap((event) =>
      event._tag === "ToolSettled" ? [event.outcome._tag] : []
    )
    assert.deepStrictEqual(outcomes, ["InvalidArguments"])
  }))
