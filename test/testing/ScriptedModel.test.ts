/** The model that tests script: it plays its turns, remembers what it was asked, and fails the test where it must. */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type * as Message from "../../src/run/Message.ts"
import * as RunError from "../../src/run/RunError.ts"
import * as Model from "../../src/services/Model.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as TestAgent from "../support/TestAgent.ts"

const user: Message.Message = { role: "user", content: [{ type: "text", text: "hello" }] }
const request = (...messages: ReadonlyArray<Message.Message>): Model.ModelRequest => ({
  messages: messages.length === 0 ? [user] : messages,
  tools: [],
  toolChoice: "none",
  metadata: { sessionId: "s", runId: "r", turn: 1, attempt: 1 }
})

const make = Effect.fnUntraced(function*(...turns: ReadonlyArray<ScriptedModel.Turn>) {
  const context = yield* ScriptedModel.make(turns)
  return { model: Context.get(context, Model.Model), script: Context.get(context, ScriptedModel.Script) }
})

const partsOf = Effect.fnUntraced(function*(turn: ScriptedModel.Turn) {
  const { model } = yield* make(turn)
  return yield* Stream.runCollect(model.stream(request()))
})

const overloaded = new RunError.RetryableError<RunError.ProviderReason>({ _tag: "Overloaded", message: "busy" })

describe("a turn", () => {
  it.effect("of a text finishes with stop", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual<unknown>(yield* partsOf(ScriptedModel.text("a", "b")), [
        { type: "text-delta", block: "text", delta: "a" },
        { type: "text-delta", block: "text", delta: "b" },
        { type: "finish", reason: "stop", usage: ScriptedModel.usage }
      ])
    }))

  it.effect.each(
    [
      ["without a finish", []],
      ["with a finish that states no usage", [ScriptedModel.finish("length")]]
    ] as const
  )(
    "%s has 10 tokens in and 5 out",
    ([, end]) =>
      Effect.gen(function*() {
        const parts = yield* partsOf([ScriptedModel.text("a"), ...end])
        assert.deepInclude(parts.at(-1), { type: "finish", usage: { inputTokens: 10, outputTokens: 5 } })
      })
  )

  it.effect("with a call finishes with tool-calls", () =>
    Effect.gen(function*() {
      const parts = yield* partsOf([ScriptedModel.reasoning("hm", { x: 1 }), TestAgent.work(1, "id")])
      assert.deepStrictEqual<unknown>(parts, [
        { type: "reasoning-delta", block: "reasoning", delta: "hm", metadata: { x: 1 } },
        { type: "tool-call", id: "id", name: "work", params: { n: 1 } },
        { type: "finish", reason: "tool-calls", usage: ScriptedModel.usage }
      ])
    }))

  it.effect("finishes with the given finish", () =>
    Effect.gen(function*() {
      const used = { inputTokens: 1, outputTokens: 2 }
      const parts = yield* partsOf([ScriptedModel.text("a"), ScriptedModel.finish("length", used)])
      assert.deepStrictEqual<unknown>(parts.slice(1), [{ type: "finish", reason: "length", usage: used }])
    }))

  it.effect("that is cut has no finish", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* partsOf([ScriptedModel.text("a"), ScriptedModel.cut])).map((part) => part.type), [
        "text-delta"
      ])
    }))

  it.effect("that fails or dies does so after its parts", () =>
    Effect.gen(function*() {
      const { model } = yield* make([ScriptedModel.text("a"), ScriptedModel.fail(overloaded)], ScriptedModel.die("bug"))
      const seen: Array<Model.ModelPart> = []
      const error = yield* model.stream(request()).pipe(
        Stream.runForEach((part) => Effect.sync(() => seen.push(part))),
        Effect.flip
      )
      assert.strictEqual(error, overloaded)
      assert.strictEqual(seen.length, 1)
      const exit = yield* Effect.exit(Stream.runDrain(model.stream(request())))
      assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) === "bug")
    }))

  it.effect("takes the given time on the test's clock", () =>
    Effect.gen(function*() {
      const { model } = yield* make([ScriptedModel.delay("1 hour"), ScriptedModel.text("a")])
      const fiber = yield* Effect.forkChild(Stream.runCollect(model.stream(request())), { startImmediately: true })
      yield* TestClock.adjust("59 minutes")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(fiber)).length, 2)
    }))
})

describe("a gate", () => {
  it.effect("holds a turn until it is released", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { model, script } = yield* make([ScriptedModel.gate(gate), ScriptedModel.text("a")])
      const fiber = yield* Effect.forkChild(Stream.runCollect(model.stream(request())))
      yield* gate.started
      assert.strictEqual(yield* script.openStreams, 1)
      yield* gate.release
      assert.strictEqual((yield* Fiber.join(fiber)).length, 2)
      yield* gate.closed
      assert.strictEqual(yield* script.openStreams, 0)
    }))

  it.effect("reports that the stream waiting at it was closed", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { model, script } = yield* make(ScriptedModel.gate(gate))
      const fiber = yield* Effect.forkChild(Stream.runDrain(model.stream(request())))
      yield* gate.started
      yield* Fiber.interrupt(fiber)
      yield* gate.closed
      assert.strictEqual(yield* script.openStreams, 0)
    }))
})

describe("a script", () => {
  it.effect("plays one turn per request and remembers what was asked", () =>
    Effect.gen(function*() {
      const { model, script } = yield* make(ScriptedModel.text("a"), ScriptedModel.text("b"))
      const texts = yield* Effect.forEach([1, 2], () => Stream.runCollect(model.stream(request())))
      assert.deepStrictEqual(texts.map(([part]) => part?.type === "text-delta" ? part.delta : ""), ["a", "b"])
      assert.deepStrictEqual(yield* script.requests, [request(), request()])
    }))

  it.effect("need not be played to its end", () => make(ScriptedModel.text("a")))

  /** How the scope of a test ends that did `use` with a model of one turn. */
  const endOf = Effect.fnUntraced(function*(use: (model: Model.Model["Service"]) => Effect.Effect<unknown, unknown>) {
    const scope = yield* Scope.make()
    const context = yield* Scope.provide(ScriptedModel.make([ScriptedModel.text("a")]), scope)
    yield* Effect.exit(use(Context.get(context, Model.Model)))
    return yield* Effect.exit(Scope.close(scope, Exit.void))
  })
  const ask = (...messages: ReadonlyArray<Message.Message>) => (model: Model.Model["Service"]) =>
    Stream.runDrain(model.stream(request(...messages)))

  it.effect("that was played to its end passes", () =>
    Effect.gen(function*() {
      assert.isTrue(Exit.isSuccess(yield* endOf(ask())))
    }))

  it.effect("fails the test on an unscripted request, even if the code under test swallows the death", () =>
    Effect.gen(function*() {
      const exit = yield* endOf((model) => Effect.andThen(ask()(model), Effect.exit(ask()(model))))
      assert.isTrue(Exit.isFailure(exit) && String(Cause.squash(exit.cause)).includes("request 2 was not scripted"))
    }))

  it.effect("names the first unscripted request, with what it asks, even if others follow", () =>
    Effect.gen(function*() {
      const exits: Array<Exit.Exit<unknown, unknown>> = []
      const system: Message.Message = { role: "system", content: "You research." }
      const end = yield* endOf((model) =>
        Effect.forEach(["one", "two", "three"], (text) =>
          Effect.map(
            Effect.exit(ask(system, { role: "user", content: [{ type: "text", text }] })(model)),
            (exit) => exits.push(exit)
          ))
      )
      const failures = [...exits, end].filter(Exit.isFailure)
      assert.deepStrictEqual(
        failures.map(({ cause }) => String(Cause.squash(cause))),
        Array(3).fill(
          "Error: ScriptedModel: request 2 was not scripted; the script has 1 turn. " +
            `The request has the instructions "You research." and ends with "two" of the role user`
        )
      )
    }))

  it.effect.each(
    [
      ["a text of 80 characters whole", 80, "a".repeat(80)],
      ["the first 80 characters of a longer one", 81, `${"a".repeat(80)}...`]
    ] as const
  )("shows %s", ([, length, shown]) =>
    Effect.gen(function*() {
      const message: Message.Message = { role: "user", content: [{ type: "text", text: "a".repeat(length) }] }
      const exit = yield* endOf((model) => Effect.andThen(ask()(model), Effect.exit(ask(message)(model))))
      assert.include(Exit.isFailure(exit) && String(Cause.squash(exit.cause)), `ends with "${shown}" of the role user`)
    }))

  it.effect("fails the test on an illegal request, even if the code under test swallows the death", () =>
    Effect.gen(function*() {
      const illegal: Message.Message = { role: "assistant", content: [{ type: "text", text: "I" }] }
      const exit = yield* endOf(ask(illegal))
      assert.isTrue(Exit.isFailure(exit) && String(Cause.squash(exit.cause)).includes("illegal request"))
    }))
})
