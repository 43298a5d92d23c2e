/** What those who ask for a run that died are shown: readers of the next drive, and of earlier runs. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const request = { sessionId: "s", runId: "dead", input: "go" }
const agent = { toolPolicy: { maxParallel: 2 } }

describe("a run that died", () => {
  it.effect("shows its next reader the new drive's facts, once each, and one end", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.left({ wasAborted: false })
      const made = yield* TestAgent.make([ScriptedModel.text("done")], { store, agent })
      const before = (yield* store.log("s")).length
      const shown = RunLog.durable(yield* Stream.runCollect(made.agent.stream(request)))
      assert.deepStrictEqual(shown, (yield* store.log("s")).slice(before + 1))
      assert.deepStrictEqual([shown[0]?._tag, RunLog.endOf(shown)], ["RunResumed", "RunCompleted(stop)"])
    }))

  it.effect("is replayed as aborted to its request once a new message came between, and nothing is written", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.left({ wasAborted: false })
      const made = yield* TestAgent.make([ScriptedModel.text("hello!")], { store, agent })
      yield* made.agent.run({ sessionId: "s", input: "hello" })
      const log = yield* store.log("s")
      const result = yield* made.agent.run(request)
      assert.isTrue(result._tag === "Aborted" && result.reason === "crashed")
      const shown = yield* Stream.runCollect(made.agent.stream(request))
      assert.deepStrictEqual<unknown>(shown, log.filter(({ runId, seq }) => runId === "dead" && seq <= shown.length))
      assert.strictEqual(RunLog.endOf(shown), "RunAborted(crashed)")
      assert.deepStrictEqual(yield* store.log("s"), log)
    }))

  it.effect("is replayed to its request from its first event, and nothing before it, when it was being aborted", () =>
    Effect.gen(function*() {
      const first = yield* TestAgent.make([ScriptedModel.text("one"), ScriptedModel.text("two")])
      yield* first.agent.run({ sessionId: "s", runId: "older", input: "go" })
      const newer = { sessionId: "s", runId: "newer", input: "more" }
      yield* first.agent.run(newer)
      const log = (yield* first.store.log("s")).slice(0, -1)
      const store = yield* DeadRun.of([...log, { _tag: "AbortRequested", reason: "requested", runId: "newer" }])
      const made = yield* TestAgent.make([], { store })
      const shown = yield* Stream.runCollect(made.agent.stream(newer))
      assert.deepStrictEqual<unknown>(shown, (yield* store.log("s")).filter(({ runId }) => runId === "newer"))
      assert.strictEqual(RunLog.endOf(shown), "RunAborted(requested)")
    }))

  it.effect("does not keep an older run from being replayed, which changes nothing", () =>
    Effect.gen(function*() {
      const first = yield* TestAgent.make([ScriptedModel.text("one"), ScriptedModel.text("two")], { agent })
      const older = { sessionId: "s", runId: "older", input: "go" }
      yield* first.agent.run(older)
      yield* first.agent.run({ sessionId: "s", runId: "newer", input: "more" })
      const store = yield* DeadRun.of((yield* first.store.log("s")).slice(0, -1))
      const made = yield* TestAgent.make([ScriptedModel.text("two")], { store, agent })
      const log = yield* store.log("s")
      assert.strictEqual((yield* made.agent.run(older)).text, "one")
      const refused = yield* Effect.flip(Stream.runDrain(made.agent.resume({ sessionId: "s", runId: "older" })))
      assert.strictEqual(refused.reason._tag, "NothingToResume")
      assert.deepStrictEqual(yield* store.log("s"), log)
    }))
})

it.effect("a run that died ends with its last text, and the turns, calls, errors and usage of all its drives", () =>
  Effect.gen(function*() {
    const usage = { inputTokens: 10, outputTokens: 5 }
    const store = yield* DeadRun.of([
      Drafts.started("go"),
      Drafts.turnStarted(1),
      Drafts.discarded(1, 1, usage),
      Drafts.assistant([Drafts.call("look", { n: 1 })], { usage, attempt: 2 }),
      { ...Drafts.toolStarted("1.0", { n: 1 }), tool: "look" },
      {
        ...DeadRun.crashed,
        totals: { ...Drafts.totals, turns: 1, errors: 1, usage: { inputTokens: 20, outputTokens: 10 } }
      },
      Drafts.resumed(2),
      { ...Drafts.settled("1.0", "seen", { usage }), tool: "look" }
    ])
    const made = yield* TestAgent.make([
      [ScriptedModel.text("done"), ScriptedModel.finish("stop", { inputTokens: 1, outputTokens: 2 })]
    ], { store })
    const result = yield* made.agent.resumeRun({ sessionId: "s" })
    assert.deepInclude(result, { text: "done", turns: 2, usage: { inputTokens: 31, outputTokens: 17 } })
    const end = RunLog.only(yield* store.log("s"), "RunCompleted")[0]!
    assert.deepInclude(end.totals, { toolCalls: 1, toolRounds: 1, errors: 1 })
  }))
