/** What happens when a strategy's question to a model fails: what is tried again, and which model is asked instead. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Ask from "../../../src/layers/context/Ask.ts"
import * as Message from "../../../src/run/Message.ts"
import * as RunError from "../../../src/run/RunError.ts"
import * as Usage from "../../../src/run/Usage.ts"
import type * as ContextManager from "../../../src/services/ContextManager.ts"
import type * as Model from "../../../src/services/Model.ts"
import * as RetryPolicy from "../../../src/services/RetryPolicy.ts"

const question = {
  messages: [Message.user("What was said?")],
  metadata: { sessionId: "s", runId: "r", turn: 1, attempt: 0 }
}

const tooLong = new RunError.NonRetryableError<RunError.ProviderRefusal>({
  _tag: "ContextOverflow",
  message: "too long"
})
const keyless = new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "Authentication", message: "no key" })

/** A model that fails with this error, with a fallback that would take over for any error. */
const failing = (error: RunError.ModelError) => {
  const asked: Array<string> = []
  const model = (name: string, fallback?: Model.Fallback): Model.Model["Service"] => ({
    info: { provider: "test", name },
    ...(fallback === undefined ? {} : { fallback }),
    stream: () => Stream.suspend(() => (asked.push(name), Stream.fail(error)))
  })
  return { asked, model: model("first", { to: model("second"), when: () => true }) }
}

const ledger = (calls: number): ContextManager.Ledger => {
  let left = calls
  return { mayAsk: () => left-- > 0, note: () => {}, noted: () => Usage.zero }
}

const reasonOf = (self: Effect.Effect<unknown, RunError.RunError>) =>
  Effect.map(Effect.flip(self), ({ reason }) => reason._tag)

/** Takes every failure for a passing one. */
const patient = RetryPolicy.make({
  classify: ({ reason }) => new RunError.RetryableError({ _tag: "Overloaded", message: reason.message })
})

describe("a question that fails", () => {
  it.effect("is put to the next model", () =>
    Effect.gen(function*() {
      const { asked, model } = failing(keyless)
      assert.strictEqual(yield* reasonOf(Ask.ask(model, question, ledger(9))), "Authentication")
      assert.deepStrictEqual(asked, ["first", "second"])
    }))

  it.effect("is put to no other model when it is too long", () =>
    Effect.gen(function*() {
      const { asked, model } = failing(tooLong)
      assert.strictEqual(yield* reasonOf(Ask.ask(model, question, ledger(9))), "ContextOverflow")
      assert.deepStrictEqual(asked, ["first"])
    }))

  it.effect("is not put to any model when the run's limits leave no call, whatever the retry policy says", () =>
    Effect.gen(function*() {
      const { asked, model } = failing(keyless)
      const asking = Ask.ask(model, question, ledger(0))
      const error = yield* Effect.flip(Effect.provideService(asking, RetryPolicy.RetryPolicy, patient))
      assert.strictEqual(error.reason._tag, "Unknown")
      assert.strictEqual(error.message, "the run's limits allow no further call; resume the run with higher ones")
      assert.deepStrictEqual(asked, [])
    }))

  it.effect("with every model says how often the last one was asked", () =>
    Effect.gen(function*() {
      const overloaded = new RunError.RetryableError<RunError.ProviderReason>({ _tag: "Overloaded", message: "busy" })
      const second = { info: { provider: "test", name: "second" }, stream: () => Stream.fail(overloaded) }
      const first = { ...failing(keyless).model, fallback: { to: second, when: () => true } }
      const retry = RetryPolicy.make({ base: 0, maxRetries: 1 })
      const asking = Effect.provideService(Ask.ask(first, question, ledger(9)), RetryPolicy.RetryPolicy, retry)
      const { reason } = yield* Effect.flip(asking)
      assert.deepInclude(reason, { _tag: "RetriesExhausted", attempts: 2 })
    }))

  it.effect("because it was answered with nothing twice is put to the next model, once", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const parts: ReadonlyArray<Model.ModelPart> = [
        { type: "text-delta", block: "0", delta: " " },
        { type: "finish", reason: "stop", usage: Usage.zero }
      ]
      const model = (name: string, fallback?: Model.Fallback): Model.Model["Service"] => ({
        info: { provider: "test", name },
        ...(fallback === undefined ? {} : { fallback }),
        stream: () => Stream.suspend(() => (asked.push(name), Stream.fromIterable(parts)))
      })
      const first = model("first", { to: model("second"), when: () => true })
      const asking = Ask.ask(first, question, ledger(9))
      const retry = RetryPolicy.make({ base: 0 })
      const error = yield* Effect.flip(Effect.provideService(asking, RetryPolicy.RetryPolicy, retry))
      assert.strictEqual(error.message, "the model's answer was empty")
      assert.deepStrictEqual(asked, ["first", "first", "second"])
    }))
})
