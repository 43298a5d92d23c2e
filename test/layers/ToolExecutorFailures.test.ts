/** What a call through a toolkit settles with when its handler fails or does not end. */
import { assert, describe, it } from "@effect/vitest"
import * as AiError from "effect/ai/AiError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as ToolRun from "../support/ToolRun.ts"
import { unreadable } from "../support/Unreadable.ts"

/** Without a message. */
class SeatsTaken extends Error {
  override readonly name = "SeatsTaken"
  readonly seats = new Set(["1A"])
}

const mustReturn = ToolRun.failed(
  "The tool failed unexpectedly: the handler of \"plain\" must return an Effect, such as Effect.succeed(result), " +
    "and yield only Effects"
)

describe.each(ToolRun.ways)("handlers that are %s", (way) => {
  const { execute } = ToolRun.by(way)

  describe("a handler that fails", () => {
    const error = { code: 7, at: Schema.decodeSync(Schema.DateTimeUtcFromString)("2026-01-02T00:00:00.000Z") }
    it.effect.each(["returning", "failing"] as const)(
      "with a typed error in %s mode settles with that error encoded",
      (name) =>
        Effect.gen(function*() {
          const { outcome } = yield* execute(name, { [name]: () => Effect.fail(error) })
          assert.deepStrictEqual(outcome, ToolRun.failed({ code: 7, at: "2026-01-02T00:00:00.000Z" }))
        })
    )

    it.effect("with an error that its schema does not allow settles with a sentence", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("failing", { failing: () => Effect.fail({ code: "x" }) })
        assert.deepStrictEqual(outcome, ToolRun.failed("The tool failed: its failure does not fit its schema"))
      }))

    it.effect("with an error nested too deeply settles with a sentence", () =>
      Effect.gen(function*() {
        const deep: unknown = JSON.parse("[".repeat(2000) + "]".repeat(2000))
        const { outcome } = yield* execute("plain", { plain: () => Effect.fail(deep) })
        assert.deepStrictEqual(
          outcome,
          ToolRun.failed("The tool failed: its failure cannot be written: it is nested in more than 1000 levels")
        )
      }))

    class Refusal {
      readonly code = 7
    }
    it.effect.each<readonly [unknown, Schema.Json]>([
      [{ code: undefined, n: 1 }, { n: 1 }],
      [new Refusal(), { code: 7 }],
      [new Date(0), "1970-01-01T00:00:00.000Z"],
      [new URL("https://example.com/a"), "https://example.com/a"],
      [new Uint8Array([1]), "AQ=="]
    ])("with %j settles with it as a result would be written", ([error, result]) =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Effect.fail(error) })
        assert.deepStrictEqual(outcome, ToolRun.failed(result))
        const succeeded = yield* execute("plain", { plain: () => Effect.succeed(error) })
        assert.deepStrictEqual(succeeded.outcome, { _tag: "Succeeded", result })
      }))

    it.effect.each<readonly [unknown, string]>([
      [{ seats: new Map() }, "its failure cannot be written: a Map is not JSON, at .seats"],
      [new SeatsTaken(), "SeatsTaken: its failure cannot be written: a Set is not JSON, at .seats"],
      [Object.assign(new Error("full"), { seats: new Map() }), "full"]
    ])("with %j, which JSON has not, settles with a sentence: %s", ([error, words]) =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Effect.fail(error) })
        assert.deepStrictEqual(outcome, ToolRun.failed(`The tool failed: ${words}`))
      }))

    it.effect("with a secret says as little of it as of one that it returns", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("sealed", { sealed: () => Effect.fail(Redacted.make("hunter2")) })
        assert.deepStrictEqual(outcome, ToolRun.failed("<redacted>"))
        const succeeded = yield* execute("sealed", { sealed: () => Effect.succeed(Redacted.make("hunter2")) })
        assert.deepStrictEqual(succeeded.outcome, { _tag: "Succeeded", result: "<redacted>" })
      }))

    it.effect("with an error that its schema cannot encode at once settles with a sentence", () =>
      Effect.gen(function*() {
        ToolRun.slow.writing = Effect.never
        const { outcome } = yield* Effect.ensuring(
          execute("late", { late: () => Effect.fail("no") }),
          Effect.sync(() => {
            ToolRun.slow.writing = Effect.void
          })
        )
        assert.deepStrictEqual(outcome, ToolRun.failed("The tool failed: no"))
      }))

    it.effect("with an error that its schema does not allow settles NotEncodable in returning mode", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("returning", { returning: () => Effect.fail({ code: "x" }) })
        assert.strictEqual(outcome._tag, "NotEncodable")
      }))

    it.effect("with a schema error of its own settles NotEncodable", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Schema.decodeUnknownEffect(Schema.String)(5) })
        assert.strictEqual(outcome._tag, "NotEncodable")
      }))

    it.effect("with a reason of effect/ai settles with its message", () =>
      Effect.gen(function*() {
        const reason = new AiError.InternalProviderError({ description: "out of order" })
        const { outcome } = yield* execute("plain", { plain: () => Effect.fail(reason) })
        assert.deepStrictEqual(
          outcome,
          ToolRun.failed(AiError.make({ module: "Toolkit", method: "plain.handle", reason }).message)
        )
      }))

    it.effect.each([
      new AiError.ToolNotFoundError({ toolName: "search", availableTools: ["find"] }),
      new AiError.ToolParameterValidationError({ toolName: "search", description: "no key" }),
      new AiError.InvalidToolResultError({ toolName: "search", description: "bad" })
    ])("with an error of a nested call settles Failed: $_tag", (reason) =>
      Effect.gen(function*() {
        for (const module of ["LanguageModel", "Toolkit"]) {
          const error = AiError.make({ module, method: "search.handle", reason })
          const { outcome } = yield* execute("plain", { plain: () => Effect.fail(error) })
          assert.deepStrictEqual(outcome, ToolRun.failed(error.message))
        }
      }))

    it.effect("because its own model called a tool of the same name that it was not given settles Failed", () =>
      Effect.gen(function*() {
        const reason = new AiError.ToolNotFoundError({ toolName: "plain", availableTools: ["find"] })
        const error = AiError.make({ module: "LanguageModel", method: "generateText", reason })
        const { outcome } = yield* execute("plain", { plain: () => Effect.fail(error) })
        assert.deepStrictEqual(outcome, ToolRun.failed(error.message))
      }))

    const thrown: Array<[string, unknown, string]> = [
      ["an Error", new Error("boom"), "boom"],
      ["an Error without a message", new TypeError(), "TypeError"],
      ["a text", "boom", "boom"],
      ["undefined", undefined, "no reason given"],
      ["null", null, "no reason given"],
      ["an object without a prototype", Object.create(null), "no reason given"],
      [
        "an Error whose message throws",
        Object.defineProperty(new Error("x"), "message", {
          get: () => {
            throw new Error("no")
          }
        }),
        ""
      ]
    ]
    it.effect.each(thrown)("with a defect, %s, settles with a sentence", ([, defect, words]) =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Effect.die(defect) })
        assert.isTrue(outcome._tag === "Failed" && typeof outcome.result === "string" && outcome.result.includes(words))
      }))

    it.effect.each(thrown.slice(0, 6))(
      "by throwing %s instead of returning an effect settles with a sentence",
      ([, defect, words]) =>
        Effect.gen(function*() {
          const { outcome } = yield* execute("plain", {
            plain: () => {
              throw defect
            }
          })
          assert.isTrue(
            outcome._tag === "Failed" && typeof outcome.result === "string" && outcome.result.includes(words)
          )
        })
    )

    it.effect.each(Object.keys(unreadable))(
      "with %s, which nobody can look at, settles with a sentence",
      (name) =>
        Effect.gen(function*() {
          const odd = unreadable[name]!()
          const ways = [
            () => Effect.die(odd),
            () => Effect.fail(odd),
            () => Effect.andThen(Effect.yieldNow, Effect.die(odd)),
            () => {
              throw odd
            }
          ]
          for (const plain of ways) {
            const { outcome } = yield* execute("plain", { plain })
            assert.isTrue(outcome._tag === "Failed" && typeof outcome.result === "string")
          }
        })
    )

    it.effect.each([["a text", "text"], ["an object", {}], ["a promise", Promise.resolve("text")]] as const)(
      "by returning no effect but %s settles with what it must return",
      ([, returned]) =>
        Effect.gen(function*() {
          const { outcome } = yield* execute("plain", { plain: () => returned })
          assert.deepStrictEqual(outcome, mustReturn)
        })
    )

    it.effect("by interrupting itself settles with a sentence", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Effect.interrupt })
        assert.deepStrictEqual(outcome, ToolRun.failed("The tool interrupted itself."))
      }))

    it.effect("does not show its stack to the model", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Effect.die(new Error("boom")) })
        assert.notInclude(JSON.stringify(outcome), import.meta.filename)
      }))
  })

  describe("a handler that does not end", () => {
    const waiting = Effect.sync(() => {
      const started = Deferred.makeUnsafe<void>()
      let finalized = 0
      const handler = () =>
        Effect.andThen(Deferred.succeed(started, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Effect.sync(() => finalized++))
        )
      return { handler, started: Deferred.await(started), finalized: () => finalized }
    })

    it.effect("is interrupted at its timeout, finalized, and settles TimedOut", () =>
      Effect.gen(function*() {
        const { finalized, handler, started } = yield* waiting
        const fiber = yield* Effect.forkChild(execute("plain", { plain: handler }, { timeout: "10 seconds" }))
        yield* started
        yield* TestClock.adjust("10 seconds")
        const { leftBehind, outcome } = yield* Fiber.join(fiber)
        assert.strictEqual(finalized(), 1)
        assert.deepStrictEqual(outcome, { _tag: "TimedOut", limit: 10_000 })
        assert.deepStrictEqual(leftBehind, [])
      }))

    it.effect("is finalized when the call itself is interrupted", () =>
      Effect.gen(function*() {
        const { finalized, handler, started } = yield* waiting
        const fiber = yield* Effect.forkChild(execute("plain", { plain: handler }))
        yield* started
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(finalized(), 1)
        assert.strictEqual((yield* Fiber.await(fiber))._tag, "Failure")
      }))

    it.effect.each([["plain", "OutcomeUnknown", "OutcomeUnknown"], ["look", "TimedOut", "Interrupted"]] as const)(
      "and ignores its interruption is left behind after the grace period: %s is %s",
      ([name, outcome, told]) =>
        Effect.gen(function*() {
          const started = yield* Deferred.make<void>()
          const release = yield* Deferred.make<void>()
          const handler = () =>
            Effect.uninterruptible(Effect.andThen(Deferred.succeed(started, undefined), Deferred.await(release)))
          const fiber = yield* Effect.forkChild(execute(name, { [name]: handler }, { timeout: "10 seconds" }))
          yield* Deferred.await(started)
          yield* TestClock.adjust("14999 millis")
          assert.isUndefined(fiber.pollUnsafe())
          yield* TestClock.adjust("1 millis")
          const ran = yield* Fiber.join(fiber)
          assert.strictEqual(ran.outcome._tag, outcome)
          assert.deepStrictEqual(ran.leftBehind.map((left) => left._tag), [told])
          yield* Deferred.succeed(release, undefined)
        })
    )

    it.effect("has no limit with an infinite timeout", () =>
      Effect.gen(function*() {
        const { outcome } = yield* execute("plain", { plain: () => Effect.succeed(1) }, { timeout: Infinity })
        assert.deepStrictEqual(outcome, { _tag: "Succeeded", result: 1 })
      }))
  })
})

it.effect("a handler that goes on with no effect settles with what it must go on with", () =>
  Effect.gen(function*() {
    const plain = () => Effect.flatMap(Effect.void, (() => "text") as never)
    const { outcome } = yield* ToolRun.by("known").execute("plain", { plain })
    assert.deepStrictEqual(outcome, mustReturn)
  }))
