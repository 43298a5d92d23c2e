/**
 * OpenAI's Responses keep what a model said for thirty days, for one account, and are only sent references to it: a session whose items are
 * gone goes on without them.
 */
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"

const Look = Tool.make("look", { success: Schema.String })
const Search = Tool.providerDefined({
  id: "openai.web_search",
  customName: "web_search",
  providerName: "web_search",
  args: Schema.Struct({}),
  parameters: Schema.Struct({}),
  success: Schema.Json
})
const toolkit = Toolkit.make(Look, Search({}))

const agentOver = Effect.fnUntraced(function*(server: OpenAi.Server, id?: string) {
  const below = yield* Layer.build(Layer.mergeAll(
    Fiberloop.layer,
    SessionStoreMemory.layer,
    ModelAiSdk.layer({ model: Sdk.responses(server, id) }),
    toolkit.toLayer({ look: () => Effect.succeed("seen") })
  ))
  return yield* Agent.make({ instructions: "Look.", toolkit }).pipe(Effect.provide(below))
})

type Input = ReadonlyArray<any>

const answered = (...payloads: ReadonlyArray<Record<string, unknown>>) =>
  OpenAi.events(Sdk.named(Sdk.created, ...payloads, Sdk.completed()))

const whole = (output_index: number, item: object) =>
  ["added", "done"].map((what) => ({ type: `response.output_item.${what}`, output_index, item }))

const references = (input: Input): ReadonlyArray<string> =>
  input.flatMap(({ id, type }) => type === "item_reference" ? [id] : [])

const error = (message: string) => ({ error: { message, type: "invalid_request_error", param: "input", code: null } })
const lost = (id: string) => `Item with id '${id}' not found.`
const stateless = "Items are not persisted when `store` is set to false. Try again with `store` set to true."

it.live.each<readonly [string, number, string]>([
  ["that it keeps no longer", 404, lost("msg_0")],
  ["that it was told not to keep", 400, `${lost("msg_0")} ${stateless}`]
])(
  "a session with items of OpenAI's %s gets an answer to each message, and another one is sent its own",
  ([, code, words]) =>
    Effect.gen(function*() {
      let answers = 0
      const server = yield* OpenAi.make(({ input }) =>
        references(input).includes("msg_0")
          ? OpenAi.status(code, error(words))
          : answered(...Sdk.writes(answers++, "Here."))
      )
      const agent = yield* agentOver(server)
      for (const sessionId of ["old", "new", "old", "new", "old"]) {
        assert.strictEqual((yield* agent.run({ sessionId, input: "go" })).text, "Here.")
      }
      const inputs: ReadonlyArray<Input> = server.requests.map(({ body }) => body.input)
      assert.deepStrictEqual(inputs.map(references), [[], [], ["msg_0"], [], ["msg_1"], ["msg_0", "msg_2"], []])
      assert.deepStrictEqual(inputs.at(-1)!.filter(({ role }) => role === "assistant"), [
        { role: "assistant", content: "Here." },
        { role: "assistant", content: "Here." }
      ])
    })
)

it.live("what was thought and searched is left out with lost items, and calls are sent with their results", () =>
  Effect.gen(function*() {
    const search = { id: "ws_1", type: "web_search_call", status: "completed", action: { type: "search", query: "a" } }
    const server = yield* OpenAi.make(
      answered(
        ...whole(0, { id: "rs_0", type: "reasoning", summary: [], encrypted_content: null }),
        ...whole(1, search),
        ...Sdk.asks(2, "look", "{}")
      ),
      ({ input }) =>
        references(input).length > 0
          ? OpenAi.status(404, error(lost("rs_0")))
          : answered(...Sdk.writes(0, "Here."))
    )
    const agent = yield* agentOver(server, "gpt-5")
    assert.strictEqual((yield* agent.run({ input: "go" })).text, "Here.")
    const [, first, second]: ReadonlyArray<Input> = server.requests.map(({ body }) => body.input)
    assert.deepStrictEqual(references(first!), ["rs_0", "ws_1"])
    assert.deepStrictEqual(second!.map(({ role, type }) => type ?? role), [
      "developer",
      "user",
      "function_call",
      "function_call_output"
    ])
  }))

it.live("a server that has lost an item whatever it is sent is asked twice, and the run fails with its words", () =>
  Effect.gen(function*() {
    const server = yield* OpenAi.make(OpenAi.status(404, error(lost("msg_0"))))
    const agent = yield* agentOver(server)
    const failed = yield* Effect.flip(agent.run({ input: "go" }))
    assert.deepStrictEqual([failed.reason._tag, server.requests.length], ["InvalidRequest", 2])
    assert.include(failed.message, "Item with id 'msg_0' not found")
  }))
