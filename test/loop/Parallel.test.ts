/** Several calls of one message at once, several runs of one agent at once. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as Model from "../../src/services/Model.ts"
import { SessionStore } from "../../src/services/SessionStore.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as StrictModel from "../../src/testing/StrictModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const calls = (...ns: ReadonlyArray<number>) => ns.map((n) => TestAgent.work(n, `${n}`))

/** A tool whose calls wait to be released one by one, and that counts how many run. */
const counted = (expected: number) => {
  const gates = new Map<number, Deferred.Deferred<void>>()
  const gate = (n: number) => {
    const known = gates.get(n) ?? Deferred.makeUnsafe<void>()
    gates.set(n, known)
    return known
  }
  const full = Deferred.makeUnsafe<void>()
  let running = 0
  let most = 0
  const tool: TestAgent.Handler = ({ n }) =>
    Effect.suspend(() => {
      most = Math.max(most, ++running)
      if (running === expected) Deferred.doneUnsafe(full, Effect.void)
      return Effect.as(Deferred.await(gate(n)), `done ${n}`)
    }).pipe(Effect.ensuring(Effect.sync(() => running--)))
  return {
    tool,
    /** this many run at once now */
    full: Deferred.await(full),
    most: () => most,
    letGo: (n: number) => Effect.asVoid(Deferred.succeed(gate(n), undefined))
  }
}

describe("calls of one message", () => {
  it.effect("run at most maxParallel at once, the next one as soon as one is done", () =>
    Effect.gen(function*() {
      const { full, letGo, most, tool } = counted(2)
      const { agent, store } = yield* TestAgent.make([calls(0, 1, 2, 3, 4), ScriptedModel.text("ok")], {
        tool,
        agent: { toolPolicy: { maxParallel: 2 } }
      })
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      yield* full
      for (const n of [1, 2, 0, 4, 3]) yield* letGo(n)
      yield* run.result
      assert.strictEqual(most(), 2)
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.strictEqual(RunLog.outcomes(log).length, 5)
    }))

  it.effect("can all end while the outcome of the first is being stored", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "ToolSettled"))
      const store = yield* TestStore.make(held.onAppend)
      const { full, letGo, tool } = counted(5)
      const { agent } = yield* TestAgent.make([calls(0, 1, 2, 3, 4), ScriptedModel.text("ok")], {
        store,
        tool,
        agent: { toolPolicy: { maxParallel: 5 } }
      })
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      yield* full
      for (const n of [0, 1, 2, 3, 4]) yield* letGo(n)
      yield* held.reached
      yield* held.release
      yield* run.result
      assert.strictEqual(RunLog.outcomes(yield* store.log("s")).length, 5)
    }))

  it.effect("have their outcome stored in one write with the next intent", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const { full, letGo, tool } = counted(2)
      const { agent } = yield* TestAgent.make([calls(0, 1, 2), ScriptedModel.text("ok")], {
        store,
        tool,
        agent: { toolPolicy: { maxParallel: 2 } }
      })
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      yield* full
      // the third waits for a slot by then
      yield* Effect.yieldNow
      for (const n of [0, 1, 2]) yield* letGo(n)
      yield* run.result
      const writes = store.appends.map((events) => events.map(({ _tag }) => _tag).join(" "))
      assert.include(writes, "ToolSettled ToolStarted")
    }))

  it.effect("run one after the other unless told otherwise", () =>
    Effect.gen(function*() {
      const { letGo, most, tool } = counted(1)
      const { agent, store } = yield* TestAgent.make([calls(0, 1, 2), ScriptedModel.text("ok")], { tool })
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      for (const n of [2, 1, 0]) yield* letGo(n)
      yield* run.result
      assert.strictEqual(most(), 1)
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), [
        "1.0 Succeeded",
        "1.1 Succeeded",
        "1.2 Succeeded"
      ])
    }))

  it.effect("are reported to the model in call order, whatever order they ended in", () =>
    Effect.gen(function*() {
      const ended = new Map([[0, Deferred.makeUnsafe<void>()], [1, Deferred.makeUnsafe<void>()], [
        2,
        Deferred.makeUnsafe<void>()
      ]])
      const { agent, script } = yield* TestAgent.make([calls(0, 1, 2), ScriptedModel.text("ok")], {
        agent: { toolPolicy: { maxParallel: Infinity } },
        tool: ({ n }) =>
          (n === 2 ? Effect.void : Deferred.await(ended.get(n + 1)!)).pipe(
            Effect.andThen(Deferred.succeed(ended.get(n)!, undefined)),
            Effect.as(`done ${n}`)
          )
      })
      yield* agent.run({ input: "go" })
      const [, second] = yield* script.requests
      const last = second?.messages.at(-1)
      assert.deepStrictEqual(last?.role === "tool" ? last.content.map((part) => part.result) : [], [
        "done 0",
        "done 1",
        "done 2"
      ])
    }))

  it.effect("with continueOnError false fail the run once one has failed; running siblings settle first, others do not start", () =>
    Effect.gen(function*() {
      const sibling = yield* Latch.make(false)
      const { agent, store } = yield* TestAgent.make([calls(0, 1, 2, 3)], {
        agent: { toolPolicy: { maxParallel: 2, continueOnError: false } },
        tool: ({ n }) =>
          n === 0
            ? Effect.as(sibling.await, "done")
            : Effect.andThen(sibling.open, Effect.fail("no"))
      })
      const error = yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      assert.deepStrictEqual(
        error.reason._tag === "ToolFailed" ? [error.reason.tool, error.reason.callId] : error.reason._tag,
        ["work", "1.1"]
      )
      assert.strictEqual(error.message, "the tool \"work\" failed, and toolPolicy.continueOnError of this run is false")
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.sameMembers(RunLog.outcomes(log), [
        "1.0 Succeeded",
        "1.1 Failed",
        "1.2 NotExecuted(failed)",
        "1.3 NotExecuted(failed)"
      ])
      assert.strictEqual(RunLog.endOf(log), "RunFailed(ToolFailed)")
    }))

  it.effect("with continueOnError false continue after invalid arguments and unknown tools", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([
        [ScriptedModel.call("work", {}, "a"), ScriptedModel.call("nope", {}, "b"), TestAgent.work(1, "c")],
        ScriptedModel.text("ok")
      ], { agent: { toolPolicy: { continueOnError: false } } })
      assert.strictEqual((yield* agent.run({ input: "go" }))._tag, "Completed")
    }))

  it.effect("report progress, each under its own call", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([calls(1, 2), ScriptedModel.text("ok")], {
        agent: { toolPolicy: { maxParallel: 2 } },
        tool: () => Effect.map(ToolCall, ({ callId }) => callId)
      })
      const events = yield* Stream.runCollect(agent.stream({ input: "go" }))
      assert.deepStrictEqual(RunLog.only(events, "ToolProgress"), [])
      assert.sameMembers(
        RunLog.only(events, "ToolSettled").map((event) =>
          event.outcome._tag === "Succeeded" ? event.outcome.result : ""
        ),
        ["1.0", "1.1"]
      )
    }))
})

describe("200 runs at once on one agent", () => {
  /** A model that calls a tool, then says what it found: the same for every session. */
  const model: Model.Model["Service"] = {
    info: { provider: "test", name: "test" },
    stream: ({ messages, metadata }) =>
      Stream.fromArray<Model.ModelPart>(
        messages.at(-1)?.role === "tool"
          ? [
            { type: "text-delta", block: "0", delta: metadata.sessionId },
            { type: "finish", reason: "stop", usage: ScriptedModel.usage }
          ]
          : [
            { type: "tool-call", id: "x", name: "work", params: { n: 1 } },
            { type: "finish", reason: "tool-calls", usage: ScriptedModel.usage }
          ]
      )
  }

  it.effect("all complete, each with its own answer and a legal log", () =>
    Effect.gen(function*() {
      const strict = yield* StrictModel.make(model)
      const together = yield* Latch.make(false)
      let running = 0
      const handlers = TestAgent.kit.toLayer({
        work: () =>
          Effect.suspend(() => ++running === 200 ? Effect.as(together.open, "last") : Effect.as(together.await, "one")),
        look: () => Effect.succeed(""),
        again: () => Effect.succeed("")
      })
      const context = yield* Layer.build(
        Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, handlers, Layer.succeed(Model.Model, strict))
      )
      const agent = yield* Agent.make({ instructions: "", toolkit: TestAgent.kit }).pipe(Effect.provide(context))
      const store = yield* Effect.provide(SessionStore, context)
      const fibers = yield* Effect.forEach(
        Array.from({ length: 200 }, (_, i) => `s${i}`),
        (sessionId) => Effect.forkChild(agent.run({ sessionId, runId: `r-${sessionId}`, input: "go" }))
      )
      for (const fiber of fibers) {
        const result = yield* Fiber.join(fiber)
        assert.strictEqual(result.text, result.sessionId)
        assert.deepStrictEqual(RunLog.violations(yield* Stream.runCollect(store.read(result.sessionId))), [])
        assert.isUndefined(yield* agent.live(result.runId))
      }
    }))
})
