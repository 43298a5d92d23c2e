/** Approvals beside a run's other features: limits that fall among asked calls, stops, forks, an end that is stuck. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const { look, work } = TestAgent
const three = [work(1, "a"), look(2, "b"), look(3, "c")]

describe("a limit on tool calls in a message with a call that waits", () => {
  it.effect("lets the first calls run one by one once the waiting one is allowed, and then settles the rest", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(three, {}, { limits: { maxToolCalls: 2 } })
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), [])
      yield* made.decide("1.0")
      assert.strictEqual(RunLog.endOf(yield* made.resume()), "RunLimited(toolCalls)")
      assert.deepStrictEqual(made.ran, [1, 2])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log).toSorted(), [
        "1.0 Succeeded",
        "1.1 Succeeded",
        "1.2 NotExecuted(limit)"
      ])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("does the same for parallel calls: a call that waits keeps its place among the first", () =>
    Effect.gen(function*() {
      const agent = { toolkit: Approvals.kit, toolPolicy: { maxParallel: 3 } }
      const made = yield* Suspended.make(three, { agent }, { limits: { maxToolCalls: 2 } })
      assert.deepStrictEqual(made.ran, [2])
      yield* made.decide("1.0")
      assert.strictEqual(RunLog.endOf(yield* made.resume()), "RunLimited(toolCalls)")
      assert.deepStrictEqual(made.ran, [2, 1])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("lets all calls run when the resuming drive has a higher limit", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(three, {}, { limits: { maxToolCalls: 2 } })
      yield* made.decide("1.0")
      yield* Stream.runDrain(made.agent.resume({ sessionId: "s", limits: { maxToolCalls: 3 } }))
      assert.deepStrictEqual(made.ran, [1, 2, 3])
      assert.strictEqual(RunLog.endOf(yield* made.log), "RunCompleted(stop)")
    }))

  it.effect("on errors, reached by one call, leaves the next unasked and unrun, whatever was decided", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(
        [work(1, "a"), work(2, "b")],
        { tool: () => Effect.fail("no") },
        { limits: { maxErrors: 0 } }
      )
      yield* made.decide("1.0")
      yield* made.decide("1.1")
      assert.strictEqual(RunLog.endOf(yield* made.resume()), "RunLimited(errors)")
      assert.deepStrictEqual(made.ran, [1])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Failed", "1.1 NotExecuted(limit)"])
    }))
})

describe("a run that does not continue on errors", () => {
  it.effect("fails with the first allowed call that fails, and runs none after it, even if allowed", () =>
    Effect.gen(function*() {
      const agent = { toolkit: Approvals.kit, toolPolicy: { continueOnError: false } }
      const made = yield* Suspended.make([work(1, "a"), work(2, "b")], { agent, tool: () => Effect.fail("no") })
      yield* made.decide("1.0")
      yield* made.decide("1.1")
      assert.strictEqual((yield* Effect.flip(made.resume())).reason._tag, "ToolFailed")
      assert.deepStrictEqual(made.ran, [1])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Failed", "1.1 NotExecuted(failed)"])
    }))

  it.effect("does not count a denial as an error", () =>
    Effect.gen(function*() {
      const agent = { toolkit: Approvals.kit, toolPolicy: { continueOnError: false } }
      const made = yield* Suspended.make([work(1, "a"), work(2, "b")], { agent })
      yield* made.decide("1.0", { approved: false })
      yield* made.decide("1.1")
      assert.strictEqual(RunLog.endOf(yield* made.resume()), "RunCompleted(stop)")
      assert.deepStrictEqual(made.ran, [2])
    }))
})

it.effect("stopBefore is asked before any person, and never again once a question was put, over any number of drives", () =>
  Effect.gen(function*() {
    let asked = 0
    const agent = { toolkit: Approvals.kit, stopBefore: () => ++asked > 1 }
    const made = yield* Suspended.make([work(1, "a"), work(2, "b")], { agent })
    yield* made.resume()
    yield* made.decide("1.1")
    yield* made.resume()
    yield* made.decide("1.0")
    assert.strictEqual(RunLog.endOf(yield* made.resume()), "RunCompleted(stop)")
    assert.strictEqual(asked, 1)
    assert.deepStrictEqual(made.ran, [2, 1])
  }))

describe("a fork made after a yes", () => {
  it.effect("still has the question open: what was allowed in the original is not allowed in the fork", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0")
      yield* made.store.service.fork("s", { to: "f" })
      assert.deepStrictEqual((yield* made.agent.approvals("f")).map(({ id }) => id), ["r/1.0"])
      yield* made.resume()
      yield* Stream.runDrain(made.agent.resume({ sessionId: "f" }))
      assert.deepStrictEqual(made.ran, [1])
      assert.strictEqual(RunLog.endOf(yield* made.store.log("f")), "RunSuspended(approval)")
      for (const id of ["s", "f"]) assert.deepStrictEqual(RunLog.violations(yield* made.store.log(id)), [])
    }))
})

describe("an answer to a run whose end is stuck in the store", () => {
  it.effect("waits for that end, and is recorded after it", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some(RunEvent.isEnd))
      const store = yield* TestStore.make(held.onAppend)
      const made = yield* Suspended.before([work(1), ScriptedModel.text("ok")], { store })
      const running = yield* Effect.forkChild(made.agent.run(Suspended.go))
      yield* held.reached
      const deciding = yield* Effect.forkChild(made.decide("1.0"))
      yield* TestClock.adjust("1 minute")
      assert.isUndefined(deciding.pollUnsafe())
      yield* held.release
      yield* Fiber.join(running)
      yield* Fiber.join(deciding)
      assert.deepStrictEqual(Approvals.steps(yield* made.log).slice(-2), ["RunSuspended", "ApprovalResolved 1.0 yes"])
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [1])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))
})
