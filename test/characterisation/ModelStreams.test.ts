/**
 * How effect 4.1.0 streams models and times by itself, where this runtime does otherwise. A test here that fails after an
 * upgrade says that a workaround, which it names, may go.
 */
import { assert, describe, it } from "@effect/vitest"
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Tracer from "effect/Tracer"

const kit = Toolkit.make(
  Tool.make("work", { parameters: Schema.Struct({ n: Schema.Finite }), success: Schema.String }),
  Tool.make("dies", { parameters: Schema.Struct({ n: Schema.Finite }), success: Schema.String })
)

type Parts = ReadonlyArray<Response.StreamPartEncoded>

const finish: Response.StreamPartEncoded = {
  type: "finish",
  reason: "tool-calls",
  usage: {
    inputTokens: { total: 1, uncached: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 }
  },
  response: undefined
}
const call = (id: string, name: string, params: unknown = { n: 1 }): Response.StreamPartEncoded => ({
  type: "tool-call",
  id,
  name,
  params
})

/** A call of effect/ai that runs the tools by itself: what came, how it ended, and how often `work` ran. */
const streamed = Effect.fnUntraced(function*(parts: Parts) {
  const ran: Array<number> = []
  const model = yield* LanguageModel.make({
    generateText: () => Effect.die("streams only"),
    streamText: () => Stream.fromIterable(parts)
  })
  const handlers = kit.toLayer({
    work: ({ n }) => Effect.sync(() => `${ran.push(n)}`),
    dies: () => Effect.die(new Error("bug"))
  })
  const toolkit = yield* Effect.provide(kit, handlers)
  const seen: Array<{ readonly type: string }> = []
  const exit = yield* model.streamText({ prompt: "go", toolkit }).pipe(
    Stream.runForEach((part) => Effect.sync(() => seen.push(part))),
    Effect.exit
  )
  return { exit, ran, results: seen.filter(({ type }) => type === "tool-result").length }
})

describe("effect/ai, left to itself,", () => {
  it.effect("takes a stream without a finish for a success, and runs its calls (loop/turn/Attempt: StreamTruncated)", () =>
    Effect.gen(function*() {
      const { exit, ran } = yield* streamed([call("a", "work")])
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(ran, [1])
    }))

  it.effect("takes a stream with an error part for a success (ModelErrors.fromPart)", () =>
    Effect.gen(function*() {
      const { exit } = yield* streamed([{ type: "error", error: { type: "overloaded_error" } }])
      assert.isTrue(Exit.isSuccess(exit))
    }))

  it.effect("fails the whole stream for an unknown tool (toolCallValidation: deferred)", () =>
    Effect.gen(function*() {
      const { exit, results } = yield* streamed([call("a", "work"), call("b", "nothing"), finish])
      assert.isTrue(Exit.isFailure(exit))
      assert.isAtMost(results, 1)
    }))

  it.effect("dies of a tool's defect (ToolExecutorToolkit)", () =>
    Effect.gen(function*() {
      const { exit } = yield* streamed([call("a", "dies"), finish])
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    }))

  it.effect("runs two calls of one id (callId: the turn and the call's place)", () =>
    Effect.gen(function*() {
      const { ran } = yield* streamed([call("a", "work", { n: 1 }), call("a", "work", { n: 2 }), finish])
      assert.deepStrictEqual(ran.toSorted((a, b) => a - b), [1, 2])
    }))

  it.effect("puts the arguments of a tool into spans (ToolExecutorToolkit: an external parent span)", () =>
    Effect.gen(function*() {
      const attributes: Array<unknown> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          attributes.push(span.attributes)
          return span
        }
      })
      yield* Effect.withTracer(Effect.withSpan(streamed([call("a", "work", { n: 424242 }), finish]), "app"), tracer)
      assert.include(JSON.stringify(attributes.map((all) => [...all as Map<string, unknown>])), "424242")
    }))

  it("tells a status by its number alone (ModelErrors.fromAiError reads the body)", () => {
    const body = { error: { code: "insufficient_quota" } }
    assert.strictEqual(AiError.reasonFromHttpStatus({ status: 429, body })._tag, "RateLimitError")
  })
})

describe("effect, left to itself,", () => {
  it.effect("streams the text again that came before a retry (loop/turn/ModelCall: AttemptDiscarded)", () =>
    Effect.gen(function*() {
      let tries = 0
      const text = yield* Stream.suspend(() =>
        tries++ === 0 ? Stream.concat(Stream.make("half "), Stream.fail("busy")) : Stream.make("half ", "whole")
      ).pipe(Stream.retry(Schedule.recurs(1)), Stream.runCollect)
      assert.strictEqual(text.join(""), "half half whole")
    }))

  it.effect("waits, when a time is over, for what cannot be interrupted (services/Grace)", () =>
    Effect.gen(function*() {
      const stuck = yield* Deferred.make<void>()
      const fiber = yield* Effect.forkChild(
        Effect.timeoutOption(Effect.uninterruptible(Deferred.await(stuck)), "1 second")
      )
      yield* TestClock.adjust("1 hour")
      assert.isUndefined(fiber.pollUnsafe())
      yield* Deferred.succeed(stuck, undefined)
      yield* Fiber.await(fiber)
    }))

  it.effect("does not sleep for a time that is none (RetryPolicy.make, RunError)", () =>
    Effect.gen(function*() {
      const fiber = yield* Effect.forkChild(Effect.sleep(Duration.millis(NaN)))
      yield* TestClock.adjust(0)
      assert.isDefined(fiber.pollUnsafe())
    }))

  const events = (text: string) =>
    Stream.make(text).pipe(Stream.pipeThroughChannel(Sse.decode()), Stream.runCollect, Effect.exit)

  it.effect("fails for a retry line of server-sent events (openai/EventStream)", () =>
    Effect.gen(function*() {
      assert.isTrue(Exit.isFailure(yield* events("retry: 10\n\ndata: 1\n\n")))
    }))

  it.effect("drops a last event without its blank line (openai/EventStream)", () =>
    Effect.gen(function*() {
      const exit = yield* events("data: 1\n\ndata: 2\n")
      assert.deepStrictEqual(Exit.isSuccess(exit) ? exit.value.map(({ data }) => data) : exit, ["1"])
    }))
})
