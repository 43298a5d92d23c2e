/** What a model's stream sees of the end of its attempt. */
import { assert, describe, it } from "@effect/vitest"
import * as Channel from "effect/Channel"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as RunError from "../../../src/run/RunError.ts"
import * as Model from "../../../src/services/Model.ts"
import * as RetryPolicy from "../../../src/services/RetryPolicy.ts"
import * as TestAgent from "../../support/TestAgent.ts"

type Parts = Stream.Stream<Model.ModelPart, RunError.ModelError>

const said: Parts = Stream.succeed({ type: "text-delta", block: "0", delta: "Hello." })
const finish: Parts = Stream.succeed({ type: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1 } })
const refused: Parts = Stream.fail(new RunError.NonRetryableError({ _tag: "InvalidRequest", message: "no" }))

/** The parts, in a scope whose exits are kept. */
const watched = (parts: Parts, exits: Array<Exit.Exit<unknown, unknown>>): Parts =>
  Stream.fromChannel(Channel.fromTransform((upstream, scope) =>
    Effect.andThen(
      Scope.addFinalizerExit(scope, (exit) => Effect.sync(() => void exits.push(exit))),
      Channel.toTransform(Stream.toChannel(parts))(upstream, scope)
    )
  ))

const exitsOf = Effect.fnUntraced(function*(parts: Parts) {
  const exits: Array<Exit.Exit<unknown, unknown>> = []
  const model = { info: { provider: "test", name: "watched" }, stream: () => watched(parts, exits) }
  const retry = RetryPolicy.make({ maxRetries: 0 })
  const { agent } = yield* TestAgent.make([], { model: Layer.succeed(Model.Model, model), agent: { retry } })
  yield* Effect.exit(agent.run({ sessionId: "s", input: "go" }))
  return exits.map(({ _tag }) => _tag)
})

describe("the scope of a model's stream is closed as one of", () => {
  it.effect("a success behind a finish", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* exitsOf(Stream.concat(Stream.concat(said, finish), Stream.never)), ["Success"])
    }))

  it.effect("a success where the stream ended", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* exitsOf(said), ["Success"])
    }))

  it.effect("a failure where the stream failed", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* exitsOf(Stream.concat(said, refused)), ["Failure"])
    }))
})
