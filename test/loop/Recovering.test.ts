/** Runs that ended with their process and are taken up by another. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { join } from "node:path"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as SessionErrors from "../../src/layers/store/SessionErrors.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as Reconciler from "../../src/services/Reconciler.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import * as Family from "../support/Family.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const idsOf = (runs: ReadonlyArray<{ readonly sessionId: string }>) => runs.map(({ sessionId }) => sessionId)
const ends = (log: ReadonlyArray<RunEvent.RunEvent>) => log.filter(RunEvent.isEnd).map((end) => RunLog.endOf([end]))

describe("what is taken up", () => {
  it.effect("a run whose process died, with its calls handled as declared", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.leftBy([ScriptedModel.call("again", { n: 1 })])
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      const { refused, runs } = yield* agent.recover()
      assert.deepStrictEqual(refused, [])
      assert.deepStrictEqual(idsOf(runs), ["s"])
      const result = yield* runs[0]!.result
      assert.deepStrictEqual([result._tag, result.text], ["Completed", "done"])
      const log = yield* store.log("s")
      assert.deepStrictEqual(ends(log), ["RunAborted(crashed)", "RunCompleted(stop)"])
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.deepStrictEqual(RunLog.only(log, "RunResumed").map(({ cause }) => cause), ["recovery"])
      assert.deepStrictEqual((yield* agent.recover()).runs, [])
    }))

  it.effect("a run whose process was shut down, in a later process", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const first = yield* TestAgent.make([[ScriptedModel.text("Once"), ScriptedModel.gate(gate)]])
      yield* first.agent.start({ sessionId: "s", input: "A story" })
      yield* gate.started
      yield* first.close
      assert.deepStrictEqual(ends(yield* first.store.log("s")), ["RunAborted(shutdown)"])
      const { agent } = yield* TestAgent.make([ScriptedModel.text("The end.")], { store: first.store })
      const { runs } = yield* agent.recover()
      assert.strictEqual((yield* runs[0]!.result).text, "The end.")
    }))

  it.effect("a run whose readers see its events from the new drive on", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      yield* DeadRun.write(store, "s", DeadRun.unanswered())
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      const { runs: [run] } = yield* agent.recover()
      const events = yield* Stream.runCollect(run!.events)
      const facts = events.filter(RunEvent.isDurable)
      assert.deepStrictEqual(facts, (yield* store.log("s")).slice(-facts.length))
      assert.include(facts.map(({ _tag }) => _tag), "RunResumed")
    }))

  it.effect("no more runs than asked for, and the others on the next look", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const ids = Array.from({ length: 5 }, (_, n) => `s${n}`)
      for (const id of ids) yield* DeadRun.write(store, id, DeadRun.unanswered("test/Tested", id))
      const { agent } = yield* TestAgent.make(ids.map(() => ScriptedModel.text("done")), { store })
      const taken: Array<string> = []
      for (const expected of [2, 2, 1, 0]) {
        const { runs } = yield* agent.recover({ limit: 2 })
        assert.lengthOf(runs, expected)
        yield* Effect.forEach(runs, ({ result }) => result)
        taken.push(...idsOf(runs))
      }
      assert.sameMembers(taken, ids)
    }))

  it.effect("every run when there is more than a page of them, mixed with others", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const ids = Array.from({ length: 240 }, (_, n) => `s${n}`)
      for (const [n, id] of ids.entries()) {
        yield* DeadRun.write(store, id, DeadRun.unanswered(n % 2 === 0 ? "app/Other" : "test/Tested", id))
      }
      const { agent } = yield* TestAgent.make(
        ids.map(() => ScriptedModel.text("done")),
        { store }
      )
      const { runs } = yield* agent.recover({ limit: Infinity })
      assert.sameMembers(idsOf(runs), ids.filter((_, n) => n % 2 === 1))
    }))

  it.live("each run in one process only, however many look at once", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporaryFolder, "sessions.db")
      const ids = Array.from({ length: 20 }, (_, n) => `s${n}`)
      const stores = yield* Effect.replicateEffect(SessionStoreSqlite.make({ filename }), 3)
      for (const id of ids) {
        yield* DeadRun.write(TestStore.over(stores[0]!), id, DeadRun.unanswered("test/Tested", id))
      }
      const looks = yield* Effect.forEach(stores, (store) =>
        Effect.gen(function*() {
          const { agent } = yield* TestAgent.make(() => ScriptedModel.text("done"), { store: TestStore.over(store) })
          const { refused, runs } = yield* agent.recover({ within: Infinity })
          assert.deepStrictEqual(refused, [])
          yield* Effect.forEach(runs, ({ result }) => result)
          return idsOf(runs)
        }), { concurrency: "unbounded" })
      assert.deepStrictEqual(looks.flat().toSorted(), ids.toSorted())
      for (const id of ids) {
        const log = yield* Stream.runCollect(stores[0]!.read(id))
        assert.deepStrictEqual(ends(log), ["RunAborted(crashed)", "RunCompleted(stop)"])
      }
    }))

  it.effect("a run that keeps dying, after ever longer waits, until it is ended instead", () =>
    Effect.gen(function*() {
      for (const [deaths, minutes] of [[1, 0], [2, 1], [3, 4], [4, 16]] as const) {
        const store = yield* DeadRun.of([...DeadRun.inTools("look"), ...DeadRun.again(deaths)].map(ours))
        const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
        const { at } = (yield* store.log("s")).at(-1)!
        yield* TestClock.setTime(at + minutes * 60_000 - 1)
        if (minutes > 0) assert.lengthOf((yield* agent.recover()).runs, 0)
        yield* TestClock.adjust(1)
        const { runs } = yield* agent.recover()
        assert.strictEqual((yield* runs[0]!.result)._tag, "Completed")
      }
      const store = yield* DeadRun.of([...DeadRun.inTools("work"), ...DeadRun.again(5)].map(ours))
      const { agent, script } = yield* TestAgent.make([], { store })
      yield* TestClock.adjust("2 hours")
      const { runs } = yield* agent.recover()
      assert.strictEqual((yield* runs[0]!.result)._tag, "Limited")
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunLimited(crashLoop)")
      assert.deepStrictEqual((yield* agent.recover()).runs, [])
      assert.lengthOf(yield* script.requests, 0)
    }))

  it.effect("a run that keeps dying, also if the clock was set back since by more than it waits", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.of([...DeadRun.inTools("look"), ...DeadRun.again(2)].map(ours))
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      yield* TestClock.setTime((yield* store.log("s")).at(-1)!.at - 60_000)
      assert.lengthOf((yield* agent.recover()).runs, 1)
    }))

  it.effect("runs that keep dying, one after the other, none waiting for one that cannot be taken up", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      for (const id of ["a", "b", "c"]) yield* DeadRun.write(store, id, dyingAgain(3, id))
      yield* DeadRun.write(store, "well", DeadRun.unanswered("test/Tested", "well"))
      const gates = yield* Effect.replicateEffect(ScriptedModel.makeGate, 3)
      const open: typeof store.service.open = (id, options) =>
        id === "c" ? Effect.fail(SessionErrors.refused("broken")) : store.service.open(id, options)
      const { agent } = yield* TestAgent.make(
        gates.map((gate) => [ScriptedModel.gate(gate), ScriptedModel.text("done")]),
        { store: TestStore.over({ ...store.service, open }) }
      )
      yield* TestClock.adjust("1 hour")
      const first = yield* agent.recover()
      assert.deepStrictEqual(idsOf(first.runs).toSorted(), ["b", "well"])
      assert.deepStrictEqual(idsOf(first.refused), ["c"])
      // that one is still running
      assert.lengthOf((yield* agent.recover()).runs, 0)
      for (const gate of gates) yield* gate.release
      yield* Effect.forEach(first.runs, ({ result }) => result)
      assert.deepStrictEqual(idsOf((yield* agent.recover()).runs), ["a"])
    }))

  it.effect("a run whose process was shut down, by the same request sent again", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const first = yield* TestAgent.make([[ScriptedModel.text("Once"), ScriptedModel.gate(gate)]])
      const request = { sessionId: "s", runId: "r", input: "A story" }
      yield* first.agent.start(request)
      yield* gate.started
      yield* first.close
      const { agent } = yield* TestAgent.make([ScriptedModel.text("The end.")], { store: first.store })
      assert.strictEqual((yield* agent.run(request)).text, "The end.")
    }))

  it.effect("a run that is aborted meanwhile, which ends aborted", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      yield* DeadRun.write(store, "s", DeadRun.unanswered())
      const [opening, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const slow = TestStore.over({
        ...store.service,
        open: (id, options) =>
          Deferred.succeed(opening, undefined).pipe(
            Effect.andThen(Deferred.await(go)),
            Effect.andThen(store.service.open(id, options))
          )
      })
      const { agent, script } = yield* TestAgent.make([ScriptedModel.text("done")], { store: slow })
      const looking = yield* Effect.forkChild(agent.recover())
      yield* Deferred.await(opening)
      const run = yield* agent.liveIn("s")
      const aborting = yield* Effect.forkChild(run!.abort)
      yield* Effect.yieldNow
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(aborting)
      yield* Fiber.join(looking)
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(requested)")
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
      assert.deepStrictEqual(yield* agent.recover(), { runs: [], refused: [] })
      assert.lengthOf(yield* script.requests, 0)
    }))

  it.effect("a run that was being aborted, only to be given that end", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.left({ wasAborted: true })
      const { agent, script } = yield* TestAgent.make([], { store })
      const { runs } = yield* agent.recover()
      assert.strictEqual((yield* runs[0]!.result)._tag, "Aborted")
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(requested)")
      assert.deepStrictEqual((yield* agent.recover()).runs, [])
      assert.lengthOf(yield* script.requests, 0)
    }))

  it.effect("a run that was being aborted, and all others while its reconciler is asked what became of its calls", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.left({ wasAborted: true })
      for (const id of ["s1", "s2"]) yield* DeadRun.write(store, id, DeadRun.unanswered("test/Tested", id))
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done"), ScriptedModel.text("done")], { store })
      const [asked, answers] = [yield* Deferred.make<void>(), yield* Deferred.make<Reconciler.Answer>()]
      const reconcile = () => Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(answers))
      const { runs } = yield* Effect.provideService(agent.recover(), Reconciler.Reconciler, { reconcile })
      assert.sameMembers(idsOf(runs), ["s", "s1", "s2"])
      const ended = (id: string) =>
        Effect.map(runs.find(({ sessionId }) => sessionId === id)!.result, ({ _tag }) => _tag)
      assert.deepStrictEqual([yield* ended("s1"), yield* ended("s2")], ["Completed", "Completed"])
      yield* Deferred.await(asked)
      assert.deepStrictEqual(yield* agent.recover(), { runs: [], refused: [] })
      yield* Deferred.succeed(answers, { _tag: "Done", result: "paid" })
      assert.strictEqual(yield* ended("s"), "Aborted")
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded", "1.1 Succeeded"])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))
})

/** A run that died this many times in a row before its model answered. */
const dyingAgain = (deaths: number, id: string): ReadonlyArray<Drafts.Placed> =>
  [...DeadRun.unanswered("test/Tested", id), ...DeadRun.again(deaths)].map((draft) => ({
    ...draft,
    runId: `${id} run`
  }))

/** By the agent that takes it up. */
const ours = (draft: Drafts.Placed): Drafts.Placed =>
  draft._tag === "RunStarted" ? { ...draft, agent: "test/Tested" } : draft

describe("what is left alone", () => {
  it.effect("runs that have their end, including aborted ones", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const log = [Drafts.started("go"), Drafts.turnStarted(1)].map(ours)
      yield* DeadRun.write(store, "requested", [...log, { ...Drafts.aborted, reason: "requested" }])
      yield* DeadRun.write(store, "consumer", [...log, { ...Drafts.aborted, reason: "consumer" }])
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      yield* agent.run({ sessionId: "completed", input: "go" })
      assert.deepStrictEqual(yield* agent.recover(), { runs: [], refused: [] })
    }))

  it.effect("runs of other agents, and those that work for a call", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      yield* DeadRun.write(store, "other", DeadRun.unanswered("app/Other"))
      const parent = { sessionId: "outer", runId: "outer run", callId: "1.0" }
      yield* DeadRun.write(
        store,
        "below",
        DeadRun.unanswered().map((draft) => draft._tag === "RunStarted" ? { ...draft, parent } : draft)
      )
      const before = [yield* store.log("other"), yield* store.log("below")]
      const { agent } = yield* TestAgent.make([], { store })
      assert.deepStrictEqual(yield* agent.recover({ answered: true }), { runs: [], refused: [] })
      assert.deepStrictEqual([yield* store.log("other"), yield* store.log("below")], before)
    }))

  it.effect("a run that was last heard of longer ago than asked for", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      yield* DeadRun.write(store, "s", DeadRun.unanswered())
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      yield* TestClock.setTime(8 * 86_400_000)
      assert.lengthOf((yield* agent.recover()).runs, 0)
      assert.lengthOf((yield* agent.recover({ within: "190 hours" })).runs, 0)
      assert.lengthOf((yield* agent.recover({ within: Infinity })).runs, 1)
    }))

  it.effect("a run that is live", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const store = yield* TestStore.make()
      const first = yield* TestAgent.make([[ScriptedModel.gate(gate), ScriptedModel.text("done")]], { store })
      const run = yield* first.agent.start({ sessionId: "s", input: "go" })
      yield* gate.started
      const second = yield* TestAgent.make([], { store })
      for (const { agent } of [first, second]) assert.deepStrictEqual(yield* agent.recover(), { runs: [], refused: [] })
      yield* gate.release
      assert.strictEqual((yield* run.result)._tag, "Completed")
    }))

  for (
    const [what, end] of [
      ["ends", Drafts.completed()],
      ["is aborted", { ...Drafts.aborted, reason: "requested" as const }],
      ["dies again", DeadRun.crashed]
    ] as const
  ) {
    it.effect(`a run that another process took up and that ${what} meanwhile`, () =>
      Effect.gen(function*() {
        const store = yield* TestStore.make()
        yield* DeadRun.write(store, "s", DeadRun.unanswered())
        const other = Effect.gen(function*() {
          const session = yield* store.service.open("s", { runId: "r", create: false })
          const drafts = [...DeadRun.unanswered(), DeadRun.crashed, Drafts.resumed(2, { cause: "recovery" }), end]
          yield* session.append(Drafts.log(...drafts).slice(2) as never)
        }).pipe(Effect.scoped, Effect.orDie)
        let isFirst = true
        const open: typeof store.service.open = (id, options) => {
          if (!isFirst) return store.service.open(id, options)
          isFirst = false
          return Effect.andThen(other, store.service.open(id, options))
        }
        const raced = TestStore.over({ ...store.service, open })
        const { agent, script } = yield* TestAgent.make([], { store: raced })
        assert.deepStrictEqual(yield* agent.recover(), { runs: [], refused: [] })
        assert.isFalse(isFirst)
        assert.lengthOf(yield* script.requests, 0)
        assert.lengthOf(yield* store.log("s"), 5)
      }))
  }
})

describe("runs that wait for people", () => {
  const asking = { agent: { toolPolicy: { requireApprovalByDefault: true } } }

  it.effect("are taken up on request once every question is answered", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make(
        [[TestAgent.work(1), TestAgent.work(2)], ScriptedModel.text("done")],
        asking
      )
      yield* agent.run({ sessionId: "s", runId: "r", input: "go" })
      const nothing = { runs: [], refused: [] }
      for (const n of [0, 1]) {
        assert.deepStrictEqual(yield* agent.recover({ answered: true }), nothing)
        yield* agent.decide({ sessionId: "s", approvalId: `r/1.${n}`, approved: true })
      }
      assert.deepStrictEqual(yield* agent.recover(), nothing)
      const { runs: [run] } = yield* agent.recover({ answered: true })
      assert.strictEqual((yield* run!.result).text, "done")
      assert.deepStrictEqual(RunLog.only(yield* store.log("s"), "RunResumed").map(({ cause }) => cause), ["approval"])
    }))

  it.effect("are taken up by the run around them once every question below a call is answered", () =>
    Effect.gen(function*() {
      const { agent, logs, root } = yield* Family.make()
      yield* root({ turns: [[{ turns: [[{ by: "buy" }]] }]] })
      assert.lengthOf((yield* agent.recover({ answered: true })).runs, 0)
      for (const { id, sessionId } of yield* agent.approvals("root")) {
        yield* agent.decide({ sessionId, approvalId: id, approved: true })
      }
      const { runs } = yield* agent.recover({ answered: true })
      assert.deepStrictEqual(idsOf(runs), ["root"])
      assert.strictEqual((yield* runs[0]!.result)._tag, "Completed")
      assert.deepStrictEqual(Family.violations(yield* logs, false), [])
    }))

  it.effect("are taken up once their questions have expired", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("done")], {
        agent: { toolPolicy: { requireApprovalByDefault: true, approvalTimeout: "1 hour" } }
      })
      yield* agent.run({ sessionId: "s", input: "go" })
      assert.lengthOf((yield* agent.recover({ answered: true })).runs, 0)
      yield* TestClock.adjust("2 hours")
      const { runs: [run] } = yield* agent.recover({ answered: true })
      assert.strictEqual((yield* run!.result).text, "done")
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Denied"])
    }))
})

describe("runs that wait for people for longer than is looked back", () => {
  const isTaken = (agent: Family.Client, input: object = {}) =>
    Effect.map(agent.recover({ answered: true, ...input }), ({ runs }) => idsOf(runs))

  it.effect("are taken up once every question below a call is answered", () =>
    Effect.gen(function*() {
      const { agent, root } = yield* Family.make()
      yield* root({ turns: [[{ turns: [[{ by: "buy" }]] }]] })
      yield* TestClock.adjust("8 days")
      assert.deepStrictEqual(yield* isTaken(agent), [])
      const [question] = yield* agent.approvals("root")
      yield* agent.decide({ sessionId: question!.sessionId, approvalId: question!.id, approved: true })
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* isTaken(agent), ["root"])
    }))

  it.effect("are taken up once their questions have expired", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("done")], {
        agent: { toolPolicy: { requireApprovalByDefault: true, approvalTimeout: "10 days" } }
      })
      yield* agent.run({ sessionId: "s", input: "go" })
      yield* TestClock.adjust("9 days")
      assert.deepStrictEqual(yield* isTaken(agent), [])
      yield* TestClock.adjust("1 day")
      const { runs: [run] } = yield* agent.recover({ answered: true })
      assert.strictEqual((yield* run!.result).text, "done")
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")), ["1.0 Denied"])
    }))

  it.effect("are left alone where they were answered, or their questions expired, longer ago than is looked back", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make(
        [TestAgent.work(1), TestAgent.work(1), ScriptedModel.text("done"), ScriptedModel.text("done")],
        { agent: { toolPolicy: { requireApprovalByDefault: true, approvalTimeout: "10 days" } } }
      )
      for (const sessionId of ["expired", "answered"]) yield* agent.run({ sessionId, runId: sessionId, input: "go" })
      yield* TestClock.adjust("9 days")
      yield* agent.decide({ sessionId: "answered", approvalId: "answered/1.0", approved: true })
      yield* TestClock.adjust("9 days")
      assert.deepStrictEqual(yield* isTaken(agent), [])
      assert.sameMembers(yield* isTaken(agent, { within: Infinity }), ["expired", "answered"])
    }))
})

describe("what cannot be taken up", () => {
  it.effect("is reported with its error, and keeps no other run from being taken up", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const [started, turn] = DeadRun.unanswered()
      yield* DeadRun.write(store, "newer", [started!, { ...turn!, version: RunEvent.version + 1 } as never])
      yield* DeadRun.write(store, "s", DeadRun.unanswered())
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      const { refused, runs } = yield* agent.recover({ limit: 1 })
      assert.deepStrictEqual(idsOf(runs), ["s"])
      const again = yield* agent.recover()
      assert.deepStrictEqual(again.refused.map(({ error, sessionId }) => [sessionId, error.reason._tag]), [
        ["newer", "StoreRefused"]
      ])
      assert.isAtMost(refused.length, 1)
    }))

  it.effect("is everything when the store cannot be asked", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const down = TestStore.over({ ...store.service, list: () => Effect.fail(SessionErrors.unavailable("down")) })
      const { agent } = yield* TestAgent.make([], { store: down })
      assert.strictEqual((yield* Effect.flip(agent.recover())).reason._tag, "StoreUnavailable")
    }))

  it.effect("is everything after the store is lost partway", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const ids = Array.from({ length: 6 }, (_, n) => `s${n}`)
      for (const id of ids) yield* DeadRun.write(store, id, DeadRun.unanswered("test/Tested", id))
      let opened = 0
      let isDown = true
      const failing = TestStore.over({
        ...store.service,
        open: (id, options) =>
          ++opened > 2 && isDown ? Effect.fail(SessionErrors.unavailable("down")) : store.service.open(id, options)
      })
      const { agent } = yield* TestAgent.make(ids.map(() => ScriptedModel.text("done")), { store: failing })
      const { refused, runs, stoppedBy } = yield* agent.recover()
      assert.deepStrictEqual([runs.length, refused.length, stoppedBy?.reason._tag], [2, 2, "StoreUnavailable"])
      isDown = false
      assert.lengthOf((yield* agent.recover()).runs, 4)
    }))

  it.effect("is only what the store fails for, when it does not fail time after time", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const ids = Array.from({ length: 6 }, (_, n) => `s${n}`)
      for (const id of ids) yield* DeadRun.write(store, id, DeadRun.unanswered("test/Tested", id))
      let opened = 0
      const shaky = TestStore.over({
        ...store.service,
        open: (id, options) =>
          ++opened % 3 > 0 ? Effect.fail(SessionErrors.unavailable("down")) : store.service.open(id, options)
      })
      const { agent } = yield* TestAgent.make(ids.map(() => ScriptedModel.text("done")), { store: shaky })
      const { refused, runs, stoppedBy } = yield* agent.recover()
      assert.deepStrictEqual([runs.length, refused.length, stoppedBy], [2, 4, undefined])
    }))

  it.effect("is everything when the agent is closed or the input is wrong", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      yield* DeadRun.write(store, "s", DeadRun.unanswered())
      const { agent, close } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      const reasonOf = (input: object) =>
        Effect.map(Effect.flip(agent.recover(input)), ({ message, reason }) => [reason._tag, message])
      for (
        const [input, says] of [
          [{ limit: 0 }, "limit must be a whole number of at least 1; it is 0"],
          [{ limit: 1.5 }, "limit must be a whole number of at least 1; it is 1.5"],
          [{ answered: "yes" }, "answered must be true or false"],
          [{ every: 1 }, `recover has no "every"; it has limit, answered, within`],
          [{ within: "long" }, "within must be a duration, or Infinity"],
          [{ within: 0 }, "within must be a duration, or Infinity"]
        ] as const
      ) {
        assert.deepStrictEqual(yield* reasonOf(input), ["InvalidInput", says])
      }
      yield* close
      assert.strictEqual((yield* reasonOf({}))[0], "ShuttingDown")
      assert.lengthOf(yield* store.log("s"), 2)
    }))

  it.effect("a run continues even if the caller of recover leaves while it is taken up", () =>
    Effect.gen(function*() {
      const [began, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const store = yield* TestStore.make()
      yield* DeadRun.write(store, "s", DeadRun.unanswered())
      store.onAppend = ({ n, store }) =>
        n === 2 ? Effect.andThen(Deferred.succeed(began, undefined), Effect.andThen(Deferred.await(go), store)) : store
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      const looking = yield* Effect.forkChild(agent.recover())
      yield* Deferred.await(began)
      yield* Fiber.interrupt(looking)
      const run = yield* agent.liveIn("s")
      yield* Deferred.succeed(go, undefined)
      assert.strictEqual((yield* run!.result)._tag, "Completed")
    }))
})
