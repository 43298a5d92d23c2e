/** A call that is made again asks for the run that it began, whatever has changed around it since. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as ContextManager from "../../src/services/ContextManager.ts"
import * as Limits from "../../src/services/Limits.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

/** A run whose call runs an agent with a call that needs a person's yes. */
const plan: Family.Plan = { turns: [[{ turns: [[{ by: "buy" }]] }]] }

const below = "root//1.0"

const approveAll = (agent: Family.Client) =>
  Effect.flatMap(
    agent.approvals("root"),
    (open) => Effect.forEach(open, ({ id, sessionId }) => agent.decide({ sessionId, approvalId: id, approved: true }))
  )

const goOnAll = (agent: Family.Client) =>
  Effect.flatMap(agent.recover({ answered: true }), ({ runs }) => Effect.forEach(runs, ({ result }) => result))

const outcomeOf = (log: Parameters<typeof RunLog.only>[0]) => RunLog.only(log, "ToolSettled")[0]?.outcome

describe("a call that is made again continues its run", () => {
  for (const how of ["resumed", "recovered"] as const) {
    it.effect(`without the Limits that its caller had, where the run around it is ${how}`, () =>
      Effect.gen(function*() {
        const { agent, root, store } = yield* Family.make()
        const first = yield* Effect.provideService(root(plan), Limits.Limits, { maxTurns: 7 })
        assert.strictEqual(first._tag, "Suspended")
        yield* approveAll(agent)
        yield* how === "resumed" ? agent.resumeRun({ sessionId: "root" }) : goOnAll(agent)
        assert.deepStrictEqual(outcomeOf(yield* store.log("root")), { _tag: "Succeeded", result: "done" })
      }))
  }

  it.effect("without the Limits that its caller had, after a crash", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const answer: NonNullable<Family.Options["answer"]> = (request) =>
        Family.planOf(request).first === "hangs" ? [ScriptedModel.gate(gate)] : Family.answer(request)
      const before = yield* Family.make({ answer })
      yield* Effect.provideService(
        before.agent.start({ runId: "root", input: JSON.stringify({ turns: [[{ first: "hangs" }]] }) }),
        Limits.Limits,
        { maxTurns: 7 }
      )
      yield* gate.started
      const { agent, store } = yield* Family.make({ store: yield* Family.leftBy(before.store) })
      yield* goOnAll(agent)
      assert.deepStrictEqual(outcomeOf(yield* store.log("root")), { _tag: "Succeeded", result: "done" })
    }))

  it.effect("after a deploy that changed the limits of the agent below", () =>
    Effect.gen(function*() {
      const asks = yield* Approvals.make([TestAgent.work(1)], { agent: { limits: { maxTurns: 10 } } })
      const { store } = asks
      const around = (client: typeof asks.agent, turn: ScriptedModel.Turn) =>
        TestAgent.make([turn], { store, tool: () => ToolCall.runAgent(client, { input: "refund order 7" }) })
      const first = yield* around(asks.agent, ScriptedModel.call("again", { n: 1 }))
      assert.strictEqual((yield* first.agent.run({ sessionId: "s", runId: "r", input: "go" }))._tag, "Suspended")
      for (const { id, sessionId } of yield* first.agent.approvals("s")) {
        yield* asks.agent.decide({ sessionId, approvalId: id, approved: true })
      }
      const agent = { limits: { maxTurns: 12 } }
      const deployed = yield* Approvals.make([ScriptedModel.text("refunded")], { store, agent })
      const second = yield* around(deployed.agent, ScriptedModel.text("ok"))
      yield* second.agent.resumeRun({ sessionId: "s" })
      assert.deepStrictEqual(outcomeOf(yield* store.log("s")), { _tag: "Succeeded", result: "refunded" })
      assert.deepStrictEqual(deployed.ran, [1])
    }))

  for (const isLive of [false, true]) {
    it.effect(`with new data, where the run was resumed by hand and is ${isLive ? "live" : "over"}`, () =>
      Effect.gen(function*() {
        const gate = yield* ScriptedModel.makeGate
        const { agent, store } = yield* Family.make({
          handler: (client, plan, call) =>
            ToolCall.runAgent(client, { input: JSON.stringify(plan), data: call.data }).pipe(
              Effect.mapError((message) => ({ message })),
              Effect.provideService(ToolCall, call)
            ),
          answer: (request) =>
            request.metadata.runId === below && request.metadata.turn === 2
              ? [ScriptedModel.gate(gate), ...Family.answer(request)]
              : Family.answer(request)
        })
        yield* agent.run({ runId: "root", input: JSON.stringify(plan), data: "old" })
        yield* approveAll(agent)
        const run = yield* agent.resumeStart({ sessionId: below })
        yield* gate.started
        if (!isLive) {
          yield* gate.release
          yield* run.result
        }
        const resumed = yield* Effect.forkChild(agent.resumeRun({ sessionId: "root", data: "new" }))
        yield* TestClock.adjust("1 second")
        yield* gate.release
        yield* Fiber.join(resumed)
        assert.deepStrictEqual(outcomeOf(yield* store.log("root")), { _tag: "Succeeded", result: "done" })
      }))
  }
})

describe("a call whose run is in a session that somebody else holds", () => {
  it.effect("waits until that is over", () =>
    Effect.gen(function*() {
      const begun = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const context = Layer.succeed(ContextManager.ContextManager, {
        plan: (view) => view.force === "manual" ? { _tag: "Compact", request: view } : { _tag: "Send" },
        compact: () =>
          Deferred.succeed(begun, undefined).pipe(
            Effect.andThen(Deferred.await(gate)),
            Effect.andThen(Effect.fail(new ContextManager.CompactionError({ message: "no" })))
          )
      })
      const { agent, root, store } = yield* Family.make({ context })
      yield* root(plan)
      yield* approveAll(agent)
      const compacting = yield* Effect.forkChild(Effect.exit(agent.compact(below)))
      yield* Deferred.await(begun)
      const resumed = yield* Effect.forkChild(agent.resumeRun({ sessionId: "root" }))
      yield* TestClock.adjust("5 seconds")
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(compacting)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual((yield* Fiber.join(resumed))._tag, "Completed")
      assert.strictEqual(RunLog.only(yield* store.log("root"), "ToolPaused").length, 1)
    }))

  it.effect("waits until the lease of a process that died must be over", () =>
    Effect.gen(function*() {
      const { agent, root, store } = yield* Family.make()
      yield* root(plan)
      yield* approveAll(agent)
      const held = yield* Scope.make()
      yield* Scope.provide(store.service.open(below, { runId: below, create: false }), held)
      const resumed = yield* Effect.forkChild(agent.resumeRun({ sessionId: "root" }))
      yield* TestClock.adjust("35 seconds")
      yield* Scope.close(held, Exit.void)
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(resumed)
      assert.strictEqual(outcomeOf(yield* store.log("root"))?._tag, "Succeeded")
    }))

  it.effect("goes on in a later search if it is held for longer than the call waits, however old the answer is", () =>
    Effect.gen(function*() {
      const { agent, root, store } = yield* Family.make()
      yield* root(plan)
      yield* approveAll(agent)
      yield* TestClock.adjust("10 minutes")
      const held = yield* Scope.make()
      yield* Scope.provide(store.service.open(below, { runId: below, create: false }), held)
      const look = Effect.gen(function*() {
        const { runs } = yield* agent.recover({ answered: true })
        const ends = yield* Effect.forkChild(Effect.forEach(runs, ({ result }) => result))
        yield* TestClock.adjust("1 minute")
        yield* Fiber.join(ends)
      })
      yield* look
      yield* Scope.close(held, Exit.void)
      yield* look
      assert.strictEqual(RunLog.endOf(yield* store.log("root")), "RunCompleted(stop)")
    }))
})

const agentOf = Effect.fnUntraced(function*(name: string, store: TestStore.TestStore) {
  const services = Layer.mergeAll(Fiberloop.layer, store.layer, ScriptedModel.layer([ScriptedModel.text(name)]))
  return yield* Effect.provideContext(Agent.make({ name, instructions: "" }), yield* Layer.build(services))
})

describe("a handler that asks two agents the same", () => {
  it.effect("does not get the answer of the first as that of the second", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const [pro, con] = [yield* agentOf("pro", store), yield* agentOf("con", store)]
      const tool = () =>
        Effect.zipWith(
          ToolCall.runAgent(pro, { input: "argue" }),
          Effect.flip(ToolCall.runAgent(con, { input: "argue" })),
          (answer, refusal) => `${answer}: ${refusal}`
        )
      const around = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], { store, tool })
      yield* around.agent.run({ sessionId: "s", runId: "r", input: "go" })
      const outcome = outcomeOf(yield* store.log("s"))
      assert.match(JSON.stringify(outcome), /pro: run .*r.* is one of the agent .*pro/)
    }))
})
