/** Resuming a run that ended otherwise than by completing. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Hang from "../support/Hang.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const refused = ScriptedModel.fail(
  new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "Authentication", message: "no key" })
)

const resumed = (agent: TestAgent.TestAgent["agent"], input: Partial<RunInput.ResumeInput> = {}) =>
  Stream.runCollect(agent.resume({ sessionId: "s", ...input }))

describe("a run is resumed", () => {
  it.effect("after it failed: the same call is made again", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* TestAgent.make([TestAgent.work(1), refused, ScriptedModel.text("ok")])
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      const events = yield* resumed(agent)
      assert.strictEqual(RunLog.endOf(events), "RunCompleted(stop)")
      const [, failed, again] = yield* script.requests
      assert.deepStrictEqual(again?.messages, failed?.messages)
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.strictEqual(RunLog.only(log, "RunCompleted")[0]?.totals.turns, 2)
    }))

  it.effect("by its agent, or one that has its tools: another agent would answer for calls that it does not know", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1)], {
        agent: { toolPolicy: { requireApprovalByDefault: true } }
      })
      yield* agent.run({ sessionId: "s", runId: "r", input: "go" })
      yield* agent.decide({ sessionId: "s", approvalId: "r/1.0", approved: true })
      const before = yield* store.log("s")
      const services = yield* Layer.build(
        Layer.mergeAll(Fiberloop.layer, store.layer, ScriptedModel.layer([ScriptedModel.text("ok")]))
      )
      const other = yield* Effect.provideContext(Agent.make({ name: "app/Other", instructions: "" }), services)
      const error = yield* Effect.flip(other.resumeRun({ sessionId: "s" }))
      assert.strictEqual(error.reason._tag, "InvalidInput")
      for (const name of ["test/Tested", "app/Other", "\"work\""]) assert.include(error.message, name)
      assert.deepStrictEqual(yield* store.log("s"), before)
      const replaced = yield* TestAgent.make([ScriptedModel.text("ok")], { store })
      assert.strictEqual((yield* replaced.agent.resumeRun({ sessionId: "s" }))._tag, "Completed")
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Succeeded"])
    }))

  it.effect("after it was aborted in the middle of an answer", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([
        [ScriptedModel.text("half"), ScriptedModel.gate(gate)],
        ScriptedModel.text("whole")
      ])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      yield* run.abort
      const events = yield* resumed(agent)
      assert.strictEqual(RunLog.endOf(events), "RunCompleted(stop)")
      assert.strictEqual(RunLog.only(events, "AssistantMessage")[0]?.turn, 1)
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  /** The dedupe keys of text deltas. */
  const keys = (events: ReadonlyArray<RunEvent.RunEvent>) =>
    RunLog.only(events, "TextDelta").map(({ attempt, index, runId, turn }) => [runId, turn, attempt, index].join())

  it.effect("after it was aborted in the middle of an answer, with deltas under new keys", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([
        [ScriptedModel.text("half"), ScriptedModel.gate(gate)],
        ScriptedModel.text("whole")
      ])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      yield* run.abort
      const before = keys(yield* Stream.runCollect(run.events))
      const after = keys(yield* resumed(agent))
      assert.deepStrictEqual(after.filter((key) => before.includes(key)), [])
    }))

  it.effect("after a defect in the middle of an answer, with deltas under new keys", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([
        [ScriptedModel.text("half"), ScriptedModel.die("bug")],
        ScriptedModel.text("whole")
      ])
      const seen: Array<RunEvent.RunEvent> = []
      yield* agent.stream({ sessionId: "s", input: "go" }).pipe(
        Stream.runForEach((event) => Effect.sync(() => seen.push(event))),
        Effect.exit
      )
      const after = keys(yield* resumed(agent))
      assert.deepStrictEqual(after.filter((key) => keys(seen).includes(key)), [])
    }))

  it.effect("after it was aborted while a tool ran: the model is told, the tool does not run again", () =>
    Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      let ran = 0
      const { agent, script } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], {
        tool: () =>
          Effect.andThen(Effect.sync(() => ran++), Effect.andThen(Deferred.succeed(started, undefined), Effect.never))
      })
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      yield* Deferred.await(started)
      yield* run.abort
      yield* resumed(agent)
      assert.strictEqual(ran, 1)
      const [, second] = yield* script.requests
      const last = second?.messages.at(-1)
      assert.include(last?.role === "tool" ? last.content[0]?.result : "", "Interrupted")
    }))

  it.effect("by another agent of the same store, after the first one shut down", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const first = yield* TestAgent.make([ScriptedModel.gate(gate)])
      yield* first.agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      yield* first.close
      const second = yield* TestAgent.make([ScriptedModel.text("ok")], { store: first.store })
      assert.strictEqual(RunLog.endOf(yield* resumed(second.agent)), "RunCompleted(stop)")
      assert.deepStrictEqual(RunLog.violations(yield* first.store.log("s")), [])
    }))

  it.effect("repeatedly, each drive with its number", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([refused, refused, ScriptedModel.text("ok")])
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      yield* Effect.flip(resumed(agent))
      yield* resumed(agent)
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.only(log, "RunResumed").map((event) => event.drive), [2, 3])
      assert.deepStrictEqual(RunLog.only(log, "AttemptDiscarded").map((event) => event.attempt), [1, 2])
      assert.deepStrictEqual(RunLog.only(log, "AssistantMessage").map((event) => event.attempt), [3])
    }))

  it.effect("with cause resume in the log when nothing was decided, even while a question waits", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([refused, TestAgent.work(1)], {
        agent: { toolPolicy: { requireApprovalByDefault: true } }
      })
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual(RunLog.endOf(yield* resumed(agent)), "RunSuspended(approval)")
      yield* resumed(agent)
      const causes = RunLog.only(yield* store.log("s"), "RunResumed").map(({ cause }) => cause)
      assert.deepStrictEqual(causes, ["resume", "resume"])
    }))

  it.effect("with new data, which its tools read", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const { agent } = yield* TestAgent.make([
        refused,
        TestAgent.work(1),
        refused,
        TestAgent.work(2),
        ScriptedModel.text("ok")
      ], {
        tool: () => Effect.map(ToolCall, ({ data }) => `${seen.push(data)}`)
      })
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go", data: "first" }))
      yield* Effect.flip(resumed(agent, { data: "second" }))
      yield* resumed(agent)
      assert.deepStrictEqual(seen, ["second", "second"])
    }))

  it.effect("with the instructions and tools it began with", () =>
    Effect.gen(function*() {
      const { agent, script } = yield* TestAgent.make([refused, ScriptedModel.text("ok")])
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go", instructions: "Shout.", allowedTools: ["look"] }))
      yield* resumed(agent)
      const [first, second] = yield* script.requests
      assert.deepStrictEqual(second?.messages, first?.messages)
      assert.deepStrictEqual(second?.tools.map((tool) => tool.name), ["look"])
    }))

  it.effect("with a notice to continue when the model spoke last", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* TestAgent.make([
        [ScriptedModel.text("half"), ScriptedModel.finish("length")],
        ScriptedModel.text("rest")
      ])
      yield* agent.run({ sessionId: "s", input: "go" })
      yield* resumed(agent)
      const [, second] = yield* script.requests
      assert.strictEqual(second?.messages.at(-1)?.role, "user")
      assert.deepStrictEqual(RunLog.only(yield* store.log("s"), "NoticeAdded").map((event) => event.kind), ["resume"])
    }))

  it.effect("by one of two that try at once; the other is refused, so its limits are not silently dropped", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([refused, [ScriptedModel.gate(gate), ScriptedModel.text("ok")]])
      yield* Effect.flip(agent.run({ sessionId: "s", runId: "r", input: "go" }))
      const first = yield* Effect.forkChild(resumed(agent))
      const second = yield* Effect.forkChild(Effect.flip(resumed(agent, { limits: { maxTurns: 7 }, data: 1 })))
      const error = yield* Fiber.join(second)
      assert.strictEqual(error.reason._tag, "SessionBusy")
      yield* gate.started
      const again = yield* Effect.flip(resumed(agent))
      assert.deepStrictEqual(again.reason, error.reason)
      yield* gate.release
      yield* Fiber.join(first)
      assert.strictEqual(RunLog.only(yield* store.log("s"), "RunResumed").length, 1)
    }))

  it.effect("by its own id only: one that is not the session's last is refused, and the last is left as it is", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([refused, refused])
      yield* Effect.flip(agent.run({ sessionId: "s", runId: "first", input: "go" }))
      yield* Effect.flip(agent.run({ sessionId: "s", runId: "last", input: "go" }))
      const head = store.head("s")
      const { reason } = yield* Effect.flip(resumed(agent, { runId: "first" }))
      assert.strictEqual(reason._tag, "NothingToResume")
      assert.include(reason.message, "\"first\" is not the last run")
      assert.strictEqual(store.head("s"), head)
    }))

  it.effect("never with invalid arguments from untyped code, which are named", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([refused])
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      const head = store.head("s")
      for (
        const [field, value] of [
          ["sessionId", 5],
          ["runId", 5],
          ["runId", null],
          ["limits", null],
          ["data", 1n],
          ["limit", { maxTurns: 5 }]
        ] as const
      ) {
        const { reason } = yield* Effect.flip(resumed(agent, { [field]: value }))
        assert.strictEqual(reason._tag === "InvalidInput" && reason.field, field)
      }
      assert.strictEqual(store.head("s"), head)
    }))

  it.effect("never with what is no object from untyped code, as nothing is begun and nothing decided", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([])
      const said = (self: Effect.Effect<unknown, RunError.RunError>) => Effect.map(Effect.flip(self), (_) => _.message)
      for (const given of ["s", ["s"], 5, null, undefined] as Array<any>) {
        for (const stream of [agent.stream(given), agent.resume(given)]) {
          assert.match(yield* said(Stream.runDrain(stream)), /object|sessionId must be a string/)
        }
        for (const effect of [agent.run(given), agent.start(given), agent.resumeRun(given), agent.resumeStart(given)]) {
          assert.match(yield* said(effect), /object|sessionId must be a string/)
        }
        assert.strictEqual(yield* said(agent.decide(given)), "sessionId must be a string")
      }
      assert.strictEqual(
        yield* said(agent.resumeRun("s" as never)),
        "what is resumed has sessionId, runId, limits, data: give an object of these, not a string"
      )
    }))

  it.effect("by nobody while it is live, whatever data it was resumed with", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([refused, [ScriptedModel.gate(gate), ScriptedModel.text("ok")]])
      yield* Effect.flip(agent.run({ sessionId: "s", runId: "r", input: "go" }))
      const first = yield* Effect.forkChild(resumed(agent, { data: 1 }))
      yield* gate.started
      assert.strictEqual((yield* Effect.flip(resumed(agent, { data: 2 }))).reason._tag, "SessionBusy")
      yield* gate.release
      yield* Fiber.join(first)
    }))

  it.effect("by nobody who leaves while its log is being read", () =>
    Effect.gen(function*() {
      const [reading, released] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const memory = yield* SessionStoreMemory.make
      const wait = Effect.andThen(Deferred.succeed(reading, undefined), Deferred.await(released))
      const read: typeof memory.read = (...range) =>
        Stream.concat(Stream.drain(Stream.fromEffect(wait)), memory.read(...range))
      const { agent, script, store } = yield* TestAgent.make([refused, ScriptedModel.text("ok")], {
        store: TestStore.over({ ...memory, read })
      })
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      const resuming = yield* Effect.forkDetach(agent.resumeRun({ sessionId: "s" }))
      yield* Deferred.await(reading)
      assert.isTrue(yield* Hang.ends(Fiber.interrupt(resuming)))
      yield* Deferred.succeed(released, undefined)
      // it is still there for whoever stays
      assert.strictEqual((yield* agent.resumeRun({ sessionId: "s" })).text, "ok")
      assert.lengthOf(RunLog.only(yield* store.log("s"), "RunResumed"), 1)
      assert.lengthOf(yield* script.requests, 2)
    }))

  it.effect("and aborted by leaving its stream", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([refused, [ScriptedModel.text("a"), ScriptedModel.gate(gate)]])
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      yield* agent.resume({ sessionId: "s" }).pipe(
        Stream.takeUntil((event) => event._tag === "TextDelta"),
        Stream.runDrain
      )
      const log = yield* store.log("s")
      assert.strictEqual(RunLog.endOf(log), "RunAborted(consumer)")
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("to its result, with the typed answer, by an agent in another process", () =>
    Effect.gen(function*() {
      const first = yield* TestAgent.make([refused])
      yield* Effect.flip(first.agent.run({ sessionId: "s", input: "go" }))
      yield* first.close
      const model = ScriptedModel.layer([ScriptedModel.text(JSON.stringify({ on: "2026-11-23T00:00:00.000Z" }))])
      const second = Effect.gen(function*() {
        const agent = yield* Agent.make({ instructions: "When?", output: Schema.Struct({ on: Schema.DateFromString }) })
        return yield* agent.resumeRun({ sessionId: "s", limits: { maxTurns: 2 } })
      })
      const result = yield* Effect.provide(second, [Fiberloop.layer, first.store.layer, model])
      assert.deepStrictEqual(result._tag === "Completed" ? result.output.on : result.explain, new Date("2026-11-23"))
    }))

  it.effect("in the layer's scope, whether it is read or not, with all deltas for the first reader", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, close, store } = yield* TestAgent.make([
        refused,
        [ScriptedModel.text("a"), ScriptedModel.gate(gate), ScriptedModel.text("b")],
        refused,
        [ScriptedModel.gate(yield* ScriptedModel.makeGate)]
      ])
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      const run = yield* agent.resumeStart({ sessionId: "s" })
      yield* gate.started
      assert.strictEqual((yield* agent.liveIn("s"))?.runId, run.runId)
      yield* gate.release
      assert.strictEqual((yield* run.result).text, "ab")
      const deltas = RunLog.only(yield* Stream.runCollect(run.events), "TextDelta")
      assert.deepStrictEqual(deltas.map(({ delta }) => delta), ["a", "b"])
      yield* Effect.flip(agent.run({ sessionId: "t", input: "go" }))
      yield* agent.resumeStart({ sessionId: "t" })
      yield* close
      assert.strictEqual(RunLog.endOf(yield* store.log("t")), "RunAborted(shutdown)")
    }))

  it.effect("and aborted by interrupting whoever awaits its result", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([refused, [ScriptedModel.text("a"), ScriptedModel.gate(gate)]])
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      const waiting = yield* Effect.forkChild(agent.resumeRun({ sessionId: "s" }))
      yield* gate.started
      yield* Fiber.interrupt(waiting)
      yield* gate.closed
      const log = yield* store.log("s")
      assert.strictEqual(RunLog.endOf(log), "RunAborted(consumer)")
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))
})
