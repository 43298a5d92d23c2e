/** An abort of a session's run, wherever it is: live here, suspended, left by a process that died, or out of reach. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { join } from "node:path"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import type * as RunError from "../../src/run/RunError.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Suspended from "../support/Suspended.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const ends = (log: ReadonlyArray<RunEvent.RunEvent>) => log.filter(RunEvent.isEnd).map((end) => RunLog.endOf([end]))
const tags = (log: ReadonlyArray<RunEvent.RunEvent>) => log.map(({ _tag }) => _tag)

/** Nobody resumes it unasked, and the session takes a new message. */
const isOver = Effect.fnUntraced(function*(store: TestStore.TestStore) {
  const log = yield* store.log("s")
  assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
  assert.deepStrictEqual(RunLog.violations(log), [])
  assert.strictEqual((yield* store.service.info("s"))?.end, "RunAborted")
  const { agent } = yield* TestAgent.make([ScriptedModel.text("hello!")], { store })
  assert.deepStrictEqual(yield* agent.recover({ answered: true, within: Infinity }), { runs: [], refused: [] })
  assert.deepStrictEqual(yield* agent.approvals("s"), [])
  assert.strictEqual((yield* agent.run({ sessionId: "s", input: "hello" })).text, "hello!")
})

/** Aborts a session whose new run has nothing in the log yet. */
const beforeFirstEvent = Effect.fnUntraced(function*({ agent, store }: Pick<TestAgent.TestAgent, "agent" | "store">) {
  const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "RunStarted"))
  store.onAppend = held.onAppend
  const starting = yield* Effect.forkChild(Effect.exit(agent.start({ sessionId: "s", input: "hello" })))
  yield* held.reached
  const aborting = yield* Effect.forkChild(agent.abort("s"))
  yield* TestClock.adjust("1 minute")
  yield* held.release
  yield* Fiber.join(aborting)
  yield* Fiber.join(starting)
})

/** A store with some methods replaced. */
const otherwise = (
  store: TestStore.TestStore,
  service: Partial<TestStore.TestStore["service"]>
): TestStore.TestStore => ({
  ...store,
  layer: Layer.succeed(SessionStore.SessionStore, { ...store.service, ...service })
})

/** The live runs of one process, shared by several agents in it. */
const sharedRuns = Effect.map(Layer.build(RunsLocal.layer), Layer.succeedContext)

describe("an abort of a session's run", () => {
  it.effect("ends a run that lives here, as the run's own abort does", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([[ScriptedModel.text("Once"), ScriptedModel.gate(gate)]])
      const run = yield* agent.start({ sessionId: "s", input: "A story" })
      yield* gate.started
      yield* agent.abort("s")
      assert.strictEqual((yield* run.result)._tag, "Aborted")
      const log = yield* store.log("s")
      assert.deepStrictEqual(tags(log).slice(-2), ["AbortRequested", "RunAborted"])
      yield* isOver(store)
    }))

  it.effect("ends a run whose process died, and settles the calls that had started as any abort does", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.leftBy([TestAgent.work(1), TestAgent.look(2)], { toolPolicy: { maxParallel: 2 } })
      const { agent, script } = yield* TestAgent.make([], { store })
      yield* agent.abort("s")
      const log = yield* store.log("s")
      assert.deepStrictEqual(ends(log), ["RunAborted(crashed)", "RunAborted(requested)"])
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 OutcomeUnknown", "1.1 Interrupted"])
      assert.deepStrictEqual(yield* script.requests, [])
      yield* isOver(store)
    }))

  it.effect("ends a run that was shut down, or whose crash is already recorded", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const closed = yield* TestAgent.make([[ScriptedModel.text("Once"), ScriptedModel.gate(gate)]])
      yield* closed.agent.start({ sessionId: "s", input: "A story" })
      yield* gate.started
      yield* closed.close
      const died = yield* DeadRun.of([...DeadRun.inTools("work"), DeadRun.crashed])
      for (const [store, reason] of [[closed.store, "shutdown"], [died, "crashed"]] as const) {
        const { agent } = yield* TestAgent.make([], { store })
        yield* agent.abort("s")
        const log = yield* store.log("s")
        assert.deepStrictEqual(ends(log), [`RunAborted(${reason})`, "RunAborted(requested)"])
        yield* isOver(store)
      }
    }))

  it.effect("ends a run that waits for people, and closes its questions", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make([TestAgent.work(1, "a"), TestAgent.work(2, "b")])
      yield* made.decide("1.0")
      yield* made.agent.abort("s")
      const log = yield* made.log
      assert.deepStrictEqual(ends(log), ["RunSuspended(approval)", "RunAborted(requested)"])
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 NotExecuted(aborted)", "1.1 NotExecuted(aborted)"])
      const error = yield* Effect.flip(made.decide("1.1"))
      assert.deepInclude(error.reason, { _tag: "ApprovalNotOpen", because: "settled" })
      assert.deepStrictEqual(made.ran, [])
      yield* isOver(made.store)
    }))

  it.effect("asks the reconciler about a call that had started", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.leftBy([TestAgent.work(1)])
      const { agent } = yield* TestAgent.make([], { store })
      const reconcile = () => Effect.succeed({ _tag: "Done" as const, result: "paid" })
      yield* Effect.provideService(agent.abort("s"), Reconciler.Reconciler, { reconcile })
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Succeeded"])
    }))

  it.effect("does not count time in which nobody worked on the run", () =>
    Effect.gen(function*() {
      const died = yield* DeadRun.leftBy([TestAgent.work(1)], { limits: { maxDuration: "10 minutes" } })
      const { store } = yield* Suspended.make([TestAgent.work(1)], {}, { limits: { maxDuration: "10 minutes" } })
      yield* TestClock.adjust("1 hour")
      for (const left of [died, store]) {
        const { agent } = yield* TestAgent.make([ScriptedModel.text("on")], { store: left })
        yield* agent.abort("s")
        assert.strictEqual(RunLog.only(yield* left.log("s"), "RunAborted").at(-1)?.totals.duration, 0)
        assert.strictEqual((yield* agent.resumeRun({ sessionId: "s" }))._tag, "Completed")
      }
    }))

  it.effect("does not wait for what is asked in another session, nor does an answer there", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.leftBy([TestAgent.work(1)])
      const made = yield* Suspended.before([TestAgent.work(1), ScriptedModel.text("ok")], { store })
      yield* made.agent.run({ sessionId: "t", runId: "rt", input: "go" })
      const asked = yield* Deferred.make<void>()
      const reconcile = () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
      const aborting = yield* Effect.forkChild(
        Effect.provideService(made.agent.abort("s"), Reconciler.Reconciler, { reconcile })
      )
      yield* Deferred.await(asked)
      yield* made.agent.decide({ sessionId: "t", approvalId: "rt/1.0", approved: true })
      yield* made.agent.abort("t")
      assert.strictEqual(RunLog.endOf(yield* store.log("t")), "RunAborted(requested)")
      yield* Fiber.interrupt(aborting)
      // the next caller gets the lock, and the session
      yield* Effect.forkChild(TestClock.adjust("10 minutes"))
      yield* made.agent.abort("s")
      yield* isOver(store)
    }))

  it.effect("applies to the run it found: one that starts meanwhile continues", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const { runId } = (yield* made.log)[0]!
      const opening = yield* Deferred.make<void>()
      const opened = yield* Deferred.make<void>()
      // another agent is faster: the session is busy for the abort, and then live with the next run
      const late = otherwise(made.store, {
        open: (sessionId, options) =>
          Effect.andThen(
            Deferred.succeed(opening, undefined),
            Effect.andThen(Deferred.await(opened), made.store.service.open(sessionId, options))
          )
      })
      const gate = yield* ScriptedModel.makeGate
      const runs = yield* sharedRuns
      const other = yield* TestAgent.make([[ScriptedModel.text("hello"), ScriptedModel.gate(gate)]], {
        store: made.store,
        runs
      })
      const { agent } = yield* TestAgent.make([], { store: late, runs })
      const aborting = yield* Effect.forkChild(agent.abort("s"))
      yield* Deferred.await(opening)
      const run = yield* other.agent.start({ sessionId: "s", input: "hello" })
      yield* gate.started
      yield* Deferred.succeed(opened, undefined)
      yield* Fiber.join(aborting)
      yield* gate.release
      assert.strictEqual((yield* run.result)._tag, "Completed")
      assert.deepStrictEqual(ends(yield* made.log), ["RunSuspended(approval)", "RunCompleted(stop)"])
      assert.notStrictEqual(run.runId, runId)
    }))

  it.effect("ends a waiting run while a request for an older run is replayed or refused", () =>
    Effect.gen(function*() {
      for (const input of ["hello", "something else"]) {
        const store = yield* TestStore.make()
        const made = yield* Suspended.before([ScriptedModel.text("hi"), TestAgent.work(1)], { store })
        yield* made.agent.run({ sessionId: "s", runId: "first", input: "hello" })
        yield* made.agent.run({ sessionId: "s", input: "go" })
        const opening = yield* Deferred.make<void>()
        const opened = yield* Deferred.make<void>()
        const late = otherwise(store, {
          lastOf: (sessionId, type, runId) =>
            Effect.andThen(
              runId === "first" && Deferred.doneUnsafe(opening, Effect.void) ? Deferred.await(opened) : Effect.void,
              store.service.lastOf(sessionId, type, runId)
            )
        })
        const runs = yield* sharedRuns
        const { agent } = yield* TestAgent.make([], { store: late, runs })
        const again = yield* Effect.forkChild(Effect.exit(agent.run({ sessionId: "s", runId: "first", input })))
        yield* Deferred.await(opening)
        const aborting = yield* Effect.forkChild(agent.abort("s"))
        yield* Effect.yieldNow
        yield* Deferred.succeed(opened, undefined)
        yield* Fiber.join(aborting)
        yield* Fiber.join(again)
        yield* isOver(store)
      }
    }))

  it.effect("ends the run it found although a request for an older run has the session meanwhile", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const made = yield* Suspended.before([ScriptedModel.text("hi"), TestAgent.work(1)], { store })
      yield* made.agent.run({ sessionId: "s", runId: "first", input: "hello" })
      yield* made.agent.run({ sessionId: "s", input: "go" })
      const [opening, opened, looking, looked] = yield* Effect.replicateEffect(Deferred.make<void>(), 4)
      const runs = yield* sharedRuns
      const late = otherwise(store, {
        open: (sessionId, options) =>
          Effect.andThen(
            Deferred.succeed(opening!, undefined),
            Effect.andThen(Deferred.await(opened!), store.service.open(sessionId, options))
          )
      })
      const slow = otherwise(store, {
        lastOf: (sessionId, type, runId) =>
          Effect.andThen(
            runId === "first" && Deferred.doneUnsafe(looking!, Effect.void) ? Deferred.await(looked!) : Effect.void,
            store.service.lastOf(sessionId, type, runId)
          )
      })
      const { agent } = yield* TestAgent.make([], { store: late, runs })
      const other = yield* TestAgent.make([], { store: slow, runs })
      const aborting = yield* Effect.forkChild(agent.abort("s"))
      yield* Deferred.await(opening!)
      const again = yield* Effect.forkChild(other.agent.run({ sessionId: "s", runId: "first", input: "hello" }))
      yield* Deferred.await(looking!)
      yield* Deferred.succeed(opened!, undefined)
      yield* Effect.yieldNow
      yield* Deferred.succeed(looked!, undefined)
      yield* Fiber.join(aborting)
      assert.strictEqual((yield* Fiber.join(again)).text, "hi")
      yield* isOver(store)
    }))

  it.effect("asks no reconciler about a run that has died twice in a row, or died while being aborted", () =>
    Effect.gen(function*() {
      let asked = 0
      const ask = Effect.sync(() => void asked++)
      const counted = Effect.provideService(Reconciler.Reconciler, {
        reconcile: () => Effect.as(ask, { _tag: "Done" as const, result: "paid" })
      })
      const twice = yield* DeadRun.of([...DeadRun.inTools("work"), ...DeadRun.again(2)])
      const made = yield* TestAgent.make([], { store: twice })
      yield* counted(made.agent.abort("s"))
      assert.deepStrictEqual([asked, RunLog.outcomes(yield* twice.log("s"))], [0, ["1.0 OutcomeUnknown"]])
      // once, during an abort that did not finish
      const again = yield* DeadRun.of([
        ...DeadRun.inTools("work"),
        DeadRun.crashed,
        Drafts.resumed(2, { cause: "recovery" }),
        { _tag: "AbortRequested", reason: "requested" }
      ])
      const { agent } = yield* TestAgent.make([], { store: again })
      yield* counted(agent.abort("s"))
      assert.deepStrictEqual([asked, RunLog.endOf(yield* again.log("s"))], [0, "RunAborted(requested)"])
    }))

  it.effect("reveals nothing of an answer that its agent's hooks have not seen", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make([TestAgent.work(1, "a"), TestAgent.work(2, "b")])
      yield* made.decide("1.0", { result: "card 4111" })
      const foreign = yield* Agent.make({ name: "other", instructions: "" }).pipe(
        Effect.provide(Layer.mergeAll(Fiberloop.layer, ScriptedModel.layer([]), made.store.layer))
      )
      yield* foreign.abort("s")
      assert.deepStrictEqual(RunLog.outcomes(yield* made.log), ["1.0 NotExecuted(aborted)", "1.1 NotExecuted(aborted)"])
    }))

  it.effect("keeps a limit the run has reached: resumed without new limits, it is limited again", () =>
    Effect.gen(function*() {
      const limited = { _tag: "RunLimited" as const, reason: "toolCalls" as const, totals: Drafts.aborted.totals }
      const store = yield* DeadRun.of([
        { ...Drafts.started("go"), agent: "test/Tested" },
        Drafts.turnStarted(1),
        Drafts.assistant([Drafts.call("work", { n: 1 })]),
        Drafts.settled("1.0", { _tag: "NotExecuted", reason: "limit" }),
        limited,
        Drafts.resumed(2)
      ])
      const { agent, script } = yield* TestAgent.make([], { store })
      yield* agent.abort("s")
      const result = yield* agent.resumeRun({ sessionId: "s" })
      assert.deepInclude(result, { _tag: "Limited", reason: "toolCalls" })
      assert.deepStrictEqual(yield* script.requests, [])
    }))

  it.effect("ends a run that a call waits for, unless its end was already requested", () =>
    Effect.gen(function*() {
      const parent = { sessionId: "outer", runId: "outer run", callId: "1.0" }
      for (const [reason, ends] of [["consumer", 2], ["requested", 1]] as const) {
        const store = yield* DeadRun.of([
          { ...Drafts.started("go"), parent },
          Drafts.turnStarted(1),
          { ...Drafts.aborted, reason }
        ])
        const { agent } = yield* TestAgent.make([], { store })
        yield* agent.abort("s")
        const log = yield* store.log("s")
        assert.lengthOf(RunLog.only(log, "RunAborted"), ends)
        assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
      }
    }))

  it.effect("names what it leaves behind", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.leftBy([TestAgent.work(1)])
      const { agent } = yield* TestAgent.make([], { store })
      const reconcile = () => Effect.uninterruptible(Effect.never)
      const aborting = yield* Effect.forkChild(
        Effect.provideService(agent.abort("s"), Reconciler.Reconciler, { reconcile })
      )
      yield* TestClock.adjust("10 minutes")
      yield* Fiber.join(aborting)
      const end = RunLog.only(yield* store.log("s"), "RunAborted").at(-1)
      assert.deepStrictEqual(end?.leftBehind, ["reconciler of work"])
    }))

  it.effect("fails when its agent is closed, and gives up when the agent closes meanwhile", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.leftBy([TestAgent.work(1)])
      const made = yield* TestAgent.make([], { store })
      const asked = yield* Deferred.make<void>()
      const reconcile = () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
      const aborting = yield* Effect.forkChild(
        Effect.flip(Effect.provideService(made.agent.abort("s"), Reconciler.Reconciler, { reconcile }))
      )
      yield* Deferred.await(asked)
      yield* made.close
      assert.strictEqual((yield* Fiber.join(aborting)).reason._tag, "ShuttingDown")
      assert.strictEqual((yield* Effect.flip(made.agent.abort("s"))).reason._tag, "ShuttingDown")
      const { agent } = yield* TestAgent.make([], { store })
      yield* agent.abort("s")
      yield* isOver(store)
    }))

  it.effect("leaves a run that is over as it is, however often it is aborted", () =>
    Effect.gen(function*() {
      for (const turn of [ScriptedModel.text("done"), ScriptedModel.finish("content-filter")]) {
        const { agent, store } = yield* TestAgent.make([turn])
        yield* Effect.exit(agent.run({ sessionId: "s", input: "go" }))
        const before = yield* store.log("s")
        yield* agent.abort("s")
        assert.deepStrictEqual(yield* store.log("s"), before)
      }
      const made = yield* Suspended.make()
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "AbortRequested"))
      made.store.onAppend = held.onAppend
      const both = yield* Effect.forkChild(
        Effect.all([made.agent.abort("s"), made.agent.abort("s")], { concurrency: "unbounded" })
      )
      yield* held.reached
      // everything ready runs before the first one is stored
      yield* TestClock.adjust("1 second")
      yield* held.release
      yield* Fiber.join(both)
      yield* made.agent.abort("s")
      assert.deepStrictEqual(RunLog.only(yield* made.log, "AbortRequested").length, 1)
    }))

  it.effect("can be undone by hand: a resumed run continues", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* made.agent.abort("s")
      assert.strictEqual(RunLog.endOf(yield* made.resume()), "RunCompleted(stop)")
      assert.deepStrictEqual(yield* made.read, ["Not executed: the run was aborted before this call."])
      assert.deepStrictEqual(RunLog.violations(yield* made.log), [])
    }))

  it.effect("is refused for an unknown session, and for one that another process has", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      assert.strictEqual((yield* Effect.flip(made.agent.abort("nobody"))).reason._tag, "SessionNotFound")
      const before = yield* made.log
      const error = yield* Effect.scoped(Effect.gen(function*() {
        yield* made.store.service.open("s", { runId: "theirs", create: false })
        const aborting = yield* Effect.forkChild(Effect.flip(made.agent.abort("s")))
        yield* TestClock.adjust("100 millis")
        return yield* Fiber.join(aborting)
      }))
      assert.deepInclude(error.reason, { _tag: "SessionBusy", sessionId: "s" })
      assert.include(error.message, "abort it in that process")
      assert.deepStrictEqual(yield* made.log, before)
    }))

  it.effect("fails when its store refuses it, and ends the run when asked again", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([[ScriptedModel.text("Once"), ScriptedModel.gate(gate)]])
      yield* agent.start({ sessionId: "s", input: "A story" })
      yield* gate.started
      store.onAppend = TestStore.failing(() => true)
      assert.strictEqual((yield* Effect.flip(agent.abort("s"))).reason._tag, "StoreUnavailable")
      assert.strictEqual((yield* store.service.info("s"))?.end, undefined)
      store.onAppend = ({ store }) => store
      yield* agent.abort("s")
      assert.deepStrictEqual(ends(yield* store.log("s")), ["RunAborted(crashed)", "RunAborted(requested)"])
      yield* isOver(store)
    }))

  it.effect("that is only half stored is carried out by whoever opens the session next", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "RunAborted"))
      made.store.onAppend = held.onAppend
      const aborting = yield* Effect.forkChild(made.agent.abort("s"))
      yield* held.reached
      assert.deepStrictEqual(tags(yield* made.log).slice(-2), ["RunResumed", "AbortRequested"])
      yield* held.release
      yield* Fiber.join(aborting)
      yield* isOver(made.store)
    }))

  it.effect("waits for the end of a run that is over while its store does not answer", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([[ScriptedModel.text("Once"), ScriptedModel.gate(gate)]])
      const run = yield* agent.start({ sessionId: "s", input: "A story" })
      yield* gate.started
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "AbortRequested"))
      store.onAppend = held.onAppend
      const aborting = yield* Effect.forkChild(agent.abort("s"))
      yield* held.reached
      yield* TestClock.adjust("1 minute")
      assert.include(yield* Effect.flip(run.result), {
        message:
          "the store did not take the end of the run within the grace period; check the store, or let Grace be longer"
      })
      yield* held.release
      yield* Fiber.join(aborting)
      assert.deepStrictEqual(tags(yield* store.log("s")).slice(-2), ["AbortRequested", "RunAborted"])
      yield* isOver(store)
    }))

  it.effect("also ends the previous run when the new one has nothing in the log yet", () =>
    Effect.gen(function*() {
      const made = yield* Suspended.make()
      yield* beforeFirstEvent(made)
      yield* isOver(made.store)
    }))

  it.effect("writes nothing when the session's first run has nothing in the log yet", () =>
    Effect.gen(function*() {
      const made = yield* TestAgent.make([])
      yield* beforeFirstEvent(made)
      assert.deepStrictEqual(yield* made.store.log("s"), [])
    }))

  it.effect("changes nothing when the run is resumed to its end, or another follows, before it has the session", () =>
    Effect.gen(function*() {
      for (const end of ["RunCompleted(stop)", "RunSuspended(approval)"]) {
        const made = yield* Suspended.make()
        yield* made.decide("1.0")
        const asking = { store: made.store, agent: { toolPolicy: { requireApprovalByDefault: true } } }
        const other = yield* TestAgent.make([TestAgent.work(2)], asking)
        const meanwhile: Effect.Effect<unknown, RunError.RunError> = end.startsWith("RunCompleted")
          ? made.resume()
          : other.agent.run({ sessionId: "s", input: "another" })
        const late = otherwise(made.store, {
          open: (sessionId, options) =>
            Effect.andThen(Effect.orDie(meanwhile), made.store.service.open(sessionId, options))
        })
        const { agent } = yield* TestAgent.make([], { store: late })
        yield* agent.abort("s")
        assert.deepStrictEqual(ends(yield* made.log), ["RunSuspended(approval)", end])
      }
    }))

  it.live("ends runs that another process left in a file, unless a drive has taken them up", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporaryFolder, "sessions.db")
      const [one, two] = yield* Effect.replicateEffect(SessionStoreSqlite.make({ filename }), 2)
      const ids = Array.from({ length: 20 }, (_, n) => `s${n}`)
      for (const id of ids) yield* DeadRun.write(TestStore.over(one!), id, DeadRun.unanswered("test/Tested", id))
      const aborting = yield* TestAgent.make([], { store: TestStore.over(one!) })
      const taking = yield* TestAgent.make(() => ScriptedModel.text("done"), { store: TestStore.over(two!) })
      const [found, refused] = yield* Effect.all([
        taking.agent.recover({ within: Infinity }),
        Effect.forEach(ids, (id) =>
          Effect.match(aborting.agent.abort(id), {
            onFailure: ({ reason }) => reason._tag,
            onSuccess: () => undefined
          }), { concurrency: "unbounded" })
      ], { concurrency: "unbounded" })
      const results = yield* Effect.forEach(found.runs, ({ result }) => result)
      assert.deepStrictEqual(found.refused, [])
      assert.deepStrictEqual(results.map(({ _tag }) => _tag), results.map(() => "Completed"))
      for (const [n, id] of ids.entries()) {
        const log = yield* TestStore.over(two!).log(id)
        const isTaken = found.runs.some(({ sessionId }) => sessionId === id)
        assert.include(
          isTaken ? ["RunCompleted(stop)"] : ["RunAborted(requested)"],
          RunLog.endOf(log),
          `${id} ${refused[n]}`
        )
        assert.deepStrictEqual(RunLog.violations(log), [])
      }
    }))
})
