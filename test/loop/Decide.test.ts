/** A question that is answered from anywhere while no drive has the session: recorded durably, and nothing is driven. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import type * as RunError from "../../src/run/RunError.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const { look, work } = TestAgent

/** Why a question took no answer. */
const because = <A>(self: Effect.Effect<A, RunError.RunError>) =>
  Effect.map(Effect.flip(self), ({ reason }) => reason._tag === "ApprovalNotOpen" ? reason.because : reason._tag)

/** The log is as it was, whatever was refused. */
const unchanged = Effect.fnUntraced(function*<E>(made: Suspended.Suspended, self: Effect.Effect<void, E>) {
  const head = made.store.head("s")
  yield* self
  assert.strictEqual(made.store.head("s"), head)
})

describe("an answer", () => {
  it.effect("is in the log when it is accepted, and drives nothing", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0", { by: "ann", reason: "it is due" })
      const answer = (yield* made.log).at(-1)
      assert.deepInclude(answer, {
        _tag: "ApprovalResolved",
        approvalId: "r/1.0",
        approved: true,
        by: "ann",
        reason: "it is due"
      })
      assert.deepStrictEqual(made.ran, [])
      assert.strictEqual((yield* made.store.service.info("s"))?.end, "RunSuspended")
      assert.strictEqual(Approvals.fold(yield* made.log).status, "suspended")
    }))

  it.effect("gives the session back", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0")
      yield* Effect.scoped(made.store.service.open("s", { runId: "other", create: false }))
    }))

  it.effect("is what a resumed run continues with: nobody is asked again, and the log says why it was resumed", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0")
      const approver = Approvals.desk()
      const events = yield* made.resume(approver)
      assert.deepStrictEqual(Approvals.steps(events), [
        "RunResumed",
        "ToolStarted 1.0",
        "ToolSettled 1.0 Succeeded",
        "RunCompleted"
      ])
      assert.deepStrictEqual(approver.questions, [])
      assert.strictEqual(RunLog.only(events, "RunResumed")[0]?.cause, "approval")
      assert.deepStrictEqual(made.ran, [1])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("of no settles the call with its reason, which the model reads", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0", { approved: false, reason: "too dear" })
      const events = yield* made.resume()
      assert.strictEqual(RunLog.endOf(events), "RunCompleted(stop)")
      assert.deepStrictEqual(yield* made.read, ["Denied: too dear"])
      assert.deepStrictEqual(made.ran, [])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("may come from a process that never ran the session, and the run may be resumed in a third", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.close
      const decider = yield* Suspended.elsewhere(made)
      yield* decider.decide("1.0")
      yield* decider.close
      const last = yield* Suspended.elsewhere(made)
      assert.strictEqual(RunLog.endOf(yield* last.resume()), "RunCompleted(stop)")
      assert.deepStrictEqual([made.ran, decider.ran, last.ran], [[], [], [1]])
    }))

  it.effect("may come together with an answer to another question of the session", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "ApprovalResolved"))
      const store = yield* TestStore.make(held.onAppend)
      const made = yield* Suspended.make([work(1, "a"), work(2, "b")], { store })
      const both = yield* Effect.forkChild(
        Effect.all([made.decide("1.0"), made.decide("1.1")], { concurrency: "unbounded", discard: true })
      )
      yield* held.reached
      // everything ready runs before the first one is stored
      yield* TestClock.adjust("1 second")
      yield* held.release
      yield* Fiber.join(both)
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [1, 2])
    }))
})

describe("the open questions", () => {
  it.effect("are listed with what they are about, in call order, without those that were answered", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make([work(1, "a"), work(2, "b")])
      const [one, two] = RunLog.only(yield* made.log, "ApprovalRequested")
      const questions = [one!, two!].map(({ approvalId, at, callId, params, tool }) => ({
        id: approvalId,
        sessionId: "s",
        agent: "test/Tested",
        callId,
        tool,
        params,
        requestedAt: at
      }))
      assert.deepStrictEqual(yield* made.agent.approvals("s"), questions)
      yield* made.decide("1.0")
      assert.deepStrictEqual(yield* made.agent.approvals("s"), questions.slice(1))
    }))

  it.effect("are none after the run has ended", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.decide("1.0")
      yield* made.resume()
      assert.deepStrictEqual(yield* made.agent.approvals("s"), [])
    }))

  it.effect("of an unknown session, or under no id, are an error", () =>
    Effect.gen(function*() {
      const { agent } = yield* Suspended.make()
      assert.strictEqual((yield* Effect.flip(agent.approvals("nope"))).reason._tag, "SessionNotFound")
      assert.strictEqual((yield* Effect.flip(agent.approvals(" "))).reason._tag, "InvalidInput")
    }))
})

describe("no answer is taken", () => {
  it.effect("that is neither yes nor no, or whose words are no strings, from untyped code", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const circle: Record<string, unknown> = {}
      circle["in"] = circle
      const given = { sessionId: "s", approvalId: "r/1.0", approved: true }
      const misspelt = yield* Effect.flip(made.agent.decide({ ...given, param: { n: 2 } } as never))
      assert.match(misspelt.message, /^a decision has no "param"; it has .*params/)
      for (const field of ["sessionId", "approvalId", "approved", "by", "reason"]) {
        const missing = field in given ? [undefined] : []
        const text = field === "approved" ? ["true"] : []
        for (const value of [5, null, {}, circle, 1n, ...missing, ...text]) {
          const decide = made.agent.decide({ ...given, [field]: value })
          yield* unchanged(
            made,
            Effect.map(
              Effect.flip(decide),
              ({ reason }) => assert.strictEqual(reason._tag === "InvalidInput" && reason.field, field)
            )
          )
        }
      }
    }))

  it.effect("to a question that was never asked", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make([work(1, "a"), look(2, "b")])
      for (const approvalId of ["", "nope", "r/1.1", "r/1.7", "other/1.0"]) {
        const decide = made.agent.decide({ sessionId: "s", approvalId, approved: true })
        yield* unchanged(made, Effect.map(because(decide), (why) => assert.strictEqual(why, "unknown")))
      }
    }))

  it.effect("to one that has an answer: before the run is resumed, after its end, and after the next run", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const again = because(made.decide("1.0", { approved: false }))
      yield* made.decide("1.0")
      yield* unchanged(made, Effect.map(again, (why) => assert.strictEqual(why, "answered")))
      yield* made.resume()
      yield* unchanged(made, Effect.map(again, (why) => assert.strictEqual(why, "answered")))
      yield* made.agent.run({ sessionId: "s", input: "more" })
      yield* unchanged(made, Effect.map(again, (why) => assert.strictEqual(why, "answered")))
      assert.deepStrictEqual(made.ran, [1])
    }))

  it.effect("to one whose call was settled without an answer: by a new message", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.agent.run({ sessionId: "s", input: "never mind" })
      yield* unchanged(made, Effect.map(because(made.decide("1.0")), (why) => assert.strictEqual(why, "settled")))
    }))

  it.effect("to one whose call was settled without an answer: by an abort", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Suspended.before([work(1)], { approver })
      const run = yield* made.agent.start(Suspended.go)
      yield* approver.asked("1.0")
      yield* run.abort
      yield* unchanged(made, Effect.map(because(made.decide("1.0")), (why) => assert.strictEqual(why, "settled")))
    }))

  it.effect("when the session is unknown", () =>
    Effect.gen(function*() {
      const { agent } = yield* Suspended.make()
      const decide = agent.decide({ sessionId: "nope", approvalId: "r/1.0", approved: true })
      assert.strictEqual(yield* because(decide), "SessionNotFound")
    }))

  it.effect("while another process has the session, whose run is named", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const [error] = yield* Effect.scoped(Effect.andThen(
        made.store.service.open("s", { runId: "theirs", create: false }),
        Effect.all([Effect.flip(made.decide("1.0")), TestClock.adjust("100 millis")], { concurrency: 2 })
      ))
      assert.strictEqual(error._tag, "RetryableError")
      assert.deepInclude(error.reason, { _tag: "SessionBusy", runId: "theirs" })
      assert.include(error.message, "try again")
      yield* made.decide("1.0")
    }))

  it.effect("a second time, even if several come at once", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const other = yield* Suspended.elsewhere(made)
      const both = [made.decide("1.0"), other.decide("1.0", { approved: false }), made.decide("1.0")]
      const results = yield* Effect.all(both.map(Effect.result), { concurrency: "unbounded" })
      assert.strictEqual(results.filter(Result.isSuccess).length, 1)
      assert.strictEqual(RunLog.only(yield* made.log, "ApprovalResolved").length, 1)
    }))

  it.effect("that no store can hold", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const reason = "x".repeat(17 * 1024 * 1024)
      // in a live run, what is recorded beside it would be lost with it
      made.store.onAppend = () => Effect.die("it was tried")
      assert.strictEqual(yield* because(made.decide("1.0", { reason })), "EventTooLarge")
    }))
})
