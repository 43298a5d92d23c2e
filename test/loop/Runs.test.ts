/** Which runs there are: one per session; and what closing their layer does to them. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as Agent from "../../src/Agent.ts"
import * as ContextWindow from "../../src/layers/ContextWindow.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as ToolExecutorToolkit from "../../src/layers/ToolExecutorToolkit.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import { Ids } from "../../src/services/Ids.ts"
import { type LiveRun, Runs } from "../../src/services/Runs.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Gated from "../support/Gated.ts"
import * as Hang from "../support/Hang.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as Yielding from "../support/Yielding.ts"

setFlagsFromString("--expose-gc")
const gc: () => void = runInNewContext("gc")
setFlagsFromString("--no-expose-gc")

describe("a session with a live run", () => {
  it.effect("refuses another one and names the live one", () =>
    Effect.gen(function*() {
      const { agent, gate, run } = yield* Gated.start()
      const asked = { sessionId: "s", input: "x" }
      for (const other of [Effect.asVoid(agent.run(asked)), Effect.asVoid(agent.start(asked))]) {
        const error = yield* Effect.flip(other)
        assert.strictEqual(error._tag, "RetryableError")
        assert.deepStrictEqual(error.reason._tag === "SessionBusy" ? error.reason.runId : error.reason._tag, "r")
      }
      yield* gate.release
      assert.strictEqual((yield* run.result)._tag, "Completed")
    }))

  it.effect("refuses another agent of the same store too", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* Gated.start()
      const other = yield* TestAgent.make([], { store })
      const error = yield* Effect.flip(other.agent.run({ sessionId: "s", input: "x" }))
      assert.deepStrictEqual(error.reason._tag === "SessionBusy" ? error.reason.runId : error.reason._tag, "r")
      yield* gate.release
      yield* run.result
    }))

  it.effect("is a live run of its own agent only, though others have the same store and runs", () =>
    Effect.gen(function*() {
      const runs = Layer.succeedContext(yield* Layer.build(RunsLocal.layer))
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([[ScriptedModel.gate(gate), ScriptedModel.text("b")]], { runs })
      const below = Layer.mergeAll(
        runs,
        store.layer,
        ScriptedModel.layer([]),
        ToolExecutorToolkit.layer,
        ContextWindow.layer
      )
      const other = yield* Effect.provide(Agent.make({ name: "other", instructions: "" }), yield* Layer.build(below))
      const run = yield* agent.start({ sessionId: "s", runId: "r", input: "go" })
      for (const found of [other.live("r"), other.live("r", "s"), other.liveIn("s")]) assert.isUndefined(yield* found)
      for (const found of [agent.live("r"), agent.live("r", "s"), agent.liveIn("s")]) {
        assert.strictEqual((yield* found)?.runId, "r")
      }
      yield* gate.release
      yield* run.result
    }))

  it.effect("refuses to resume it, even by its id", () =>
    Effect.gen(function*() {
      const { agent, gate, run } = yield* Gated.start()
      for (const input of [{ sessionId: "s" }, { sessionId: "s", runId: "r" }]) {
        const error = yield* Effect.flip(Stream.runDrain(agent.resume(input)))
        assert.deepStrictEqual(error.reason._tag === "SessionBusy" ? error.reason.runId : error.reason._tag, "r")
      }
      yield* gate.release
      yield* run.result
    }))

  it.effect("does not hold up other sessions", () =>
    Effect.gen(function*() {
      const { agent, gate, run } = yield* Gated.start(ScriptedModel.text("c"))
      const other = yield* agent.run({ sessionId: "t", input: "x" })
      assert.strictEqual(other.text, "c")
      yield* gate.release
      yield* run.result
    }))

  it.effect("is given back before the end is seen, even if that takes its time", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([ScriptedModel.text("a")])
      store.onRelease = Effect.forEach([1, 2, 3], () => Effect.yieldNow, { discard: true })
      const run = yield* agent.start({ sessionId: "s", runId: "r", input: "go" })
      const free = store.service.open("s", { runId: "other", create: false }).pipe(Effect.scoped, Effect.as("free"))
      const seen = yield* run.events.pipe(
        Stream.filter(RunEvent.isEnd),
        Stream.mapEffect(() => Effect.all([free, Effect.map(agent.live("r"), (live) => live === undefined)])),
        Stream.runCollect
      )
      assert.deepStrictEqual(seen, [["free", true]])
    }))

  it.effect("takes the next run as soon as its result is there", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make(Array.from({ length: 20 }, (_, n) => ScriptedModel.text(`${n}`)))
      for (let n = 0; n < 20; n++) {
        const result = yield* agent.run({ sessionId: "s", input: "go" })
        assert.strictEqual(result.text, `${n}`)
      }
    }))

  it.effect("can be resumed as soon as its result is there", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")])
      yield* agent.run({ sessionId: "s", input: "go", limits: { maxTurns: 1 } })
      const events = yield* Stream.runCollect(agent.resume({ sessionId: "s", limits: { maxTurns: 2 } }))
      assert.strictEqual(RunLog.endOf(events), "RunCompleted(stop)")
    }))

  it.effect("has no live run once the result is there", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([ScriptedModel.text("ok")])
      yield* agent.run({ sessionId: "s", runId: "r", input: "go" })
      assert.isUndefined(yield* agent.live("r"))
    }))
})

describe("live", () => {
  it.effect("returns a run of this process by its id, and its abort", () =>
    Effect.gen(function*() {
      const { agent, run } = yield* Gated.start()
      const live = yield* agent.live("r")
      assert.deepStrictEqual([live?.runId, live?.sessionId], ["r", "s"])
      assert.isUndefined(yield* agent.live("other"))
      assert.strictEqual((yield* agent.liveIn("s"))?.runId, "r")
      assert.isUndefined(yield* agent.liveIn("t"))
      yield* live!.abort
      assert.strictEqual((yield* run.result)._tag, "Aborted")
      assert.isUndefined(yield* agent.live("r"))
      assert.isUndefined(yield* agent.liveIn("s"))
    }))
})

describe("a layer that closes", () => {
  it.effect("starts no more runs once it is closed, and says so", () =>
    Effect.gen(function*() {
      const { agent, close } = yield* TestAgent.make([ScriptedModel.text("a")])
      yield* close
      const refused = yield* Effect.forkDetach(Effect.flip(agent.run({ sessionId: "s", input: "go" })))
      assert.isTrue(yield* Hang.ends(Fiber.await(refused)), "run waits for ever")
      assert.strictEqual((yield* Fiber.join(refused))._tag, "RetryableError")
    }))

  it.effect("starts no runs while it waits for those it has", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const stuck = { ...gate, wait: Effect.uninterruptible(gate.wait) }
      const scope = yield* Scope.make()
      const runs = yield* Scope.provide(RunsLocal.make, scope)
      const { agent, script, store } = yield* TestAgent.make([ScriptedModel.gate(stuck), ScriptedModel.text("a")], {
        runs: Layer.succeed(Runs, runs)
      })
      const first = yield* agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* Effect.yieldNow
      const second = yield* Effect.forkDetach(Effect.flip(agent.run({ sessionId: "t", input: "go" })))
      const hasEnded = yield* Hang.ends(Fiber.await(second))
      const isClosing = closing.pollUnsafe() === undefined
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(closing)
      yield* gate.release
      assert.deepStrictEqual([hasEnded, isClosing], [true, true])
      assert.strictEqual((yield* first.result)._tag, "Aborted")
      assert.strictEqual((yield* Fiber.join(second)).reason._tag, "ShuttingDown")
      assert.deepStrictEqual([yield* store.log("t"), (yield* script.requests).length], [[], 1])
    }))

  it.effect("waits for all of its runs together, and no longer than for one", () =>
    Effect.gen(function*() {
      const [one, other] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
      const stuck = [one, other].map((gate) => ScriptedModel.gate({ ...gate, wait: Effect.uninterruptible(gate.wait) }))
      const { agent, close } = yield* TestAgent.make(stuck)
      yield* agent.start({ sessionId: "s", input: "go" })
      yield* agent.start({ sessionId: "t", input: "go" })
      yield* one.started
      yield* other.started
      const closing = yield* Effect.forkDetach(close)
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(yield* Hang.ends(Fiber.await(closing)), "the second run is waited for after the first")
      yield* one.release
      yield* other.release
    }))

  it.effect("ends the runs of all agents at once: the first one does not work on while later ones take their time", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const shared = {
        runs: Layer.succeed(Runs, yield* Scope.provide(RunsLocal.make, scope)),
        store: yield* TestStore.make()
      }
      const gates = yield* Effect.all([1, 2, 3].map(() => ScriptedModel.makeGate))
      for (const [n, gate] of gates.entries()) {
        const wait = n === 0 ? gate.wait : Effect.uninterruptible(gate.wait)
        const { agent } = yield* TestAgent.make([ScriptedModel.gate({ ...gate, wait })], shared)
        yield* agent.start({ sessionId: `${n}`, input: "go" })
        yield* gate.started
      }
      const closing = yield* Effect.forkDetach(Scope.close(scope, Exit.void))
      yield* Effect.yieldNow
      assert.strictEqual(RunLog.endOf(yield* shared.store.log("0")), "RunAborted(shutdown)")
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(yield* Hang.ends(Fiber.await(closing)), "one run is waited for after the other")
      for (const gate of gates) yield* gate.release
    }))

  it.effect("ends runs before it releases what their scope got before they began", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const store = yield* TestStore.make()
      const runs = Layer.succeed(Runs, yield* Scope.provide(RunsLocal.make, scope))
      let atRelease: string | undefined
      yield* Scope.addFinalizer(
        scope,
        Effect.map(store.log("s"), (log) => {
          atRelease = RunLog.endOf(log)
        })
      )
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([ScriptedModel.gate(gate)], { runs, store })
      yield* agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(atRelease, "RunAborted(shutdown)")
    }))

  it.effect("aborts its own agent's runs and no others", () =>
    Effect.gen(function*() {
      const shared = { runs: Layer.succeed(Runs, yield* RunsLocal.make), store: yield* TestStore.make() }
      const [mine, others] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
      const closing = yield* TestAgent.make([ScriptedModel.gate(mine)], shared)
      const staying = yield* TestAgent.make([[ScriptedModel.gate(others), ScriptedModel.text("ok")]], shared)
      const aborted = yield* closing.agent.start({ sessionId: "s", input: "go" })
      const completed = yield* staying.agent.start({ sessionId: "t", input: "go" })
      yield* mine.started
      yield* others.started
      yield* closing.close
      assert.strictEqual(RunLog.endOf(yield* shared.store.log("s")), "RunAborted(shutdown)")
      assert.strictEqual((yield* aborted.result)._tag, "Aborted")
      yield* others.release
      assert.strictEqual((yield* completed.result)._tag, "Completed")
    }))
})

describe("an agent whose layer is closed while its store and its runs' layer are open", () => {
  const closed = Effect.gen(function*() {
    const shared = { runs: Layer.succeed(Runs, yield* RunsLocal.make), store: yield* TestStore.make() }
    let calls = 0
    const made = yield* TestAgent.make([ScriptedModel.text("a"), TestAgent.work(1), ScriptedModel.text("b")], {
      ...shared,
      tool: () => Effect.sync(() => `${++calls}`)
    })
    yield* made.agent.run({ sessionId: "s", runId: "r", input: "go" })
    yield* made.close
    const log = yield* shared.store.log("s")
    return { ...made, log, store: shared.store, calls: () => calls }
  })

  it.effect("begins no run, no drive and no compaction, and stores nothing", () =>
    Effect.gen(function*() {
      const { agent, calls, log, script, store } = yield* closed
      const asked = [
        agent.run({ sessionId: "s", input: "go" }),
        agent.run({ sessionId: "t", input: "go" }),
        agent.start({ input: "go" }),
        Stream.runDrain(agent.stream({ sessionId: "s", input: "go" })),
        agent.resumeRun({ sessionId: "s" }),
        agent.compact("s")
      ]
      for (const one of asked) assert.strictEqual((yield* Effect.flip(one)).reason._tag, "ShuttingDown")
      assert.deepStrictEqual(yield* store.log("s"), log)
      assert.isUndefined(yield* store.service.info("t"))
      assert.deepStrictEqual([calls(), (yield* script.requests).length], [0, 1])
      assert.isUndefined(yield* agent.liveIn("s"))
    }))

  it.effect("begins nothing that was asked for earlier but had not begun", () =>
    Effect.gen(function*() {
      const shared = { runs: Layer.succeed(Runs, yield* RunsLocal.make), store: yield* TestStore.make() }
      const { agent, close } = yield* TestAgent.make([ScriptedModel.text("a")], shared)
      const next = Effect.as(Effect.andThen(close, Effect.yieldNow), "r")
      const asked = agent.run({ sessionId: "s", input: "go" }).pipe(Effect.provideService(Ids, { next }))
      assert.strictEqual((yield* Effect.flip(asked)).reason._tag, "ShuttingDown")
      assert.deepStrictEqual(yield* shared.store.log("s"), [])
    }))
})

describe("a custom `Runs`", () => {
  it.effect("may drive on an interruptible fiber: the run ends, and is in the log with its end", () =>
    Effect.gen(function*() {
      const driving = yield* Deferred.make<Fiber.Fiber<void>>()
      const runs = Layer.effect(
        Runs,
        Effect.map(Effect.scope, (scope) => ({
          start: (run, drive) =>
            Effect.forkIn(drive(Effect.void), scope, { startImmediately: true }).pipe(
              Effect.flatMap((fiber) => Deferred.succeed(driving, fiber)),
              Effect.as(run)
            ),
          live: () => Effect.undefined,
          inSession: () => Effect.undefined
        }))
      )
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([[ScriptedModel.gate(gate)]], { runs })
      const run = yield* agent.start({ sessionId: "s", runId: "r", input: "go" })
      yield* gate.started
      yield* Fiber.interrupt(yield* Deferred.await(driving))
      assert.deepInclude((yield* store.log("s")).at(-1), { _tag: "RunAborted", reason: "shutdown" })
      assert.deepInclude(yield* run.result, { _tag: "Aborted", reason: "shutdown" })
    }))
})

describe("the live runs of a process", () => {
  const run = (runId: string, sessionId: string): LiveRun => ({
    runId,
    sessionId,
    agent: "test",
    input: { messages: [], toolPolicy: {}, limits: {} },
    begun: Effect.void,
    events: Stream.empty,
    result: Effect.never,
    decide: () => Effect.succeed(false),
    accept: () => Effect.never,
    isOver: () => false,
    abort: () => Effect.void
  })
  const start = (runs: Runs["Service"], live: LiveRun) => runs.start(live, () => Effect.interruptible(Effect.never))

  it.effect("are one per session, whatever the store says", () =>
    Effect.gen(function*() {
      const runs = yield* RunsLocal.make
      yield* start(runs, run("r1", "s"))
      const error = yield* Effect.flip(start(runs, run("r2", "s")))
      assert.deepStrictEqual(error.reason._tag === "SessionBusy" ? error.reason.runId : error.reason._tag, "r1")
      yield* start(runs, run("r2", "t"))
    }))

  it.effect("are one per id in a session: the one that is live is returned, whatever it was started with", () =>
    Effect.gen(function*() {
      const runs = yield* RunsLocal.make
      const first = run("r", "s")
      yield* start(runs, first)
      const other = { ...first, input: { ...first.input, data: 1 } }
      assert.strictEqual(yield* start(runs, other), first)
    }))

  it.effect("have all ended once their layer is closed, also those that began wherever the first one's start yielded", () =>
    Effect.gen(function*() {
      let places = 1
      for (let n = 1; n <= places; n++) {
        const scope = yield* Scope.make()
        const runs = yield* Scope.provide(RunsLocal.make, scope)
        let isOver = false
        const drive = Effect.onExit(Effect.interruptible(Effect.never), () =>
          Effect.sync(() => {
            isOver = true
          }))
        let closing: Fiber.Fiber<boolean> | undefined
        const yielding = Yielding.at(n, () => {
          Effect.runFork(runs.start(run("r2", "t"), () => drive))
          closing = Effect.runFork(Effect.map(Scope.close(scope, Exit.void), () => isOver))
        })
        yield* Effect.exit(Yielding.run(yielding, start(runs, run("r1", "s"))))
        if (closing === undefined) continue
        places = n + 1
        assert.isTrue(yield* Fiber.join(closing), `where it yields at ${n}`)
      }
      assert.isAbove(places, 3)
    }))

  it.live("leave nothing behind once their drives are over", () =>
    Effect.gen(function*() {
      const runs = yield* RunsLocal.make
      const drives: Array<WeakRef<object>> = []
      for (let n = 0; n < 10; n++) {
        yield* runs.start(run(`${n}`, `${n}`), (forget) =>
          Effect.withFiber((fiber) => {
            drives.push(new WeakRef(fiber))
            return forget
          }))
      }
      // what was looked at lives until its turn of the event loop is over
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      gc()
      assert.isAtMost(drives.filter((drive) => drive.deref() !== undefined).length, 1)
      assert.lengthOf(drives, 10)
    }))

  it.effect("may share an id across a session and its forks: told apart by session, else the first is meant", () =>
    Effect.gen(function*() {
      const runs = yield* RunsLocal.make
      const [original, fork] = [run("r", "s"), run("r", "t")]
      yield* start(runs, original)
      assert.strictEqual(yield* start(runs, fork), fork)
      const found = [runs.live("r", "s"), runs.live("r", "t"), runs.live("r"), runs.live("r", "u"), runs.live("q", "s")]
      assert.deepStrictEqual(yield* Effect.all(found), [original, fork, original, undefined, undefined])
    }))

  it.effect("are waited for when they are over but not forgotten, and no longer count as live", () =>
    Effect.gen(function*() {
      const runs = yield* RunsLocal.make
      const isForgotten = yield* Deferred.make<void>()
      yield* runs.start(
        { ...run("r1", "s"), isOver: () => true },
        (forget) => Effect.asVoid(Effect.forkDetach(Effect.andThen(Deferred.await(isForgotten), forget)))
      )
      assert.isUndefined(yield* runs.live("r1"))
      const next = run("r2", "s")
      const left = yield* Effect.forkChild(start(runs, run("r3", "s")), { startImmediately: true })
      yield* Fiber.interrupt(left)
      const starting = yield* Effect.forkChild(start(runs, next), { startImmediately: true })
      assert.isUndefined(starting.pollUnsafe())
      yield* Deferred.succeed(isForgotten, undefined)
      assert.strictEqual(yield* Fiber.join(starting), next)
      assert.strictEqual(yield* runs.live("r2"), next)
    }))

  it.effect("are forgotten when their drive says so, or dies", () =>
    Effect.gen(function*() {
      const runs = yield* RunsLocal.make
      const said = yield* Deferred.make<void>()
      yield* runs.start(run("a", "s"), (forget) =>
        forget.pipe(
          Effect.andThen(Deferred.succeed(said, undefined)),
          Effect.andThen(Effect.interruptible(Effect.never))
        ))
      yield* Deferred.await(said)
      const died = yield* Deferred.make<void>()
      yield* runs.start(run("b", "s"), () => Effect.ensuring(Effect.die("bug"), Deferred.succeed(died, undefined)))
      yield* Deferred.await(died)
      yield* Effect.yieldNow
      assert.isUndefined(yield* runs.live("a"))
      assert.isUndefined(yield* runs.live("b"))
      yield* start(runs, run("c", "s"))
    }))

  it.effect("are not forgotten when another drive of their session dies after its own run", () =>
    Effect.gen(function*() {
      const runs = yield* RunsLocal.make
      const said = yield* Deferred.make<Fiber.Fiber<unknown, unknown>>()
      const dies = yield* Deferred.make<void>()
      yield* runs.start(
        run("a", "s"),
        (forget) =>
          Effect.withFiber((driving) =>
            Effect.andThen(forget, Deferred.succeed(said, driving)).pipe(
              Effect.andThen(Deferred.await(dies)),
              Effect.andThen(Effect.die("bug"))
            )
          )
      )
      const driving = yield* Deferred.await(said)
      const next = yield* start(runs, run("b", "s"))
      yield* Deferred.succeed(dies, undefined)
      yield* Fiber.await(driving)
      assert.strictEqual(yield* runs.live("b"), next)
    }))

  it.effect("are interrupted too when their first step closes the layer", () =>
    Effect.gen(function*() {
      const scope = yield* Scope.make()
      const runs = yield* Scope.provide(RunsLocal.make, scope)
      const drive = Effect.andThen(Scope.close(scope, Exit.void), Effect.interruptible(Effect.never))
      yield* runs.start(run("a", "s"), () => drive)
      assert.isUndefined(yield* runs.live("a"))
    }))

  it.effect("are not known when the layer is closed while they start", () =>
    Effect.gen(function*() {
      let operations = 1
      for (let n = 1; n <= operations; n++) {
        const scope = yield* Scope.make()
        const runs = yield* Scope.provide(RunsLocal.make, scope)
        const yielding = Yielding.at(n, () => {
          Effect.runFork(Scope.close(scope, Exit.void))
        })
        let isBegun = false
        const drive = Effect.suspend(() => {
          isBegun = true
          return Effect.interruptible(Effect.never)
        })
        const started = yield* Effect.exit(Yielding.run(yielding, runs.start(run("a", "s"), () => drive)))
        yield* Effect.yieldNow
        operations = yielding.count()
        if (Exit.isFailure(started)) assert.isFalse(isBegun, `${n}`)
        yield* Scope.close(scope, Exit.void)
        assert.isUndefined(yield* runs.live("a"), `${n}`)
      }
    }))
})
