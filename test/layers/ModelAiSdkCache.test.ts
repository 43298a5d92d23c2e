/** What Anthropic is told to cache of a conversation, turn by turn, and the cache usage that it reports. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import type * as LanguageModelAiSdk from "../../src/layers/LanguageModelAiSdk.ts"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as Sdk from "../support/AiSdkServers.ts"
import * as OpenAi from "../support/OpenAiServer.ts"

const parameters = Schema.Struct({ n: Schema.Finite })
const toolkit = Toolkit.make(
  Tool.make("hear", { parameters, success: Schema.String }),
  Tool.make("look", { parameters, success: Schema.String })
)
const tools = toolkit.toLayer({ hear: () => Effect.succeed("heard"), look: ({ n }) => Effect.succeed(`seen ${n}`) })

const usages = [
  { input_tokens: 5, cache_read_input_tokens: 0, cache_creation_input_tokens: 100, output_tokens: 1 },
  { input_tokens: 5, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 1 },
  { input_tokens: 5, cache_read_input_tokens: 120, cache_creation_input_tokens: 30, output_tokens: 1 }
]

const reply = (turn: number, reason: string, ...blocks: ReadonlyArray<ReturnType<typeof Sdk.says>>) =>
  OpenAi.events(Sdk.named(Sdk.begin(usages[turn]), ...blocks.flat(), ...Sdk.finish(reason, usages[turn])))

const looks = (turn: number, ...ns: ReadonlyArray<number>) =>
  reply(
    turn,
    "tool_use",
    Sdk.thinks(0, "hm", "SIG"),
    ...ns.map((n, at) => Sdk.calls(at + 1, `toolu_${n}`, "look", `{"n":${n}}`))
  )

/** The request bodies and the log of a run of three turns, the first two with tool calls. */
const conversation = Effect.fnUntraced(function*(options: LanguageModelAiSdk.Options) {
  const server = yield* OpenAi.make(looks(0, 1, 2), looks(1, 3), reply(2, "end_turn", Sdk.says(0, "Done.")))
  const model = ModelAiSdk.layer({ ...options, model: Sdk.anthropic(server) })
  const below = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, model, tools))
  return yield* Effect.gen(function*() {
    const agent = yield* Agent.make({ instructions: "Look.", toolkit })
    yield* agent.run({ input: "go", sessionId: "s" })
    const store = yield* SessionStore.SessionStore
    return { bodies: server.requests.map(({ body }) => body), log: yield* Stream.runCollect(store.read("s")) }
  }).pipe(Effect.provide(below))
})

const cache = "ephemeral"
const mark = { type: "ephemeral" }

/** The paths of a request's marks. */
const marksOf = (value: unknown, path = ""): ReadonlyArray<string> =>
  typeof value !== "object" || value === null ? [] : Object.entries(value).flatMap(([key, inner]) => {
    if (key !== "cache_control") return marksOf(inner, `${path}/${key}`)
    assert.deepStrictEqual(inner, mark)
    return [path.slice(1)]
  })

const unmarked = (value: unknown): string =>
  JSON.stringify(value, (key, inner) => key === "cache_control" ? undefined : inner)

describe("cache marks", () => {
  it.live("follow the tools, the instructions, the previous request and this one on each turn", () =>
    Effect.gen(function*() {
      const { bodies } = yield* conversation({ cache })
      const fixed = ["tools/1", "system/0"]
      assert.deepStrictEqual(bodies.map((body) => [...marksOf(body)].sort()), [
        [...fixed, "messages/0/content/0"].sort(),
        [...fixed, "messages/0/content/0", "messages/2/content/1"].sort(),
        [...fixed, "messages/2/content/1", "messages/4/content/0"].sort()
      ])
    }))

  it.live("are all that changes in what was sent before", () =>
    Effect.gen(function*() {
      const { bodies } = yield* conversation({ cache })
      const plain = yield* conversation({})
      assert.deepStrictEqual(bodies.map(unmarked), plain.bodies.map(unmarked))
      assert.deepStrictEqual(plain.bodies.flatMap((body) => marksOf(body)), [])
      for (const [at, body] of bodies.slice(1).entries()) {
        const before = bodies[at]
        assert.strictEqual(unmarked([body.tools, body.system]), unmarked([before.tools, before.system]))
        assert.isTrue(unmarked(body.messages).startsWith(unmarked(before.messages).slice(0, -1)))
      }
    }))

  it.live("are as given when the option is an object", () =>
    Effect.gen(function*() {
      const hour = { type: "ephemeral", ttl: "1h" }
      const { bodies } = yield* conversation({ cache: { anthropic: { cacheControl: hour } } })
      assert.deepStrictEqual(bodies[2].system, [{ type: "text", text: "Look.", cache_control: hour }])
      assert.deepStrictEqual(bodies[2].tools.map((tool: any) => tool.cache_control), [undefined, hour])
    }))
})

it.live("tokens read from and written to the cache are in the usage of each turn and of the run", () =>
  Effect.gen(function*() {
    const { log } = yield* conversation({ cache })
    const used = log.flatMap((event) => event._tag === "AssistantMessage" ? [event.usage] : [])
    assert.deepStrictEqual(
      used.map(({ cachedInputTokens, cacheWriteTokens }) => [cachedInputTokens, cacheWriteTokens]),
      [
        [0, 100],
        [100, 20],
        [120, 30]
      ]
    )
    const end = log.at(-1)
    assert(end?._tag === "RunCompleted")
    assert.deepInclude(end.totals.usage, { cachedInputTokens: 220, cacheWriteTokens: 150 })
  }))
