/** What becomes of an input where a shutdown meets something else: any moment of a run, an abort, a question, a store that fails. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as Approver from "../../src/services/Approver.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const yields = (n: number) => Effect.forEach(Array.from({ length: n }), () => Effect.yieldNow, { discard: true })

/** Goes on with the run of a store, and returns what its inputs came to. */
const gone = Effect.fnUntraced(function*(store: TestStore.TestStore, sessionId = "s") {
  store.onAppend = ({ store }) => store
  const { agent } = yield* TestAgent.make(() => ScriptedModel.text("done"), { store })
  yield* Effect.exit(agent.resumeRun({ sessionId }))
  yield* agent.run({ sessionId, input: "hello" })
  const log = yield* store.log(sessionId)
  assert.deepStrictEqual(RunLog.violations(log), [])
  return Steering.received(log)
})

describe("what is said to a run that is shut down", () => {
  for (const kind of ["steer", "followUp"] as const) {
    it.effect(`a moment later, as a ${kind}, is delivered once, here or by whoever goes on, or was never taken`, () =>
      Effect.gen(function*() {
        const told = new Set<string>()
        for (const pace of [0, 2]) {
          for (let moment = 0; moment < 40; moment++) {
            const store = yield* TestStore.make(({ store }) => Effect.andThen(yields(pace), store))
            const { agent, close } = yield* TestAgent.make(
              ({ metadata: { turn } }) => turn < 3 ? TestAgent.work(turn) : ScriptedModel.text(`${turn}`),
              { store, tool: () => Effect.as(yields(pace), "done") }
            )
            const run = yield* agent.start({ sessionId: "s", runId: "r", input: "go" })
            const fiber = yield* Effect.forkChild(run.queue(kind, "psst").pipe(Effect.flatten), {
              startImmediately: true
            })
            yield* yields(moment)
            yield* close
            const delivery = yield* Fiber.join(fiber)
            const log = yield* store.log("s")
            const at = `pace ${pace}, moment ${moment}: ${JSON.stringify(delivery)}`
            assert.deepStrictEqual(RunLog.violations(log), [], at)
            assert.strictEqual(Steering.received(log).length, delivery._tag === "Delivered" ? 1 : 0, at)
            const isTaken = delivery._tag !== "NotDelivered"
            assert.deepStrictEqual(yield* gone(store), isTaken ? [`${kind}: psst`] : [], at)
            told.add(delivery._tag === "NotDelivered" ? delivery.reason : delivery._tag)
          }
        }
        assert.includeMembers([...told], ["Delivered", "Kept"])
        assert.notInclude([...told], "aborted")
      }))
  }

  it.effect("and somebody wanted aborted is not delivered, ever", () =>
    Effect.gen(function*() {
      const { close, run, store } = yield* Steering.held([], [])
      const steer = yield* Steering.say(run, "steer", "psst")
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "AbortRequested"))
      store.onAppend = held.onAppend
      const aborting = yield* Effect.forkChild(run.abort)
      yield* held.reached
      const closing = yield* Effect.forkChild(close, { startImmediately: true })
      yield* held.release
      yield* Effect.all([Fiber.join(aborting), Fiber.join(closing)])
      assert.deepInclude(yield* Fiber.join(steer), { _tag: "NotDelivered", reason: "aborted" })
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(requested)")
      assert.deepStrictEqual(yield* gone(store), [])
    }))

  it.effect("while a person is asked is kept, and said after the calls", () =>
    Effect.gen(function*() {
      const asked = yield* Deferred.make<void>()
      const approver = Layer.succeed(Approver.Approver, {
        ask: () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
      })
      const made = yield* TestAgent.make([TestAgent.work(1)], {
        agent: { toolPolicy: { requireApprovalByDefault: true } }
      }).pipe(Effect.provide(approver))
      const run = yield* made.agent.start({ sessionId: "s", runId: "r", input: "go" })
      yield* Deferred.await(asked)
      const steer = yield* Steering.say(run, "steer", "psst")
      yield* made.close
      assert.strictEqual((yield* Fiber.join(steer))._tag, "Kept")
      assert.deepStrictEqual(RunLog.outcomes(yield* made.store.log("s")), [])
      yield* made.agent.decide({ sessionId: "s", approvalId: "r/1.0", approved: false })
      assert.deepStrictEqual(yield* gone(made.store), ["steer: psst"])
    }))

  for (const kind of ["steer", "followUp"] as const) {
    it.effect(`is kept as a ${kind} by each process that only suspends the run, and said after the answer`, () =>
      Effect.gen(function*() {
        const asked = yield* Deferred.make<void>()
        const approver = Layer.succeed(Approver.Approver, {
          ask: () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
        })
        const agent = { toolPolicy: { requireApprovalByDefault: true } }
        const made = yield* TestAgent.make([TestAgent.work(1)], { agent }).pipe(Effect.provide(approver))
        yield* made.agent.start({ sessionId: "s", runId: "r", input: "go" })
        yield* Deferred.await(asked)
        yield* made.agent.queue("s", kind, "psst", { id: "p" })
        yield* made.close
        const { store } = made
        for (let life = 0; life < 2; life++) {
          const next = yield* TestAgent.make([], { store, agent })
          const result = yield* next.agent.resumeRun({ sessionId: "s" })
          assert.strictEqual(result._tag, "Suspended")
          const log = yield* store.log("s")
          assert.deepStrictEqual(
            RunLog.only(log, "RunSuspended").at(-1)?.kept,
            RunLog.only(log, "InputQueued").map(({ seq }) => seq)
          )
          // who sends it again is told so, and it is said once
          assert.strictEqual((yield* next.agent[kind]("s", "psst", { id: "p" }))._tag, "Kept")
        }
        // a copy asks the same, and is not told what waits in the original
        yield* store.service.fork("s", { to: "copy" })
        const [start, ...copied] = (yield* store.log("copy")).toReversed()
        assert.deepStrictEqual([start?._tag, start && "kept" in start, copied[0]?._tag], [
          "RunSuspended",
          false,
          "RunResumed"
        ])
        for (const sessionId of ["copy", "s"]) {
          yield* made.agent.decide({ sessionId, approvalId: "r/1.0", approved: false })
          const said = sessionId === "s" ? [`${kind}: psst`] : []
          assert.deepStrictEqual(yield* gone(store, sessionId), said)
        }
      }))
  }

  it.effect("while its end cannot be stored is delivered once, and its sender hears of the store", () =>
    Effect.gen(function*() {
      const { close, run, store } = yield* Steering.held([], [])
      const steer = yield* Steering.say(run, "steer", "psst")
      store.onAppend = TestStore.failing(() => true)
      yield* close
      assert.strictEqual((yield* Effect.flip(Fiber.join(steer))).reason._tag, "StoreUnavailable")
      assert.deepStrictEqual(yield* gone(store), ["steer: psst"])
    }))

  it.effect("while the store takes its end and reports a failure is kept, and delivered once", () =>
    Effect.gen(function*() {
      const { close, run, store } = yield* Steering.held([], [])
      const steer = yield* Steering.say(run, "steer", "psst")
      store.onAppend = TestStore.lying(() => true)
      yield* close
      assert.strictEqual((yield* Fiber.join(steer))._tag, "Kept")
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(shutdown)")
      assert.deepStrictEqual(yield* gone(store), ["steer: psst"])
    }))

  it.effect("while it is still being stored is kept", () =>
    Effect.gen(function*() {
      const { close, run, store } = yield* Steering.held([], [])
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "InputQueued"))
      store.onAppend = held.onAppend
      const steer = yield* Effect.forkChild(run.steer("psst"))
      yield* held.reached
      const closing = yield* Effect.forkChild(close, { startImmediately: true })
      yield* held.release
      yield* Fiber.join(closing)
      assert.strictEqual((yield* Fiber.join(steer))._tag, "Kept")
      assert.deepStrictEqual(yield* gone(store), ["steer: psst"])
    }))

  it.effect("whose end is more than the store holds is not delivered: that run failed", () =>
    Effect.gen(function*() {
      const { close, run, store } = yield* Steering.held([], [])
      const steer = yield* Steering.say(run, "steer", "psst")
      const isTooLarge = ({ _tag }: RunEvent.Durable) => _tag === "RunAborted"
      store.onAppend = ({ events, store }) => events.some(isTooLarge) ? Effect.fail(TestStore.tooLarge) : store
      yield* close
      assert.strictEqual((yield* Effect.flip(Fiber.join(steer))).reason._tag, "EventTooLarge")
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunFailed(EventTooLarge)")
      assert.deepStrictEqual(yield* gone(store), [])
    }))
})

describe("a shutdown", () => {
  it.effect("with nothing waiting names nothing that it keeps", () =>
    Effect.gen(function*() {
      const { close, run, store } = yield* Steering.held([], [])
      yield* close
      assert.notProperty((yield* store.log("s")).at(-1), "kept")
      assert.notMatch((yield* run.result).explain, /message/)
    }))

  it.effect("of an earlier version, which told senders that nothing comes of it, keeps nothing", () =>
    Effect.gen(function*() {
      const { close, run, store } = yield* Steering.held([], [])
      yield* Steering.say(run, "steer", "psst")
      yield* close
      const log = yield* store.log("s")
      const { kept: _, ...end } = RunLog.only(log, "RunAborted")[0]!
      const old = yield* Steering.left([[...log.slice(0, -1), end] as never])
      assert.deepStrictEqual(yield* gone(old), [])
    }))

  it.effect("keeps what was said by somebody who has left", () =>
    Effect.gen(function*() {
      const { close, run, store } = yield* Steering.held([], [])
      yield* Fiber.interrupt(yield* Steering.say(run, "steer", "psst"))
      yield* close
      assert.deepStrictEqual(yield* gone(store), ["steer: psst"])
    }))
})
