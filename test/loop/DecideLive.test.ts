/** A question of a run that is live in this process, answered from outside while the run is working. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as TestClock from "effect/testing/TestClock"
import type { Hook } from "../../src/services/Hooks.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as Watch from "../support/Watch.ts"

const { look, work } = TestAgent
const parallel = { toolkit: Approvals.kit, toolPolicy: { maxParallel: 4 } }
const ok = ScriptedModel.text("ok")

/** A run whose approver has been asked about its first call and says nothing. */
const asked = Effect.fnUntraced(function*(
  calls: ScriptedModel.Turn = work(1),
  options: Parameters<typeof Suspended.before>[1] = {}
) {
  const approver = Approvals.desk()
  const made = yield* Suspended.before([calls, ok], { approver, ...options })
  const run = yield* made.agent.start(Suspended.go)
  yield* approver.asked("1.0")
  return { ...made, approver, run }
})

describe("while the approver here is asked", () => {
  it.effect("a yes from outside counts: the call runs at once and the approver is not waited for", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      yield* made.decide("1.0", { by: "bob" })
      assert.strictEqual((yield* made.run.result)._tag, "Completed")
      assert.deepStrictEqual(made.approver.interrupted, ["1.0"])
      assert.deepStrictEqual(RunLog.only(yield* made.log, "ApprovalResolved").map(({ by }) => by), ["bob"])
      assert.deepStrictEqual(made.ran, [1])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("a no from outside denies the call", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      yield* made.decide("1.0", { approved: false, reason: "too dear" })
      yield* made.run.result
      assert.deepStrictEqual(yield* made.read, ["Denied: too dear"])
      assert.deepStrictEqual(made.ran, [])
    }))

  it.effect("the answer is stored when it is accepted", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "ApprovalResolved"))
      const store = yield* TestStore.make(held.onAppend)
      const made = yield* asked(work(1), { store })
      const deciding = yield* Effect.forkChild(made.decide("1.0"))
      yield* held.reached
      assert.isUndefined(deciding.pollUnsafe())
      assert.deepStrictEqual(made.ran, [])
      yield* held.release
      yield* Fiber.join(deciding)
      assert.strictEqual(RunLog.only(yield* made.log, "ApprovalResolved").length, 1)
      yield* made.run.result
    }))

  it.effect("no answer is taken once an abort is being stored, and whoever gave it hears so", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "AbortRequested"))
      const made = yield* asked(work(1), { store: yield* TestStore.make(held.onAppend) })
      const aborting = yield* Effect.forkChild(made.run.abort)
      yield* held.reached
      const deciding = yield* Effect.forkChild(Effect.flip(made.decide("1.0")), { startImmediately: true })
      yield* held.release
      yield* Fiber.join(aborting)
      assert.strictEqual((yield* Fiber.join(deciding)).reason._tag, "ApprovalNotOpen")
      assert.deepStrictEqual(RunLog.only(yield* made.log, "ApprovalResolved"), [])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 NotExecuted(aborted)"])
    }))

  it.effect.each([{ approved: true }, { approved: true, result: "by hand" }, { approved: false }])(
    "nor one of the approver here: $approved, $result",
    (answer) =>
      Effect.gen(function*() {
        const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "AbortRequested"))
        const approver = Approvals.desk()
        const store = yield* TestStore.make(held.onAppend)
        const made = yield* Suspended.before([work(1, "a")], { approver, store })
        const run = yield* made.agent.start(Suspended.go)
        yield* approver.asked("1.0")
        const aborting = yield* Effect.forkChild(run.abort)
        yield* held.reached
        yield* approver.answer("1.0", answer)
        yield* TestClock.adjust("1 second")
        yield* held.release
        yield* Fiber.join(aborting)
        const log = yield* made.log
        assert.deepStrictEqual(RunLog.only(log, "ApprovalResolved"), [])
        assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 NotExecuted(aborted)"])
        assert.deepStrictEqual(made.ran, [])
      })
  )

  it.effect("nor does a call start that waited for another one", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "AbortRequested"))
      const [running, letGo] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const { agent, log } = yield* Suspended.before([[TestAgent.look(1, "a"), TestAgent.look(2, "b")]], {
        store: yield* TestStore.make(held.onAppend),
        tool: () => Effect.as(Effect.andThen(Deferred.succeed(running, undefined), Deferred.await(letGo)), "done")
      })
      const run = yield* agent.start(Suspended.go)
      yield* Deferred.await(running)
      const aborting = yield* Effect.forkChild(run.abort)
      yield* held.reached
      yield* Deferred.succeed(letGo, undefined)
      yield* TestClock.adjust("1 second")
      yield* held.release
      yield* Fiber.join(aborting)
      assert.lengthOf(RunLog.only(yield* log, "ToolStarted"), 1)
      assert.deepStrictEqual(RunLog.outcomes(yield* log), ["1.0 Succeeded", "1.1 NotExecuted(aborted)"])
    }))

  it.effect("the first of two answers counts", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      const [, second] = yield* Effect.all(
        [Effect.result(made.decide("1.0")), Effect.result(made.decide("1.0", { approved: false }))],
        { concurrency: "unbounded" }
      )
      assert.deepInclude(second._tag === "Failure" ? second.failure.reason : {}, {
        _tag: "ApprovalNotOpen",
        because: "answered"
      })
      yield* made.run.result
      assert.deepStrictEqual(made.ran, [1])
    }))

  it.effect("an answer that comes while another is being stored is refused once that one is", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "ApprovalResolved"))
      const made = yield* asked(work(1), { store: yield* TestStore.make(held.onAppend) })
      const first = yield* Effect.forkChild(made.decide("1.0"))
      yield* held.reached
      const second = yield* Effect.forkChild(Effect.flip(made.decide("1.0", { approved: false })), {
        startImmediately: true
      })
      yield* held.release
      yield* Fiber.join(first)
      assert.deepInclude((yield* Fiber.join(second)).reason, { _tag: "ApprovalNotOpen", because: "answered" })
      yield* made.run.result
    }))

  it.effect("an answer that comes after the approver's is refused", () =>
    Effect.gen(function*() {
      const made = yield* asked([work(1, "a"), work(2, "b")])
      yield* made.approver.answer("1.0", Approvals.no("no"))
      yield* made.approver.asked("1.1")
      const { reason } = yield* Effect.flip(made.decide("1.0"))
      assert.deepInclude(reason, { _tag: "ApprovalNotOpen", because: "answered" })
      assert.deepStrictEqual(made.ran, [])
      yield* made.run.abort
    }))

  it.effect("a question that was never asked takes no answer", () =>
    Effect.gen(function*() {
      const made = yield* asked([work(1, "a"), work(2, "b")])
      const { message, reason } = yield* Effect.flip(made.decide("1.1"))
      assert.deepInclude(reason, { _tag: "ApprovalNotOpen", because: "unknown" })
      assert.match(message, /was never asked; approvals lists .* each with its sessionId$/)
      yield* made.run.abort
    }))

  it.effect("the questions are listed", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      assert.deepStrictEqual(yield* made.waiting, ["1.0"])
      yield* made.run.abort
    }))

  it.effect("an answer larger than the store holds is an error, and the question takes another", () =>
    Effect.gen(function*() {
      const made = yield* asked()
      let refused = 0
      made.store.onAppend = ({ store }) => refused++ === 0 ? Effect.fail(TestStore.tooLarge) : store
      assert.strictEqual((yield* Effect.flip(made.decide("1.0"))).reason._tag, "EventTooLarge")
      assert.deepStrictEqual(made.ran, [])
      yield* made.decide("1.0")
      assert.strictEqual((yield* made.run.result)._tag, "Completed")
      assert.deepStrictEqual(made.ran, [1])
    }))

  it.effect("an answer that the store refuses is an error, and runs nothing", () =>
    Effect.gen(function*() {
      for (const isForGood of [true, false]) {
        const made = yield* asked()
        let failed = 0
        made.store.onAppend = TestStore.failing(() => failed++ === 0 || isForGood)
        const { reason } = yield* Effect.flip(made.decide("1.0"))
        assert.strictEqual(reason._tag, "StoreUnavailable")
        assert.strictEqual((yield* Effect.flip(made.run.result)).reason._tag, "StoreUnavailable")
        assert.deepStrictEqual(made.ran, [])
      }
    }))
})

describe("a call that nobody here answers", () => {
  it.effect("runs at once when it is allowed from outside while a sibling runs", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const letGo = yield* Latch.make(false)
      const made = yield* Suspended.before([[work(1, "a"), look(2, "b")], ok], {
        agent: parallel,
        tool: ({ n }) =>
          n === 1
            ? Effect.succeed("done 1")
            : Effect.as(Effect.andThen(Deferred.succeed(started, undefined), letGo.await), "done 2")
      })
      const run = yield* made.agent.start(Suspended.go)
      const watch = yield* Watch.make(run.events)
      yield* Deferred.await(started)
      yield* watch.until("ApprovalRequested")
      yield* made.decide("1.0")
      assert.strictEqual((yield* watch.until("ToolSettled")).callId, "1.0")
      yield* letGo.open
      assert.strictEqual((yield* run.result)._tag, "Completed")
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("runs at once when allowed from outside while the only running sibling was itself allowed from outside", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const letGo = yield* Latch.make(false)
      const made = yield* Suspended.before([[work(1, "a"), work(2, "b"), look(3, "c")], ok], {
        agent: parallel,
        tool: ({ n }) => {
          if (n === 1) return Effect.as(Effect.andThen(Deferred.succeed(started, undefined), letGo.await), "done 1")
          return n === 2 ? Effect.succeed("done 2") : Effect.as(Deferred.await(started), "done 3")
        }
      })
      const run = yield* made.agent.start(Suspended.go)
      const watch = yield* Watch.make(run.events)
      yield* watch.until("ApprovalRequested", 2)
      yield* made.decide("1.0")
      assert.strictEqual((yield* watch.until("ToolSettled")).callId, "1.2")
      // everything ready runs before anybody decides
      yield* TestClock.adjust("1 second")
      yield* made.decide("1.1")
      assert.strictEqual((yield* watch.until("ToolSettled", 2)).callId, "1.1")
      yield* letGo.open
      assert.strictEqual((yield* run.result)._tag, "Completed")
    }))

  it.effect("waits only as long as its siblings run: then the run is suspended", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make([work(1, "a"), look(2, "b"), work(3, "c")], { agent: parallel })
      assert.deepStrictEqual(made.ran, [2])
      assert.deepStrictEqual(yield* made.waiting, ["1.0", "1.2"])
    }))

  it.effect("runs in the same drive, and frees the rest, when it was allowed while a later call was asked about", () =>
    Effect.gen(function*() {
      const approver = Approvals.desk()
      const made = yield* Suspended.before([[work(1, "a"), look(2, "b"), work(3, "c")], ok], { approver })
      yield* approver.answer("1.0", undefined)
      const run = yield* made.agent.start(Suspended.go)
      yield* approver.asked("1.2")
      yield* made.decide("1.0")
      yield* approver.answer("1.2", undefined)
      assert.strictEqual((yield* run.result)._tag, "Suspended")
      assert.deepStrictEqual(made.ran, [1, 2])
      assert.deepStrictEqual(yield* made.waiting, ["1.2"])
      assert.deepStrictEqual(approver.questions.map(({ callId }) => callId), ["1.0", "1.2"])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect.each([{ result: "by hand" }, { approved: false }])(
    "is no longer a hook's to decide once a person has given its outcome while a later call was asked about: %o",
    (decision) =>
      Effect.gen(function*() {
        const approver = Approvals.desk()
        const seen: Array<string> = []
        const hook: Hook = { name: "sees", beforeToolCall: ({ callId }) => Effect.sync(() => void seen.push(callId)) }
        const made = yield* Suspended.before([[work(1, "a"), work(2, "b")], ok], { approver, agent: { hooks: [hook] } })
        yield* approver.answer("1.0", undefined)
        const run = yield* made.agent.start(Suspended.go)
        yield* approver.asked("1.1")
        yield* made.decide("1.0", decision)
        yield* approver.answer("1.1", undefined)
        assert.strictEqual((yield* run.result)._tag, "Suspended")
        assert.deepStrictEqual(yield* made.waiting, ["1.1"])
        assert.deepStrictEqual(seen.filter((callId) => callId === "1.0"), ["1.0"])
      })
  )

  it.effect("takes an answer at any moment of giving up: the same drive runs it, or it is recorded after the end", () =>
    Effect.gen(function*() {
      const ways = new Set<string>()
      for (let moment = -40; moment < 40; moment++) {
        const asked = yield* Deferred.make<void>()
        const made = yield* Suspended.before([work(1), ok], {
          approver: {
            ask: () =>
              Deferred.succeed(asked, undefined).pipe(
                Effect.andThen(Effect.repeat(Effect.yieldNow, { times: Math.max(0, -moment) })),
                Effect.as(undefined)
              )
          }
        })
        const run = yield* made.agent.start(Suspended.go)
        yield* Deferred.await(asked)
        yield* Effect.repeat(Effect.yieldNow, { times: Math.max(0, moment) })
        yield* made.decide("1.0")
        yield* run.result
        ways.add(Approvals.steps(yield* made.log).slice(1).join())
      }
      assert.sameMembers([...ways].map((way) => way.includes("RunSuspended")), [false, true])
      for (const way of ways) {
        assert.include([
          "ApprovalResolved 1.0 yes,ToolStarted 1.0,ToolSettled 1.0 Succeeded,RunCompleted",
          "RunSuspended,ApprovalResolved 1.0 yes"
        ], way)
      }
    }))

  it.effect("takes an answer that comes while the run ends, after that end", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "RunSuspended"))
      const store = yield* TestStore.make(held.onAppend)
      const made = yield* Suspended.before([work(1), ok], { store })
      const run = yield* made.agent.start(Suspended.go)
      yield* held.reached
      const deciding = yield* Effect.forkChild(made.decide("1.0"), { startImmediately: true })
      yield* held.release
      yield* run.result
      yield* Fiber.join(deciding)
      assert.deepStrictEqual(RunLog.tags(yield* made.log).slice(-2), ["RunSuspended", "ApprovalResolved"])
      yield* made.resume()
      assert.deepStrictEqual(made.ran, [1])
    }))

  it.effect("takes no answer once the run is being aborted, and whoever gave it hears so: the call would not run", () =>
    Effect.gen(function*() {
      const [started, stopping] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const letGo = yield* Latch.make(false)
      const made = yield* Suspended.before([[work(1, "a"), look(2, "b")], ok], {
        agent: parallel,
        tool: () =>
          Deferred.succeed(started, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() => Effect.andThen(Deferred.succeed(stopping, undefined), letGo.await))
          )
      })
      const run = yield* made.agent.start(Suspended.go)
      const watch = yield* Watch.make(run.events)
      yield* Deferred.await(started)
      yield* watch.until("ApprovalRequested")
      const aborting = yield* Effect.forkChild(run.abort)
      yield* Deferred.await(stopping)
      const deciding = yield* Effect.forkChild(Effect.flip(made.decide("1.0")), { startImmediately: true })
      yield* letGo.open
      yield* Fiber.join(aborting)
      assert.strictEqual((yield* Fiber.join(deciding)).reason._tag, "ApprovalNotOpen")
      assert.deepStrictEqual(RunLog.only(yield* made.log, "ApprovalResolved"), [])
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 NotExecuted(aborted)", "1.1 Interrupted"])
    }))

  it.effect("takes an answer that comes while the run is being resumed", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "RunResumed"))
      const made = yield* Suspended.make()
      made.store.onAppend = held.onAppend
      const resuming = yield* Effect.forkChild(made.resume(Approvals.desk()))
      yield* held.reached
      const deciding = yield* Effect.forkChild(made.decide("1.0"), { startImmediately: true })
      yield* held.release
      yield* Fiber.join(deciding)
      assert.strictEqual(RunLog.endOf(yield* Fiber.join(resuming)), "RunCompleted(stop)")
      assert.deepStrictEqual(made.ran, [1])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))
})
