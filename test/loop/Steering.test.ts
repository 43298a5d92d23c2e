/** What is said to a live run: where the model reads it, and when the sender is told. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import type * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunError from "../../src/run/RunError.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as AbortPhase from "../support/AbortPhase.ts"
import * as Approvals from "../support/Approvals.ts"
import * as Hang from "../support/Hang.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Shrinking from "../support/Shrinking.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as Watch from "../support/Watch.ts"

const go = { sessionId: "s", runId: "r", input: "go" }
const delivered = (turn: number) => ({ _tag: "Delivered", turn } as const)

describe("a steer", () => {
  it.effect("during an answer becomes the user's message after it, before the next model call", () =>
    Effect.gen(function*() {
      const { gate, run, script, store } = yield* Steering.held([ScriptedModel.text("one")], [
        ScriptedModel.text("two")
      ])
      const fiber = yield* Steering.say(run, "steer", "shorter")
      yield* gate.release
      assert.deepStrictEqual(yield* Fiber.join(fiber), delivered(2))
      assert.strictEqual((yield* run.result).text, "two")
      const [, second] = yield* script.requests
      assert.deepStrictEqual(Steering.roles(second), ["user", "assistant", "user"])
      assert.deepStrictEqual(Steering.said(second), ["go", "shorter"])
      const log = yield* store.log("s")
      assert.deepStrictEqual(Steering.decisions(log), ["Continue steer", "Complete stop"])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("is stored before it is confirmed, and delivered in the write that begins its turn", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* Steering.held([ScriptedModel.text("one")], [ScriptedModel.text("two")])
      const fiber = yield* Steering.say(run, "steer", "shorter")
      assert.deepStrictEqual(RunLog.tags(yield* store.log("s")), ["RunStarted", "TurnStarted", "InputQueued"])
      yield* gate.release
      yield* Fiber.join(fiber)
      const write = store.appends.find((events) => events.some(({ _tag }) => _tag === "InputReceived"))
      assert.deepStrictEqual(RunLog.tags(write ?? []), [
        "AssistantMessage",
        "TurnFinished",
        "InputReceived",
        "TurnStarted"
      ])
      yield* run.result
    }))

  it.effect("is confirmed once the write of its turn is stored, neither before that nor only at the end", () =>
    Effect.gen(function*() {
      const second = yield* ScriptedModel.makeGate
      const { gate, run, store } = yield* Steering.held(
        [ScriptedModel.text("one")],
        [[ScriptedModel.text("two"), ScriptedModel.gate(second)]]
      )
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "InputReceived"))
      const fiber = yield* Steering.say(run, "steer", "shorter")
      store.onAppend = held.onAppend
      yield* gate.release
      yield* held.reached
      yield* Effect.yieldNow
      assert.isUndefined(fiber.pollUnsafe())
      yield* held.release
      yield* second.started
      assert.isTrue(yield* Hang.ends(Fiber.await(fiber)))
      assert.deepStrictEqual(yield* Fiber.join(fiber), delivered(2))
      yield* second.release
      yield* run.result
    }))

  it.effect("during tools waits for their round, which ends as usual", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const released = yield* Deferred.make<void>()
      const { agent, script, store } = yield* TestAgent.make(
        [[TestAgent.work(1, "a"), TestAgent.work(2, "b")], ScriptedModel.text("done")],
        {
          tool: ({ n }) =>
            Deferred.succeed(started, undefined).pipe(
              Effect.andThen(Deferred.await(released)),
              Effect.as(`done ${n}`)
            )
        }
      )
      const run = yield* agent.start(go)
      yield* Deferred.await(started)
      const fiber = yield* Steering.say(run, "steer", "hurry")
      yield* Deferred.succeed(released, undefined)
      assert.deepStrictEqual(yield* Fiber.join(fiber), delivered(2))
      yield* run.result
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 Succeeded"])
      assert.deepStrictEqual(Steering.decisions(log), ["Continue toolCalls", "Complete stop"])
      assert.deepStrictEqual(Steering.roles((yield* script.requests)[1]), ["user", "assistant", "tool", "user"])
    }))

  it.effect("is delivered with all others that wait, in order", () =>
    Effect.gen(function*() {
      const { gate, run, script, store } = yield* Steering.held([ScriptedModel.text("one")], [
        ScriptedModel.text("two")
      ])
      const first = yield* Steering.say(run, "steer", "a")
      const second = yield* Steering.say(run, "steer", "b")
      yield* gate.release
      assert.deepStrictEqual(yield* Fiber.join(first), delivered(2))
      assert.deepStrictEqual(yield* Fiber.join(second), delivered(2))
      yield* run.result
      assert.deepStrictEqual(Steering.said((yield* script.requests)[1]), ["go", "a+b"])
      assert.deepStrictEqual(Steering.received(yield* store.log("s")), ["steer: a", "steer: b"])
    }))

  it.effect("while the run waits to retry comes after that turn", () =>
    Effect.gen(function*() {
      const { agent, script } = yield* TestAgent.make([
        Overloaded.fail(),
        ScriptedModel.text("one"),
        ScriptedModel.text("two")
      ])
      const run = yield* agent.start(go)
      const watch = yield* Watch.make(run.events)
      yield* watch.until("RetryScheduled")
      const fiber = yield* Steering.say(run, "steer", "shorter")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* Fiber.join(fiber), delivered(2))
      yield* run.result
      assert.deepStrictEqual((yield* script.requests).map((request) => Steering.said(request).at(-1)), [
        "go",
        "go",
        "shorter"
      ])
    }))

  it.effect("while the context is compacted goes with the call that follows", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const released = yield* Deferred.make<void>()
      const { agent, script } = yield* TestAgent.make([ScriptedModel.text("one")], {
        context: AbortPhase.shrinking({
          wait: Effect.andThen(Deferred.succeed(started, undefined), Deferred.await(released))
        } as never)
      })
      const run = yield* agent.start({ ...go, history: Shrinking.history(2) })
      yield* Deferred.await(started)
      const fiber = yield* Steering.say(run, "steer", "shorter")
      yield* Deferred.succeed(released, undefined)
      assert.deepStrictEqual(yield* Fiber.join(fiber), delivered(1))
      yield* run.result
      assert.deepStrictEqual(Steering.said((yield* script.requests)[0]).at(-1), "go+shorter")
    }))

  it.effect("while a person is asked waits for the answer and the round", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Approvals.make([TestAgent.work(1), ScriptedModel.text("done")], { approver })
      const run = yield* made.agent.start(go)
      yield* approver.asked("1.0")
      const fiber = yield* Steering.say(run, "steer", "hurry")
      assert.isUndefined(fiber.pollUnsafe())
      yield* approver.answer("1.0", Approvals.yes)
      assert.deepStrictEqual(yield* Fiber.join(fiber), delivered(2))
      yield* run.result
      assert.deepStrictEqual(made.ran, [1])
    }))

  it.effect("from a tool of the run itself reaches its model", () =>
    Effect.gen(function*() {
      const steers = yield* Deferred.make<Agent.Run<string>>()
      const { agent, script } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("done")], {
        tool: () => Effect.orDie(Effect.as(Effect.flatMap(Deferred.await(steers), (_) => _.queue("steer", "ps")), "ok"))
      })
      const run = yield* agent.start(go)
      yield* Deferred.succeed(steers, run)
      yield* run.result
      assert.deepStrictEqual(Steering.said((yield* script.requests)[1]), ["go", "ps"])
    }))

  it.effect("reaches a run that was found by its id", () =>
    Effect.gen(function*() {
      const { agent, gate, script } = yield* Steering.held([ScriptedModel.text("one")], [ScriptedModel.text("two")])
      const run = yield* agent.live("r")
      assert.isDefined(run)
      const fiber = yield* Steering.say(run, "steer", "shorter")
      yield* gate.release
      assert.deepStrictEqual(yield* Fiber.join(fiber), delivered(2))
      yield* run.result
      assert.deepStrictEqual(Steering.said((yield* script.requests)[1]), ["go", "shorter"])
    }))

  it.effect("is not withdrawn when its waiting sender is interrupted", () =>
    Effect.gen(function*() {
      const { gate, run, script } = yield* Steering.held([ScriptedModel.text("one")], [ScriptedModel.text("two")])
      const fiber = yield* Effect.forkChild(run.steer("shorter"), { startImmediately: true })
      yield* Effect.yieldNow
      yield* Fiber.interrupt(fiber)
      yield* gate.release
      yield* run.result
      assert.deepStrictEqual(Steering.said((yield* script.requests)[1]), ["go", "shorter"])
    }))

  it.effect("that is not a valid message is refused, and nothing of it is stored", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* Steering.held([ScriptedModel.text("one")], [])
      const refused: ReadonlyArray<Parameters<typeof run.steer>[0]> = [
        " ",
        [],
        [{ role: "assistant" as never, content: "hi" }],
        [{ role: "user", content: [{ type: "file", mediaType: "image/png", data: "http://" }] }]
      ]
      for (const message of refused) {
        const error = yield* Effect.flip(run.steer(message))
        assert.strictEqual(error.reason._tag === "InvalidInput" ? error.reason.field : error.reason._tag, "message")
      }
      const { reason } = yield* Effect.flip(run.queue("stear" as never, "hi"))
      assert.strictEqual(reason._tag === "InvalidInput" ? reason.field : reason._tag, "kind")
      yield* gate.release
      yield* run.result
      assert.deepStrictEqual(Steering.queued(yield* store.log("s")), [])
    }))

  it.effect("keeps an answer from being the last, which then need not fit the output schema", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* Steering.held(
        [ScriptedModel.text("let me think")],
        [ScriptedModel.text("{\"n\":1}")],
        { agent: { output: Schema.Struct({ n: Schema.Finite }) as never } }
      )
      const fiber = yield* Steering.say(run, "steer", "quick")
      yield* gate.release
      yield* Fiber.join(fiber)
      const result = yield* run.result
      assert.deepStrictEqual<unknown>(result._tag === "Completed" && result.output, { n: 1 })
      assert.deepStrictEqual(Steering.decisions(yield* store.log("s")), ["Continue steer", "Complete stop"])
    }))

  it.effect("that is in the log is sent again after a compaction, and is in the log once", () =>
    Effect.gen(function*() {
      const overflow = ScriptedModel.fail(
        new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "ContextOverflow", message: "too much" })
      )
      const { gate, run, script, store } = yield* Steering.held(
        [ScriptedModel.text("one")],
        [overflow, ScriptedModel.text("two")],
        { context: ContextWindow.layer },
        {
          history: Array.from({ length: 8 }, (_, i) => ({ role: i % 2 === 0 ? "user" : "assistant", content: `${i}` }))
        }
      )
      const fiber = yield* Steering.say(run, "steer", "shorter")
      yield* gate.release
      yield* Fiber.join(fiber)
      yield* run.result
      assert.include(Steering.said((yield* script.requests)[2]).at(-1), "shorter")
      assert.deepStrictEqual(Steering.received(yield* store.log("s")), ["steer: shorter"])
    }))
})

describe("a run", () => {
  it.effect("that nobody speaks to costs no extra event and no extra write", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* Steering.held([ScriptedModel.text("one")], [])
      yield* gate.release
      yield* run.result
      assert.deepStrictEqual(store.appends.map(RunLog.tags), [
        ["RunStarted"],
        ["TurnStarted"],
        ["AssistantMessage", "TurnFinished", "RunCompleted"]
      ])
    }))

  it.effect("that is found before its first event is stored takes a steer once it is", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((n) => n === 1)
      const gate = yield* ScriptedModel.makeGate
      const store = yield* TestStore.make(held.onAppend)
      const { agent } = yield* TestAgent.make([
        [ScriptedModel.text("one"), ScriptedModel.gate(gate)],
        ScriptedModel.text("two")
      ], { store })
      const starting = yield* Effect.forkChild(agent.start(go))
      yield* held.reached
      const found = yield* agent.live("r")
      const fiber = yield* Effect.forkChild(found!.steer("shorter"), { startImmediately: true })
      yield* held.release
      const run = yield* Fiber.join(starting)
      yield* gate.started
      yield* gate.release
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Delivered")
      yield* run.result
      assert.deepStrictEqual(Steering.received(yield* store.log("s")), ["steer: shorter"])
    }))

  it.effect("whose start the store refuses also refuses a steer sent before", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((n) => n === 1)
      const store = yield* TestStore.make((append) =>
        Effect.andThen(held.onAppend({ ...append, store: Effect.void }), Effect.fail(TestStore.unavailable))
      )
      const { agent } = yield* TestAgent.make([], { store })
      const starting = yield* Effect.forkChild(Effect.exit(agent.start(go)))
      yield* held.reached
      const found = yield* agent.live("r")
      const fiber = yield* Effect.forkChild(Effect.flip(found!.steer("shorter")), { startImmediately: true })
      yield* held.release
      assert.isTrue(Exit.isFailure(yield* Fiber.join(starting)))
      assert.strictEqual((yield* Fiber.join(fiber)).reason._tag, "StoreUnavailable")
    }))
})
