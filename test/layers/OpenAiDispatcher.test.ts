/** An application's own dispatcher sees a request as it does without fiberloop: undici's `MockAgent` compares bodies, and asks for texts. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ModelOpenAi from "../../src/layers/ModelOpenAi.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as TestAgent from "../support/TestAgent.ts"

const key = Symbol.for("undici.globalDispatcher.1")

interface Dispatcher {
  readonly isMockActive?: boolean
  readonly dispatch: (options: Record<string, unknown>, handler: unknown) => boolean
}

it.live("the bodies of requests, where it mocks them", () =>
  Effect.gen(function*() {
    assert.isDefined(new Request("data:,"))
    const global = globalThis as unknown as { [key]: Dispatcher }
    const given = global[key]
    const bodies: Array<string> = []
    yield* Effect.addFinalizer(() => Effect.sync(() => void (global[key] = given)))
    global[key] = {
      isMockActive: true,
      dispatch: (options, handler) => {
        bodies.push(options["body"] instanceof Uint8Array ? "bytes" : typeof options["body"])
        return given.dispatch(options, handler)
      }
    }
    const server = yield* OpenAi.make(
      OpenAi.events(OpenAi.data(OpenAi.delta({ content: "Hi." }), OpenAi.finish("stop")))
    )
    yield* Effect.promise(() => fetch(server.baseUrl, { method: "POST", body: new TextEncoder().encode("{}") }))
    const { agent } = yield* TestAgent.make([], {
      model: Layer.orDie(ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl, apiKey: OpenAi.key }))
    })
    yield* Effect.exit(agent.run({ input: "go" }))
    assert.strictEqual(bodies[1], bodies[0])
  }))
