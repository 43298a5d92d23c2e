/** A run that ends with an input queued, but not with its process: its sender is told, and it is never delivered later. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type * as Agent from "../../src/Agent.ts"
import type * as Delivery from "../../src/run/Delivery.ts"
import * as RunError from "../../src/run/RunError.ts"
import type * as RunPolicy from "../../src/run/RunPolicy.ts"
import * as StopWhen from "../../src/services/StopWhen.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const go = { sessionId: "s", runId: "r", input: "go" }

interface Scenario {
  /** after the gate at which the input is queued */
  readonly rest: ReadonlyArray<ScriptedModel.Step>
  readonly agent?: TestAgent.Options["agent"]
  readonly limits?: RunPolicy.LimitsInput
  readonly kind?: "steer" | "followUp"
  readonly cut?: (run: Agent.Run<string>) => Effect.Effect<unknown>
  readonly reason: Extract<Delivery.Delivery, { _tag: "NotDelivered" }>["reason"]
  readonly end: string
}

const refused = ScriptedModel.fail(
  new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "Authentication", message: "no" })
)

const scenarios: Record<string, Scenario> = {
  "a condition": {
    rest: [TestAgent.work(1)],
    agent: { stopWhen: StopWhen.toolCalled("work") },
    reason: "completed",
    end: "RunCompleted(stopWhen)"
  },
  "a condition before the tools": {
    rest: [TestAgent.work(1)],
    agent: { stopBefore: StopWhen.toolCalled("work") },
    reason: "completed",
    end: "RunCompleted(stopBefore)"
  },
  "a content filter": {
    rest: [ScriptedModel.text("I"), ScriptedModel.finish("content-filter")],
    reason: "completed",
    end: "RunCompleted(contentFilter)"
  },
  "its last turn, with an answer": {
    rest: [ScriptedModel.text("done")],
    limits: { maxTurns: 1 },
    reason: "completed",
    end: "RunCompleted(stop)"
  },
  "its last turn, with an answer and a follow-up": {
    rest: [ScriptedModel.text("done")],
    limits: { maxTurns: 1 },
    kind: "followUp",
    reason: "completed",
    end: "RunCompleted(stop)"
  },
  "its last turn, with calls": {
    rest: [TestAgent.work(1)],
    limits: { maxTurns: 1 },
    reason: "limited",
    end: "RunLimited(turns)"
  },
  "a question to nobody": {
    rest: [TestAgent.work(1)],
    agent: { toolPolicy: { requireApprovalByDefault: true } },
    reason: "suspended",
    end: "RunSuspended(approval)"
  },
  "a provider that refuses": { rest: [refused], reason: "failed", end: "RunFailed(Authentication)" },
  "a bug": { rest: [ScriptedModel.die("bug")], reason: "failed", end: "RunFailed(Unknown)" },
  "an abort": {
    rest: [],
    cut: (run) => run.abort,
    reason: "aborted",
    end: "RunAborted(requested)"
  }
}

describe("what is queued when a run ends by", () => {
  for (const [name, { agent = {}, cut, end, kind = "steer", limits = {}, reason, rest }] of Object.entries(scenarios)) {
    it.effect(`${name} is not delivered, not even by a resume or a new message`, () =>
      Effect.gen(function*() {
        const gate = yield* ScriptedModel.makeGate
        const made = yield* TestAgent.make([[ScriptedModel.gate(gate), ...rest]], { agent })
        const run = yield* made.agent.start({ ...go, limits })
        yield* gate.started
        const fiber = yield* Effect.flatMap(run.queue(kind, "shorter"), Effect.forkChild)
        if (cut === undefined) yield* gate.release
        else yield* cut(run)
        const delivery = yield* Fiber.join(fiber)
        assert.strictEqual(delivery._tag === "NotDelivered" ? delivery.reason : delivery._tag, reason)
        const log = yield* made.store.log("s")
        assert.strictEqual(RunLog.endOf(log), end)
        assert.deepStrictEqual(Steering.queued(log), [`${kind}: shorter`])

        const later = yield* TestAgent.make(
          (request) => request.metadata.turn === 1 ? ScriptedModel.text("hi") : ScriptedModel.text("done"),
          { store: made.store }
        )
        yield* Effect.exit(Stream.runDrain(later.agent.resume({ sessionId: "s", limits: { maxTurns: 9 } })))
        yield* later.agent.run({ sessionId: "s", input: "hello" })
        const after = yield* made.store.log("s")
        assert.deepStrictEqual(Steering.received(after), [])
        for (const request of yield* later.script.requests) {
          assert.notInclude(Steering.said(request).join(" "), "shorter")
        }
      }))
  }
})

describe("what is said to a run that is over", () => {
  it.effect("is not delivered, the sender is told at once, and nothing of it is stored", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([ScriptedModel.text("one")])
      const run = yield* agent.start(go)
      yield* run.result
      const head = store.head("s")
      const delivery = yield* run.steer("shorter")
      assert.deepStrictEqual(delivery._tag === "NotDelivered" && delivery.reason, "ended")
      assert.match(delivery._tag === "NotDelivered" ? delivery.explain : "", /over already.*new message/)
      assert.strictEqual(store.head("s"), head)
    }))

  it.effect("while its end is being stored is not delivered either, without waiting for that", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "RunCompleted"))
      const store = yield* TestStore.make(held.onAppend)
      const { agent } = yield* TestAgent.make([ScriptedModel.text("one")], { store })
      const run = yield* agent.start(go)
      yield* held.reached
      const delivery = yield* run.steer("shorter")
      assert.deepStrictEqual(delivery._tag === "NotDelivered" && delivery.reason, "ended")
      yield* held.release
      yield* run.result
      assert.deepStrictEqual(Steering.queued(yield* store.log("s")), [])
    }))

  it.effect("and is replayed is not delivered to it", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([ScriptedModel.text("one")])
      yield* agent.run(go)
      const again = yield* agent.start(go)
      const delivery = yield* again.followUp("and now?")
      assert.deepStrictEqual(delivery._tag === "NotDelivered" && delivery.reason, "ended")
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunCompleted(stop)")
    }))
})

const yields = (n: number) => Effect.forEach(Array.from({ length: n }), () => Effect.yieldNow, { discard: true })

describe("what is said at any moment of a run", () => {
  for (const kind of ["steer", "followUp"] as const) {
    it.effect(`as a ${kind} is delivered or not, as the log says, and never lost`, () =>
      Effect.gen(function*() {
        const told = new Map<string, number>()
        for (const pace of [0, 1, 3]) {
          for (let moment = 0; moment < 60; moment++) {
            const store = yield* TestStore.make(({ store }) => Effect.andThen(yields(pace), store))
            const { agent, script } = yield* TestAgent.make(
              ({ metadata: { turn } }) => turn === 1 ? TestAgent.work(1) : ScriptedModel.text(`${turn}`),
              { store, tool: () => Effect.as(yields(pace), "done") }
            )
            const run = yield* agent.start(go)
            yield* yields(moment)
            const delivery = yield* run.queue(kind, "psst").pipe(Effect.flatten)
            const at = `pace ${pace}, moment ${moment}: ${JSON.stringify(delivery)}`
            yield* run.result
            const log = yield* store.log("s")
            assert.deepStrictEqual(RunLog.violations(log), [], at)
            const turn = delivery._tag === "Delivered" ? delivery.turn : 0
            const heard = (yield* script.requests).filter((request) => Steering.said(request).join().includes("psst"))
            assert.deepStrictEqual(Steering.received(log), turn === 0 ? [] : [`${kind}: psst`], at)
            assert.strictEqual(heard[0]?.metadata.turn ?? 0, turn, at)
            const what = delivery._tag === "NotDelivered" ? delivery.reason : delivery._tag
            told.set(what, (told.get(what) ?? 0) + 1)
          }
        }
        assert.includeMembers([...told.keys()], ["Delivered", "ended"])
      }))
  }

  it.effect("that is aborted a moment later is always answered", () =>
    Effect.gen(function*() {
      for (const pace of [0, 2]) {
        for (let moment = 0; moment < 40; moment++) {
          const store = yield* TestStore.make(({ store }) => Effect.andThen(yields(pace), store))
          const { agent } = yield* TestAgent.make(
            ({ metadata: { turn } }) => turn < 3 ? TestAgent.work(turn) : ScriptedModel.text(`${turn}`),
            { store, tool: () => Effect.as(yields(pace), "done") }
          )
          const run = yield* agent.start(go)
          const fiber = yield* Effect.forkChild(run.steer("psst"), { startImmediately: true })
          yield* yields(moment)
          yield* run.abort
          const delivery = yield* Fiber.join(fiber)
          const log = yield* store.log("s")
          const at = `pace ${pace}, moment ${moment}: ${JSON.stringify(delivery)}`
          assert.deepStrictEqual(RunLog.violations(log), [], at)
          assert.strictEqual(Steering.received(log).length, delivery._tag === "Delivered" ? 1 : 0, at)
          assert.isTrue(Exit.isSuccess(yield* Effect.exit(run.result)), at)
        }
      }
    }))
})
