/** Arguments that no log can keep settle as invalid: nested more deeply than can be written, or with a number beyond all numbers. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

it.live("arguments nested too deeply, sent as an object, are the model's mistake and no defect, and it is told so", () =>
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
    const outcomes = (yield* store.log("s")).flatMap((event) => event._tag === "ToolSettled" ? [event.outcome] : [])
    assert.deepStrictEqual(outcomes, [{
      _tag: "InvalidArguments",
      message: "they are nested in more than 1000 levels; send them flatter"
    }])
  }))

it.live("a number that would be read as Infinity is the model's mistake: the handler is not called, and live and stored calls agree", () =>
  Effect.gen(function*() {
    const server = yield* OpenAi.make(
      OpenAi.events(
        OpenAi.data(
          OpenAi.delta({ tool_calls: [{ index: 0, id: "a", function: { name: "work", arguments: "{\"n\":1e400}" } }] }),
          OpenAi.finish("tool_calls")
        )
      ),
      OpenAi.events(OpenAi.data(OpenAi.delta({ content: "Sorry." }), OpenAi.finish("stop")))
    )
    const called: Array<unknown> = []
    const { agent, store } = yield* TestAgent.make([], {
      model: Layer.orDie(ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key })),
      tool: (params) => Effect.sync(() => `${called.push(params)}`)
    })
    const live = yield* Stream.runCollect(agent.stream({ input: "go", sessionId: "s" }))
    const log = yield* store.log("s")
    assert.deepStrictEqual(RunLog.outcomes(live), ["1.0 InvalidArguments"])
    assert.deepStrictEqual(called, [])
    assert.deepStrictEqual(live.filter(RunEvent.isDurable), JSON.parse(JSON.stringify(log)))
  }))
