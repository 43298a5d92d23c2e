/** `ToolCall.runAgent`: an agent works for a call and its result is the outcome. How it waits for people is in `Paused`. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as RunError from "../../src/run/RunError.ts"
import { Observers } from "../../src/services/Observers.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Family from "../support/Family.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as Watch from "../support/Watch.ts"

type Input = Parameters<Family.Client["run"]>[0]

const done = JSON.stringify({})

/** How a call is settled for which an agent runs these inputs, one after the other, and all logs. */
const settledBy = (...inputs: ReadonlyArray<Input>) =>
  Effect.gen(function*() {
    const { logs, root } = yield* Family.make({
      handler: (agent, _, call) =>
        Effect.forEach(inputs, (input) => ToolCall.runAgent(agent, input)).pipe(
          Effect.map((answers) => answers.join()),
          Effect.mapError((message) => ({ message })),
          Effect.provideService(ToolCall, call)
        )
    })
    yield* root({ turns: [[{}]] })
    const found = yield* logs
    return { found, outcome: RunLog.only(found.get("root")!, "ToolSettled")[0]?.outcome }
  })

/** A handler as in docs/tools.md: what an agent says meanwhile is the progress of its call. */
const showing =
  (agent: Family.Client) => (_: unknown, { preliminary }: { preliminary: (text: string) => Effect.Effect<void> }) =>
    ToolCall.runAgent(agent, { input: "go" }, { progress: preliminary })

describe("an agent that works for a call", () => {
  it.effect("answers in a run with the call's key", () =>
    Effect.gen(function*() {
      const { found, outcome } = yield* settledBy({ input: done })
      assert.deepInclude(outcome, { _tag: "Succeeded", result: "done" })
      assert.deepStrictEqual([...found.keys()].sort(), ["root", "root//1.0"])
    }))

  it.effect("takes everything that a run may be given", () =>
    Effect.gen(function*() {
      const { found } = yield* settledBy({ input: done, data: { customer: 7 }, allowedTools: ["ask"] })
      const [started] = RunLog.only(found.get("root//1.0")!, "RunStarted")
      assert.deepInclude(started?.input, { data: { customer: 7 }, allowedTools: ["ask"] })
    }))

  it.effect("can run several times if each run has its own id", () =>
    Effect.gen(function*() {
      const { found, outcome } = yield* settledBy({ runId: "first", input: done }, { runId: "second", input: done })
      assert.deepInclude(outcome, { _tag: "Succeeded", result: "done,done" })
      assert.deepStrictEqual([...found.keys()].sort(), ["first", "root", "second"])
    }))

  it.effect("is replayed when it is asked the same again, and refused when it is asked something else", () =>
    Effect.gen(function*() {
      const again = yield* settledBy({ input: done }, { input: done })
      assert.deepInclude(again.outcome, { _tag: "Succeeded", result: "done,done" })
      const other = yield* settledBy({ input: done }, { input: "{ }" })
      assert.strictEqual(other.outcome?._tag, "Failed")
      assert.include(JSON.stringify(other.outcome), "root//1.0")
    }))

  it.effect("is waited for while another process has it, and given up if that process keeps it", () =>
    Effect.gen(function*() {
      for (const [refusals, outcome] of [[3, "Succeeded"], [Infinity, "Failed"]] as const) {
        const kept = yield* TestStore.make()
        const isRefused = yield* Deferred.make<void>()
        let refused = 0
        const store = TestStore.over({
          ...kept.service,
          open: (sessionId, options) => {
            if (sessionId !== "s/r/1.0" || refused === refusals) return kept.service.open(sessionId, options)
            refused++
            Deferred.doneUnsafe(isRefused, Effect.void)
            return Effect.fail(RunError.sessionBusy(sessionId, sessionId))
          }
        })
        const below = yield* TestAgent.make([ScriptedModel.text("three facts")], { store })
        const above = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], {
          store,
          tool: () => ToolCall.runAgent(below.agent, { input: "go" })
        })
        const run = yield* above.agent.start({ sessionId: "s", runId: "r", input: "go" })
        const watch = yield* Watch.make(run.events)
        yield* Deferred.await(isRefused)
        for (let second = 0; second < 41; second++) yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* watch.until("ToolSettled")).outcome._tag, outcome)
        assert.strictEqual((yield* run.result)._tag, "Completed")
      }
    }))

  it.effect("continues a conversation when it is given one", () =>
    Effect.gen(function*() {
      const { found } = yield* settledBy({ input: done, sessionId: "talk", runId: "a" }, {
        input: done,
        sessionId: "talk",
        runId: "b"
      })
      const started = RunLog.only(found.get("talk")!, "RunStarted")
      assert.deepStrictEqual(started.map(({ runId }) => runId), ["a", "b"])
    }))

  it.effect("returns its answer decoded", () =>
    Effect.gen(function*() {
      const below = Agent.make({ instructions: "", output: Schema.Struct({ at: Schema.DateFromString }) })
      const models = ScriptedModel.layer([[ScriptedModel.text(`{"at":"2026-01-02T03:04:05.000Z"}`)]])
      const store = yield* TestStore.make()
      const services = yield* Layer.build(Layer.mergeAll(Fiberloop.layer, store.layer, models))
      const agent = yield* Effect.provideContext(below, services)
      const { agent: above } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], {
        store,
        tool: () => Effect.map(ToolCall.runAgent(agent, { input: "when" }), ({ at }) => `in ${at.getUTCFullYear()}`)
      })
      yield* above.run({ sessionId: "s", input: "go" })
      const [settled] = RunLog.only(yield* store.log("s"), "ToolSettled")
      assert.deepInclude(settled?.outcome, { _tag: "Succeeded", result: "in 2026" })
    }))

  it.effect("shows what it says meanwhile as progress, beside existing observers", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const below = yield* TestAgent.make([
        [ScriptedModel.text("Two"), Overloaded.fail()],
        [ScriptedModel.text("Two a "), ScriptedModel.gate(gate), ScriptedModel.text("day.")]
      ])
      const around = new Set<string>()
      const isRetrying = yield* Deferred.make<void>()
      const { over, seen, until } = yield* Watch.started([TestAgent.work(1), ScriptedModel.text("ok")], {
        tool: showing(below.agent) as never
      }).pipe(Effect.provideService(Observers, [{
        name: "around",
        observe: ({ events, runId }) => {
          around.add(runId)
          const isNow = events.some(({ _tag }) => _tag === "RetryScheduled")
          return isNow ? Deferred.succeed(isRetrying, undefined) : Effect.void
        }
      }]))
      yield* Deferred.await(isRetrying)
      yield* TestClock.adjust("1 minute")
      // nothing of the attempt that failed
      assert.strictEqual((yield* until("ToolProgress")).value, "Two a ")
      yield* gate.release
      yield* over
      const [settled] = RunLog.only(seen, "ToolSettled")
      assert.deepInclude(settled?.outcome, { _tag: "Succeeded", result: "Two a day." })
      // the existing observer still sees both runs
      assert.strictEqual(around.size, 2)
    }))

  it.effect("reports as progress what it says itself, turn by turn, and nothing of an agent below it", () =>
    Effect.gen(function*() {
      const told: Array<string> = []
      const isTold = yield* Deferred.make<void>()
      const tell = (said: string) => {
        told.push(said)
        return said.endsWith("day.") ? Deferred.succeed(isTold, undefined) : Effect.void
      }
      const deepest = yield* TestAgent.make([ScriptedModel.text("Deep below.")])
      const below = yield* TestAgent.make([
        [ScriptedModel.text("Let me ask."), TestAgent.work(1)],
        ScriptedModel.text("Two a ", "day.")
      ], { tool: () => ToolCall.runAgent(deepest.agent, { input: "deep" }) })
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], {
        tool: () => ToolCall.runAgent(below.agent, { input: "go" }, { progress: tell })
      })
      yield* agent.run({ sessionId: "s", input: "go" })
      yield* Deferred.await(isTold)
      assert.deepStrictEqual([told[0], told.at(-1)], ["Let me ask.", "Two a day."])
      assert.isTrue(
        told.every((said) => "Let me ask.".startsWith(said) || "Two a day.".startsWith(said)),
        told.join("|")
      )
    }))

  it.effect("that comes to no answer fails the call with how it ended", () =>
    Effect.gen(function*() {
      const { outcome } = yield* settledBy({ input: JSON.stringify({ turns: [[{}]] }), limits: { maxTurns: 1 } })
      assert.strictEqual(outcome?._tag, "Failed")
      assert.include(JSON.stringify(outcome), "limit")
    }))

  it.effect("that comes to no answer fails the call with what it said last", () =>
    Effect.gen(function*() {
      const below = yield* TestAgent.make([[ScriptedModel.text("So far three facts."), TestAgent.work(1)]])
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], {
        tool: () => ToolCall.runAgent(below.agent, { input: "go", limits: { maxTurns: 1 } })
      })
      yield* agent.run({ sessionId: "s", input: "go" })
      const [settled] = RunLog.only(yield* store.log("s"), "ToolSettled")
      assert.include(JSON.stringify(settled?.outcome), String.raw`It said last:\nSo far three facts.`)
    }))

  it.effect("that fails gives the model the error's message", () =>
    Effect.gen(function*() {
      const { found, outcome } = yield* settledBy({ input: " " })
      assert.strictEqual(outcome?._tag, "Failed")
      assert.include(JSON.stringify(outcome), "input")
      assert.deepStrictEqual([...found.keys()], ["root"])
    }))
})
