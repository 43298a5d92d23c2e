/** Questions that expire: nobody can say yes from then on, and their calls are denied for that reason. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Watch from "../support/Watch.ts"

const policy = (toolPolicy: RunPolicy.ToolPolicy = {}) => ({
  agent: { toolkit: Approvals.kit, toolPolicy: { approvalTimeout: 60_000, ...toolPolicy } }
})
const expired = { _tag: "Denied" as const, reason: "nobody answered in time, and the question expired" }

const settled = (made: Suspended.Suspended) =>
  Effect.map(made.log, (log) => RunLog.only(log, "ToolSettled").map(({ outcome }) => outcome))

/** A run whose approver has been asked, and says nothing yet. */
const asked = Effect.fnUntraced(function*() {
  const approver = Approvals.desk()
  const made = yield* Suspended.before([TestAgent.work(1), ScriptedModel.text("ok")], { ...policy(), approver })
  const run = yield* made.agent.start(Suspended.go)
  const question = yield* approver.asked("1.0")
  return { ...made, approver, run, question }
})

describe("a question that expires", () => {
  it.effect("says when, in the log, to the approver, and wherever it is listed", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      const [event] = RunLog.only(yield* made.log, "ApprovalRequested")
      assert.strictEqual(event?.expiresAt, event!.at + 60_000)
      assert.strictEqual(made.question.expiresAt, event!.expiresAt)
      assert.strictEqual((yield* made.agent.approvals("s"))[0]?.expiresAt, event!.expiresAt)
      yield* made.run.abort
    }))

  it.effect("while the approver is deciding denies the call, and the run continues", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      yield* TestClock.adjust("59999 millis")
      assert.deepStrictEqual(made.approver.interrupted, [])
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* made.run.result)._tag, "Completed")
      assert.deepStrictEqual(made.approver.interrupted, ["1.0"])
      assert.deepStrictEqual(yield* settled(made), [expired])
      assert.deepStrictEqual(RunLog.only(yield* made.log, "ApprovalResolved").map(({ approved }) => approved), [false])
      assert.deepStrictEqual(yield* made.read, [`Denied: ${expired.reason}`])
      assert.deepStrictEqual(made.ran, [])
    }))

  it.effect("takes an answer that comes before", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      yield* TestClock.adjust("59999 millis")
      yield* made.approver.answer("1.0", Approvals.yes)
      yield* made.run.result
      assert.deepStrictEqual(made.ran, [1])
    }))

  it.effect("takes no yes that comes at that very moment", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const made = yield* Suspended.before([TestAgent.work(1), ScriptedModel.text("ok")], {
        ...policy(),
        approver: {
          ask: () =>
            Deferred.succeed(asked, undefined).pipe(
              Effect.andThen(Effect.sleep("60 seconds")),
              Effect.as(Approvals.yes)
            )
        }
      })
      const run = yield* made.agent.start(Suspended.go)
      yield* Deferred.await(asked)
      yield* TestClock.adjust("60 seconds")
      yield* run.result
      assert.deepStrictEqual(made.ran, [])
      assert.deepStrictEqual(yield* settled(made), [expired])
    }))

  it.effect("takes no yes that comes later, even on a machine that slept meanwhile", () =>
    Effect.gen(function*() {
      const clock = yield* Clock.Clock
      let asleep = 0
      const late: Clock.Clock = Object.create(clock, {
        currentTimeMillisUnsafe: { value: () => clock.currentTimeMillisUnsafe() + asleep }
      })
      const approver = Approvals.answering(() => {
        asleep = 60_000
        return Approvals.yes
      })
      const made = yield* Suspended.before([TestAgent.work(1), ScriptedModel.text("ok")], { ...policy(), approver })
      yield* made.agent.run(Suspended.go).pipe(Effect.provideService(Clock.Clock, late))
      assert.deepStrictEqual(yield* settled(made), [expired])
      assert.deepStrictEqual(made.ran, [])
    }))

  it.effect("while the run is suspended denies the call on resume, and nobody is asked", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(TestAgent.work(1), policy())
      yield* TestClock.adjust("1 minute")
      const approver = Approvals.desk()
      assert.strictEqual(RunLog.endOf(yield* made.resume(approver)), "RunCompleted(stop)")
      assert.deepStrictEqual(approver.questions, [])
      assert.deepStrictEqual(yield* settled(made), [expired])
      assert.deepStrictEqual(made.ran, [])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("while a later call runs denies its call when the round takes up what was allowed meanwhile", () =>
    Effect.gen(function*() {
      const gate = yield* Deferred.make<void>()
      const approver = Approvals.answering(({ callId }) => callId === "1.2" ? Approvals.yes : undefined)
      const calls = [1, 2, 3].map((n) => TestAgent.work(n, `${n}`))
      const made = yield* Suspended.before([calls, ScriptedModel.text("ok")], {
        ...policy(),
        approver,
        tool: ({ n }) => Effect.as(n === 3 ? Deferred.await(gate) : Effect.void, "done")
      })
      const run = yield* made.agent.start(Suspended.go)
      const watch = yield* Watch.make(run.events)
      yield* watch.until("ToolStarted")
      yield* made.decide("1.1")
      yield* TestClock.adjust("1 minute")
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* run.result)._tag, "Completed")
      const outcomes = [...RunLog.outcomes(yield* made.log)].sort()
      assert.deepStrictEqual(outcomes, ["1.0 Denied", "1.1 Succeeded", "1.2 Succeeded"])
    }))

  it.effect("is no longer listed among those that wait", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(TestAgent.work(1), policy())
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* made.waiting, [])
    }))

  it.effect("is in no result that is asked for from then on, which says to resume the run", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.before([TestAgent.work(1)], policy())
      const run = yield* made.agent.start(Suspended.go)
      yield* run.result
      yield* TestClock.adjust("59999 millis")
      const before = [yield* run.result, yield* made.agent.run(Suspended.go)]
      yield* TestClock.adjust("1 millis")
      const after = [yield* run.result, yield* made.agent.run(Suspended.go)]
      const asked = [...before, ...after].map((result) => result._tag === "Suspended" ? result.approvals.length : NaN)
      assert.deepStrictEqual(asked, [1, 1, 0, 0])
      for (const { explain } of after) {
        assert.match(explain, /^No question of the run is open any more, .*; resume the run\.$/)
      }
    }))

  it.effect("below a call is in no result of the run around it", () =>
    Effect.gen(function*() {
      const made = yield* Family.make({ agent: { toolPolicy: { approvalTimeout: 60_000 } } })
      const run = yield* made.agent.start({
        sessionId: "root",
        input: JSON.stringify({ turns: [[{ turns: [[{ by: "buy" }]] }]] })
      })
      const asked = Effect.map(run.result, (result) => result._tag === "Suspended" ? result.approvals.length : NaN)
      assert.strictEqual(yield* asked, 1)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* asked, 0)
    }))

  it.effect("takes no answer from elsewhere, whether before the run is resumed or after", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(TestAgent.work(1), policy())
      yield* TestClock.adjust("1 minute")
      const because = Effect.map(Effect.flip(made.decide("1.0")), ({ reason }) => reason)
      assert.deepInclude(yield* because, { _tag: "ApprovalNotOpen", because: "expired" })
      yield* made.resume()
      assert.deepInclude(yield* because, { _tag: "ApprovalNotOpen", because: "expired" })
    }))

  it.effect("keeps its expiry in a drive that asks again, whatever the policy says by then", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(TestAgent.work(1), policy())
      const other = yield* Suspended.elsewhere(made, policy({ approvalTimeout: 1 }))
      const approver = Approvals.desk()
      const asking = yield* Effect.forkChild(other.resume(approver))
      const { expiresAt } = yield* approver.asked("1.0")
      assert.strictEqual(expiresAt, RunLog.only(yield* made.log, "ApprovalRequested")[0]?.expiresAt)
      yield* approver.answer("1.0", Approvals.yes)
      yield* Fiber.join(asking)
      assert.deepStrictEqual(other.ran, [1])
    }))
})

describe("the time to answer", () => {
  it.effect("is the shorter of the agent's and the run's", () =>
    Effect.gen(function*() {
      for (const [approvalTimeout, left] of [[1000, 1000], ["1 second", 1000], ["2 days", 60_000]] as const) {
        const made = yield* Suspended.make(TestAgent.work(1), policy(), { toolPolicy: { approvalTimeout } })
        const [event] = RunLog.only(yield* made.log, "ApprovalRequested")
        assert.strictEqual(event!.expiresAt! - event!.at, left)
      }
    }))

  it.effect("is a number of at least 1", () =>
    Effect.gen(function*() {
      const { agent } = yield* Suspended.before([])
      for (const approvalTimeout of [0, -1, NaN, Infinity, "1 nano" as const, "soon" as never]) {
        const { reason } = yield* Effect.flip(agent.run({ input: "go", toolPolicy: { approvalTimeout } }))
        assert.deepInclude(reason, { _tag: "InvalidInput", field: "toolPolicy.approvalTimeout" })
      }
    }))
})
