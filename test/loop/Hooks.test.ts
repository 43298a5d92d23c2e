/** Hooks in general: the order they run in, what each sees, whose they are, and how long they took. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import * as Message from "../../src/run/Message.ts"
import { type Hook, Hooks } from "../../src/services/Hooks.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

const turns = [TestAgent.work(1), ScriptedModel.text("ok")]
const go = { sessionId: "s", runId: "r", input: "go" }

/** A hook of all four points that writes down where it ran. */
const noting = (name: string, notes: Array<string>, more: Partial<Hook> = {}): Hook => {
  const note = (point: string) => Effect.sync(() => void notes.push(`${name} ${point}`))
  return {
    name,
    beforeModelCall: ({ turn }) => note(`beforeModelCall ${turn}`),
    afterModelCall: ({ turn }) => note(`afterModelCall ${turn}`),
    beforeToolCall: ({ callId }) => note(`beforeToolCall ${callId}`),
    afterToolCall: ({ callId }) => note(`afterToolCall ${callId}`),
    ...more
  }
}

describe("hooks", () => {
  it.effect("run at their four points, in order", () =>
    Effect.gen(function*() {
      const notes: Array<string> = []
      const { agent } = yield* TestAgent.make(turns, {
        agent: { hooks: [noting("a", notes), noting("b", notes)] },
        tool: () => Effect.sync(() => `${notes.push("the tool")}`)
      })
      yield* agent.run(go)
      const both = (point: string) => [`a ${point}`, `b ${point}`]
      assert.deepStrictEqual(notes, [
        ...both("beforeModelCall 1"),
        ...both("afterModelCall 1"),
        ...both("beforeToolCall 1.0"),
        "the tool",
        ...both("afterToolCall 1.0"),
        ...both("beforeModelCall 2"),
        ...both("afterModelCall 2")
      ])
    }))

  it.effect("see which run and call they run for, and the run's data", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const see = (call: object) => Effect.sync(() => void seen.push(call))
      const { agent } = yield* TestAgent.make(turns, {
        agent: {
          hooks: [{ name: "a", beforeModelCall: see, afterModelCall: see, beforeToolCall: see, afterToolCall: see }]
        }
      })
      yield* agent.run({ ...go, data: { tenant: 7 } })
      const inTurn = { sessionId: "s", runId: "r", turn: 1, data: { tenant: 7 } }
      const call = { ...inTurn, callId: "1.0", tool: "work", params: { n: 1 }, idempotencyKey: "s/r/1.0" }
      assert.deepStrictEqual(seen.slice(0, 4), [
        {
          ...inTurn,
          model: { provider: "scripted", name: "scripted" },
          messages: [{ role: "system", content: "Be brief." }, Message.user("go")],
          tools: ["work", "look", "again"]
        },
        {
          ...inTurn,
          message: { role: "assistant", content: [{ type: "tool-call", id: "call", name: "work", params: { n: 1 } }] },
          finishReason: "tool-calls",
          usage: ScriptedModel.usage
        },
        call,
        { ...call, outcome: { _tag: "Succeeded", result: "done 1" }, duration: 0, isPreliminary: false }
      ])
    }))

  it.effect("each see what the one before made of it", () =>
    Effect.gen(function*() {
      const adding = (letter: string): Hook => ({
        name: letter,
        beforeModelCall: ({ messages }) => Effect.succeed({ messages: [...messages, Message.user(letter)] }),
        beforeToolCall: ({ params }) =>
          Effect.succeed({ _tag: "Change", params: { n: (params as { readonly n: number }).n * 10 + letter.length } }),
        afterToolCall: ({ outcome }) =>
          Effect.succeed({
            outcome: { _tag: "Succeeded", result: ["result" in outcome ? outcome.result : null, letter] }
          })
      })
      const { agent, script, store } = yield* TestAgent.make(turns, {
        agent: { hooks: [adding("x"), adding("yy"), adding("zzz")] }
      })
      yield* agent.run(go)
      const [first, second] = yield* script.requests
      assert.deepStrictEqual(first!.messages.at(-1), Message.user(["go", "x", "yy", "zzz"].map(Message.text)))
      assert.deepStrictEqual(RunLog.only(yield* store.log("s"), "ToolStarted")[0]!.params, { n: 1123 })
      assert.include(JSON.stringify(second!.messages), `[[["done 1123","x"],"yy"],"zzz"]`)
    }))

  it.effect("see the tools that earlier hooks left, and cannot bring any back", () =>
    Effect.gen(function*() {
      const told: Array<ReadonlyArray<string>> = []
      const leaving = (...left: ReadonlyArray<string>): Hook => ({
        name: left.join(),
        beforeModelCall: ({ tools }) => {
          told.push(tools)
          return Effect.succeed({ tools: left })
        }
      })
      const { agent, script } = yield* TestAgent.make([ScriptedModel.text("ok")], {
        agent: { hooks: [leaving("look", "again"), leaving("work", "look")] }
      })
      yield* agent.run(go)
      assert.deepStrictEqual(told, [["work", "look", "again"], ["look", "again"]])
      assert.deepStrictEqual((yield* script.requests)[0]!.tools.map((tool) => tool.name), ["look"])
    }))

  it.effect("of the options, the layer and the caller add up, in that order; one in several places runs once", () =>
    Effect.gen(function*() {
      const notes: Array<string> = []
      const [options, layer, caller, all] = ["options", "layer", "caller", "all"].map((name) => noting(name, notes))
      const { agent } = yield* TestAgent.make([ScriptedModel.text("ok"), ScriptedModel.text("ok")], {
        agent: { hooks: [options!, all!] }
      }).pipe(Effect.provideService(Hooks, [layer!, all!]))
      yield* agent.run(go).pipe(Effect.provideService(Hooks, [caller!, all!, layer!]))
      const ran = () => notes.splice(0).filter((note) => note.includes("before")).map((note) => note.split(" ")[0])
      assert.deepStrictEqual(ran(), ["options", "all", "layer", "caller"])
      yield* agent.run({ ...go, runId: "r2" })
      assert.deepStrictEqual(ran(), ["options", "all", "layer"])
    }))

  it.effect("of a run also apply to an agent that runs inside one of its tools", () =>
    Effect.gen(function*() {
      const notes: Array<string> = []
      const inner = yield* TestAgent.make([ScriptedModel.text("ok")])
      const outer = yield* TestAgent.make(turns, {
        agent: {
          hooks: [{ name: "a", beforeModelCall: ({ sessionId }) => Effect.sync(() => void notes.push(sessionId)) }]
        },
        tool: () => Effect.as(Effect.orDie(inner.agent.run({ sessionId: "inner", input: "go" })), "ok")
      })
      yield* outer.agent.run(go)
      assert.deepStrictEqual(notes, ["s", "inner", "s"])
    }))
})

describe("the times of hooks", () => {
  const slow: Hook = {
    name: "slow",
    beforeModelCall: () => TestClock.adjust("1 second"),
    afterModelCall: () => TestClock.adjust("2 seconds"),
    beforeToolCall: () => TestClock.adjust("3 seconds"),
    afterToolCall: () => TestClock.adjust("4 seconds")
  }

  it.effect("are in the trace of their turn, summed by hook and point", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make(
        [[TestAgent.work(1, "a"), TestAgent.work(2, "b")], ScriptedModel.text("ok")],
        { agent: { hooks: [slow, { name: "quick", afterModelCall: () => Effect.void }] } }
      )
      yield* agent.run(go)
      const traces = RunLog.only(yield* store.log("s"), "TurnFinished")
      assert.deepStrictEqual(traces.map((event) => event.hooks), [
        [
          { hook: "slow", on: "beforeModelCall", calls: 1, duration: 1000 },
          { hook: "slow", on: "afterModelCall", calls: 1, duration: 2000 },
          { hook: "quick", on: "afterModelCall", calls: 1, duration: 0 },
          { hook: "slow", on: "beforeToolCall", calls: 2, duration: 6000 },
          { hook: "slow", on: "afterToolCall", calls: 2, duration: 8000 }
        ],
        [
          { hook: "slow", on: "beforeModelCall", calls: 1, duration: 1000 },
          { hook: "slow", on: "afterModelCall", calls: 1, duration: 2000 },
          { hook: "quick", on: "afterModelCall", calls: 1, duration: 0 }
        ]
      ])
    }))

  it.effect("are not part of the time that a model, or a tool, took", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make(turns, { agent: { hooks: [slow] } })
      yield* agent.run(go)
      const log = yield* store.log("s")
      assert.strictEqual(RunLog.only(log, "ToolSettled")[0]!.duration, 0)
      assert.deepStrictEqual(RunLog.only(log, "TurnFinished")[0]!.latency, { firstPart: 0, model: 0, tools: 7000 })
    }))

  it.effect("are absent when no hook ran", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make(turns, {
        agent: { hooks: [{ name: "a", beforeToolCall: () => Effect.void }] }
      })
      yield* agent.run(go)
      const [first, second] = RunLog.only(yield* store.log("s"), "TurnFinished")
      assert.isTrue("hooks" in first!)
      assert.isFalse("hooks" in second!)
    }))
})
