/** Runs that work for calls, or wait for those that do, and what of them is taken up by itself when their process has ended. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as ToolOutcome from "../../src/run/ToolOutcome.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const call = { sessionId: "outer", runId: "outer run", callId: "1.0" }

/** A run that works for a call of another, dead, and the log of that one. */
const below = Effect.fnUntraced(function*(outer: ReadonlyArray<Drafts.Placed>) {
  const store = yield* TestStore.make()
  const log = DeadRun.unanswered("test/Tested", "below")
  const ofCall = log.map((draft) => draft._tag === "RunStarted" ? { ...draft, parent: call } : draft)
  yield* DeadRun.write(store, "below", ofCall)
  const drafts = outer.map((draft) => ({ ...draft, runId: draft.runId ?? call.runId }))
  if (drafts.length > 0) yield* DeadRun.write(store, "outer", drafts)
  const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
  const idsOf = Effect.map(agent.recover(), ({ runs }) => runs.map(({ sessionId }) => sessionId))
  return { store, idsOf }
})

const calling = DeadRun.inTools("work").slice(0, 4)
const settled = (outcome: ToolOutcome.ToolOutcome): ReadonlyArray<Drafts.Placed> => [
  ...calling,
  Drafts.settled("1.0", outcome)
]

for (
  const [what, outcome, expected] of [
    ["returned", { _tag: "Succeeded", result: "it is begun" }, ["below"]],
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

it.effect("a run below a call without an outcome is left to the run that made the call", () =>
  Effect.gen(function*() {
    const { idsOf, store } = yield* below(calling)
    assert.deepStrictEqual(yield* idsOf, [])
    const session = yield* store.service.open("outer", { runId: call.runId, create: false })
    const log = [...calling, Drafts.settled("1.0", { _tag: "Succeeded", result: "begun" })]
    yield* session.append([{ ...Drafts.log(...log).at(-1)!, runId: call.runId }])
    assert.deepStrictEqual(yield* idsOf, ["below"])
  }))

it.effect("a run below a call that is not there is left alone", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* (yield* below([])).idsOf, [])
    assert.deepStrictEqual(yield* (yield* below([{ ...Drafts.started("go"), runId: "another" }])).idsOf, [])
  }))

it.effect("a run whose call waits for what nobody here knows is not resumed again and again", () =>
  Effect.gen(function*() {
    for (const waitsFor of [[{ sessionId: "elsewhere", runId: "r" }], []]) {
      const store = yield* DeadRun.of([
        { ...Drafts.started("go"), agent: "test/Tested" },
        ...DeadRun.inTools("work").slice(1),
        { _tag: "ToolPaused", turn: 1, callId: "1.0", tool: "work", waitsFor, duration: 1 },
        Drafts.suspended
      ] as never)
      const { agent } = yield* TestAgent.make([], { store })
      const { head } = (yield* store.service.info("s"))!
      assert.deepStrictEqual(yield* agent.recover({ answered: true }), { runs: [], refused: [] })
      assert.strictEqual((yield* store.service.info("s"))?.head, head)
    }
  }))

it.effect("a fork of a session whose process was shut down does not go on by itself", () =>
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

it.effect("logs that nothing is to be done about are read once, until something is added to them", () =>
  Effect.gen(function*() {
    const store = yield* TestStore.make()
    for (let n = 0; n < 50; n++) yield* DeadRun.write(store, `s${n}`, DeadRun.unanswered("app/Other", `s${n}`))
    let reads = 0
    const read: typeof store.service.read = (...args) => (reads++, store.service.read(...args))
    const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], {
      store: TestStore.over({ ...store.service, read })
    })
    yield* agent.recover()
    const first = reads
    yield* agent.recover()
    assert.strictEqual(reads, first)
    const session = yield* store.service.open("s7", { runId: "r", create: false })
    yield* session.append([
      Drafts.log(...DeadRun.unanswered(), { ...Drafts.started("mine"), agent: "test/Tested" })[2]!
    ])
    yield* Effect.scoped(store.service.open("s8", { runId: "r", create: false }))
    void session
    yield* agent.recover()
    assert.isAbove(reads, first - 1)
  }).pipe(Effect.scoped))
