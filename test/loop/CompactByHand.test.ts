/** A conversation is compacted on request, between two runs. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as ContextSummary from "../../src/layers/ContextSummary.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as Transcript from "../../src/run/Transcript.ts"
import * as Usage from "../../src/run/Usage.ts"
import * as ContextManager from "../../src/services/ContextManager.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"

const summing = Layer.provide(ContextSummary.layer, ScriptedModel.layer(() => ScriptedModel.text("short")))
const long = " and what of it?".repeat(200)
const answers = Array.from({ length: 6 }, (_, i) => ScriptedModel.text(`answer ${i}`))

const talk = Effect.fnUntraced(function*(runs: number, options: TestAgent.Options = {}, about = "") {
  const made = yield* TestAgent.make(answers, options)
  for (let i = 0; i < runs; i++) yield* made.agent.run({ sessionId: "s", input: `question ${i}${about}` })
  return made
})

describe("a compaction by hand", () => {
  it.effect("makes the next request smaller, and is in the log", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* talk(4)
      const done = yield* agent.compact("s")
      assert.strictEqual(done.strategy, "window")
      assert.isBelow(done.tokens.after, done.tokens.before)
      assert.isBelow(done.messages.after, done.messages.before)
      yield* agent.run({ sessionId: "s", input: "go on" })
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.deepStrictEqual(RunLog.only(log, "ContextCompacted").map(({ cause }) => cause), ["manual"])
      const requests = yield* script.requests
      assert.isBelow(requests[4]!.messages.length, requests[3]!.messages.length + 2)
    }))

  for (const [maxTurns, end, kept] of [[3, "RunLimited", true], [9, "RunCompleted", false]] as const) {
    it.effect(`${kept ? "keeps" : "may leave out"} what a steered run was given that ended with ${end}`, () =>
      Effect.gen(function*() {
        const turns = [TestAgent.work(2), TestAgent.work(3), ScriptedModel.text("ok")]
        const { agent, gate, run, store } = yield* Steering.held([TestAgent.work(1)], turns, {}, {
          input: "compare all pages",
          limits: { maxTurns }
        })
        yield* Steering.say(run, "steer", "please hurry")
        yield* gate.release
        assert.strictEqual(`Run${(yield* run.result)._tag}`, end)
        yield* agent.compact("s")
        const left = JSON.stringify(Transcript.messages(Transcript.fromLog(yield* store.log("s"))))
        assert.strictEqual(left.includes("compare all pages"), kept)
        assert.include(left, "please hurry")
      }))
  }

  it.effect("works even if compaction is not automatic", () =>
    Effect.gen(function*() {
      const { agent } = yield* talk(4, { context: ContextWindow.layerWith({ automatic: false, compactThreshold: 2 }) })
      assert.strictEqual((yield* agent.compact("s")).strategy, "window")
    }))

  it.effect("does not count towards maxCompactions", () =>
    Effect.gen(function*() {
      const { agent } = yield* talk(5, { agent: { limits: { maxCompactions: 0 } } })
      yield* agent.compact("s")
      assert.strictEqual((yield* agent.run({ sessionId: "s", input: "go on" }))._tag, "Completed")
    }))

  it.effect("spends nothing of the last run's limits, even if it fails: a call allowed afterwards still runs", () =>
    Effect.gen(function*() {
      for (const reason of ["stop", "content-filter"] as const) {
        const spending = [
          ScriptedModel.text("short"),
          ScriptedModel.finish(reason, { inputTokens: 900, outputTokens: 5 })
        ]
        const { agent, store } = yield* TestAgent.make([
          ...answers.slice(0, 4),
          TestAgent.work(1),
          ScriptedModel.text("ok")
        ], {
          context: Layer.provide(ContextSummary.layer, ScriptedModel.layer(() => spending))
        })
        for (let i = 0; i < 4; i++) yield* agent.run({ sessionId: "s", input: `question ${i}${long}` })
        yield* agent.run({
          sessionId: "s",
          input: "pay",
          toolPolicy: { requireApprovalByDefault: true },
          limits: { maxTokens: 200 }
        })
        assert.strictEqual((yield* Effect.exit(agent.compact("s")))._tag, reason === "stop" ? "Success" : "Failure")
        const [question] = yield* agent.approvals("s")
        yield* agent.decide({ sessionId: "s", approvalId: question!.id, approved: true })
        assert.strictEqual((yield* agent.resumeRun({ sessionId: "s" }))._tag, "Completed")
        const log = yield* store.log("s")
        assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded"])
        const spent = log.flatMap((event) => "isOfRun" in event ? [event.usage.inputTokens] : [])
        assert.isAtLeast(spent[0]!, 900)
      }
    }))

  it.effect("asks its model whatever the last run had left, and however long ago that was", () =>
    Effect.gen(function*() {
      for (const limits of [{ maxDuration: "10 minutes" }, { maxTurns: 1 }, { maxTokens: 10 }] as const) {
        const { agent } = yield* talk(4, { agent: { limits }, context: summing }, long)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual((yield* agent.compact("s")).strategy, "summary", Object.keys(limits)[0])
      }
    }))

  it.effect("fails with a typed error when nothing can be left out, and leaves the log as it was", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* talk(1, { context: ContextWindow.layerWith({ keep: 1 }) })
      const before = yield* store.log("s")
      const error = yield* Effect.flip(agent.compact("s"))
      assert.strictEqual(error.reason._tag, "CompactionFailed")
      assert.deepStrictEqual(yield* store.log("s"), before)
    }))

  it.effect("does not replace the message whose call waits for a person", () =>
    Effect.gen(function*() {
      const context = Layer.succeed(ContextManager.ContextManager, {
        plan: (view) => view.force === "manual" ? { _tag: "Compact", request: view } : { _tag: "Send" },
        compact: ({ transcript }) =>
          Effect.succeed({
            strategy: "all",
            upTo: Transcript.openSeq(transcript)!,
            replacement: [Transcript.latestSaid(transcript)!],
            usage: Usage.zero
          })
      })
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], { context })
      yield* agent.run({ sessionId: "s", input: "pay", toolPolicy: { requireApprovalByDefault: true } })
      const error = yield* Effect.flip(agent.compact("s"))
      assert.strictEqual(error.reason.message, "the strategy \"all\" left out calls that are still open")
      const [question] = yield* agent.approvals("s")
      yield* agent.decide({ sessionId: "s", approvalId: question!.id, approved: true })
      assert.strictEqual((yield* agent.resumeRun({ sessionId: "s" }))._tag, "Completed")
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Succeeded"])
    }))

  it.effect("fails with a typed error when the strategy interrupts itself", () =>
    Effect.gen(function*() {
      const context = Layer.succeed(ContextManager.ContextManager, {
        plan: (view) => view.force === "manual" ? { _tag: "Compact", request: view } : { _tag: "Send" },
        compact: () => Effect.interrupt
      })
      const { agent } = yield* talk(1, { context })
      const { message, reason } = yield* Effect.flip(agent.compact("s"))
      assert.deepStrictEqual([reason._tag, message], ["CompactionFailed", "the strategy interrupted itself"])
      assert.strictEqual((yield* agent.run({ sessionId: "s", input: "hello" })).text, "answer 1")
    }))

  it.effect("is refused for an unknown session", () =>
    Effect.gen(function*() {
      const { agent } = yield* talk(0)
      assert.strictEqual((yield* Effect.flip(agent.compact("nobody"))).reason._tag, "SessionNotFound")
    }))

  it.effect("is refused for a session with a live run, which handles its own context", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([ScriptedModel.gate(gate)])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      const error = yield* Effect.flip(agent.compact("s"))
      assert.strictEqual(error.reason._tag, "SessionBusy")
      yield* run.abort
    }))

  it.effect("keeps an open question, and answering it runs the call", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([...answers.slice(0, 3), TestAgent.work(7), ScriptedModel.text("done")], {
        agent: { toolPolicy: { requireApprovalByDefault: true } }
      })
      for (let i = 0; i < 3; i++) yield* made.agent.run({ sessionId: "s", input: `question ${i}` })
      assert.strictEqual((yield* made.agent.run({ sessionId: "s", input: "work" }))._tag, "Suspended")
      yield* made.agent.compact("s")
      const [approval] = yield* made.agent.approvals("s")
      yield* made.agent.decide({ sessionId: "s", approvalId: approval!.id, approved: true })
      const resumed = yield* Stream.runCollect(made.agent.resume({ sessionId: "s" }))
      assert.strictEqual(RunLog.endOf(resumed), "RunCompleted(stop)")
      const last = (yield* made.script.requests).at(-1)!
      assert.include(JSON.stringify(last.messages), "done 7")
    }))
})
