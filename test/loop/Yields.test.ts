/** A fiber may yield between any two operations, and others run meanwhile: nothing is lost or done twice there. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Stream from "effect/Stream"
import * as Approver from "../../src/services/Approver.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as Hang from "../support/Hang.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Watch from "../support/Watch.ts"
import * as Yielding from "../support/Yielding.ts"

/** What a reader sees of a run that is told something at the n-th operation. */
const read = Effect.fnUntraced(function*(n: number, tell: (made: TestAgent.TestAgent) => Effect.Effect<unknown>) {
  const made = yield* TestAgent.make([
    TestAgent.work(1),
    ScriptedModel.text("hello"),
    ScriptedModel.text("hello again")
  ])
  const context = yield* Effect.context<never>()
  const yielding = Yielding.at(n, () => {
    Effect.runForkWith(context)(tell(made))
  })
  const events = made.agent.stream({ sessionId: "s", runId: "r", input: "go" })
  const exit = yield* Effect.exit(Yielding.run(yielding, Stream.runCollect(events)))
  return { exit, log: yield* made.store.log("s"), count: yielding.count() }
}, Effect.scoped)

/** Reads a run once for every operation there is, and checks what was seen of it. */
const everywhere = Effect.fnUntraced(function*(tell: (made: TestAgent.TestAgent) => Effect.Effect<unknown>) {
  const { count } = yield* read(0, tell)
  assert.isAbove(count, 100)
  for (let n = 1; n <= count; n++) {
    const { exit, log } = yield* read(n, tell)
    assert.deepStrictEqual(RunLog.violations(log), [], `${n}`)
    const seen = exit._tag === "Success" ? RunLog.durable(exit.value) : []
    assert.deepStrictEqual(seen.map(({ seq }) => seq), log.map(({ seq }) => seq), `${n}`)
  }
})

describe("wherever a fiber yields", () => {
  it.effect("a reader sees the end of a run that is aborted meanwhile", () =>
    everywhere(({ agent }) => Effect.flatMap(agent.live("r"), (run) => run?.abort ?? Effect.void)))

  it.effect("a reader sees all of a run that is steered meanwhile", () =>
    everywhere(({ agent }) =>
      Effect.flatMap(agent.live("r"), (run) => run === undefined ? Effect.void : Effect.exit(run.steer("more")))
    ))

  it.effect("a run whose layer is closed meanwhile is begun and ended, or refused", () =>
    Effect.gen(function*() {
      const closed = Effect.fnUntraced(function*(n: number) {
        const { agent, close, store } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("hello")])
        const yielding = Yielding.at(n, () => {
          Effect.runFork(close)
        })
        const run = Yielding.run(yielding, agent.run({ sessionId: "s", input: "go" }))
        const running = yield* Effect.forkDetach(Effect.exit(run))
        const isOver = yield* Hang.ends(Fiber.await(running))
        return { isOver, log: yield* store.log("s"), count: yielding.count() }
      }, Effect.scoped)
      const { count } = yield* closed(0)
      for (let n = 1; n <= count; n++) {
        const { isOver, log } = yield* closed(n)
        assert.isTrue(isOver, `run waits for ever (${n})`)
        assert.deepStrictEqual(RunLog.violations(log), [], `${n}`)
      }
    }))

  it.effect("a start that is interrupted before its run has begun leaves no run", () =>
    Effect.gen(function*() {
      const interrupted = Effect.fnUntraced(function*(n: number) {
        const gate = yield* ScriptedModel.makeGate
        const { agent, store } = yield* TestAgent.make([ScriptedModel.gate(gate)])
        const context = yield* Effect.context<never>()
        let hasBegun = true
        const yielding = Yielding.at(n, () => {
          hasBegun = store.head("s") > 0
          Effect.runForkWith(context)(Fiber.interrupt(starting))
        })
        const starting = yield* Effect.forkDetach(Yielding.run(yielding, agent.start({ sessionId: "s", input: "go" })))
        yield* Fiber.await(starting)
        // what was begun has ended by then
        for (let i = 0; i < 3; i++) yield* Effect.yieldNow
        const left = hasBegun ? undefined : (yield* store.log("s")).at(-1)
        return { left: left?._tag ?? "RunAborted", count: yielding.count() }
      }, Effect.scoped)
      const { count } = yield* interrupted(0)
      for (let n = 1; n <= count; n++) assert.strictEqual((yield* interrupted(n)).left, "RunAborted", `${n}`)
    }))

  it.effect("no timer outlives a run that is aborted meanwhile", () =>
    Effect.gen(function*() {
      const sleepingAfter = Effect.fnUntraced(function*(n: number) {
        const made = yield* TestAgent.make([ScriptedModel.text("hello")], {
          agent: { limits: { maxDuration: "1 hour" } }
        })
        const context = yield* Effect.context<never>()
        const below = yield* Clock.Clock
        let sleeping = 0
        const clock: Clock.Clock = Object.assign(Object.create(below), {
          sleep: (duration: Duration.Duration) =>
            Effect.acquireUseRelease(
              Effect.sync(() => sleeping++),
              () => below.sleep(duration),
              () => Effect.sync(() => sleeping--)
            )
        })
        const yielding = Yielding.at(n, () => {
          Effect.runForkWith(context)(Effect.flatMap(made.agent.live("r"), (run) => run?.abort ?? Effect.void))
        })
        const running = Yielding.run(yielding, made.agent.run({ sessionId: "s", runId: "r", input: "go" }))
        yield* Effect.exit(Effect.provideService(running, Clock.Clock, clock))
        // what was begun has started by then
        for (let i = 0; i < 3; i++) yield* Effect.yieldNow
        return { sleeping, count: yielding.count() }
      }, Effect.scoped)
      const { count } = yield* sleepingAfter(0)
      for (let n = 1; n <= count; n++) assert.strictEqual((yield* sleepingAfter(n)).sleeping, 0, `${n}`)
    }))

  it.effect("a decision that comes meanwhile is taken up", () =>
    Effect.gen(function*() {
      const decided = Effect.fnUntraced(function*(n: number) {
        const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("hello")], {
          agent: { toolPolicy: { requireApprovalByDefault: true } }
        })
        const yielding = Yielding.at(n)
        const run = yield* Yielding.run(yielding, agent.start({ sessionId: "s", input: "go" })).pipe(
          Effect.provideService(Approver.Approver, { ask: () => Effect.never })
        )
        yield* Stream.runForEach(run.events, (event) =>
          event._tag === "ApprovalRequested"
            ? agent.decide({ sessionId: "s", approvalId: event.approvalId, approved: true, by: "ann" })
            : Effect.void)
        return { result: yield* run.result, count: yielding.count() }
      }, Effect.scoped)
      const { count } = yield* decided(0)
      for (let n = 1; n <= count; n++) assert.strictEqual((yield* decided(n)).result._tag, "Completed", `${n}`)
    }))

  it.effect("an abort whose caller is interrupted meanwhile does not swallow the next one", () =>
    Effect.gen(function*() {
      const abortedTwice = Effect.fnUntraced(function*(n: number) {
        const gate = yield* ScriptedModel.makeGate
        const { agent } = yield* TestAgent.make([ScriptedModel.gate(gate)])
        const run = yield* agent.start({ sessionId: "s", input: "go" })
        yield* gate.started
        const context = yield* Effect.context<never>()
        const yielding = Yielding.at(n, () => {
          Effect.runForkWith(context)(Fiber.interrupt(aborting))
        })
        const aborting = yield* Effect.forkDetach(Yielding.run(yielding, run.abort))
        yield* Fiber.await(aborting)
        return { isOver: yield* Hang.ends(run.abort), count: yielding.count() }
      }, Effect.scoped)
      const { count } = yield* abortedTwice(0)
      for (let n = 1; n <= count; n++) assert.isTrue((yield* abortedTwice(n)).isOver, `${n}`)
    }))

  it.effect("a decision that comes as a call begins to wait keeps no sibling from running", () =>
    Effect.gen(function*() {
      const besideOne = Effect.fnUntraced(function*(n: number) {
        const letGo = yield* Latch.make(false)
        const calls = [TestAgent.look(1), TestAgent.work(2), TestAgent.work(3)]
        const { agent } = yield* TestAgent.make([calls, ScriptedModel.text("hello")], {
          agent: { toolkit: Approvals.kit, toolPolicy: { maxParallel: 3 } },
          tool: ({ n }) => n === 1 ? Effect.as(letGo.await, "done 1") : Effect.succeed(`done ${n}`)
        })
        const decide = (id: string) => Effect.exit(agent.decide({ sessionId: "s", approvalId: id, approved: true }))
        const context = yield* Effect.context<never>()
        const yielding = Yielding.at(n, () => {
          Effect.runForkWith(context)(decide("r/1.1"))
        })
        const run = yield* Yielding.run(yielding, agent.start({ sessionId: "s", runId: "r", input: "go" }))
        const { until } = yield* Watch.make(run.events)
        yield* until("ApprovalRequested", 2)
        for (const id of ["r/1.1", "r/1.2"]) yield* decide(id)
        const haveRun = yield* Hang.ends(until("ToolSettled", 2))
        yield* letGo.open
        return { haveRun, count: yielding.count() }
      }, Effect.scoped)
      const { count } = yield* besideOne(0)
      for (let n = 1; n <= count; n++) assert.isTrue((yield* besideOne(n)).haveRun, `${n}`)
    }))

  it.effect("calls run at most maxParallel at once", () =>
    Effect.gen(function*() {
      const mostAtOnce = Effect.fnUntraced(function*(n: number) {
        let running = 0
        let most = 0
        const tool: TestAgent.Handler = () =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              most = Math.max(most, ++running)
            }),
            () => Effect.as(Effect.yieldNow, "done"),
            () => Effect.sync(() => running--)
          )
        const calls = [1, 2, 3, 4].map((n) => TestAgent.work(n, `${n}`))
        const { agent } = yield* TestAgent.make([calls, ScriptedModel.text("ok")], {
          tool,
          agent: { toolPolicy: { maxParallel: 2 } }
        })
        const yielding = Yielding.at(n)
        yield* Yielding.run(yielding, agent.run({ sessionId: "s", input: "go" }))
        return { most, count: yielding.count() }
      }, Effect.scoped)
      const { count } = yield* mostAtOnce(0)
      for (let n = 1; n <= count; n++) assert.strictEqual((yield* mostAtOnce(n)).most, 2, `${n}`)
    }))
})
