/** What an agent does with a fork taken in the midst of its run. */
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as Message from "../../src/run/Message.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

/** A run in "s" whose second model call is held, and "copy", forked after its first turn. `rest` is what the model says then. */
const forked = Effect.fnUntraced(function*(...rest: ReadonlyArray<ScriptedModel.Turn>) {
  const gate = yield* ScriptedModel.makeGate
  const { agent, script, store } = yield* TestAgent.make([
    TestAgent.work(1),
    [ScriptedModel.gate(gate), ScriptedModel.text("first")],
    ...rest
  ])
  const run = yield* agent.start({ sessionId: "s", runId: "run-1", input: "question" })
  yield* gate.started
  const info = yield* store.service.fork("s", { to: "copy" })
  assert.strictEqual(info.end, "RunAborted")
  return { agent, script, store, run, gate }
})

it.effect("an agent answers a new message in the fork, with its history, while the run continues", () =>
  Effect.gen(function*() {
    const { agent, gate, run, script, store } = yield* forked(ScriptedModel.text("second"))
    const result = yield* agent.run({ sessionId: "copy", input: "hello", createSession: false })
    assert.strictEqual(result.text, "second")
    const { messages } = (yield* script.requests)[2]!
    assert.deepStrictEqual(messages.map(({ role }) => role), ["system", "user", "assistant", "tool", "user"])
    assert.deepStrictEqual(messages.at(-1), Message.user("hello"))
    yield* gate.release
    assert.strictEqual((yield* run.result).text, "first")
    for (const id of ["s", "copy"]) assert.deepStrictEqual(RunLog.violations(yield* store.log(id)), [])
  }))

it.effect("a run resumed in the fork can be aborted while the original continues in its own session", () =>
  Effect.gen(function*() {
    const held = yield* ScriptedModel.makeGate
    const { agent, gate, run, store } = yield* forked(ScriptedModel.gate(held))
    const resuming = yield* Effect.forkChild(Stream.runCollect(agent.resume({ sessionId: "copy" })))
    yield* held.started
    yield* (yield* agent.live("run-1", "copy"))!.abort
    assert.strictEqual(RunLog.endOf(yield* Fiber.join(resuming)), "RunAborted(requested)")
    yield* gate.release
    assert.strictEqual((yield* run.result).text, "first")
    for (const id of ["s", "copy"]) assert.deepStrictEqual(RunLog.violations(yield* store.log(id)), [])
  }))

it.effect("a run can be resumed in the fork after it has ended in its own session", () =>
  Effect.gen(function*() {
    const { agent, gate, run, store } = yield* forked(ScriptedModel.text("resumed"))
    yield* gate.release
    yield* run.result
    const events = yield* Stream.runCollect(agent.resume({ sessionId: "copy" }))
    assert.strictEqual(RunLog.endOf(events), "RunCompleted(stop)")
    assert.deepStrictEqual(RunLog.violations(yield* store.log("copy")), [])
    const end = (yield* store.log("copy")).at(-1)
    assert.isTrue(end?._tag === "RunCompleted" && end.totals.turns === 2 && end.totals.toolCalls === 1)
  }))

it.effect("calls that a process died in are neither repeated nor reconciled in the fork, as their keys are the session's", () =>
  Effect.gen(function*() {
    const store = yield* DeadRun.of([...DeadRun.inTools("work", "again"), DeadRun.crashed])
    yield* store.service.fork("s", { to: "copy" })
    const keys: Array<string> = []
    const note = Effect.flatMap(ToolCall, (call) => Effect.sync(() => `${keys.push(call.idempotencyKey)}`))
    const { agent } = yield* TestAgent.make([ScriptedModel.text("copied"), ScriptedModel.text("done")], {
      store,
      tool: () => note
    })
    const reconcile = (question: Reconciler.Question) =>
      Effect.as(Effect.sync(() => keys.push(question.idempotencyKey)), { _tag: "NotDone" } as const)
    for (const sessionId of ["copy", "s"]) {
      yield* Effect.provideService(Stream.runDrain(agent.resume({ sessionId })), Reconciler.Reconciler, { reconcile })
      assert.deepStrictEqual(RunLog.violations(yield* store.log(sessionId)), [])
    }
    assert.deepStrictEqual(RunLog.outcomes(yield* store.log("copy")), ["1.0 OutcomeUnknown", "1.1 OutcomeUnknown"])
    assert.deepStrictEqual(keys, ["s/run-1/1.0", "s/run-1/1.0", "s/run-1/1.1"])
  }))
