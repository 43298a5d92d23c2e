/** A run's errors: two tags, tagged reasons, unchanged by the log. */
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as RunError from "../../src/run/RunError.ts"

const busy = RunError.sessionBusy("session-1", "run-1")
const last: RunError.ProviderReason = { _tag: "RateLimited", message: "slow down", status: 429, retryAfter: 1500 }
const exhausted = (last: RunError.ProviderReason) =>
  new RunError.RetryableError<RunError.RunReason>({ _tag: "RetriesExhausted", message: "gave up", last, attempts: 4 })

const failing = (error: RunError.RunError): Effect.Effect<string, RunError.RunError> => Effect.fail(error)

describe("an error", () => {
  it("has the message of its reason", () => {
    assert.strictEqual(RunError.invalidInput("input", "the input is empty").message, "the input is empty")
    assert.include(String(busy), busy.reason.message)
  })

  it.each([
    [RunError.sessionNotFound("s"), "there is no session \"s\" in this store; Sessions.list lists those that it has"],
    [
      RunError.abortedBeforeStart("r"),
      "run \"r\" was aborted before it stored anything, so the session is as it was; start the run again"
    ]
  ])("of %s says what to do", (error, said) => assert.strictEqual(error.message, said))

  it("is an Error for those who do not use Effect", () => assert.instanceOf(busy, Error))

  it.each([
    ["an invalid input", RunError.invalidInput("limits.maxTurns", "limits.maxTurns must be 1"), "limits.maxTurns"],
    ["a conflict", RunError.runConflict("run-1"), "\"run-1\""],
    ["a busy session", busy, "\"run-1\""],
    ["a busy session", busy, "\"session-1\""],
    ["a busy session whose run is not known", RunError.sessionBusy("session-1", undefined), "\"session-1\""],
    ["a missing session", RunError.sessionNotFound("session-1"), "\"session-1\""]
  ])("of %s names what it is about", (_, error, named) => assert.include(error.message, named))

  it("of a busy session has no run id if none is known", () => {
    assert.notProperty(RunError.sessionBusy("session-1", undefined).reason, "runId")
  })

  it("keeps the defect that it represents", () => {
    const defect = new TypeError("x is not a function")
    const error = RunError.fromDefect(defect)
    assert.strictEqual(error.reason._tag, "Unknown")
    assert.strictEqual(error.cause, defect)
    assert.strictEqual(RunError.fromDefect("just words").cause, "just words")
  })
})

describe("retryAfter", () => {
  it("is the provider's, even when the tries are used up", () => {
    assert.deepStrictEqual(exhausted(last).retryAfter, Duration.millis(1500))
    assert.deepStrictEqual(new RunError.RetryableError(last).retryAfter, Duration.millis(1500))
  })

  it("is undefined if nobody gave a time", () => {
    assert.isUndefined(busy.retryAfter)
    assert.isUndefined(exhausted({ _tag: "StreamTruncated", message: "cut" }).retryAfter)
  })

  it("may be zero", () => assert.deepStrictEqual(exhausted({ ...last, retryAfter: 0 }).retryAfter, Duration.zero))
})

describe("handling", () => {
  it.effect("by tag leaves the other tag", () =>
    Effect.gen(function*() {
      const handled: Effect.Effect<string, RunError.NonRetryableError> = failing(busy).pipe(
        Effect.catchTag("RetryableError", (error) => Effect.succeed(error.reason._tag))
      )
      assert.strictEqual(yield* handled, "SessionBusy")
    }))

  it.effect("by reason receives the fields of that reason", () =>
    Effect.gen(function*() {
      const handled = failing(busy).pipe(
        Effect.catchReason("RetryableError", "SessionBusy", (reason) => Effect.succeed(reason.runId ?? "unknown"))
      )
      assert.strictEqual(yield* handled, "run-1")
    }))

  it.effect("by reason lets every other reason pass", () =>
    Effect.gen(function*() {
      const handled = failing(exhausted(last)).pipe(
        Effect.catchReason("RetryableError", "SessionBusy", () => Effect.succeed("busy"))
      )
      const error = yield* Effect.flip(handled)
      assert.strictEqual(error.reason._tag, "RetriesExhausted")
    }))

  it.effect("by several reasons of the other tag", () =>
    Effect.gen(function*() {
      const handled = failing(RunError.sessionNotFound("session-1")).pipe(
        Effect.catchReasons("NonRetryableError", {
          SessionNotFound: (reason) => Effect.succeed(reason.sessionId),
          QuotaExhausted: (reason) => Effect.succeed(`${reason.status ?? "?"}`)
        })
      )
      assert.strictEqual(yield* handled, "session-1")
    }))

  it.effect("of a model's error works the same, with the provider's reasons", () =>
    Effect.gen(function*() {
      const model: Effect.Effect<string, RunError.ModelError> = Effect.fail(new RunError.RetryableError(last))
      const handled = model.pipe(
        Effect.catchReason("RetryableError", "RateLimited", (reason) => Effect.succeed(`${reason.retryAfter}`))
      )
      assert.strictEqual(yield* handled, "1500")
    }))
})

describe("in the log", () => {
  const stored = Schema.decodeUnknownSync(RunError.Stored)
  const errors: ReadonlyArray<RunError.RunError> = [
    busy,
    exhausted(last),
    exhausted({ _tag: "TimedOut", message: "late", scope: "gap" }),
    new RunError.RetryableError({ _tag: "StoreUnavailable", message: "disk full" }),
    RunError.runConflict("run-1"),
    RunError.sessionNotFound("session-1"),
    new RunError.NonRetryableError({ _tag: "EventTooLarge", message: "big", bytes: 2, limit: 1 }),
    new RunError.NonRetryableError({ _tag: "ToolFailed", message: "no", tool: "pay", callId: "1.0" }),
    new RunError.NonRetryableError({ _tag: "ContextOverflow", message: "long", status: 400 })
  ]

  it.each(errors)("$reason._tag comes back unchanged", (error) => {
    const back = RunError.fromStored(stored(JSON.parse(JSON.stringify(RunError.toStored(error)))))
    assert.strictEqual(back._tag, error._tag)
    assert.deepStrictEqual(back.reason, error.reason)
    assert.strictEqual(back.message, error.message)
  })

  it.each([NaN, Infinity, -Infinity])("a status or a wait of %d is none", (number) => {
    const reason = { _tag: "InvalidRequest", message: "no", status: 400, retryAfter: 10 } as const
    const kept = (change: object) =>
      stored(JSON.parse(JSON.stringify(RunError.toStored(new RunError.NonRetryableError({ ...reason, ...change })))))
        .reason
    const { retryAfter: _1, ...noWait } = reason
    const { status: _2, ...noStatus } = reason
    assert.deepStrictEqual<unknown>(kept({ status: number }), noStatus)
    assert.deepStrictEqual<unknown>(kept({ retryAfter: number }), noWait)
    assert.deepStrictEqual<unknown>(kept({ status: number, retryAfter: number }), { _tag: reason._tag, message: "no" })
  })

  it("a provider's own reason is never a retryable one", () => {
    assert.throws(() => stored({ _tag: "RetryableError", reason: last }))
  })
})
