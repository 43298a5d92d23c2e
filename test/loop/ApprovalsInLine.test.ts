/** Calls that run one by one with nobody here to answer: all are asked about at once, and run as people decide. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"

const { look, work } = TestAgent
const three = [work(1, "a"), work(2, "b"), work(3, "c")]

describe("a suspended run", () => {
  it.effect("holds the questions of all its calls; a call that needs no permission waits for those before it", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make([look(1, "a"), work(2, "b"), look(3, "c"), work(4, "d")])
      assert.deepStrictEqual(made.ran, [1])
      assert.deepStrictEqual(yield* made.waiting, ["1.1", "1.3"])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Succeeded"])
    }))

  it.effect("runs a later call that was allowed first, and suspends again with the rest", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(three)
      yield* made.decide("1.2")
      assert.strictEqual(RunLog.endOf(yield* made.resume()), "RunSuspended(approval)")
      assert.deepStrictEqual(made.ran, [3])
      assert.deepStrictEqual(yield* made.waiting, ["1.0", "1.1"])
      yield* made.decide("1.0")
      yield* made.decide("1.1", { approved: false })
      assert.strictEqual(RunLog.endOf(yield* made.resume()), "RunCompleted(stop)")
      assert.deepStrictEqual(made.ran, [3, 1])
      assert.deepStrictEqual(yield* made.read, ["done 1", "Denied: the user did not allow this call", "done 3"])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("runs allowed calls in call order, whatever the order of the answers", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(three)
      for (const callId of ["1.2", "1.0", "1.1"]) yield* made.decide(callId)
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [1, 2, 3])
    }))

  it.effect("runs a call that needs no permission once all before it have their outcomes", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make([work(1, "a"), look(2, "b"), work(3, "c")])
      yield* made.decide("1.2")
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [3])
      yield* made.decide("1.0", { approved: false })
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [3, 2])
    }))

  it.effect("keeps a call that needs no permission behind one that waits, although a call between them runs", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make([work(1, "a"), work(2, "b"), look(3, "c")])
      yield* made.decide("1.1")
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [2])
      yield* made.decide("1.0")
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [2, 1, 3])
    }))

  it.effect("runs exactly one of three equal calls when one is allowed", () =>
    Effect.gen(function*() {
      for (const maxParallel of [1, 3]) {
        const made = yield* Suspended.make([work(1, "x"), work(1, "x"), work(1, "x")], {
          agent: { toolkit: Approvals.kit, toolPolicy: { maxParallel } }
        })
        yield* made.decide("1.1")
        assert.strictEqual(RunLog.endOf(yield* made.resume()), "RunSuspended(approval)")
        assert.deepStrictEqual(made.ran, [1])
        assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.1 Succeeded"])
        assert.deepStrictEqual(yield* made.waiting, ["1.0", "1.2"])
      }
    }))

  it.effect("asks nobody about calls that a limit keeps from running", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(three, {}, { limits: { maxToolCalls: 2 } })
      assert.deepStrictEqual(yield* made.waiting, ["1.0", "1.1"])
    }))

  it.effect("shows in its status that it waits again once what was allowed has run", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(three)
      yield* made.decide("1.1")
      assert.deepStrictEqual(RunLog.moves(yield* made.resume()), [
        "suspended>tool_running",
        "tool_running>awaiting_human",
        "awaiting_human>tool_running",
        "tool_running>awaiting_human",
        "awaiting_human>suspended"
      ])
    }))

  it.effect("says how to resume it", () =>
    Effect.gen(function*() {
      const { agent } = yield* Suspended.before([work(1), ScriptedModel.text("ok")])
      const { explain } = yield* agent.run(Suspended.go)
      assert.match(explain, /decide\(\{ sessionId, approvalId, approved \}\).*resume/)
    }))
})
