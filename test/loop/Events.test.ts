/** What a healthy run emits, in what order, and in which writes. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const isJson = Schema.decodeUnknownExit(RunEvent.RunEvent)

const brief = (event: RunEvent.RunEvent) => event._tag === "StatusChanged" ? `${event.from}>${event.to}` : event._tag

describe("a run of one tool turn and one text turn", () => {
  const run = Effect.gen(function*() {
    const made = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("All ", "done")])
    const events = yield* Stream.runCollect(made.agent.stream({ sessionId: "s", runId: "r", input: "go" }))
    return { ...made, events }
  })

  it.effect("emits exactly these events", () =>
    Effect.gen(function*() {
      const { events } = yield* run
      assert.deepStrictEqual(events.map(brief), [
        "RunStarted",
        "idle>preparing",
        "TurnStarted",
        "preparing>calling",
        "calling>streaming",
        "AssistantMessage",
        "streaming>tool_running",
        "ToolStarted",
        "ToolSettled",
        "tool_running>observing",
        "TurnFinished",
        "observing>preparing",
        "TurnStarted",
        "preparing>calling",
        "calling>streaming",
        "TextDelta",
        "TextDelta",
        "AssistantMessage",
        "streaming>observing",
        "TurnFinished",
        "observing>completed",
        "RunCompleted"
      ])
    }))

  it.effect("numbers its durable events without a gap and stores all of them", () =>
    Effect.gen(function*() {
      const { events, store } = yield* run
      const facts = RunLog.durable(events)
      assert.deepStrictEqual(facts.map((event) => event.seq), facts.map((_, at) => at + 1))
      assert.deepStrictEqual(facts, yield* store.log("s"))
      assert.deepStrictEqual(RunLog.violations(facts), [])
    }))

  it.effect("writes facts together when nothing effectful is between them", () =>
    Effect.gen(function*() {
      const { store } = yield* run
      assert.deepStrictEqual(store.appends.map((events) => RunLog.tags(events)), [
        ["RunStarted"],
        ["TurnStarted"],
        ["AssistantMessage", "ToolStarted"],
        ["ToolSettled", "TurnFinished", "TurnStarted"],
        ["AssistantMessage", "TurnFinished", "RunCompleted"]
      ])
    }))

  it.effect("emits events that are JSON and fit their schema, byte by byte", () =>
    Effect.gen(function*() {
      const { events } = yield* run
      for (const event of events) {
        const back: unknown = JSON.parse(JSON.stringify(event))
        assert.deepStrictEqual(back, { ...event })
        assert.isTrue(Exit.isSuccess(isJson(back)), event._tag)
        assert.strictEqual(event.runId, "r")
      }
    }))

  it.effect("names its calls by turn and position, whatever ids the model gave them", () =>
    Effect.gen(function*() {
      const { store } = yield* TestAgent.make([
        [TestAgent.work(1, "same"), TestAgent.work(2, "same")],
        [TestAgent.work(3, "same")],
        ScriptedModel.text("done")
      ]).pipe(Effect.tap(({ agent }) => agent.run({ sessionId: "s", input: "go" })))
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.only(log, "ToolStarted").map((event) => event.callId), ["1.0", "1.1", "2.0"])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))
})

describe("a tool round", () => {
  it.effect("with sequential calls stores each outcome with the next intent", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([
        [TestAgent.work(1, "a"), TestAgent.work(2, "b"), TestAgent.work(3, "c")],
        ScriptedModel.text("done")
      ])
      yield* agent.run({ sessionId: "s", input: "go" })
      assert.deepStrictEqual(store.appends.slice(2, 6).map((events) => RunLog.tags(events)), [
        ["AssistantMessage", "ToolStarted"],
        ["ToolSettled", "ToolStarted"],
        ["ToolSettled", "ToolStarted"],
        ["ToolSettled", "TurnFinished", "TurnStarted"]
      ])
    }))

  it.effect("with parallel calls stores their intents together and their outcomes as they come", () =>
    Effect.gen(function*() {
      const stored = yield* Deferred.make<void>()
      const { agent, script, store } = yield* TestAgent.make([
        [TestAgent.work(1, "a"), TestAgent.work(2, "b")],
        ScriptedModel.text("done")
      ], {
        agent: { toolPolicy: { maxParallel: 2 } },
        store: yield* TestStore.make(({ events, store }) =>
          events.some((event) => event._tag === "ToolSettled")
            ? Effect.tap(store, () => Deferred.succeed(stored, undefined))
            : store
        ),
        tool: ({ n }) => n === 1 ? Effect.as(Deferred.await(stored), "one") : Effect.succeed("two")
      })
      yield* agent.run({ sessionId: "s", input: "go" })
      assert.deepStrictEqual(RunLog.tags(store.appends[2]!), ["AssistantMessage", "ToolStarted", "ToolStarted"])
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.1 Succeeded", "1.0 Succeeded"])
      const [, next] = yield* script.requests
      const results = next?.messages.at(-1)
      assert.deepStrictEqual(results?.role === "tool" ? results.content.map((part) => part.result) : [], ["one", "two"])
    }))
})
