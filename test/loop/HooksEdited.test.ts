/** Hooks before a call whose arguments a person edited: nothing runs that a guard has not seen, or that nobody allowed. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Hook, ToolDecision } from "../../src/services/Hooks.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Watch from "../support/Watch.ts"

const nOf = (params: Schema.Json): number => (params as { readonly n: number }).n

/** A guard, and every `n` that it saw. */
const guard = (decide: (n: number) => ToolDecision | undefined) => {
  const seen: Array<number> = []
  const hook: Hook = {
    name: "guard",
    beforeToolCall: ({ params }) => Effect.sync(() => (seen.push(nOf(params)), decide(nOf(params))))
  }
  return { agent: { toolkit: Approvals.kit, hooks: [hook] }, seen }
}

/** Lets nothing above 5 pass. */
const denying = () => guard((n) => n > 5 ? { _tag: "Deny", reason: `${n} is too much` } : undefined)

/** Turns whatever is above 5 into 5. */
const clamping = () => guard((n) => n > 5 ? { _tag: "Change", params: { n: 5 } } : undefined)

/** What was asked, in order, each with whether it was answered yes. */
const questions = (log: Parameters<typeof RunLog.only>[0]) =>
  RunLog.only(log, "ApprovalRequested").map(({ approvalId, params }) => [
    nOf(params),
    RunLog.only(log, "ApprovalResolved").find((answer) => answer.approvalId === approvalId)?.approved
  ])

it.effect("a person is not asked about arguments that a guard changed once a failed call has ended the round", () =>
  Effect.gen(function*() {
    const [failing, looking, looked] = yield* Effect.replicateEffect(Deferred.make<void>(), 3)
    const hook: Hook = {
      name: "slow",
      beforeToolCall: ({ params }) =>
        nOf(params) !== 9
          ? Effect.void
          : Deferred.succeed(looking!, undefined).pipe(
            Effect.andThen(Deferred.await(looked!)),
            Effect.as<ToolDecision>({ _tag: "Change", params: { n: 5 } })
          )
    }
    const { agent, store } = yield* Approvals.make([[TestAgent.look(1, "a"), TestAgent.work(2, "b")]], {
      approver: Approvals.answering(() => ({ approved: true, params: { n: 9 } })),
      agent: { hooks: [hook], toolPolicy: { maxParallel: 2, continueOnError: false } },
      tool: () => Effect.andThen(Deferred.await(failing!), Effect.fail("no"))
    })
    const run = yield* agent.start(Suspended.go)
    const watch = yield* Watch.make(run.events)
    yield* Deferred.await(looking!)
    yield* Deferred.succeed(failing!, undefined)
    yield* watch.until("ToolSettled")
    yield* Deferred.succeed(looked!, undefined)
    yield* Effect.exit(run.result)
    const log = yield* store.log("s")
    assert.deepStrictEqual(questions(log), [[2, true]])
    assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Failed", "1.1 NotExecuted(failed)"])
  }))

const waiting = Effect.fnUntraced(function*({ agent }: Suspended.Suspended) {
  const [question] = yield* agent.approvals("s")
  return question!
})

const decide = (made: Suspended.Suspended, approvalId: string, params?: Schema.Json) =>
  made.agent.decide({ sessionId: "s", approvalId, approved: true, ...(params === undefined ? {} : { params }) })

describe("edited arguments that a guard denies", () => {
  it.effect("do not run in the drive that receives them", () =>
    Effect.gen(function*() {
      const { agent, seen } = denying()
      const approver = Approvals.answering(() => ({ approved: true, params: { n: 9 } }))
      const made = yield* Suspended.make(TestAgent.work(1), { agent, approver })
      assert.deepStrictEqual(seen, [1, 9])
      assert.deepStrictEqual(made.ran, [])
      assert.deepStrictEqual(yield* made.read, ["Denied: 9 is too much"])
      assert.strictEqual(RunLog.only(yield* made.log, "ToolSettled")[0]!.hook, "guard")
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("do not run when they come from outside, whether to a live run or to one that waits", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const live = yield* Suspended.before([TestAgent.work(1), ScriptedModel.text("ok")], { ...denying(), approver })
      const run = yield* live.agent.start(Suspended.go)
      yield* approver.asked("1.0")
      yield* live.decide("1.0", { params: { n: 9 } })
      yield* run.result
      const later = yield* Suspended.make(TestAgent.work(1), denying())
      yield* later.decide("1.0", { params: { n: 9 } })
      yield* later.resume()
      for (const made of [live, later]) {
        assert.deepStrictEqual(made.ran, [])
        assert.deepStrictEqual(yield* made.read, ["Denied: 9 is too much"])
      }
    }))
})

describe("edited arguments that a guard changes", () => {
  it.effect("are asked about again in the same drive, and the old yes does not count", () =>
    Effect.gen(function*() {
      const { agent } = guard((n) => n % 2 === 0 ? undefined : { _tag: "Change", params: { n: n + 1 } })
      const asked: Array<readonly [number, string]> = []
      const approver = Approvals.answering(({ approvalId, params }) => {
        asked.push([nOf(params), approvalId])
        return nOf(params) === 2 ? { approved: true, params: { n: 9 } } : Approvals.yes
      })
      const made = yield* Suspended.make(TestAgent.work(1), { agent, approver })
      const log = yield* made.log
      assert.deepStrictEqual(asked.map(([n]) => n), [2, 10])
      assert.strictEqual(new Set(asked.map(([, id]) => id)).size, 2)
      assert.deepStrictEqual(made.ran, [10])
      assert.deepStrictEqual(questions(log), [[2, true], [10, true]])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("do not run when the guard's version is answered no", () =>
    Effect.gen(function*() {
      const { agent } = guard((n) => n % 2 === 0 ? undefined : { _tag: "Change", params: { n: n + 1 } })
      const approver = Approvals.answering(({ params }) =>
        nOf(params) === 2 ? { approved: true, params: { n: 9 } } : Approvals.no("not ten")
      )
      const made = yield* Suspended.make(TestAgent.work(1), { agent, approver })
      assert.deepStrictEqual(made.ran, [])
      assert.deepStrictEqual(yield* made.read, ["Denied: not ten"])
    }))

  it.effect("are asked about by the resuming drive, and the old question takes no more answers", () =>
    Effect.gen(function*() {
      const { agent } = guard((n) => n % 2 === 0 ? undefined : { _tag: "Change", params: { n: n + 1 } })
      const made = yield* Suspended.make(TestAgent.work(1), { agent })
      const first = yield* waiting(made)
      yield* decide(made, first.id, { n: 9 })
      yield* made.resume()
      const second = yield* waiting(made)
      assert.notStrictEqual(second.id, first.id)
      assert.deepStrictEqual([first.params, second.params], [{ n: 2 }, { n: 10 }])
      assert.deepStrictEqual(made.ran, [])
      assert.strictEqual((yield* Effect.flip(decide(made, first.id))).reason._tag, "ApprovalNotOpen")
      yield* decide(made, second.id)
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [10])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("back to those that were asked about are asked about once more", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make(TestAgent.work(5), clamping())
      yield* decide(made, (yield* waiting(made)).id, { n: 9 })
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [])
      yield* decide(made, (yield* waiting(made)).id)
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [5])
      assert.deepStrictEqual(questions(yield* made.log), [[5, true], [5, true]])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("repeatedly are denied: an approver and a guard that never agree do not loop for ever", () =>
    Effect.gen(function*() {
      let asked = 0
      const approver = Approvals.answering(() => {
        if (++asked > 100) throw new Error("for ever")
        return { approved: true, params: { n: 9 } }
      })
      const made = yield* Suspended.make(TestAgent.work(5), { ...clamping(), approver })
      assert.strictEqual(asked, 3)
      assert.deepStrictEqual(made.ran, [])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 Denied"])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("hold up no sibling, and are asked about again when calls run in parallel", () =>
    Effect.gen(function*() {
      const { agent } = clamping()
      const approver = Approvals.desk()
      const ran = yield* Deferred.make<void>()
      const made = yield* Suspended.before(
        [[TestAgent.work(1, "a"), TestAgent.work(2, "b"), TestAgent.look(3, "c")], ScriptedModel.text("ok")],
        {
          agent: { ...agent, toolPolicy: { maxParallel: 3 } },
          approver,
          tool: ({ n }) => Effect.as(n === 2 ? Deferred.succeed(ran, undefined) : Effect.void, `done ${n}`)
        }
      )
      const run = yield* made.agent.start(Suspended.go)
      yield* approver.asked("1.1")
      yield* made.decide("1.0", { params: { n: 9 } })
      yield* made.decide("1.1")
      yield* Deferred.await(ran)
      yield* approver.answer("1.0", Approvals.yes)
      yield* run.result
      assert.deepStrictEqual(new Set(made.ran), new Set([2, 3, 5]))
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))
})

describe("a question whose call a guard settles when the run is resumed", () => {
  it.effect("is closed, and takes no answer", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const { id } = yield* waiting(made)
      const strict = guard(() => ({ _tag: "Deny", reason: "not any more" }))
      const other = yield* Suspended.elsewhere(made, strict)
      yield* other.resume()
      assert.deepStrictEqual(other.ran, [])
      assert.deepStrictEqual(yield* other.waiting, [])
      const { reason } = yield* Effect.flip(decide(other, id))
      assert.deepInclude(reason, { _tag: "ApprovalNotOpen", because: "settled" })
      assert.deepStrictEqual(RunLog.violations(yield* other.log), [])
    }))
})

it.effect("a question that was replaced by another takes no answer, and says so", () =>
  Effect.gen(function*() {
    const made = yield* Suspended.make()
    const { id } = yield* waiting(made)
    const other = yield* Suspended.elsewhere(made, guard(() => ({ _tag: "Change", params: { n: 7 } })))
    yield* other.resume()
    const { message, reason } = yield* Effect.flip(decide(other, id))
    assert.deepInclude(reason, { _tag: "ApprovalNotOpen", because: "replaced" })
    assert.include(message, "approvals lists the open questions")
    assert.deepStrictEqual(yield* other.waiting, ["1.0"])
  }))

it.effect("a log in which a call runs with other arguments than were allowed is invalid", () =>
  Effect.gen(function*() {
    const made = yield* Suspended.make()
    yield* made.decide("1.0", { params: { n: 9 } })
    yield* made.resume()
    const log = (yield* made.log).map((event) => event._tag === "ToolStarted" ? { ...event, params: { n: 1 } } : event)
    assert.deepStrictEqual(RunLog.violations(log), ["event 8 (ToolStarted): 1.0 was not allowed"])
  }))

describe("edited arguments that a guard takes its time over", () => {
  it.effect("do not keep their answer from the log", () =>
    Effect.gen(function*() {
      const looking = yield* Deferred.make<void>()
      const hook: Hook = {
        name: "slow",
        beforeToolCall: ({ params }) =>
          nOf(params) === 9 ? Effect.andThen(Deferred.succeed(looking, undefined), Effect.never) : Effect.void
      }
      const approver = Approvals.answering(() => ({ approved: true, params: { n: 9 } }))
      const made = yield* Approvals.make([TestAgent.work(1)], {
        approver,
        agent: { toolkit: Approvals.kit, hooks: [hook] }
      })
      const run = yield* made.agent.start({ sessionId: "s", input: "go" })
      yield* Deferred.await(looking)
      assert.deepStrictEqual(questions(yield* made.store.log("s")), [[1, true]])
      yield* run.abort
    }))
})
