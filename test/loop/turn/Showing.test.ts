/** When an incoming answer is shown. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type * as RunError from "../../../src/run/RunError.ts"
import * as Model from "../../../src/services/Model.ts"
import * as TestAgent from "../../support/TestAgent.ts"

type Parts = Stream.Stream<Model.ModelPart, RunError.ModelError>

const said: Parts = Stream.succeed({ type: "text-delta", block: "0", delta: "Hello." })
const finish: Parts = Stream.succeed({ type: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1 } })

it.effect("a delta that comes alone is read before its source can say more in the next turn of the event loop", () =>
  Effect.gen(function*() {
    const read: Array<string> = []
    let inTime: ReadonlyArray<string> = []
    const next: Parts = Stream.fromEffectDrain(Effect.callback((resume) => {
      setImmediate(() => {
        inTime = [...read]
        resume(Effect.void)
      })
    }))
    // the first delta also wakes the reader for the move to streaming
    const parts = Stream.concat(Stream.concat(said, next), Stream.concat(Stream.concat(said, next), finish))
    const model = Layer.succeed(Model.Model, { info: { provider: "test", name: "slow" }, stream: () => parts })
    const { agent } = yield* TestAgent.make([], { model })
    yield* agent.stream({ sessionId: "s", input: "go" }).pipe(
      Stream.runForEach((event) => Effect.sync(() => void (event._tag === "TextDelta" && read.push(event.delta))))
    )
    assert.deepStrictEqual(inTime, ["Hello.", "Hello."])
  }))
