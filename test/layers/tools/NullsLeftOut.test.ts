/** Nulls that a model in strict mode writes, from its answer to the handler and the log. */
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agent from "../../../src/Agent.ts"
import * as Fiberloop from "../../../src/Fiberloop.ts"
import * as ModelOpenAi from "../../../src/layers/ModelOpenAi.ts"
import * as SessionStoreMemory from "../../../src/layers/SessionStoreMemory.ts"
import * as OpenAi from "../../support/OpenAiServer.ts"
import * as RunLog from "../../support/RunLog.ts"

const find = Tool.make("find", {
  parameters: Schema.Struct({ q: Schema.String, limit: Schema.optionalKey(Schema.Int) }),
  success: Schema.Void
}).annotate(Tool.Strict, true)
const toolkit = Toolkit.make(find)

it.live("the handler gets nulls as left out, while the log and the model keep them as written", () =>
  Effect.gen(function*() {
    const { data, events, finish, toolCalls } = OpenAi
    const call = { index: 0, id: "a", function: { name: "find", arguments: "{\"q\":\"cats\",\"limit\":null}" } }
    const server = yield* OpenAi.make(
      events(data(toolCalls(call), finish("tool_calls"))),
      events(data(OpenAi.delta({ content: "None." }), finish("stop")))
    )
    const seen: Array<unknown> = []
    const tools = toolkit.toLayer({ find: (params) => Effect.sync(() => void seen.push(params)) })
    const model = ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key })
    const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, model, tools))
    const agent = yield* Agent.make({ instructions: "Find.", toolkit }).pipe(Effect.provide(below))
    const log = yield* Stream.runCollect(agent.stream({ input: "cats?" }))
    const given = { q: "cats", limit: null }
    const [first, second] = server.requests.map(({ body }) => body)
    assert.deepStrictEqual(first.tools[0].function.parameters.required, ["q", "limit"])
    assert.deepStrictEqual(seen, [{ q: "cats" }])
    assert.deepStrictEqual(RunLog.only(log, "ToolStarted").map(({ params }) => params), [given])
    assert.deepStrictEqual(RunLog.only(log, "ToolSettled").map(({ outcome }) => outcome._tag), ["Succeeded"])
    assert.deepStrictEqual(JSON.parse(second.messages.at(-2).tool_calls[0].function.arguments), given)
  }))
