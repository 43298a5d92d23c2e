/**
 * What effect 4.1 does with a model's stream that resolves its own tools. Each test names what of ours exists because of it: if
 * one fails after an upgrade, that may go.
 */
import { assert, describe, it } from "@effect/vitest"
import * as AiError from "effect/ai/AiError"
import * as Chat from "effect/ai/Chat"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Scripted from "../support/ScriptedLanguageModel.ts"
import * as Traces from "../support/Traces.ts"

const Work = Tool.make("work", { parameters: Schema.Struct({ n: Schema.Finite }), success: Schema.Finite })
const kit = Toolkit.make(Work)

const call = (n: number, id: string, name = "work"): Response.StreamPartEncoded => ({
  type: "tool-call",
  id,
  name,
  params: { n }
})

/** The parts of a stream that runs its tools itself, and how it ended. */
const play = Effect.fnUntraced(function*(
  parts: ReadonlyArray<Response.StreamPartEncoded>,
  handler: (n: number) => Effect.Effect<number> = Effect.succeed
) {
  const ran: Array<number> = []
  const { model } = yield* Scripted.make([{ parts }])
  const handlers = kit.toLayer({
    work: ({ n }) =>
      Effect.suspend(() => {
        ran.push(n)
        return handler(n)
      })
  })
  const seen: Array<string> = []
  const exit = yield* Effect.exit(
    model.streamText({ prompt: "go", toolkit: kit }).pipe(
      Stream.runForEach((part) =>
        Effect.sync(() => seen.push(part.type === "tool-result" ? `result ${part.id}` : part.type))
      ),
      Effect.provide(handlers)
    )
  )
  return { ran, seen, exit }
})

describe("a stream without a finish", () => {
  it.effect("succeeds, and its call is executed (services/attempts/Attempt asks for a finish, and runs no tool before it)", () =>
    Effect.gen(function*() {
      const { exit, ran } = yield* play([call(1, "a")])
      assert.deepStrictEqual([Exit.isSuccess(exit), ran], [true, [1]])
    }))
})

describe("one bad call fails the stream and loses the results of its siblings", () => {
  it.effect("when its tool is unknown (layers/effectai/EffectAiModel defers the check, loop/round/CallStep settles it)", () =>
    Effect.gen(function*() {
      const { exit, seen } = yield* play([call(1, "a"), call(2, "b", "wrok"), Scripted.finish("tool-calls")])
      assert.isTrue(Exit.isFailure(exit))
      assert.notInclude(seen, "result a")
    }))

  it.effect("when its tool dies with a defect (layers/ToolExecutorToolkit makes it an outcome)", () =>
    Effect.gen(function*() {
      const { exit, seen } = yield* play(
        [call(1, "a"), call(2, "b"), Scripted.finish("tool-calls")],
        (n) => n === 2 ? Effect.die("bug") : Effect.succeed(n)
      )
      assert.isTrue(Exit.hasDies(exit))
      assert.notInclude(seen, "result a")
    }))

  it.effect("when its result does not fit its schema (layers/ToolExecutorToolkit makes it an outcome)", () =>
    Effect.gen(function*() {
      const { exit, seen } = yield* play(
        [call(2, "b"), call(1, "a"), Scripted.finish("tool-calls")],
        (n) => Effect.succeed(n === 2 ? Number.NaN : n)
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.notInclude(seen, "result a")
    }))
})

describe("two calls with the same id", () => {
  it.effect("are both executed, and their results share it (layers/openai/ToolCalls gives ids, run/Transcript too)", () =>
    Effect.gen(function*() {
      const { ran, seen } = yield* play([call(1, "x"), call(2, "x"), Scripted.finish("tool-calls")])
      assert.deepStrictEqual(ran, [1, 2])
      assert.deepStrictEqual(seen.filter((part) => part.startsWith("result")), ["result x", "result x"])
    }))
})

describe("an error part", () => {
  it.effect("does not fail the stream (layers/effectai/EffectAiModel fails on it)", () =>
    Effect.gen(function*() {
      const { exit, seen } = yield* play([{ type: "error", error: "overloaded" }, Scripted.finish()])
      assert.isTrue(Exit.isSuccess(exit))
      assert.include(seen, "error")
    }))
})

describe("a chat interrupted while a tool runs", () => {
  it.effect("keeps the call without a result, which providers refuse (run/Transcript pairs them)", () =>
    Effect.gen(function*() {
      const { model } = yield* Scripted.make([{ parts: [call(1, "a"), Scripted.finish("tool-calls")] }])
      const chat = yield* Chat.empty
      const started = yield* Deferred.make<void>()
      const handlers = kit.toLayer({ work: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never) })
      const fiber = yield* chat.streamText({ prompt: "go", toolkit: kit }).pipe(
        Stream.runDrain,
        Effect.provide(handlers),
        Effect.provideService(LanguageModel.LanguageModel, model),
        Effect.forkChild
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      const { content } = yield* Ref.get(chat.history)
      const types = content.flatMap((message) =>
        typeof message.content === "string" ? [] : message.content.map((part) => part.type)
      )
      assert.include(types, "tool-call")
      assert.notInclude(types, "tool-result")
    }))
})

describe("the arguments of a call", () => {
  it.effect("appear in clear in the caller's span (layers/ToolExecutorToolkit puts a span between)", () =>
    Effect.gen(function*() {
      const { spans, tracer } = Traces.make()
      yield* play([call(4711, "a"), Scripted.finish("tool-calls")]).pipe(
        Effect.withSpan("caller"),
        Effect.withTracer(tracer)
      )
      const attributes = spans.flatMap((span) => [...span.attributes.values()])
      assert.include(JSON.stringify(attributes), "4711")
    }))
})

describe("an error's status", () => {
  it("makes an exhausted quota a rate limit (layers/ModelErrors reads the body)", () => {
    const body = { error: { code: "insufficient_quota" } }
    assert.strictEqual(AiError.reasonFromHttpStatus({ status: 429, body })._tag, "RateLimitError")
  })
})
