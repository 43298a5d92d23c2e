/** Guarantee 8, progress: a model that goes round in circles is told so, and stopped if it does not listen. */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunState from "../../src/run/RunState.ts"
import { Approver } from "../../src/services/Approver.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const { look, work } = TestAgent
const again = (n: number) => Array.from({ length: n }, () => work(1))
const ok = ScriptedModel.text("ok")

const play = Effect.fnUntraced(function*(turns: ReadonlyArray<ScriptedModel.Turn>, options: TestAgent.Options = {}) {
  const made = yield* TestAgent.make(turns, options)
  const result = yield* made.agent.run({ sessionId: "s", input: "go" })
  const log = yield* made.store.log("s")
  assert.deepStrictEqual(RunLog.violations(log), [])
  return { ...made, result, log, ...seen(log), requests: (yield* made.script.requests).length }
})

const seen = (log: ReadonlyArray<RunEvent.RunEvent>) => ({
  end: RunLog.endOf(log),
  notices: RunLog.only(log, "NoticeAdded").filter(({ kind }) => kind === "doomLoop")
})

describe("a call that is made again and again", () => {
  it.effect("is pointed out to the model after the third equal result, and ends the run with the fourth", () =>
    Effect.gen(function*() {
      const { end, log, notices, requests, result } = yield* play(again(4))
      assert.strictEqual(end, "RunLimited(doomLoop)")
      assert.strictEqual(requests, 4)
      assert.deepStrictEqual(notices.map(({ loop }) => loop), [
        { count: 3, calls: [{ callId: "3.0", tool: "work", params: `{"n":1}` }] }
      ])
      const [limited] = RunLog.only(log, "RunLimited")
      assert.deepStrictEqual(limited?.loop, { count: 4, calls: [{ callId: "4.0", tool: "work", params: `{"n":1}` }] })
      assert(result._tag === "Limited" && result.reason === "doomLoop")
      assert.deepStrictEqual(result.loop, limited?.loop)
      assert.include(result.explain, "(work, 4 times)")
    }))

  it.effect("is pointed out in the last message of the next request", () =>
    Effect.gen(function*() {
      const { end, script } = yield* play([...again(3), ok])
      assert.strictEqual(end, "RunCompleted(stop)")
      const last = (yield* script.requests)[3]!.messages.at(-1)!
      assert(last.role === "user" && last.content[0]?.type === "text")
      assert.include(last.content[0].text, "You called work 3 times with the same arguments")
    }))

  it.effect("is pointed out once, and then ends the run, also where each turn makes it a hundred times", () =>
    Effect.gen(function*() {
      const { end, notices, requests } = yield* play(Array.from({ length: 4 }, () => again(100)))
      assert.deepStrictEqual([end, notices.length, requests], ["RunLimited(doomLoop)", 1, 2])
    }))

  it.effect("is no loop when its results change", () =>
    Effect.gen(function*() {
      let n = 0
      const { end, notices } = yield* play([...again(6), ok], { tool: () => Effect.sync(() => `${n++}`) })
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(notices, [])
    }))

  it.effect.each<readonly [string, ScriptedModel.Step]>([
    ["an unknown tool", ScriptedModel.call("nope", { n: 1 })],
    ["arguments that do not fit", ScriptedModel.call("work", { m: 1 })],
    ["arguments that are no JSON", ScriptedModel.call("work", "{")]
  ])("is a loop with %s", ([, call]) =>
    Effect.gen(function*() {
      const { end, notices } = yield* play([call, call, call, call])
      assert.strictEqual(end, "RunLimited(doomLoop)")
      assert.lengthOf(notices, 1)
    }))

  it.effect("is a loop even with a person who always says no", () =>
    Effect.gen(function*() {
      const { end } = yield* play(again(4), { agent: { toolPolicy: { requireApprovalByDefault: true } } }).pipe(
        Effect.provideService(Approver, { ask: () => Effect.succeed({ approved: false, reason: "no" }) })
      )
      assert.strictEqual(end, "RunLimited(doomLoop)")
    }))

  it.effect("is no loop when its tool is exempt, or when the agent does not look for loops", () =>
    Effect.gen(function*() {
      for (const doomLoop of [{ exempt: ["work"] }, false] as const) {
        const { end, notices } = yield* play([...again(6), ok], { agent: { doomLoop } })
        assert.strictEqual(end, "RunCompleted(stop)")
        assert.deepStrictEqual(notices, [])
      }
    }))

  it.effect("is a loop after as many times as the agent says", () =>
    Effect.gen(function*() {
      const { end, notices, requests } = yield* play(again(6), { agent: { doomLoop: { after: 5 } } })
      assert.strictEqual(end, "RunLimited(doomLoop)")
      assert.strictEqual(requests, 6)
      assert.deepStrictEqual(notices.map(({ loop }) => loop?.count), [5])
    }))

  it.effect("does not take back an answer that arrives with the loop", () =>
    Effect.gen(function*() {
      const { end, requests } = yield* play([...again(3), ok])
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.strictEqual(requests, 4)
    }))
})

describe("calls that alternate", () => {
  it.effect("are a loop, pointed out once, and ended when they come round once more", () =>
    Effect.gen(function*() {
      const pair = [work(1), look(2)]
      const { end, notices, requests } = yield* play([...pair, ...pair, ...pair, ...pair])
      assert.strictEqual(end, "RunLimited(doomLoop)")
      assert.strictEqual(requests, 8)
      assert.lengthOf(notices, 1)
      assert.include(notices[0]!.text, "the same 2 calls (work and look) 3 times")
    }))

  it.effect("are the same loop in rounds of several calls, whatever order they settle in", () =>
    Effect.gen(function*() {
      const round = [work(1, "a"), look(2, "b")]
      const second = [1, 2, 3, 4].map(() => Deferred.makeUnsafe<void>())
      let rounds = 0
      const store = yield* TestStore.make(({ events, store }) => {
        const settled = RunLog.only(events, "ToolSettled").find(({ callId }) => callId.endsWith(".1"))
        return settled === undefined ? store : Effect.tap(store, Deferred.succeed(second[settled.turn - 1]!, undefined))
      })
      const tool: TestAgent.Handler = ({ n }) =>
        n === 1 ? Effect.as(Effect.suspend(() => Deferred.await(second[rounds++]!)), "one") : Effect.succeed("two")
      const { end, log, notices, requests } = yield* play([round, round, round, round], {
        tool,
        store,
        agent: { toolPolicy: { maxParallel: 2 } }
      })
      assert.deepStrictEqual(RunLog.outcomes(log).slice(0, 2), ["1.1 Succeeded", "1.0 Succeeded"])
      assert.strictEqual(end, "RunLimited(doomLoop)")
      assert.strictEqual(requests, 4)
      assert.deepStrictEqual(notices[0]?.loop?.calls.map(({ callId }) => callId), ["3.0", "3.1"])
    }))

  it.effect("are pointed out one by one when each continues after its own notice", () =>
    Effect.gen(function*() {
      const other = Array.from({ length: 3 }, () => look(2))
      const { end, notices } = yield* play([...again(3), ...other, ok])
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(notices.map(({ loop }) => loop?.calls[0]?.tool), ["work", "look"])
    }))
})

describe("a run limited by a loop", () => {
  it.effect("continues when it is resumed, and is limited again when the loop comes round again", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* play(again(5))
      const events = yield* Stream.runCollect(agent.resume({ sessionId: "s" }))
      assert.strictEqual(RunLog.endOf(events), "RunLimited(doomLoop)")
      assert.strictEqual((yield* script.requests).length, 5)
      assert.lengthOf(seen(yield* store.log("s")).notices, 1)
    }))

  it.effect("that has several calls gets to make all of them once more", () =>
    Effect.gen(function*() {
      const pair = [work(1), look(2)]
      const { agent, requests, script } = yield* play([...pair, ...pair, ...pair, ...pair, ...pair])
      assert.strictEqual(requests, 8)
      const events = yield* Stream.runCollect(agent.resume({ sessionId: "s" }))
      assert.strictEqual(RunLog.endOf(events), "RunLimited(doomLoop)")
      assert.strictEqual((yield* script.requests).length, 10)
    }))

  it.effect("completes when the model does something else in its next try", () =>
    Effect.gen(function*() {
      const { agent } = yield* play([...again(4), look(2), ok])
      const events = yield* Stream.runCollect(agent.resume({ sessionId: "s" }))
      assert.strictEqual(RunLog.endOf(events), "RunCompleted(stop)")
    }))

  it.effect("starts afresh with a new message", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* play([...again(4), ...again(2), ok])
      const result = yield* agent.run({ sessionId: "s", input: "again" })
      assert.strictEqual(result._tag, "Completed")
      assert.lengthOf(seen(yield* store.log("s")).notices, 1)
    }))
})

describe("a loop is found", () => {
  it.effect("over compactions of the calls that make it", () =>
    Effect.gen(function*() {
      const { end, log } = yield* play(again(4), { context: ContextWindow.layerWith({ compactThreshold: 4 }) })
      assert.strictEqual(end, "RunLimited(doomLoop)")
      assert.isAbove(RunLog.only(log, "ContextCompacted").length, 0)
    }))

  it.effect("over a crash after any write", () =>
    Effect.gen(function*() {
      const repeatable = Array.from({ length: 4 }, () => look(1))
      const whole = yield* play(repeatable)
      for (let kept = 1; kept < whole.store.appends.length; kept++) {
        const store = yield* TestStore.make()
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* store.service.open("s", { runId: "run", create: true })
          for (const events of whole.store.appends.slice(0, kept)) yield* session.append(events)
        }))
        const { agent } = yield* TestAgent.make(repeatable, { store })
        const events = yield* Stream.runCollect(agent.resume({ sessionId: "s" }))
        const log = yield* store.log("s")
        assert.strictEqual(RunLog.endOf(events), "RunLimited(doomLoop)", `after ${kept} writes`)
        assert.lengthOf(seen(log).notices, 1)
        const { toolCalls, turns } = log.reduce(RunState.evolve, RunState.empty).totals
        assert.deepStrictEqual([turns, toolCalls], [4, 4])
      }
    }))
})

describe("an agent", () => {
  it.effect.each<readonly [object, string]>([
    [{ after: 1 }, "doomLoop.after must be a whole number from 2 to 20; it is 1"],
    [{ after: 21 }, "doomLoop.after"],
    [{ after: 2.5 }, "doomLoop.after"],
    [{ after: NaN }, "doomLoop.after"],
    [{ after: Infinity }, "doomLoop.after"],
    [{ exempt: ["wrok"] }, "doomLoop.exempt names \"wrok\", which is not a tool of this agent"]
  ])("is not made with %o", ([doomLoop, message]) =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(TestAgent.make([], { agent: { doomLoop } }))
      assert(Exit.isFailure(exit))
      assert.include(String(Cause.squash(exit.cause)), message)
    }))
})
