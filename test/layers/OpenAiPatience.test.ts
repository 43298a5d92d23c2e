/**
 * `timeouts` say how long an answer may take, and `Infinity` lifts them: Node's own `fetch` would give up after five minutes without a head
 * or without a piece of the body, whatever they say.
 */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as TestAgent from "../support/TestAgent.ts"

const key = Symbol.for("undici.globalDispatcher.1")

interface Dispatcher {
  readonly dispatch: (options: Record<string, unknown>, handler: unknown) => boolean
}

it.live("the HTTP client has no time limits of its own", () =>
  Effect.gen(function*() {
    // loads it
    assert.isDefined(new Request("data:,"))
    const global = globalThis as unknown as { [key]: Dispatcher }
    const given = global[key]
    const asked: Array<Record<string, unknown>> = []
    yield* Effect.addFinalizer(() => Effect.sync(() => void (global[key] = given)))
    global[key] = {
      dispatch: (options, handler) => {
        asked.push(options)
        return given.dispatch(options, handler)
      }
    }
    const server = yield* OpenAi.make(
      OpenAi.events(OpenAi.data(OpenAi.delta({ content: "Hi." }), OpenAi.finish("stop")))
    )
    const { agent } = yield* TestAgent.make([], {
      model: Layer.orDie(ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key }))
    })
    assert.strictEqual((yield* agent.run({ input: "go" })).text, "Hi.")
    assert.deepStrictEqual(asked.map(({ bodyTimeout, headersTimeout }) => [headersTimeout, bodyTimeout]), [[0, 0]])
  }))

it.live("an answer that is whole counts, although its usage does not come within the gap", () =>
  Effect.gen(function*() {
    const server = yield* OpenAi.make(
      OpenAi.open(OpenAi.data(OpenAi.delta({ content: "Hi." }), OpenAi.finish("stop")))
    )
    const { agent } = yield* TestAgent.make([], {
      model: Layer.orDie(ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key })),
      agent: { timeouts: { gap: "1500 millis" } }
    })
    assert.strictEqual((yield* agent.run({ input: "go" })).text, "Hi.")
  }))

it.live("a status counts, although its body does not end within the time for the first part", () =>
  Effect.gen(function*() {
    const server = yield* OpenAi.make({ ...OpenAi.status(401, ""), ending: "open" })
    const { agent } = yield* TestAgent.make([], {
      model: Layer.orDie(ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key })),
      agent: { timeouts: { firstPart: "4 seconds" } }
    })
    const { reason } = yield* Effect.flip(agent.run({ input: "go" }))
    assert.strictEqual(reason._tag, "Authentication")
    assert.lengthOf(server.requests, 1)
  }))
