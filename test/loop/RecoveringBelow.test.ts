/** Runs that work for calls, or wait for such runs: which of them are taken up after their process has ended. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as RunEvent from "../../src/run/RunEvent.ts"
import type * as ToolOutcome from "../../src/run/ToolOutcome.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as Family from "../support/Family.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const call = { sessionId: "outer", runId: "outer run", callId: "1.0" }

/** A run that works for a call of another, dead or with this end, and the log of that one. */
const below = Effect.fnUntraced(function*(outer: ReadonlyArray<Drafts.Placed>, ...end: ReadonlyArray<Drafts.Placed>) {
  const store = yield* TestStore.make()
  const log = [...DeadRun.unanswered("test/Tested", "below"), ...end.map((draft) => ({ ...draft, runId: "below run" }))]
  const ofCall = log.map((draft) => draft._tag === "RunStarted" ? { ...draft, parent: call } : draft)
  yield* DeadRun.write(store, "below", ofCall)
  const drafts = outer.map((draft) => ({ ...draft, runId: draft.runId ?? call.runId }))
  if (drafts.length > 0) yield* DeadRun.write(store, "outer", drafts)
  const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
  const idsOf = Effect.map(agent.recover(), ({ runs }) => runs.map(({ sessionId }) => sessionId))
  return { store, idsOf }
})

const calling = DeadRun.inTools("work").slice(0, 4)
const begun: ToolOutcome.ToolOutcome = { _tag: "Succeeded", result: "it is begun" }
const settled = (outcome: ToolOutcome.ToolOutcome): ReadonlyArray<Drafts.Placed> => [
  ...calling,
  Drafts.settled("1.0", outcome)
]

for (
  const [what, outcome, expected] of [
    ["returned", begun, ["below"]],
    ["failed", { _tag: "Failed", result: "it is begun" }, ["below"]],
    ["was interrupted", { _tag: "Interrupted" }, []],
    ["took too long", { _tag: "TimedOut", limit: 5 }, []],
    ["may have taken effect", { _tag: "OutcomeUnknown" }, []]
  ] as const
) {
  it.effect(`a run below a call whose handler ${what} is ${expected.length === 0 ? "left alone" : "taken up"}`, () =>
    Effect.gen(function*() {
      const { idsOf } = yield* below(settled(outcome))
      assert.deepStrictEqual(yield* idsOf, [...expected])
    }))
}

describe("a run that was shut down below a call", () => {
  const shutDown = { ...Drafts.aborted, reason: "shutdown" as const }
  const failed = settled({ _tag: "Failed", result: "shut down" })

  it.effect.each<readonly [what: string, log: ReadonlyArray<Drafts.Placed>, endedAt: number, expected: Array<string>]>([
    ["left alone, where the call failed after that: its model was told that it did not work", failed, 0, []],
    ["taken up, where the call had failed before that", failed, 1_000_000, ["below"]],
    ["taken up, where the call succeeded, to which it made no difference", settled(begun), 0, ["below"]]
  ])("is %s", ([, log, endedAt, expected]) =>
    Effect.gen(function*() {
      const { idsOf } = yield* below(log, { ...shutDown, at: endedAt })
      assert.deepStrictEqual(yield* idsOf, expected)
    }))
})

it.effect("a run below a call without an outcome is left to the run that made the call", () =>
  Effect.gen(function*() {
    const { idsOf, store } = yield* below(calling)
    assert.deepStrictEqual(yield* idsOf, [])
    const session = yield* store.service.open("outer", { runId: call.runId, create: false })
    const log = [...calling, Drafts.settled("1.0", { _tag: "Succeeded", result: "begun" })]
    yield* session.append([{ ...Drafts.log(...log).at(-1)!, runId: call.runId }])
    assert.deepStrictEqual(yield* idsOf, ["below"])
  }))

it.effect("a call with the same number in another run is not the one a run works for", () =>
  Effect.gen(function*() {
    const other = settled({ _tag: "Succeeded", result: "begun" }).map((draft) => ({ ...draft, runId: "another run" }))
    const { idsOf } = yield* below([...calling, DeadRun.crashed, ...other])
    assert.deepStrictEqual(yield* idsOf, [])
  }))

it.effect("a run below a call that does not exist is left alone", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* (yield* below([])).idsOf, [])
    assert.deepStrictEqual(yield* (yield* below([{ ...Drafts.started("go"), runId: "another" }])).idsOf, [])
  }))

it.effect("a run whose call waits for something unknown here is not resumed over and over", () =>
  Effect.gen(function*() {
    for (const waitsFor of [[{ sessionId: "elsewhere", runId: "r" }], [{ sessionId: "newer", runId: "r" }], []]) {
      const store = yield* DeadRun.of([
        { ...Drafts.started("go"), agent: "test/Tested" },
        ...DeadRun.inTools("work").slice(1),
        { _tag: "ToolPaused", turn: 1, callId: "1.0", tool: "work", waitsFor, duration: 1 },
        Drafts.suspended
      ] as never)
      const newer = { ...Drafts.suspended, runId: "r", version: RunEvent.version + 1 } as never
      yield* DeadRun.write(store, "newer", [{ ...Drafts.started("go"), runId: "r" }, newer])
      const { agent } = yield* TestAgent.make([], { store })
      const { head } = (yield* store.service.info("s"))!
      const { refused, runs } = yield* agent.recover({ answered: true })
      assert.deepStrictEqual(runs, [])
      assert.deepStrictEqual(refused.map(({ sessionId }) => sessionId), ["newer"])
      assert.strictEqual((yield* store.service.info("s"))?.head, head)
    }
  }))

it.effect("a fork of a session whose process was shut down is not taken up", () =>
  Effect.gen(function*() {
    const store = yield* DeadRun.of([
      ...DeadRun.unanswered().map((draft) => ({ ...draft, runId: "run-1" })),
      { ...Drafts.aborted, reason: "shutdown" }
    ])
    yield* store.service.fork("s", { to: "copy" })
    const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
    const { runs } = yield* agent.recover()
    assert.deepStrictEqual(runs.map(({ sessionId }) => sessionId), ["s"])
    assert.deepInclude((yield* store.log("copy")).at(-1), { _tag: "RunAborted", reason: "forked" })
  }))

it.effect("a fork of a run below a call is taken up on its own once it is answered, while the call waits for the original", () =>
  Effect.gen(function*() {
    const { agent, root, store } = yield* Family.make()
    yield* root({ turns: [[{ turns: [[{ by: "buy" }]] }]] })
    const [question] = yield* agent.approvals("root")
    yield* store.service.fork(question!.sessionId, { to: "copy" })
    yield* agent.decide({ sessionId: "copy", approvalId: question!.id, approved: true })
    const { runs: [run, ...others] } = yield* agent.recover({ answered: true })
    assert.deepStrictEqual([run?.sessionId, others], ["copy", []])
    assert.strictEqual((yield* run!.result)._tag, "Completed")
    assert.deepStrictEqual((yield* agent.recover({ answered: true })).runs, [])
  }))

it.effect("logs with nothing to do are read once, until something is appended or the id belongs to another session", () =>
  Effect.gen(function*() {
    const store = yield* TestStore.make()
    const other = DeadRun.unanswered("app/Other")
    for (let n = 0; n < 50; n++) yield* DeadRun.write(store, `s${n}`, other)
    let reads = 0
    const read: typeof store.service.read = (...args) => (reads++, store.service.read(...args))
    const { agent } = yield* TestAgent.make(() => ScriptedModel.text("done"), {
      store: TestStore.over({ ...store.service, read })
    })
    yield* agent.recover()
    assert.isAtLeast(reads, 50)
    yield* TestClock.adjust("1 second")
    yield* DeadRun.write(store, "newest", DeadRun.unanswered().map((draft) => ({ ...draft, at: 1000 })))
    // a call that ends before it has seen all forgets nothing
    const full = yield* agent.recover({ limit: 1 })
    yield* Effect.forEach(full.runs, ({ result }) => result)
    assert.deepStrictEqual(full.runs.map(({ sessionId }) => sessionId), ["newest"])
    reads = 0
    yield* agent.recover()
    assert.strictEqual(reads, 0)

    const [mine] = DeadRun.unanswered()
    const session = store.service.open("s7", { runId: "r", create: false })
    const events = Drafts.log(...other, DeadRun.crashed, mine!).slice(2) as never
    yield* Effect.scoped(Effect.flatMap(session, ({ append }) => append(events)))
    yield* store.service.remove("s8")
    yield* TestClock.adjust("1 second")
    yield* DeadRun.write(store, "s8", DeadRun.unanswered())
    const { runs } = yield* agent.recover()
    assert.sameMembers(runs.map(({ sessionId }) => sessionId), ["s7", "s8"])
  }))

/** A run with two calls, the second waiting for another run; `events` are what followed. */
const waiting = (...events: ReadonlyArray<Drafts.Placed>): ReadonlyArray<Drafts.Placed> =>
  [
    { ...Drafts.started("go"), agent: "test/Tested" },
    ...DeadRun.inTools("again", "again").slice(1),
    Drafts.toolPaused("1.1", { sessionId: "below", runId: "below run" }),
    ...events
  ].map((draft, i) => ({ at: 1000 + i, ...draft }))

const belowAsks: ReadonlyArray<Drafts.Placed> = [
  { ...Drafts.started("go"), parent: { sessionId: "s", runId: "run-1", callId: "1.1" } },
  ...DeadRun.inTools("work").slice(1, 3),
  Drafts.approvalRequested("1.0"),
  Drafts.suspended
].map((draft, i) => ({ ...draft, agent: "test/Tested", at: 1010 + i, runId: "below run" }))

const isTakenUp = Effect.fnUntraced(function*(store: TestStore.TestStore) {
  // once its call is settled, what was below it is taken up on its own
  const { agent } = yield* TestAgent.make([ScriptedModel.text("done"), ScriptedModel.text("done")], { store })
  return (yield* agent.recover({ answered: true })).runs.some(({ sessionId }) => sessionId === "s")
})

it.effect("an answer below counts even if it came while the run around it was still working, or by a clock that is behind", () =>
  Effect.gen(function*() {
    for (const [at, expected] of [[2000, true], [500, true]] as const) {
      const store = yield* TestStore.make()
      const settled = { ...Drafts.settled("1.0", { _tag: "Succeeded", result: "done" }), at: 60_000 }
      yield* DeadRun.write(store, "s", waiting(settled, { ...Drafts.suspended, at: 60_001 }))
      yield* DeadRun.write(store, "below", belowAsks)
      assert.isFalse(yield* isTakenUp(store))
      const answer = { ...Drafts.approvalResolved("1.0"), at, runId: "below run" }
      const events = Drafts.log(...belowAsks, answer).slice(belowAsks.length) as never
      const session = store.service.open("below", { runId: "r", create: false })
      yield* Effect.scoped(Effect.flatMap(session, ({ append }) => append(events)))
      assert.strictEqual(yield* isTakenUp(store), expected)
    }
  }))

it.effect("a run is not taken up while somebody drives one that its call waits for, but once that has ended or died", () =>
  Effect.gen(function*() {
    const store = yield* TestStore.make()
    const answered = [{ ...Drafts.approvalResolved("1.0"), at: 2000 }, { ...Drafts.resumed(2), at: 2001 }]
    const going = [...belowAsks, ...answered.map((draft) => ({ ...draft, runId: "below run" }))]
    yield* DeadRun.write(store, "s", waiting(Drafts.settled("1.0", "done"), Drafts.suspended))
    yield* DeadRun.write(store, "below", going)
    const drive = yield* Scope.make()
    const session = yield* Scope.provide(store.service.open("below", { runId: "below run", create: false }), drive)
    assert.isFalse(yield* isTakenUp(store))
    const dead = yield* Family.leftBy(store)
    assert.isTrue(yield* isTakenUp(dead))
    const ended = { ...Drafts.completed(), at: 2002, runId: "below run" }
    yield* session.append(Drafts.log(...going, ended).slice(going.length) as never)
    yield* Scope.close(drive, Exit.void)
    assert.isTrue(yield* isTakenUp(store))
  }))

it.effect("a call that waits again for a run that is over is not made over and over", () =>
  Effect.gen(function*() {
    const store = yield* TestStore.make()
    const settled = Drafts.settled("1.0", { _tag: "Succeeded", result: "done" })
    const late = waiting(settled, Drafts.suspended).map((draft) => ({ ...draft, at: 900_000 }))
    yield* DeadRun.write(store, "s", late)
    yield* DeadRun.write(store, "below", [...belowAsks.slice(0, 1), {
      ...Drafts.completed(),
      at: 1020,
      runId: "below run"
    }])
    assert.isFalse(yield* isTakenUp(store))
  }))

it.effect("a run that a handler left on its own is taken up once its own questions are answered", () =>
  Effect.gen(function*() {
    const store = yield* TestStore.make()
    const outer = waiting().slice(0, 5).map((draft) => ({ ...draft, runId: "run-1" }))
    yield* DeadRun.write(store, "s", [...outer, Drafts.settled("1.1", { _tag: "Succeeded", result: "begun" })])
    yield* DeadRun.write(store, "below", belowAsks)
    const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
    const idsOf = Effect.map(agent.recover({ answered: true }), ({ runs }) => runs.map(({ sessionId }) => sessionId))
    const before = yield* idsOf
    assert.notInclude(before, "below")
    const answer = { ...Drafts.approvalResolved("1.0", false), runId: "below run" }
    const events = Drafts.log(...belowAsks, answer).slice(belowAsks.length) as never
    const session = store.service.open("below", { runId: "r", create: false })
    yield* Effect.scoped(Effect.flatMap(session, ({ append }) => append(events)))
    assert.include(yield* idsOf, "below")
  }))
