/** What a model's stream sees of the end of its attempt. */
import { assert, describe, it } from "@effect/vitest"
import * as Channel from "effect/Channel"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunError from "../../../src/run/RunError.ts"
import { TimeLeft } from "../../../src/services/attempts/TimeLeft.ts"
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

describe("the scope of a model's stream is closed with", () => {
  it.effect("a success after a finish", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* exitsOf(Stream.concat(Stream.concat(said, finish), Stream.never)), ["Success"])
    }))

  it.effect("a success when the stream ended", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* exitsOf(said), ["Success"])
    }))

  it.effect("a failure when the stream failed", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* exitsOf(Stream.concat(said, refused)), ["Failure"])
    }))
})

it.effect("a model's stream knows how much time is left: until the next part is too late, or the whole answer", () =>
  Effect.gen(function*() {
    const left: Array<number> = []
    const look = Stream.fromEffectDrain(Effect.andThen(
      Effect.sleep("500 millis"),
      Effect.map(TimeLeft, (timeLeft) => left.push(timeLeft()))
    ))
    const answer = [look, said, look, look, said, look, finish].reduce((all, part) => Stream.concat(all, part))
    const model = { info: { provider: "test", name: "timed" }, stream: () => answer }
    const timeouts = { firstPart: "2 seconds", gap: "3 seconds", call: "4 seconds" } as const
    const { agent } = yield* TestAgent.make([], { model: Layer.succeed(Model.Model, model), agent: { timeouts } })
    const run = yield* Effect.forkChild(agent.run({ input: "go" }))
    yield* TestClock.adjust("2 seconds")
    assert.strictEqual((yield* Fiber.join(run))._tag, "Completed")
    assert.deepStrictEqual(left, [1500, 2500, 2000, 2000])
  }))

it.effect("nothing is read after a finish: what a model around the model adds at the end never runs, its exit does", () =>
  Effect.gen(function*() {
    const ran: Array<string> = []
    const note = (name: string) => Effect.sync(() => void ran.push(name))
    const ended = Stream.concat(said, finish)
    const stream = () =>
      ended.pipe(
        Stream.onEnd(note("onEnd")),
        Stream.onExit(({ _tag }) => note(`onExit ${_tag}`)),
        Stream.ensuring(note("ensuring")),
        Stream.concat(Stream.fromEffectDrain(note("concat")))
      )
    const model = Layer.succeed(Model.Model, { info: { provider: "test", name: "around" }, stream })
    const { agent } = yield* TestAgent.make([], { model })
    yield* agent.run({ sessionId: "s", input: "go" })
    assert.deepStrictEqual(ran, ["onExit Success", "ensuring"])
  }))

describe("a scope that does not finish closing", () => {
  it.effect("delays an abort by the grace period, and is named once", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const hanging = Stream.fromEffectDrain(Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
      const stuck: Parts = Stream.fromChannel(Channel.fromTransform((upstream, scope) =>
        Effect.andThen(
          Scope.addFinalizer(scope, Effect.never),
          Channel.toTransform(Stream.toChannel(hanging))(upstream, scope)
        )
      ))
      const model = Layer.succeed(Model.Model, { info: { provider: "test", name: "stuck" }, stream: () => stuck })
      const { agent, store } = yield* TestAgent.make([], { model })
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      yield* Deferred.await(begun)
      const aborting = yield* Effect.forkChild(run.abort)
      yield* Effect.yieldNow
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(aborting.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(aborting)
      const end = (yield* store.log("s")).at(-1)
      assert.strictEqual(end?._tag, "RunAborted")
      assert.deepStrictEqual(end?._tag === "RunAborted" && end.leftBehind, ["model stuck"])
    }))
})

it.effect("an answer is not too late if its stream takes longer to close than a call may take", () =>
  Effect.gen(function*() {
    const closing = Deferred.makeUnsafe<void>()
    const slow: Parts = Stream.fromChannel(Channel.fromTransform((upstream, scope) =>
      Effect.andThen(
        Scope.addFinalizer(scope, Effect.andThen(Deferred.succeed(closing, undefined), Effect.sleep("3 seconds"))),
        Channel.toTransform(Stream.toChannel(Stream.concat(said, finish)))(upstream, scope)
      )
    ))
    const model = { info: { provider: "test", name: "slow" }, stream: () => slow }
    const timeouts = { call: "1 second" } as const
    const { agent } = yield* TestAgent.make([], { model: Layer.succeed(Model.Model, model), agent: { timeouts } })
    const run = yield* Effect.forkChild(agent.run({ input: "go" }))
    yield* Deferred.await(closing)
    yield* TestClock.adjust("3 seconds")
    assert.strictEqual((yield* Fiber.join(run))._tag, "Completed")
  }))
