/** What worked for a call when the process died counts for the calling run: once, and as far as its log goes. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as RunEvent from "../../src/run/RunEvent.ts"
import type * as Usage from "../../src/run/Usage.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestStore from "../support/TestStore.ts"

const spent = (calls: number): Usage.Usage => ({ inputTokens: calls * 10, outputTokens: calls * 5 })

/** The outcome and spending of every settled call of a session. */
const settled = (logs: ReadonlyMap<string, ReadonlyArray<RunEvent.Durable>>, sessionId = "root") =>
  RunLog.only(logs.get(sessionId) ?? [], "ToolSettled").map(({ outcome, usage }) => [outcome._tag, usage] as const)

/** What a process leaves that dies when a model of `plan` has reached a turn of a plan that hangs; in its own store. */
const die = Effect.fnUntraced(function*(plan: Family.Plan, handler: Family.Handler = Family.run) {
  const gate = yield* ScriptedModel.makeGate
  const { agent, store } = yield* Family.make({
    handler,
    answer: (request) => Family.planOf(request).first === "hangs" ? [ScriptedModel.gate(gate)] : Family.answer(request)
  })
  yield* agent.start({ runId: "root", input: JSON.stringify(plan) })
  yield* gate.started
  return yield* Family.leftBy(store)
})

type Input = Parameters<Family.Client["run"]>[0]
type Run = ReturnType<Family.Client["run"]>

/** Works for each call by several runs, two at once: two that do nothing, and then what its plan says; `begin` may keep one away. */
const severally = (begin: (input: Input, run: Run) => Run): Family.Handler => (agent, plan, call) => {
  const inputs = [{}, {}, plan].map((plan) => ({ input: JSON.stringify(plan) }))
  const kept = { run: (input: Input) => begin(input, agent.run(input)) }
  return Effect.map(ToolCall.runAgents(kept, inputs, { concurrency: 2 }), (answers) => answers.join()).pipe(
    Effect.mapError((message) => ({ message })),
    Effect.provideService(ToolCall, call)
  )
}

describe("a process that dies while a run works for a call", () => {
  const hangs: Family.Plan = { first: "hangs" }

  it.effect("leaves a call that is made again, and counts that run once", () =>
    Effect.gen(function*() {
      const store = yield* die({ turns: [[{ turns: [[{}], [hangs]] }]] })
      const { agent, logs } = yield* Family.make({ store })
      const result = yield* agent.resumeRun({ sessionId: "root" })
      const found = yield* logs
      assert.deepStrictEqual(settled(found), [["Succeeded", spent(5)]])
      assert.deepStrictEqual(result.usage, spent(7))
      assert.deepStrictEqual(Family.violations(found), [])
    }))

  it.effect("leaves a call whose outcome nobody knows, with what was spent for it, even two deep", () =>
    Effect.gen(function*() {
      const store = yield* die({ turns: [[{ by: "order", turns: [[{}], [{ turns: [[hangs]] }]] }]] })
      const { agent, logs } = yield* Family.make({ store })
      const result = yield* agent.resumeRun({ sessionId: "root" })
      assert.deepStrictEqual(settled(yield* logs), [["OutcomeUnknown", spent(4)]])
      assert.deepStrictEqual(result.usage, spent(6))
    }))

  it.effect("leaves a call whose outcome nobody knows, with what was spent for it by each of several runs, even two deep", () =>
    Effect.gen(function*() {
      const handler = severally((input, run) => input.runId === "root//1.0/0" ? Effect.never : run)
      const store = yield* die({ turns: [[{ by: "order", turns: [[hangs]] }]] }, handler)
      const { agent, logs } = yield* Family.make({ store })
      const result = yield* agent.resumeRun({ sessionId: "root" })
      const found = yield* logs
      assert.deepStrictEqual(settled(found), [["OutcomeUnknown", spent(4)]])
      assert.deepStrictEqual([result.usage, found.has("root//1.0/0")], [spent(6), false])
    }))

  it.effect.each(["1.0", "1.1"])(
    "leaves a call, with what was spent once by a run that two calls below it wait for, and call %s began",
    (first) =>
      Effect.gen(function*() {
        const begun = yield* Deferred.make<void>()
        const runId = `root//1.0//${first}`
        const shared: Family.Handler = (agent, _, { callId }) => {
          const run = Effect.orDie(agent.run({ runId, input: "{}" }))
          const known = callId === first
            ? Effect.ensuring(run, Deferred.succeed(begun, undefined))
            : Effect.andThen(Deferred.await(begun), run)
          return Effect.flatMap(known, ToolCall.pause)
        }
        const handler: Family.Handler = (agent, plan, call) =>
          call.sessionId !== "root" ? shared(agent, plan, call) : Effect.orDie(Effect.as(
            Effect.andThen(
              agent.run({ runId: call.idempotencyKey, input: JSON.stringify(plan) }),
              agent.run({ input: JSON.stringify(hangs) })
            ),
            "done"
          ))
        const store = yield* die({ turns: [[{ by: "order", turns: [[{}, {}]] }]] }, handler)
        const { agent, logs } = yield* Family.make({ store })
        const result = yield* agent.resumeRun({ sessionId: "root" })
        const found = yield* logs
        const [started] = RunLog.only(found.get(runId)!, "RunStarted")
        assert.strictEqual(started?.parent?.callId, first)
        assert.deepStrictEqual(settled(found), [["OutcomeUnknown", spent(2)]])
        assert.deepStrictEqual(result.usage, spent(4))
      })
  )

  it.effect("leaves a call that is made again, and counts each of several runs once", () =>
    Effect.gen(function*() {
      const store = yield* die({ turns: [[{ turns: [[hangs]] }]] }, severally((_, run) => run))
      const { agent, logs } = yield* Family.make({ store, handler: severally((_, run) => run) })
      yield* agent.resumeRun({ sessionId: "root" })
      const found = yield* logs
      assert.deepStrictEqual(settled(found), [["Succeeded", spent(7)]])
      assert.deepStrictEqual(Family.violations(found), [])
    }))

  it.effect("leaves a call that a new message settles, with what was spent for it", () =>
    Effect.gen(function*() {
      const store = yield* die({ turns: [[{ turns: [[hangs]] }]] })
      const { agent, logs } = yield* Family.make({ store, handler: () => Effect.succeed("known by now") })
      const result = yield* agent.run({ sessionId: "root", input: JSON.stringify({ turns: [[{}]] }) })
      const found = yield* logs
      // a call of the new run has the same id, and nothing to do with it
      assert.deepStrictEqual(settled(found), [["Interrupted", spent(1)], ["Succeeded", undefined]])
      assert.deepStrictEqual(result.usage, spent(2))
      assert.deepStrictEqual(Family.violations(found, true), [])
    }))

  it.effect.each<readonly [what: string, find: (agent: Family.Client) => Effect.Effect<unknown, unknown>]>([
    ["a new message", (agent) => agent.run({ sessionId: "root", input: "{}" })],
    ["a resume", (agent) => agent.resumeRun({ sessionId: "root" })],
    ["a search", (agent) => Effect.flatMap(agent.recover(), ({ runs }) => Effect.forEach(runs, (run) => run.result))],
    ["an abort", (agent) => agent.abort("root")],
    ["a compaction by hand", (agent) => Effect.flip(agent.compact("root"))]
  ])(
    "leaves several calls that were being aborted, each with what was spent for it, found by %s",
    ([, find]) =>
      Effect.gen(function*() {
        const isOver = yield* Deferred.make<void>()
        const handler: Family.Handler = (agent, plan, call) => {
          const run = Family.run(agent, plan, call)
          if (call.sessionId !== "root") return run
          return call.callId === "1.1"
            ? Effect.andThen(Effect.andThen(run, Deferred.succeed(isOver, undefined)), Effect.never)
            : Effect.andThen(Deferred.await(isOver), run)
        }
        const store = yield* die({ turns: [[{ turns: [[hangs]] }, { turns: [[{}]] }]] }, handler)
        yield* Effect.scoped(Effect.gen(function*() {
          const session = yield* store.service.open("root", { runId: "root", create: false })
          const seq = session.head() + 1
          const { version } = RunEvent
          yield* session.append([{ _tag: "AbortRequested", seq, at: 0, runId: "root", version, reason: "requested" }])
        }))
        const { agent, logs } = yield* Family.make({ store })
        yield* find(agent)
        assert.deepStrictEqual(settled(yield* logs), [["Interrupted", spent(1)], ["Interrupted", spent(3)]])
      })
  )

  it.effect("leaves a call that is made again, and counts a replayed run under any id", () =>
    Effect.gen(function*() {
      const handler: Family.Handler = (agent, _, { callId, sessionId }) =>
        sessionId !== "root"
          ? Effect.succeed("done")
          : Effect.gen(function*() {
            yield* agent.run({ runId: `first of ${callId}`, input: "{}" })
            yield* agent.run({ runId: `second of ${callId}`, input: JSON.stringify(hangs) })
            return "done"
          })
      const store = yield* die({ turns: [[{}]] }, handler)
      const { agent, logs } = yield* Family.make({ store, handler })
      yield* agent.resumeRun({ sessionId: "root" })
      const found = yield* logs
      assert.deepStrictEqual(settled(found), [["Succeeded", spent(2)]])
      assert.deepStrictEqual(Family.violations(found), [])
    }))

  it.effect("leaves a call that counts that run even if it no longer needs it", () =>
    Effect.gen(function*() {
      const store = yield* die({ turns: [[{ turns: [[hangs]] }]] })
      const { agent, logs } = yield* Family.make({ store, handler: () => Effect.succeed("known by now") })
      yield* agent.resumeRun({ sessionId: "root" })
      assert.deepStrictEqual(settled(yield* logs), [["Succeeded", spent(1)]])
    }))

  it.effect("leaves a call that does not count a run with another id than its key, or with another parent", () =>
    Effect.gen(function*() {
      const store = yield* die(
        { turns: [[{ by: "order", turns: [[hangs]] }]] },
        (agent, plan) => Effect.as(agent.run({ input: JSON.stringify(plan) }), "done")
      )
      const { agent, logs } = yield* Family.make({ store })
      yield* agent.run({ runId: "root//1.0", input: "{}" })
      yield* agent.resumeRun({ sessionId: "root" })
      assert.deepStrictEqual(settled(yield* logs), [["OutcomeUnknown", undefined]])
    }))
})

it.effect("a run that is still live when its call is made again counts for that call, and is held by its limits", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const base = yield* TestStore.make()
    let isDown = false
    // no outcome of the run that made the call is stored, nor its end
    base.onAppend = ({ events, store }) =>
      isDown && events.some(({ _tag, runId }) => runId === "root" && _tag === "ToolSettled")
        ? Effect.fail(TestStore.unavailable)
        : store
    const key = "root//1.0"
    const { agent, logs } = yield* Family.make({
      store: base,
      answer: (request) =>
        request.metadata.runId === key && request.metadata.turn === 2
          ? [ScriptedModel.gate(gate), ...Family.answer(request)]
          : Family.answer(request),
      handler: (agent, plan, { callId, idempotencyKey, sessionId }) =>
        sessionId !== "root"
          ? Effect.succeed("done")
          : callId === "1.1"
          ? Effect.as(gate.started, "done")
          : Effect.gen(function*() {
            const run = yield* agent.start({ runId: idempotencyKey, input: JSON.stringify(plan) })
            if (!isDown) yield* gate.release
            return yield* Effect.as(run.result, "done")
          })
    })
    isDown = true
    const plan = { turns: [[{ turns: [[{}], [{}], [{}]] }, {}]] }
    const failed = yield* Effect.exit(agent.run({ runId: "root", input: JSON.stringify(plan) }))
    assert.isTrue(Exit.isFailure(failed))
    isDown = false
    const result = yield* agent.resumeRun({ sessionId: "root", limits: { maxTokens: 45 } })
    const found = yield* logs
    const [limited] = RunLog.only(found.get(key)!, "RunLimited")
    assert.deepStrictEqual([limited?.around?.runId, limited?.totals.usage], ["root", spent(2)])
    assert.deepStrictEqual(result.usage, spent(3))
    assert.deepStrictEqual(Family.violations(found), [])
  }))

it.effect("a run that was resumed by hand counts for its call when that is made again meanwhile", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const key = "root//1.0"
    const store = yield* die({ turns: [[{ turns: [[{}], [{ first: "hangs" }]] }]] })
    const { agent, logs } = yield* Family.make({
      store,
      handler: (agent, plan, call) =>
        call.sessionId !== "root" ? Family.run(agent, plan, call) : Effect.gen(function*() {
          const run = yield* agent.start({ runId: key, input: JSON.stringify(plan) })
          yield* gate.release
          return (yield* run.result)._tag
        }),
      answer: (request) =>
        Family.planOf(request).first === "hangs"
          ? [ScriptedModel.gate(gate), ...Family.answer(request)]
          : Family.answer(request)
    })
    yield* agent.resumeStart({ sessionId: key })
    yield* gate.started
    const result = yield* agent.resumeRun({ sessionId: "root" })
    const found = yield* logs
    assert.deepStrictEqual(result.usage, spent(7))
    assert.deepStrictEqual(Family.violations(found), [])
  }))
