/** Where sessions stand, for a caller that has no agent. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunEvent from "../src/run/RunEvent.ts"
import * as RunState from "../src/run/RunState.ts"
import * as Transcript from "../src/run/Transcript.ts"
import { SessionStore } from "../src/services/SessionStore.ts"
import * as Sessions from "../src/Sessions.ts"
import * as ScriptedModel from "../src/testing/ScriptedModel.ts"
import * as Approvals from "./support/Approvals.ts"
import * as DeadRun from "./support/DeadRun.ts"
import * as Drafts from "./support/Drafts.ts"
import * as Family from "./support/Family.ts"
import * as Gated from "./support/Gated.ts"
import * as RunLog from "./support/RunLog.ts"
import * as TestAgent from "./support/TestAgent.ts"
import * as TestStore from "./support/TestStore.ts"

const asks = { toolPolicy: { requireApprovalByDefault: true } }

const listed = (asking: typeof Sessions.asking) =>
  Effect.map(
    Stream.runCollect(asking),
    (all) => all.map(({ approvals, session }) => [session.sessionId, ...approvals.map(({ id }) => id)])
  )

const asking = listed(Sessions.asking)

it.effect("what waits in all sessions is found, the most recent question first, until it is answered", () =>
  Effect.gen(function*() {
    const { agent, store } = yield* TestAgent.make(
      [TestAgent.work(1), [TestAgent.work(1), TestAgent.work(2)], ScriptedModel.text("done")],
      { agent: asks }
    )
    const found = Effect.provideService(asking, SessionStore, store.service)
    assert.deepStrictEqual(yield* found, [])
    for (const [sessionId, runId] of [["one", "r1"], ["two", "r2"], ["three", "r3"]] as const) {
      yield* TestClock.adjust("1 second")
      yield* agent.run({ sessionId, runId, input: "go" })
    }
    assert.deepStrictEqual(yield* found, [["two", "r2/1.0", "r2/1.1"], ["one", "r1/1.0"]])
    yield* agent.decide({ sessionId: "two", approvalId: "r2/1.0", approved: true })
    yield* agent.decide({ sessionId: "one", approvalId: "r1/1.0", approved: false })
    assert.deepStrictEqual(yield* found, [["two", "r2/1.1"]])
  }))

it.effect("a question below a call is found once, in its own session, and also by way of the session around it", () =>
  Effect.gen(function*() {
    const made = yield* Family.make()
    yield* made.root({ turns: [[{ turns: [[{ by: "buy" }]] }]] })
    const child = "root//1.0"
    const found = Effect.provideService(asking, SessionStore, made.store.service)
    assert.deepStrictEqual(yield* found, [[child, `${child}/1.0`]])
    const around = Effect.provideService(Sessions.approvals("root"), SessionStore, made.store.service)
    assert.deepStrictEqual((yield* around).map(({ sessionId }) => sessionId), [child])
  }))

describe("a question below a call, where a tenant's sessions are named", () => {
  const child = "acme%2F1/r/1.0"
  const question = `${child}/1.0`
  /** Sessions of two tenants: a call of each waits for a run, in a session of its own, that asks a person. */
  const tenants = Effect.gen(function*() {
    const { agent, store } = yield* Family.make()
    const input = JSON.stringify({ turns: [[{ turns: [[{ by: "buy" }]] }]] })
    for (const sessionId of ["acme/1", "globex/1"]) yield* agent.run({ sessionId, runId: "r", input })
    return { agent, store, found: (options: Sessions.ListOptions) => within(Sessions.askingIn(options), store) }
  })
  const within = (asking: typeof Sessions.asking, { service }: TestStore.TestStore) =>
    Effect.provideService(Stream.runCollect(asking), SessionStore, service)
  const idsOf = (all: ReadonlyArray<Sessions.Asking>) =>
    all.map(({ approvals, session }) => [session.sessionId, ...approvals.map(({ id }) => id)])

  it.effect("is found with the session that waits for it, and decided in its own", () =>
    Effect.gen(function*() {
      const { agent, found, store } = yield* tenants
      const all = yield* found({ prefix: "acme/" })
      assert.deepStrictEqual(idsOf(all), [["acme/1", question]])
      const [{ id, sessionId } = { id: "", sessionId: "" }] = all[0]?.approvals ?? []
      assert.strictEqual(sessionId, child)
      yield* Effect.provideService(
        Sessions.decide({ sessionId, approvalId: id, approved: true }),
        SessionStore,
        store.service
      )
      assert.deepStrictEqual(yield* found({ prefix: "acme/" }), [])
      assert.strictEqual((yield* agent.resumeRun({ sessionId: "acme/1" }))._tag, "Completed")
    }))

  it.effect("is found in a list of those that no agent began, too", () =>
    Effect.gen(function*() {
      const { found } = yield* tenants
      assert.sameDeepMembers(idsOf(yield* found({ parents: [undefined] })), [
        ["acme/1", question],
        ["globex/1", question.replace("acme", "globex")]
      ])
    }))

  it.effect("is found once where its own session is named as well", () =>
    Effect.gen(function*() {
      const { found } = yield* tenants
      const all = yield* found({ prefix: "acme" })
      assert.deepStrictEqual(all.flatMap(({ approvals }) => approvals.map(({ id }) => id)), [question])
      assert.deepStrictEqual(idsOf(yield* found({ prefix: "acme%2F1/" })), [[child, question]])
    }))
})

describe("questions of runs that are not suspended", () => {
  const dead = [
    Drafts.started("go"),
    Drafts.turnStarted(1),
    Drafts.assistant([Drafts.call("work", { n: 1 })]),
    Drafts.approvalRequested("1.0")
  ]
  /** Sessions that were suspended, whose process died, whose run goes on and asks nothing, and whose approver has been asked. */
  const standing = Effect.gen(function*() {
    const store = yield* TestStore.make()
    yield* DeadRun.write(store, "a/suspended", [...dead, Drafts.suspended])
    yield* DeadRun.write(store, "a/dead", dead)
    yield* DeadRun.write(store, "b/quiet", DeadRun.unanswered())
    yield* DeadRun.write(store, "b/over", [Drafts.started("go"), Drafts.completed()])
    const approver = Approvals.desk()
    const there = yield* Approvals.make([TestAgent.work(1), ScriptedModel.text("done")], { approver, store })
    const run = yield* there.agent.start({ sessionId: "b/live", runId: "r", input: "go" })
    yield* approver.asked("1.0")
    const found = (options?: Sessions.ListOptions) =>
      Effect.provideService(listed(Sessions.askingIn(options)), SessionStore, store.service)
    const decide = (decision: Sessions.Decision) =>
      Effect.provideService(Sessions.decide(decision), SessionStore, store.service)
    return { decide, found, run, store }
  })

  it.effect("are found with those of all others, until they are answered", () =>
    Effect.gen(function*() {
      const { decide, found, run } = yield* standing
      assert.sameDeepMembers(yield* found(), [
        ["b/live", "r/1.0"],
        ["a/dead", "1.0"],
        ["a/suspended", "1.0"]
      ])
      yield* decide({ sessionId: "b/live", approvalId: "r/1.0", approved: true })
      yield* run.result
      yield* decide({ sessionId: "a/dead", approvalId: "1.0", approved: false })
      assert.deepStrictEqual(yield* found(), [["a/suspended", "1.0"]])
    }))

  it.effect("are those of the sessions that were named, whatever else is", () =>
    Effect.gen(function*() {
      const { found, store } = yield* standing
      assert.deepStrictEqual(yield* found({ prefix: "b/" }), [["b/live", "r/1.0"]])
      assert.deepStrictEqual(yield* found({ ends: ["RunSuspended"] }), [["a/suspended", "1.0"]])
      assert.deepStrictEqual(yield* found({ unowned: true, ends: [undefined] }), [["a/dead", "1.0"]])
      assert.deepStrictEqual(yield* Effect.provideService(asking, SessionStore, store.service), [
        ["a/suspended", "1.0"]
      ])
    }))
})

describe("with the store alone", () => {
  const alone = <A, E>(effect: Effect.Effect<A, E, SessionStore>, { service }: TestStore.TestStore) =>
    Effect.provideService(effect, SessionStore, service)
  const suspended = Effect.gen(function*() {
    const made = yield* TestAgent.make([[TestAgent.work(1), TestAgent.work(2)], ScriptedModel.text("done")], {
      agent: asks
    })
    yield* made.agent.run({ sessionId: "s", runId: "r", input: "go" })
    return made
  })

  it.effect("a person says yes and no, and the agent goes on with that", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* suspended
      yield* alone(Sessions.decide({ sessionId: "s", approvalId: "r/1.0", approved: true, by: "ann" }), store)
      yield* alone(Sessions.decide({ sessionId: "s", approvalId: "r/1.1", approved: false, reason: "not now" }), store)
      assert.strictEqual((yield* agent.resumeRun({ sessionId: "s" })).text, "done")
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("s")).sort(), ["1.0 Succeeded", "1.1 Denied"])
    }))

  it.effect("a question takes one answer, and none that edits", () =>
    Effect.gen(function*() {
      const { store } = yield* suspended
      const yes = { sessionId: "s", approvalId: "r/1.0", approved: true }
      for (const edit of [{ params: { n: 2 } }, { result: "done" }]) {
        const error = yield* Effect.flip(alone(Sessions.decide({ ...yes, ...edit }), store))
        assert(error.reason._tag === "InvalidInput")
        assert.deepStrictEqual([error.reason.field], Object.keys(edit))
      }
      yield* alone(Sessions.decide(yes), store)
      const again = yield* Effect.flip(alone(Sessions.decide({ ...yes, approved: false }), store))
      assert.strictEqual(again.reason._tag, "ApprovalNotOpen")
      const answers = RunLog.only(yield* store.log("s"), "ApprovalResolved")
      assert.deepStrictEqual(answers.map(({ approved, callId }) => [callId, approved]), [["1.0", true]])
    }))

  it.effect("a run that waits is aborted, and one that is live is where it lives", () =>
    Effect.gen(function*() {
      const { store } = yield* suspended
      yield* alone(Sessions.abort("s"), store)
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(requested)")
      const { gate, run, store: other } = yield* Gated.start()
      const busy = alone(Sessions.decide({ sessionId: "s", approvalId: "r/1.0", approved: true }), other)
      assert.strictEqual((yield* Effect.flip(busy)).reason._tag, "ApprovalNotOpen")
      const aborting = yield* Effect.forkChild(alone(Sessions.abort("s"), other))
      yield* gate.closed
      yield* Fiber.join(aborting)
      assert.strictEqual((yield* run.result)._tag, "Aborted")
    }))
})

it.effect("what a person gave as a result is not told where the run's own hooks cannot look at it, also of an agent without a name", () =>
  Effect.gen(function*() {
    const store = yield* DeadRun.of([
      { ...Drafts.started("go"), agent: "agent" },
      Drafts.turnStarted(1),
      Drafts.assistant([Drafts.call("work", { n: 1 })]),
      Drafts.approvalRequested("1.0"),
      Drafts.suspended,
      { ...Drafts.approvalResolved("1.0"), approved: true, result: "a secret" }
    ])
    yield* Effect.provideService(Sessions.abort("s"), SessionStore, store.service)
    const [settled] = RunLog.only(yield* store.log("s"), "ToolSettled")
    assert.deepStrictEqual(settled?.outcome, { _tag: "NotExecuted", reason: "aborted" })
  }))

describe("the session to resume", () => {
  const outermost = (store: TestStore.TestStore, sessionId: string) =>
    Effect.provideService(Sessions.outermost(sessionId), SessionStore, store.service)
  const at = (sessionId: string, runId = "run-1", callId = "1.0") => ({ sessionId, runId, callId })
  const open = DeadRun.inTools("look")
  const below = (parent: ReturnType<typeof at>) => [{ ...Drafts.started("go"), parent }]

  it.effect("is the one whose run waits for all the others", () =>
    Effect.gen(function*() {
      const made = yield* Family.make()
      yield* made.root({ turns: [[{ turns: [[{ turns: [[{ by: "buy" }]] }]] }]] })
      const sessions = (yield* made.store.service.list()).map(({ sessionId }) => sessionId)
      assert.lengthOf(sessions, 3)
      for (const sessionId of sessions) assert.strictEqual(yield* outermost(made.store, sessionId), "root")
    }))

  it.effect("is the session itself where its run works for no open call of a last run", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      yield* DeadRun.write(store, "outer", open)
      yield* DeadRun.write(store, "works", below(at("outer")))
      yield* DeadRun.write(store, "settled", below(at("outer", "run-1", "1.1")))
      yield* DeadRun.write(store, "followed", below(at("outer", "another")))
      yield* DeadRun.write(store, "removed", below(at("nowhere")))
      for (const id of ["works", "settled", "followed", "removed"]) {
        assert.strictEqual(yield* outermost(store, id), id === "works" ? "outer" : id)
      }
      assert.strictEqual((yield* Effect.flip(outermost(store, "unknown"))).reason._tag, "SessionNotFound")
    }))

  it.effect("is the session itself in a fork, for which the call does not wait", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      yield* DeadRun.write(store, "outer", open)
      yield* DeadRun.write(store, "works", [...below(at("outer")), Drafts.suspended])
      yield* store.service.fork("works", { to: "copy" })
      for (const [id, outer] of [["works", "outer"], ["copy", "copy"]] as const) {
        assert.strictEqual(yield* outermost(store, id), outer)
      }
    }))

  it.effect("is the session itself where logs claim to work for each other", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const [started, ...rest] = open
      const around = (sessionId: string) => [{ ...started!, parent: at(sessionId) }, ...rest]
      yield* DeadRun.write(store, "own", around("own"))
      yield* DeadRun.write(store, "a", around("b"))
      yield* DeadRun.write(store, "b", around("a"))
      for (const id of ["own", "a", "b"]) assert.strictEqual(yield* outermost(store, id), id)
    }))
})

it.effect("a session that cannot be read hides none of the others", () =>
  Effect.gen(function*() {
    const { agent, store } = yield* TestAgent.make([TestAgent.work(1)], { agent: asks })
    yield* agent.run({ sessionId: "s", runId: "r", input: "go" })
    const newer = { ...Drafts.suspended, version: RunEvent.version + 1 } as never
    yield* DeadRun.write(store, "newer", [Drafts.started("go"), newer])
    assert.deepStrictEqual(yield* Effect.provideService(asking, SessionStore, store.service), [["s", "r/1.0"]])
  }))

it.effect("a session is what its log says, also after a compaction", () =>
  Effect.gen(function*() {
    const { agent, store } = yield* TestAgent.make([ScriptedModel.text("one"), ScriptedModel.text("two")])
    const current = Effect.provideService(Sessions.current("s"), SessionStore, store.service)
    const asLogged = Effect.gen(function*() {
      const { state, transcript } = yield* current
      const log = yield* store.log("s")
      assert.deepStrictEqual(state, log.reduce(RunState.evolve, RunState.empty))
      const messages = Transcript.messages(log.reduce(Transcript.append, Transcript.empty))
      assert.deepStrictEqual(Transcript.messages(transcript), messages)
      return messages.length
    })
    for (const input of ["a", "b"]) yield* agent.run({ sessionId: "s", input })
    const before = yield* asLogged
    yield* agent.compact("s")
    assert.isBelow(yield* asLogged, before)
    const unknown = Effect.provideService(Sessions.current("t"), SessionStore, store.service)
    assert.strictEqual((yield* Effect.flip(unknown)).reason._tag, "SessionNotFound")
  }))

it.effect("every one of many sessions is listed, and no more pages are fetched than are used", () =>
  Effect.gen(function*() {
    const store = yield* TestStore.make()
    const ids = Array.from({ length: 250 }, (_, n) => `s${n}`)
    for (const id of ids) yield* DeadRun.write(store, id, DeadRun.unanswered("test/Tested", id))
    let pages = 0
    const counting = SessionStore.of({
      ...store.service,
      list: (options) => Effect.suspend(() => (pages++, store.service.list(options)))
    })
    const listed = (options?: Sessions.ListOptions) =>
      Stream.provideService(Sessions.list(options), SessionStore, counting)
    const first = yield* Stream.runCollect(Stream.take(listed(), 3))
    assert.strictEqual(pages, 1)
    const all = yield* Stream.runCollect(listed())
    assert.deepStrictEqual(all, [...yield* store.service.list()])
    assert.deepStrictEqual(all.slice(0, 3), first)
    assert.deepStrictEqual(yield* Stream.runCollect(listed({ after: first[2]! })), all.slice(3))
    assert.deepStrictEqual(yield* Stream.runCollect(listed({ ends: ["RunCompleted"] })), [])
  }))

describe("a list of sessions", () => {
  it.effect.each<[options: unknown, says: string]>([
    [{ prefx: "ann/" }, "a list of sessions has no \"prefx\"; it has after, ends, parents, prefix, unowned"],
    [{ prefix: 5 }, "prefix must be a text"],
    [{ ends: "RunSuspended" }, "ends must be a list"],
    [{ parents: "outer" }, "parents must be a list"],
    [
      Promise.resolve({ prefix: "ann/" }),
      "a list of sessions has after, ends, parents, prefix, unowned: give an object of these"
    ],
    [null, "a list of sessions has after, ends, parents, prefix, unowned: give an object of these, not null"],
    [[], "a list of sessions has after, ends, parents, prefix, unowned: give an object of these"],
    ["ann/", "a list of sessions has after, ends, parents, prefix, unowned: give an object of these"]
  ])(
    "is none of %j, which untyped code may ask for: it would have those of everybody",
    ([options, says]) =>
      Effect.gen(function*() {
        const { service } = yield* TestStore.make()
        const [list, askingIn] = [Sessions.list(options as never), Sessions.askingIn(options as never)]
        for (const found of [Stream.runDrain(list), Stream.runDrain(askingIn)]) {
          const { reason } = yield* Effect.flip(Effect.provideService(found, SessionStore, service))
          assert.strictEqual(reason._tag, "InvalidInput")
          assert.include(reason.message, says)
        }
      })
  )
})
