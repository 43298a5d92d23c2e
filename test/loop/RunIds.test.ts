/** The same run id with the same input is the same run, live or long over. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunInput from "../../src/run/RunInput.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Gated from "../support/Gated.ts"
import * as Hang from "../support/Hang.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

describe("the same run id", () => {
  it.effect("with equal input attaches to the live run: the same facts, and leaving does not abort it", () =>
    Effect.gen(function*() {
      const { agent, gate, input, run, script, store } = yield* Gated.start()
      const reordered = { ...input, data: { b: 2, a: 1 } }
      const seen = yield* Deferred.make<void>()
      const leaving = yield* Effect.forkChild(
        Stream.runForEach(agent.stream(reordered), () => Deferred.succeed(seen, undefined))
      )
      const waiting = yield* Effect.forkChild(agent.run(reordered))
      const attached = yield* agent.start(reordered)
      const reading = yield* Effect.forkChild(Stream.runCollect(attached.events))
      const result = yield* Effect.forkChild(agent.run(reordered))
      yield* Deferred.await(seen)
      // everything ready runs before the attached ones leave
      yield* TestClock.adjust("1 second")
      yield* Fiber.interruptAll([leaving, waiting])
      yield* gate.release
      const ended = yield* run.result
      assert.strictEqual(ended._tag, "Completed")
      assert.deepStrictEqual(yield* Fiber.join(result), ended)
      assert.deepStrictEqual(RunLog.durable(yield* Fiber.join(reading)), yield* store.log("s"))
      assert.strictEqual((yield* script.requests).length, 1)
    }))

  it.effect("with equal input attaches even if the caller has mutated what it passed the first time", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([ScriptedModel.gate(gate)])
      const make = () => ({
        sessionId: "s",
        runId: "r",
        input: [{
          role: "user" as const,
          content: [{ type: "text" as const, text: "go", metadata: { a: { b: [1] } } }]
        }],
        history: [{ role: "user" as const, content: [{ type: "text" as const, text: "before" }] }],
        allowedTools: ["work", "look"],
        toolOrder: ["look"],
        toolPolicy: { allowList: ["work", "look"] }
      })
      const first = make()
      const run = yield* agent.start(first)
      first.input[0]!.content[0]!.text = "stop"
      first.input[0]!.content[0]!.metadata.a.b.push(2)
      first.history[0]!.content.push({ type: "text", text: "and" })
      for (const names of [first.allowedTools, first.toolOrder, first.toolPolicy.allowList]) names.pop()
      assert.strictEqual((yield* agent.start(make())).runId, run.runId)
      const [started] = RunLog.only(yield* store.log("s"), "RunStarted")
      assert.deepStrictEqual<unknown>(started!.input.messages, make().input)
    }))

  it.effect("with equal input after the end replays its facts and returns its result", () =>
    Effect.gen(function*() {
      const { agent, gate, input, run, script, store } = yield* Gated.start()
      yield* gate.release
      const result = yield* run.result
      const log = yield* store.log("s")
      assert.deepStrictEqual(yield* agent.run(input), result)
      assert.deepStrictEqual<unknown>(yield* Stream.runCollect(agent.stream(input)), log)
      assert.strictEqual((yield* script.requests).length, 1)
      assert.deepStrictEqual(yield* store.log("s"), log)
    }))

  it.effect("of a run that has ended is replayed while another run has the session, and refused with other input", () =>
    Effect.gen(function*() {
      const second = yield* ScriptedModel.makeGate
      const { agent, gate, input, run, script } = yield* Gated.start(ScriptedModel.gate(second))
      yield* gate.release
      const result = yield* run.result
      const other = yield* agent.start({ ...input, runId: "r2", input: "more" })
      yield* second.started
      assert.deepStrictEqual(yield* agent.run(input), result)
      const events = yield* Stream.runCollect(agent.stream(input))
      assert.deepStrictEqual([events[0]?.runId, RunLog.endOf(events)], ["r", "RunCompleted(stop)"])
      const conflict = yield* Effect.flip(agent.run({ ...input, input: "else" }))
      assert.strictEqual(conflict.reason._tag, "RunConflict")
      const busy = yield* Effect.flip(agent.run({ ...input, runId: "r3" }))
      assert.strictEqual(busy.reason._tag, "SessionBusy")
      assert.strictEqual((yield* script.requests).length, 2)
      yield* other.abort
    }))

  it.effect("of the session's last run, which has ended, is replayed while somebody else has the session", () =>
    Effect.gen(function*() {
      const { agent, gate, input, run, store } = yield* Gated.start()
      yield* gate.release
      const result = yield* run.result
      yield* store.service.open("s", { runId: "theirs", create: false })
      assert.deepStrictEqual(yield* agent.run(input), result)
    }))

  it.effect("with equal input replays from a new agent over the same store", () =>
    Effect.gen(function*() {
      const { close, gate, input, run, store } = yield* Gated.start()
      yield* gate.release
      const result = yield* run.result
      yield* close
      const { agent } = yield* TestAgent.make([], { store })
      assert.deepStrictEqual(yield* agent.run(input), result)
    }))

  it.effect("with equal input replays a run that is not the session's last", () =>
    Effect.gen(function*() {
      const { agent, gate, input, run, store } = yield* Gated.start(ScriptedModel.text("c"))
      yield* gate.release
      const result = yield* run.result
      yield* agent.run({ sessionId: "s", input: "next" })
      assert.deepStrictEqual(yield* agent.run(input), result)
      const events = RunLog.durable(yield* Stream.runCollect(agent.stream(input)))
      assert.deepStrictEqual(events, (yield* store.log("s")).filter((event) => event.runId === "r"))
    }))

  it.effect("of a failed run with equal input fails with the same error", () =>
    Effect.gen(function*() {
      const { agent, script } = yield* TestAgent.make([ScriptedModel.finish("error")])
      const input = { sessionId: "s", runId: "r", input: "go" }
      const first = yield* Effect.flip(agent.run(input))
      const again = yield* Effect.flip(agent.run(input))
      assert.deepStrictEqual(RunError.toStored(again), RunError.toStored(first))
      // it began, and is replayed like any other
      const run = yield* agent.start(input)
      const told = yield* Effect.flip(run.result)
      assert.deepStrictEqual(RunError.toStored(told), RunError.toStored(first))
      assert.strictEqual((yield* script.requests).length, 1)
    }))

  it.effect("with other input is RunConflict, live and after the end", () =>
    Effect.gen(function*() {
      const { agent, gate, input, run, store } = yield* Gated.start()
      const conflicts = [
        { ...input, input: "other" },
        { ...input, data: { a: 2 } },
        { ...input, data: { a: 2 }, limits: { maxTurns: 3 } }
      ]
      const refused = Effect.forEach(conflicts, (other) => Effect.flip(agent.run(other)))
      const live = yield* refused
      yield* gate.release
      yield* run.result
      const log = yield* store.log("s")
      const ended = yield* refused
      const told = (what: string) =>
        `run "${input.runId}" exists with another ${what}; use another run id, or what it began with to attach to it`
      const expected = [told("input"), told("data"), told("limits and data")]
      for (const errors of [live, ended]) {
        assert.deepStrictEqual(errors.map(({ reason }) => reason._tag), Array(3).fill("RunConflict"))
        assert.deepStrictEqual(errors.map(({ reason }) => reason.message), expected)
      }
      assert.deepStrictEqual(yield* store.log("s"), log)
    }))

  it.effect("of a run that began with what this version does not know is RunConflict", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([ScriptedModel.text("a")])
      const input = { sessionId: "s", runId: "r", input: "go" }
      yield* agent.run(input)
      const [first, ...rest] = yield* store.log("s")
      assert(first?._tag === "RunStarted")
      const other = { ...first, input: { ...first.input, effort: "high" } }
      yield* Effect.scoped(
        Effect.flatMap(store.service.open("t", { runId: "r", create: true }), (session) =>
          session.append([other, ...rest]))
      )
      const { reason } = yield* Effect.flip(agent.run({ ...input, sessionId: "t" }))
      assert.strictEqual(reason._tag, "RunConflict")
      assert.include(reason.message, "another effort;")
    }))

  it.effect("with equal input attaches to the drive that resumed it", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), [
        ScriptedModel.gate(gate),
        ScriptedModel.text("b")
      ]])
      const input = { sessionId: "s", runId: "r", input: "go", limits: { maxTurns: 1 } }
      yield* agent.run(input)
      // the first drive's registration is gone by then
      yield* Effect.yieldNow
      const resuming = yield* Effect.forkChild(
        Stream.runCollect(agent.resume({ sessionId: "s", limits: { maxTurns: 2 } }))
      )
      yield* gate.started
      const attached = yield* agent.start(input)
      yield* gate.release
      yield* Fiber.join(resuming)
      assert.strictEqual((yield* attached.result).text, "b")
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("with equal input attaches to a drive that resumed it, whatever data it was resumed with", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const refused = ScriptedModel.finish("error")
      const { agent, store } = yield* TestAgent.make([refused, refused, [
        ScriptedModel.gate(gate),
        ScriptedModel.text("b")
      ]])
      const input = { sessionId: "s", runId: "r", input: "go", data: "first" }
      yield* Effect.flip(agent.run(input))
      yield* Effect.flip(Stream.runDrain(agent.resume({ sessionId: "s", data: "second" })))
      const resuming = yield* Effect.forkChild(Stream.runDrain(agent.resume({ sessionId: "s", data: "third" })))
      yield* gate.started
      for (const data of ["second", "third", undefined]) {
        assert.strictEqual((yield* Effect.flip(agent.start({ ...input, data }))).reason._tag, "RunConflict")
      }
      const attached = yield* agent.start(input)
      yield* gate.release
      yield* Fiber.join(resuming)
      assert.strictEqual((yield* attached.result).text, "b")
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("attached to before its first event is stored returns once that is stored", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((n) => n === 1)
      const store = yield* TestStore.make(held.onAppend)
      const input: RunInput.RunInput = { sessionId: "s", runId: "r", input: "go" }
      const { agent } = yield* TestAgent.make([ScriptedModel.text("a")], { store })
      const first = yield* Effect.forkChild(agent.start(input))
      yield* held.reached
      const heads: Array<number> = []
      const attaching = yield* Effect.forkChild(
        Effect.tap(agent.start(input), () => Effect.sync(() => heads.push(store.head("s"))))
      )
      for (let i = 0; i < 20; i++) yield* Effect.yieldNow
      yield* held.release
      yield* Fiber.join(first)
      yield* Fiber.join(attaching)
      assert.isAbove(heads[0]!, 0)
    }))

  it.effect("attached to before its first event is stored can be left at once, and the run still begins", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((n) => n === 1)
      const store = yield* TestStore.make(held.onAppend)
      const input: RunInput.RunInput = { sessionId: "s", runId: "r", input: "go" }
      const { agent } = yield* TestAgent.make([ScriptedModel.text("a")], { store })
      const first = yield* Effect.forkChild(agent.run(input))
      yield* held.reached
      const attaching = yield* Effect.forkDetach(agent.run(input))
      for (let i = 0; i < 20; i++) yield* Effect.yieldNow
      const hasLeft = yield* Hang.ends(Fiber.interrupt(attaching))
      yield* held.release
      assert.deepStrictEqual([hasLeft, (yield* Fiber.join(first)).text], [true, "a"])
    }))

  it.effect("of a run that has ended can be left at once while its log is read and another run has the session", () =>
    Effect.gen(function*() {
      const base = yield* SessionStoreMemory.make
      const reading = yield* Deferred.make<void>()
      const never = Stream.fromEffect(Effect.andThen(Deferred.succeed(reading, undefined), Effect.never))
      let isStuck = false
      const store = TestStore.over({ ...base, read: (...args) => isStuck ? never : base.read(...args) })
      const { agent } = yield* TestAgent.make([ScriptedModel.text("a")], { store })
      const input: RunInput.RunInput = { sessionId: "s", runId: "r", input: "go" }
      yield* agent.run(input)
      yield* store.service.open("s", { runId: "theirs", create: false })
      isStuck = true
      const asking = yield* Effect.forkDetach(agent.run(input))
      yield* Deferred.await(reading)
      assert.isTrue(yield* Hang.ends(Fiber.interrupt(asking)))
    }))

  it.effect("with equal input attaches whatever createSession says", () =>
    Effect.gen(function*() {
      const { agent, gate, input, run } = yield* Gated.start()
      const attached = yield* agent.start({ ...input, createSession: false })
      yield* gate.release
      assert.deepStrictEqual(yield* attached.result, yield* run.result)
    }))

  it.effect("without a session id finds the session it created", () =>
    Effect.gen(function*() {
      const { agent, script } = yield* TestAgent.make([ScriptedModel.text("a")])
      const input = { runId: "r", input: "go" }
      const first = yield* agent.run(input)
      assert.deepStrictEqual(yield* agent.run(input), first)
      assert.strictEqual((yield* script.requests).length, 1)
    }))

  it.effect("in another session is another run", () =>
    Effect.gen(function*() {
      const { agent, gate, input, run } = yield* Gated.start(ScriptedModel.text("c"))
      assert.strictEqual((yield* agent.run({ ...input, sessionId: "t" })).text, "c")
      yield* gate.release
      assert.strictEqual((yield* run.result).text, "ab")
    }))
})
