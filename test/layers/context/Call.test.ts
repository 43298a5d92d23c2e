/** How long a strategy's call of a model may take, and what comes of one that takes longer: the same as of a turn's call. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Call from "../../../src/layers/context/Call.ts"
import type * as AttemptResult from "../../../src/run/AttemptResult.ts"
import * as Message from "../../../src/run/Message.ts"
import type * as RunPolicy from "../../../src/run/RunPolicy.ts"
import * as Usage from "../../../src/run/Usage.ts"
import type * as ContextManager from "../../../src/services/ContextManager.ts"
import * as LeaveBehind from "../../../src/services/LeaveBehind.ts"
import * as Model from "../../../src/services/Model.ts"
import * as Timeouts from "../../../src/services/Timeouts.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"

const question: Call.Question = {
  messages: [Message.user("What was said?")],
  metadata: { sessionId: "s", runId: "r", turn: 1, attempt: 0 }
}

const makeLedger = (): ContextManager.Ledger => {
  let noted = Usage.zero
  return { mayAsk: () => true, note: (usage) => void (noted = Usage.add(noted, usage)), noted: () => noted }
}

/** A call under way within these limits; `left` are the names of what it left behind. */
const calling = Effect.fnUntraced(function*(model: Model.Model["Service"], timeouts: RunPolicy.TimeoutsInput) {
  const left: Array<string> = []
  const ledger = makeLedger()
  const call = yield* Effect.forkChild(
    Call.make(model, question, ledger).pipe(
      Effect.provideService(Timeouts.Timeouts, timeouts),
      Effect.provideService(LeaveBehind.LeaveBehind, (name) => Effect.sync(() => void left.push(name)))
    )
  )
  return { call, ledger, left }
})

/** A model that says this, and then nothing more. */
const saying = Effect.fnUntraced(function*(...steps: ReadonlyArray<ScriptedModel.Step>) {
  const gate = yield* ScriptedModel.makeGate
  const context = yield* ScriptedModel.make([[...steps, ScriptedModel.gate(gate)]])
  return { gate, model: Context.get(context, Model.Model) }
})

const errorOf = (called: AttemptResult.AttemptResult) => {
  const reason = called._tag === "Failed" ? called.error.reason : undefined
  return reason?._tag === "TimedOut" ? [reason.scope, reason.message] : reason?._tag
}

const signsOfLife = ScriptedModel.parts(
  { type: "response", id: "1" },
  { type: "block-start", kind: "text", block: "t" },
  { type: "text-delta", block: "t", delta: "" }
)

describe("a strategy's call that takes too long", () => {
  it.effect.each<readonly [RunPolicy.TimeoutsInput, ReadonlyArray<ScriptedModel.Step>, string, Duration.Input]>([
    [{ firstPart: "1 second" }, [], "firstPart", "1 second"],
    [{ firstPart: "1 second" }, [signsOfLife], "firstPart", "1 second"],
    [{}, [], "firstPart", "60 seconds"],
    [{ gap: "2 seconds" }, [ScriptedModel.text("They")], "gap", "2 seconds"],
    [{ gap: "2 seconds" }, [ScriptedModel.text("They"), signsOfLife], "gap", "2 seconds"],
    [{ call: "3 seconds" }, [ScriptedModel.text("They")], "call", "3 seconds"],
    [{ call: "3 seconds" }, [], "call", "3 seconds"]
  ])("fails, and its stream is closed: %j", ([timeouts, said, scope, time]) =>
    Effect.gen(function*() {
      const { gate, model } = yield* saying(...said)
      const { call } = yield* calling(model, timeouts)
      yield* gate.started
      yield* TestClock.adjust(time)
      const [found, message] = errorOf(yield* Fiber.join(call)) ?? []
      assert.strictEqual(found, scope)
      assert.include(message, `change timeouts.${scope} to allow more`)
      yield* gate.closed
    }))

  it.effect("is left behind, by name, if its stream cannot be interrupted", () =>
    Effect.gen(function*() {
      const stuck: Model.Model["Service"] = {
        info: { provider: "test", name: "stuck" },
        stream: () => Stream.fromEffect(Effect.uninterruptible(Effect.never))
      }
      const { call, left } = yield* calling(stuck, { firstPart: "1 second" })
      yield* Effect.yieldNow
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(left, [])
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual([errorOf(yield* Fiber.join(call))?.[0], left], ["firstPart", ["model stuck"]])
    }))
})

it.effect("a strategy's call that goes on has the time of a gap again and again", () =>
  Effect.gen(function*() {
    const more = [ScriptedModel.delay("50 seconds"), ScriptedModel.text("They talked.")]
    const context = yield* ScriptedModel.make([[...more, ...more, ScriptedModel.delay("10 seconds")]])
    const { call } = yield* calling(Context.get(context, Model.Model), { firstPart: "55 seconds" })
    yield* TestClock.adjust("50 seconds")
    yield* TestClock.adjust("50 seconds")
    yield* TestClock.adjust("10 seconds")
    assert.strictEqual((yield* Fiber.join(call))._tag, "Settled")
  }))

it.effect("the first part of a strategy's call is the first that brings the answer on", () =>
  Effect.gen(function*() {
    const context = yield* ScriptedModel.make([[
      signsOfLife,
      ScriptedModel.delay("3 seconds"),
      ScriptedModel.text("They talked."),
      ScriptedModel.delay("4 seconds")
    ]])
    const { call } = yield* calling(Context.get(context, Model.Model), {})
    yield* TestClock.adjust("3 seconds")
    yield* TestClock.adjust("4 seconds")
    const called = yield* Fiber.join(call)
    assert.deepStrictEqual(called._tag === "Settled" && [called.firstPart, called.duration], [3000, 7000])
  }))

it.effect("a strategy's call that is interrupted closes its stream, and what it used is noted", () =>
  Effect.gen(function*() {
    const { gate, model } = yield* saying(
      ScriptedModel.parts({ type: "response", usage: { inputTokens: 30, outputTokens: 0 } })
    )
    const { call, ledger } = yield* calling(model, {})
    yield* gate.started
    yield* Fiber.interrupt(call)
    yield* gate.closed
    assert.strictEqual(ledger.noted().inputTokens, 30)
  }))
