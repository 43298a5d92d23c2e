/** Hooks in a drive that takes up what another left: what was decided stays decided, and nothing runs that no hook saw. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { Hook, ToolDecision } from "../../src/services/Hooks.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as BrokenHooks from "../support/BrokenHooks.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"

const turns = [TestAgent.work(1), ScriptedModel.text("ok")]
const go = { sessionId: "s", runId: "r", input: "go" }

const nOf = (params: unknown): number => (params as { readonly n: number }).n

/** Changes `n` as the test says, and records which values it saw. */
const changing = (to: (n: number) => number) => {
  const seen: Array<number> = []
  const hook: Hook = {
    name: "changing",
    beforeToolCall: ({ params }) =>
      Effect.sync(() => {
        seen.push(nOf(params))
        return { _tag: "Change", params: { n: to(nOf(params)) } }
      })
  }
  return { hook, seen }
}

/** A run that is suspended at a question about its call, whose arguments a hook changed to `{ n: 7 }`. */
const suspended = Effect.gen(function*() {
  const { hook } = changing(() => 7)
  const made = yield* Approvals.make(turns, { agent: { hooks: [hook] } })
  const result = yield* made.agent.run(go)
  assert.deepStrictEqual(result._tag === "Suspended" ? result.approvals.map(({ params }) => params) : [], [{ n: 7 }])
  return made
})

/** Resumes what is in the store, in a process that has other hooks. */
const resume = Effect.fnUntraced(function*(
  { store }: TestAgent.TestAgent,
  hooks: ReadonlyArray<Hook>,
  approver?: Parameters<typeof Approvals.by>[0]
) {
  const made = yield* Approvals.make([ScriptedModel.text("ok")], { store, agent: { hooks } })
  const events = made.agent.resume({ sessionId: "s" })
  yield* Stream.runDrain(approver === undefined ? events : Approvals.by(approver, events))
  return { ...made, log: yield* store.log("s") }
})

describe("a call that a person was asked about", () => {
  it.effect("reaches the hooks with the arguments the person was asked about, and runs with those", () =>
    Effect.gen(function*() {
      const first = yield* suspended
      const { hook, seen } = changing((n) => n)
      const { log, ran } = yield* resume(first, [hook], Approvals.answering(() => Approvals.yes))
      assert.deepStrictEqual(seen, [7])
      assert.deepStrictEqual(ran, [7])
      assert.deepStrictEqual(RunLog.only(log, "ApprovalRequested").length, 1)
      assert.deepStrictEqual(Approvals.violations(log), [])
    }))

  it.effect("runs with those even if there are no hooks any more", () =>
    Effect.gen(function*() {
      const { ran } = yield* resume(yield* suspended, [], Approvals.answering(() => Approvals.yes))
      assert.deepStrictEqual(ran, [7])
    }))

  it.effect("is asked about again when a hook then changes them, and only the new answer counts", () =>
    Effect.gen(function*() {
      const first = yield* suspended
      const { hook } = changing(() => 8)
      const asked: Array<readonly [unknown, string]> = []
      const { log, ran } = yield* resume(
        first,
        [hook],
        Approvals.answering(({ approvalId, params }) => (asked.push([params, approvalId]), Approvals.yes))
      )
      const questions = RunLog.only(log, "ApprovalRequested")
      assert.deepStrictEqual(questions.map((event) => event.params), [{ n: 7 }, { n: 8 }])
      assert.strictEqual(new Set(questions.map((event) => event.approvalId)).size, 2)
      assert.strictEqual(new Set(questions.map((event) => event.digest)).size, 2)
      assert.deepStrictEqual(asked, [[{ n: 8 }, questions[1]!.approvalId]])
      assert.deepStrictEqual(RunLog.only(log, "ApprovalResolved").map((event) => event.approvalId), [asked[0]![1]])
      assert.deepStrictEqual(ran, [8])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("does not run on a yes that was about other arguments", () =>
    Effect.gen(function*() {
      const first = yield* suspended
      // somebody says yes from elsewhere, without driving the run
      const log = yield* first.store.log("s")
      const { at, runId, seq, version } = log.at(-1)!
      const { approvalId, callId } = RunLog.only(log, "ApprovalRequested")[0]!
      yield* Effect.scoped(Effect.flatMap(
        first.store.service.open("s", { runId, create: false }),
        (session) =>
          session.append([
            { _tag: "RunResumed", seq: seq + 1, at, runId, version, drive: 2, cause: "approval" },
            { _tag: "ApprovalResolved", seq: seq + 2, at, runId, version, callId, approvalId, approved: true }
          ])
      ))
      const { hook } = changing(() => 8)
      const second = yield* resume(first, [hook])
      assert.deepStrictEqual(second.ran, [])
      assert.strictEqual(RunLog.endOf(second.log), "RunSuspended(approval)")
      assert.deepStrictEqual(RunLog.only(second.log, "ApprovalRequested").map((event) => event.params), [
        { n: 7 },
        { n: 8 }
      ])
      const third = yield* resume(second, [hook], Approvals.answering(() => Approvals.yes))
      assert.deepStrictEqual(third.ran, [8])
    }))

  it.effect("may be denied by a guard that the other process has", () =>
    Effect.gen(function*() {
      const { log, ran } = yield* resume(
        yield* suspended,
        [BrokenHooks.at("beforeToolCall", () => Effect.fail("no"))],
        Approvals.answering(() => Approvals.yes)
      )
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Denied"])
      assert.deepStrictEqual(ran, [])
    }))
})

describe("a call whose question another drive left", () => {
  const words: Record<ToolDecision["_tag"], ToolDecision> = {
    Change: { _tag: "Change", params: { n: 7 } },
    Deny: { _tag: "Deny", reason: "not today" },
    Answer: { _tag: "Answer", result: "by the hook" }
  }
  const given = [
    [{ approved: false, reason: "too dear" }, { _tag: "Denied", reason: "too dear" }],
    [{ result: "by hand" }, { _tag: "Succeeded", result: "by hand" }]
  ] as const
  const cases = Object.values(words).flatMap((word) =>
    given.map(([decision, outcome]) => ({ decision, outcome, word }))
  )

  it.effect.each(cases)(
    "is not asked about once a person has given its outcome while the call before it runs: $decision, $word",
    ({ decision, outcome, word }) =>
      Effect.gen(function*() {
        const [running, letGo] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const made = yield* Suspended.make([TestAgent.work(1, "a"), TestAgent.work(2, "b")])
        yield* made.decide("1.0")
        const seen: Array<string> = []
        const hook: Hook = {
          name: "deciding",
          beforeToolCall: ({ callId }) => Effect.sync(() => (seen.push(callId), callId === "1.0" ? undefined : word))
        }
        const other = yield* Suspended.elsewhere(made, {
          agent: { hooks: [hook] },
          tool: () => Effect.as(Effect.andThen(Deferred.succeed(running, undefined), Deferred.await(letGo)), "done")
        })
        const resuming = yield* Effect.forkChild(other.resume())
        yield* Deferred.await(running)
        yield* other.decide("1.1", decision)
        yield* Deferred.succeed(letGo, undefined)
        yield* Fiber.join(resuming)
        const log = yield* other.log
        assert.deepStrictEqual(RunLog.only(log, "ToolSettled").map(({ outcome }) => outcome), [
          { _tag: "Succeeded", result: "done" },
          outcome
        ])
        assert.deepStrictEqual([seen, other.ran], [["1.0"], [1]])
        assert.deepStrictEqual(RunLog.violations(log), [])
      })
  )

  /** A hook looks at a call, and would say `word` of it, while a person decides about that; it says nothing when it is asked again. */
  const decidedMeanwhile = Effect.fnUntraced(function*(
    word: ToolDecision,
    decision?: Parameters<Suspended.Suspended["decide"]>[1],
    maxParallel = 1
  ) {
    const [looking, letGo] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const made = yield* Suspended.make([TestAgent.work(1, "a"), TestAgent.work(2, "b")])
    yield* made.decide("1.1", { approved: false })
    const seen: Array<unknown> = []
    const hook: Hook = {
      name: "slow",
      beforeToolCall: ({ params }) =>
        Effect.suspend(() =>
          seen.push(params) > 1
            ? Effect.void
            : Effect.as(Effect.andThen(Deferred.succeed(looking, undefined), Deferred.await(letGo)), word)
        )
    }
    const other = yield* Suspended.elsewhere(made, { agent: { hooks: [hook], toolPolicy: { maxParallel } } })
    const resuming = yield* Effect.forkChild(other.resume())
    yield* Deferred.await(looking)
    yield* other.decide("1.0", decision)
    yield* Deferred.succeed(letGo, undefined)
    yield* Fiber.join(resuming)
    const log = yield* other.log
    assert.deepStrictEqual(RunLog.violations(log), [])
    const [settled] = RunLog.only(log, "ToolSettled").filter(({ callId }) => callId === "1.0")
    return { ran: other.ran, seen, settled }
  })

  it.effect.each(cases.flatMap((one) => [1, 2].map((maxParallel) => ({ ...one, maxParallel }))))(
    "has the outcome that a person gives while a hook looks at it: $decision, $word, $maxParallel at once",
    ({ decision, maxParallel, outcome, word }) =>
      Effect.gen(function*() {
        const { ran, settled } = yield* decidedMeanwhile(word, decision, maxParallel)
        assert.deepStrictEqual([settled?.hook, settled?.outcome], [undefined, outcome])
        assert.deepStrictEqual(ran, [])
      })
  )

  it.effect.each([words.Deny, words.Answer])(
    "is judged again with the arguments that a person gives while a hook looks at others: %o",
    (word) =>
      Effect.gen(function*() {
        const { ran, seen } = yield* decidedMeanwhile(word, { params: { n: 5 } })
        assert.deepStrictEqual([seen, ran], [[{ n: 1 }, { n: 5 }], [5]])
      })
  )

  it.effect("has nothing of what a hook said of other arguments, though the run is aborted while it runs", () =>
    Effect.gen(function*() {
      const [looking, letGo] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const made = yield* Suspended.make([TestAgent.work(1, "a")])
      let asked = 0
      const hook: Hook = {
        name: "slow",
        beforeToolCall: () =>
          Effect.suspend(() =>
            asked++ > 0
              ? Effect.void
              : Effect.as(Effect.andThen(Deferred.succeed(looking, undefined), Deferred.await(letGo)), words.Answer)
          ),
        afterToolCall: () => Effect.void
      }
      const running = yield* Deferred.make<void>()
      const other = yield* Suspended.elsewhere(made, {
        agent: { hooks: [hook] },
        tool: () => Effect.andThen(Deferred.succeed(running, undefined), Effect.never)
      })
      const resuming = yield* Effect.forkChild(other.resume())
      yield* Deferred.await(looking)
      yield* other.decide("1.0", { params: { n: 5 } })
      yield* Deferred.succeed(letGo, undefined)
      yield* Deferred.await(running)
      yield* other.agent.abort("s")
      yield* Fiber.join(resuming)
      assert.deepStrictEqual(RunLog.outcomes(yield* other.log), ["1.0 Interrupted"])
    }))

  it.effect.each([1, 2])(
    "is judged by hooks although a person allows it while one looks, %d at once",
    (maxParallel) =>
      Effect.gen(function*() {
        const { ran, settled } = yield* decidedMeanwhile(words.Deny, undefined, maxParallel)
        assert.deepStrictEqual([settled?.hook, ran], ["slow", []])
      })
  )
})

describe("a call that was started before a crash", () => {
  it.effect("and runs again has the arguments of its intent, with no hook before it", () =>
    Effect.gen(function*() {
      const calls = [ScriptedModel.call("again", { n: 1 }, "a"), ScriptedModel.call("again", { n: 2 }, "b")]
      const first = changing((n) => n * 10)
      const store = yield* DeadRun.leftBy(calls, { hooks: [first.hook] })
      const second = changing((n) => n * 100)
      const after: Array<number> = []
      const noting: Hook = {
        name: "after",
        afterToolCall: ({ params }) => Effect.sync(() => void after.push(nOf(params)))
      }
      const ran: Array<number> = []
      const { agent } = yield* TestAgent.make([ScriptedModel.text("ok")], {
        store,
        agent: { hooks: [second.hook, noting] },
        tool: ({ n }) => Effect.sync(() => `${ran.push(n)}`)
      })
      yield* Stream.runDrain(agent.resume({ sessionId: "s" }))
      // the first call was started, the second was not
      assert.deepStrictEqual(second.seen, [2])
      assert.deepStrictEqual(ran, [10, 200])
      assert.deepStrictEqual(after, [10, 200])
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))
})
