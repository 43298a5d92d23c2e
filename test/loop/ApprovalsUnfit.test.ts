/** A call whose tool asks, and whose arguments did not fit when its rule was asked: nobody allowed it, so it never runs. */
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as Tracer from "effect/Tracer"
import type * as Hooks from "../../src/services/Hooks.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as Traces from "../support/Traces.ts"
import * as Watch from "../support/Watch.ts"

const turns = [[TestAgent.work(1), ScriptedModel.call("again", { n: 2 })], ScriptedModel.text("ok")]

/** The tool `work` asks, and these arguments of it fit from the second time on that they are read. */
const fittingLater = (early = 1) => {
  let reads = 0
  const isLate = Schema.makeFilter<{ readonly n: number }>(({ n }) => n !== early || reads++ > 0 || "too early")
  return Approvals.withWork(
    Tool.make("work", {
      parameters: Schema.Struct({ n: Schema.Finite }).check(isLate),
      success: Schema.String,
      failure: Schema.String,
      dependencies: [ToolCall],
      needsApproval: true
    })
  )
}

it.effect.each([1, 4])(
  "it does not run, though its arguments fit by then (%i at once)",
  (maxParallel) =>
    Effect.gen(function*() {
      const { agent, ran, script, store } = yield* Approvals.make(turns, {
        agent: { toolkit: fittingLater(), toolPolicy: { maxParallel } }
      })
      const result = yield* agent.run({ sessionId: "s", input: "go" })
      const log = yield* store.log("s")
      assert.deepStrictEqual([result._tag, RunLog.only(log, "RunCompleted")[0]?.totals.toolCalls, ran], [
        "Completed",
        2,
        [2]
      ])
      assert.deepStrictEqual(Approvals.steps(log).filter((step) => step.includes("1.0")), [
        "ToolStarted 1.0",
        "ToolSettled 1.0 InvalidArguments"
      ])
      assert.deepStrictEqual(Approvals.violations(log), [])
      const [, last] = yield* script.requests
      assert.include(JSON.stringify(last!.messages.at(-1)), "too early")
    })
)

it.effect("no drive finds it started: a tool that may run again would run then", () =>
  Effect.gen(function*() {
    const [looks, goesOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const hook: Hooks.Hook = {
      name: "slow",
      afterToolCall: ({ tool }) =>
        tool === "work" ? Effect.andThen(Deferred.succeed(looks, undefined), Deferred.await(goesOn)) : Effect.void
    }
    const { agent, store } = yield* Approvals.make(turns, {
      agent: { hooks: [hook], toolkit: fittingLater(), toolPolicy: { maxParallel: 2 } }
    })
    const { events, result } = yield* agent.start({ sessionId: "s", input: "go" })
    const watch = yield* Watch.make(events)
    yield* Deferred.await(looks)
    yield* watch.until("ToolSettled")
    assert.deepStrictEqual(Approvals.steps(yield* store.log("s")), ["ToolStarted 1.1", "ToolSettled 1.1 Succeeded"])
    yield* Deferred.succeed(goesOn, undefined)
    assert.strictEqual((yield* result)._tag, "Completed")
    const together = store.appends.find((append) => append.some((event) => "callId" in event && event.callId === "1.0"))
    assert.deepStrictEqual(Approvals.steps(together!).filter((step) => step.includes("1.0")), [
      "ToolStarted 1.0",
      "ToolSettled 1.0 InvalidArguments"
    ])
  }))

it.effect("an abort that comes while hooks look at what is wrong with it starts nothing", () =>
  Effect.gen(function*() {
    const [looks, goesOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const hook: Hooks.Hook = {
      name: "slow",
      afterToolCall: () => Effect.andThen(Deferred.succeed(looks, undefined), Deferred.await(goesOn))
    }
    const { agent, ran, store } = yield* Approvals.make(turns, { agent: { hooks: [hook], toolkit: fittingLater() } })
    const { result } = yield* agent.start({ sessionId: "s", input: "go" })
    yield* Deferred.await(looks)
    const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "AbortRequested"))
    store.onAppend = held.onAppend
    const aborting = yield* Effect.forkChild(agent.abort("s"), { startImmediately: true })
    yield* held.reached
    // the hook is done with it while the abort is being stored
    yield* Deferred.succeed(goesOn, undefined)
    yield* TestClock.adjust("1 millis")
    yield* held.release
    yield* Fiber.join(aborting)
    assert.strictEqual((yield* result)._tag, "Aborted")
    assert.deepStrictEqual([ran, RunLog.only(yield* store.log("s"), "ToolStarted")], [[], []])
  }))

it.effect("it has a span, as any call that counts", () =>
  Effect.gen(function*() {
    const traces = Traces.make()
    const { agent } = yield* Approvals.make(turns, { agent: { toolkit: fittingLater() } })
    yield* Effect.provideService(agent.run({ sessionId: "s", input: "go" }), Tracer.Tracer, traces.tracer)
    const { attributes } = traces.named("execute_tool work")
    assert.strictEqual(attributes.get("error.type"), "InvalidArguments")
  }))

it.effect("it waits behind a call that is asked about, as any other", () =>
  Effect.gen(function*() {
    const script = [[TestAgent.work(1), TestAgent.work(2)]]
    const { agent, store } = yield* Approvals.make(script, { agent: { toolkit: fittingLater(2) } })
    assert.strictEqual((yield* agent.run({ sessionId: "s", input: "go" }))._tag, "Suspended")
    assert.deepStrictEqual(Approvals.steps(yield* store.log("s")), ["ApprovalRequested 1.0", "RunSuspended"])
  }))
