/**
 * Fifty turns without a compaction, with tools, steering and several runs: each request begins with the bytes of the one
 * before, so that what a provider cached is found again, at the Model boundary and on the wire.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Agent from "../../src/Agent.ts"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const turns = 50
/** a run ends with every tenth turn */
const isLast = (turn: number) => turn % 10 === 9

/** Five runs of ten turns; one call of each steers its run. */
const converse = Effect.fnUntraced(function*(
  script: Parameters<typeof ScriptedModel.layer>[0],
  options: TestAgent.Options = {}
) {
  let live: Agent.Run<string> | undefined
  const made = yield* TestAgent.make(script, {
    ...options,
    tool: ({ n }) =>
      Effect.gen(function*() {
        if (n < turns && n % 10 === 4) yield* Effect.forkDetach(live!.steer(`steer ${n}`), { startImmediately: true })
        return `output ${n}: ${"a line of it, ".repeat(n)}`
      })
  })
  for (let i = 0; i < turns / 10; i++) {
    live = yield* made.agent.start({ sessionId: "s", input: `question ${i}` })
    yield* live.result
  }
  const log = yield* made.store.log("s")
  assert.strictEqual(RunLog.only(log, "AssistantMessage").length, turns)
  assert.strictEqual(RunLog.only(log, "InputReceived").length, 5)
  assert.deepStrictEqual(RunLog.only(log, "ContextCompacted"), [])
  return made
})

/** Each of these lists begins with the one before, byte for byte. */
const grows = (lists: ReadonlyArray<ReadonlyArray<unknown>>) => {
  assert.strictEqual(lists.length, turns)
  const texts = lists.map((list) => JSON.stringify(list))
  texts.slice(1).forEach((text, i) => {
    const before = texts[i]!.slice(0, -1)
    assert.strictEqual(text.slice(0, before.length), before, `request ${i + 2}`)
    assert.isAbove(text.length, before.length + 1)
  })
}

describe("fifty turns", () => {
  it.effect("grow at the Model boundary only by what is added, with the same tools", () =>
    Effect.gen(function*() {
      const made = yield* converse(Array.from({ length: turns }, (_, n) =>
        isLast(n)
          ? [ScriptedModel.reasoning("I know."), ScriptedModel.text(`answer ${n}`)]
          : [ScriptedModel.reasoning(`hm ${n}`), TestAgent.look(n, "a"), TestAgent.look(n + 100, "b")]))
      const requests = yield* made.script.requests
      grows(requests.map(({ messages }) => messages))
      for (const { tools, toolChoice } of requests) {
        assert.deepStrictEqual([tools, toolChoice], [requests[0]!.tools, requests[0]!.toolChoice])
      }
    }))

  it.live("grow in the body sent to an OpenAI-compatible provider, and nothing else in it changes", () =>
    Effect.gen(function*() {
      const { data, delta, events, finish, make, toolCalls } = OpenAi
      const call = (index: number, id: string, n: number) => ({
        index,
        id,
        function: { name: "look", arguments: `{"n":${n}}` }
      })
      const server = yield* make(...Array.from({ length: turns }, (_, n) =>
        isLast(n)
          ? events(data(delta({ reasoning_content: "I know." }), delta({ content: `answer ${n}` }), finish("stop")))
          : events(data(
            delta({ reasoning_content: `hm ${n}` }),
            toolCalls(call(0, "a", n), call(1, "b", n + 100)),
            finish("tool_calls")
          ))))
      const model = ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key })
      yield* converse([], { model: Layer.orDie(model) })
      grows(server.requests.map(({ body }) => body.messages))
      sameBut(server, "messages")
    }))

  it.live("grow in the body sent to Anthropic through the AI SDK, and nothing else in it changes", () =>
    Effect.gen(function*() {
      const server = yield* OpenAi.make(...Array.from({ length: turns }, (_, n) =>
        isLast(n)
          ? Sdk.message("end_turn", Sdk.says(0, `answer ${n}`))
          : Sdk.message(
            "tool_use",
            Sdk.thinks(0, `hm ${n}`, `SIG${n}`),
            Sdk.calls(1, `toolu_${n}`, "look", `{"n":${n}}`),
            Sdk.calls(2, `toolu_${n}b`, "look", `{"n":${n + 100}}`)
          )))
      yield* converse([], { model: ModelAiSdk.layer({ model: Sdk.anthropic(server) }) })
      grows(server.requests.map(({ body }) => body.messages))
      sameBut(server, "messages")
    }))
})

/** The bodies are equal, including the order of their fields, except for this one. */
const sameBut = ({ requests }: OpenAi.Server, field: string) => {
  const others = requests.map(({ body }) => JSON.stringify({ ...body, [field]: undefined }))
  for (const other of others) assert.strictEqual(other, others[0])
  const places = requests.map(({ body }) => Object.keys(body).join())
  for (const place of places) assert.strictEqual(place, places[0])
}
