/** The progress that a tool reports while it runs, and that nothing is shown after its outcome. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import type { Hook } from "../../src/services/Hooks.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as Watch from "../support/Watch.ts"

type Tell = (text: string) => Effect.Effect<void>

/** A handler that reports progress. */
const telling = (
  handler: (n: number, tell: Tell) => ReturnType<TestAgent.Handler>
): TestAgent.Handler =>
  (({ n }: { readonly n: number }, { preliminary }: { readonly preliminary: Tell }) => handler(n, preliminary)) as never

/** A handler that nothing ends, and that reports progress when the test says so. */
const stuck = Effect.gen(function*() {
  const started = yield* Deferred.make<void>()
  const letGo = yield* Deferred.make<void>()
  const told = yield* Deferred.make<void>()
  const tool = telling((_, tell) =>
    Deferred.succeed(started, undefined).pipe(
      Effect.andThen(tell("early")),
      Effect.andThen(Deferred.await(letGo)),
      Effect.andThen(tell("late")),
      Effect.andThen(Deferred.succeed(told, undefined)),
      Effect.andThen(Effect.never),
      Effect.uninterruptible
    )
  )
  const tellLate = Effect.andThen(Deferred.succeed(letGo, undefined), Deferred.await(told))
  return { started: Deferred.await(started), tellLate, tool }
})

const progressOf = (seen: Watch.Watch["seen"]) =>
  RunLog.only(seen, "ToolProgress").map(({ callId, value }) => [callId, value])

describe("the progress of a tool", () => {
  it.effect("is shown under its call, before its outcome", () =>
    Effect.gen(function*() {
      const { over, seen } = yield* Watch.started([
        [TestAgent.work(1, "a"), TestAgent.work(2, "b")],
        ScriptedModel.text("ok")
      ], {
        agent: { toolPolicy: { maxParallel: 2 } },
        tool: telling((n, tell) =>
          Effect.flatMap(ToolCall, ({ callId }) => Effect.as(tell(`${n} of ${callId}`), "done"))
        )
      })
      yield* over
      assert.deepStrictEqual(progressOf(seen), [["1.0", "1 of 1.0"], ["1.1", "2 of 1.1"]])
      const ofFirst = seen.filter((event) => "callId" in event && event.callId === "1.0")
      assert.deepStrictEqual(ofFirst.map(({ _tag }) => _tag), ["ToolStarted", "ToolProgress", "ToolSettled"])
    }))

  it.effect("is dropped once the call was left behind at its time limit", () =>
    Effect.gen(function*() {
      const { started, tellLate, tool } = yield* stuck
      const gate = yield* ScriptedModel.makeGate
      const { over, seen } = yield* Watch.started([TestAgent.work(1), [
        ScriptedModel.gate(gate),
        ScriptedModel.text("ok")
      ]], { agent: { timeouts: { tool: "10 seconds" } }, tool })
      yield* started
      yield* TestClock.adjust("15 seconds")
      yield* gate.started
      yield* tellLate
      yield* gate.release
      yield* over
      assert.deepStrictEqual(RunLog.outcomes(seen), ["1.0 OutcomeUnknown"])
      assert.deepStrictEqual(progressOf(seen), [["1.0", "early"]])
    }))

  it.effect("is dropped once the call was left behind, even while a hook looks at its outcome", () =>
    Effect.gen(function*() {
      const { started, tellLate, tool } = yield* stuck
      const looking = yield* Deferred.make<void>()
      const looked = yield* Deferred.make<void>()
      const hook: Hook = {
        name: "slow",
        afterToolCall: ({ isPreliminary }) =>
          isPreliminary
            ? Effect.void
            : Effect.andThen(Deferred.succeed(looking, undefined), Effect.asVoid(Deferred.await(looked)))
      }
      const { over, seen } = yield* Watch.started([TestAgent.work(1), ScriptedModel.text("ok")], {
        agent: { hooks: [hook], timeouts: { tool: "10 seconds" } },
        tool
      })
      yield* started
      yield* TestClock.adjust("15 seconds")
      yield* Deferred.await(looking)
      yield* tellLate
      yield* Deferred.succeed(looked, undefined)
      yield* over
      assert.deepStrictEqual(progressOf(seen), [["1.0", "early"]])
    }))

  it.effect("is not shown after its outcome, even if a guard takes its time over the progress", () =>
    Effect.gen(function*() {
      const looking = yield* Deferred.make<void>()
      const looked = yield* Deferred.make<void>()
      const gate = yield* ScriptedModel.makeGate
      const guard: Hook = {
        name: "guard",
        afterToolCall: ({ isPreliminary }) =>
          isPreliminary
            ? Effect.andThen(Deferred.succeed(looking, undefined), Effect.asVoid(Deferred.await(looked)))
            : Effect.void
      }
      let told: Fiber.Fiber<void> | undefined
      const { over, seen } = yield* Watch.started([TestAgent.work(1), [
        ScriptedModel.gate(gate),
        ScriptedModel.text("ok")
      ]], {
        agent: { hooks: [guard] },
        tool: telling((_, tell) =>
          Effect.gen(function*() {
            told = yield* Effect.forkDetach(tell("slow"))
            yield* Deferred.await(looking)
            return "done"
          })
        )
      })
      yield* gate.started
      yield* Deferred.succeed(looked, undefined)
      yield* Fiber.await(told!)
      yield* gate.release
      yield* over
      assert.deepStrictEqual(RunLog.outcomes(seen), ["1.0 Succeeded"])
      assert.deepStrictEqual(progressOf(seen), [])
    }))

  it.effect("is dropped once the run is over, even while the end is being stored", () =>
    Effect.gen(function*() {
      const { started, tellLate, tool } = yield* stuck
      const held = TestStore.holding((_, events) => events.at(-1)?._tag === "RunAborted")
      const { agent } = yield* TestAgent.make([TestAgent.work(1)], {
        store: yield* TestStore.make(held.onAppend),
        tool
      })
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const { over, seen } = yield* Watch.make(run.events)
      yield* started
      yield* Effect.forkChild(run.abort)
      yield* TestClock.adjust("5 seconds")
      yield* held.reached
      yield* tellLate
      yield* held.release
      yield* over
      assert.deepStrictEqual(progressOf(seen), [["1.0", "early"]])
      assert.strictEqual(seen.at(-1)?._tag, "RunAborted")
    }))
})
