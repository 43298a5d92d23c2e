/** Validators written in Python (vLLM, SGLang, gateways) quote what they refuse, with its middle left out: no message may repeat that. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as TestAgent from "../support/TestAgent.ts"

it.live("what a validator quotes of the prompt, cut in its middle, is in no error", () =>
  Effect.gen(function*() {
    const prompt = "The patient is called Ada Byron, born in 1815, and it is her heart that fails."
    const quoted = `{'role': 'user', 'content': '${prompt.slice(0, 35)}...${prompt.slice(-20)}'}`
    const message = "1 validation error for ValidatorIterator\n0.content\n  Input should be a valid string "
      + `[type=string_type, input_value=${quoted}, input_type=dict]\n`
      + "    For further information visit https://errors.pydantic.dev/2.11/v/string_type"
    const server = yield* OpenAi.make(
      OpenAi.status(400, { error: { message, type: "BadRequestError", param: null, code: 400 } })
    )
    const { agent, store } = yield* TestAgent.make([], {
      model: Layer.orDie(ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key }))
    })
    const error = yield* Effect.flip(agent.run({ input: prompt, sessionId: "s" }))
    assert.strictEqual(error.reason._tag, "InvalidRequest")
    assert.include(error.message, "0.content")
    assert.include(error.message, "type=string_type")
    const failed = JSON.stringify((yield* store.log("s")).filter(({ _tag }) => _tag === "RunFailed"))
    for (const said of [error.message, failed]) assert.notMatch(said, /Ada|heart/)
  }))
