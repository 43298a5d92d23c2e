/** Which logs the looks for runs read: nothing that an earlier look, of any agent of the store, has read and that says the same as then. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { join } from "node:path"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Drafts from "../support/Drafts.ts"
import { temporaryFolder } from "../support/Processes.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

/** A store that notes whose logs were read. */
const noting = (base: SessionStore.Store) => {
  let read = new Set<string>()
  const store = TestStore.over({
    ...base,
    read: (sessionId, ...args) => (read.add(sessionId), base.read(sessionId, ...args)),
    lastOf: (sessionId, ...args) => (read.add(sessionId), base.lastOf(sessionId, ...args))
  })
  /** the ids of the sessions that `look` takes up, and of those that it reads */
  const looking = Effect.fnUntraced(function*({ agent }: TestAgent.TestAgent) {
    read = new Set()
    const { refused, runs } = yield* agent.recover({ answered: true })
    assert.deepStrictEqual(refused, [])
    yield* Effect.forEach(runs, ({ result }) => result)
    return { taken: runs.map(({ sessionId }) => sessionId), read: [...read].toSorted() }
  })
  return { store, looking }
}

const nothing = { taken: [], read: [] }

/** Asks about the calls of the first turn, and says "done" in the next. */
const asking: TestAgent.Options["agent"] = { toolPolicy: { requireApprovalByDefault: true } }
const twoCalls: ScriptedModel.Turn = [TestAgent.work(1), TestAgent.work(2)]
const answer = ({ metadata: { turn } }: { readonly metadata: { readonly turn?: number } }) =>
  turn === 1 ? twoCalls : ScriptedModel.text("done")

/** An agent with two suspended sessions, `a` and `b`, that has looked once. */
const suspended = Effect.fnUntraced(function*(policy: object = {}) {
  const { looking, store } = noting((yield* TestStore.make()).service)
  const made = yield* TestAgent.make(answer, { store, agent: { toolPolicy: { ...asking.toolPolicy, ...policy } } })
  for (const id of ["a", "b"]) yield* made.agent.run({ sessionId: id, runId: `${id} run`, input: "go" })
  assert.deepStrictEqual(yield* looking(made), { taken: [], read: ["a", "b"] })
  const decide = (place: number) =>
    made.agent.decide({ sessionId: "a", approvalId: `a run/1.${place}`, approved: true })
  return { ...made, look: looking(made), looking, decide }
})

describe("a log with open questions", () => {
  it.effect("is not read again while nothing is answered", () =>
    Effect.gen(function*() {
      const { look } = yield* suspended()
      assert.deepStrictEqual(yield* look, nothing)
      yield* TestClock.adjust("5 days")
      assert.deepStrictEqual(yield* look, nothing)
    }))

  it.effect("is read again after each answer, and its run taken up after the last", () =>
    Effect.gen(function*() {
      const { decide, look } = yield* suspended()
      yield* decide(0)
      assert.deepStrictEqual(yield* look, { taken: [], read: ["a"] })
      assert.deepStrictEqual(yield* look, nothing)
      yield* decide(1)
      assert.deepStrictEqual(yield* look, { taken: ["a"], read: ["a"] })
      assert.deepStrictEqual(yield* look, nothing)
    }))

  it.live("is read again after the answer that another process took", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporaryFolder, "sessions.db")
      const [here, there] = [
        noting(yield* SessionStoreSqlite.make({ filename })),
        yield* SessionStoreSqlite.make({ filename })
      ]
      const made = yield* TestAgent.make(answer, { store: here.store, agent: asking })
      const other = yield* TestAgent.make(answer, { store: TestStore.over(there), agent: asking })
      yield* made.agent.run({ sessionId: "a", runId: "r", input: "go" })
      assert.deepStrictEqual(yield* here.looking(made), { taken: [], read: ["a"] })
      assert.deepStrictEqual(yield* here.looking(made), nothing)
      for (const n of [0, 1]) yield* other.agent.decide({ sessionId: "a", approvalId: `r/1.${n}`, approved: true })
      assert.deepStrictEqual(yield* here.looking(made), { taken: ["a"], read: ["a"] })
    }))

  it.effect("is read again when they expire, and its run taken up", () =>
    Effect.gen(function*() {
      const { look } = yield* suspended({ approvalTimeout: "1 hour" })
      yield* TestClock.adjust("3599999 millis")
      assert.deepStrictEqual(yield* look, nothing)
      yield* TestClock.adjust("1 millis")
      const { read, taken } = yield* look
      assert.sameMembers(taken, ["a", "b"])
      assert.deepStrictEqual(read, ["a", "b"])
    }))

  it.effect("is read again when the last of them expires, and its run taken up", () =>
    Effect.gen(function*() {
      const { looking, store } = noting((yield* TestStore.make()).service)
      const question = (place: number, expiresAt: number) => ({ ...Drafts.approvalRequested(`1.${place}`), expiresAt })
      yield* DeadRun.write(store, "a", [
        { ...Drafts.started("go"), agent: "test/Tested" },
        ...DeadRun.inTools("work", "work").slice(1, 3),
        question(0, 60_000),
        question(1, 20_000),
        Drafts.suspended
      ])
      const made = yield* TestAgent.make([ScriptedModel.text("done")], { store })
      assert.deepStrictEqual(yield* looking(made), { taken: [], read: ["a"] })
      yield* TestClock.setTime(59_999)
      assert.deepStrictEqual(yield* looking(made), nothing)
      yield* TestClock.setTime(60_000)
      assert.deepStrictEqual(yield* looking(made), { taken: ["a"], read: ["a"] })
    }))

  it.effect("is another one where its session was removed and its id used again", () =>
    Effect.gen(function*() {
      const { agent, look, store } = yield* suspended()
      const { head } = (yield* store.service.info("a"))!
      yield* store.service.remove("a")
      yield* TestClock.adjust("1 second")
      yield* agent.run({ sessionId: "a", runId: "a run", input: "go" })
      assert.strictEqual((yield* store.service.info("a"))?.head, head)
      assert.deepStrictEqual(yield* look, { taken: [], read: ["a"] })
    }))
})

describe("a log that waits for another run", () => {
  /** The session "s" has waited for people for longer than is looked back. */
  const waiting = Effect.gen(function*() {
    const { looking, store } = noting((yield* TestStore.make()).service)
    yield* DeadRun.write(store, "s", [
      { ...Drafts.started("go"), agent: "test/Tested" },
      ...DeadRun.inTools("again").slice(1),
      Drafts.toolPaused("1.0", { sessionId: "below", runId: "below run" }),
      Drafts.suspended
    ])
    yield* DeadRun.write(
      store,
      "below",
      [
        { ...Drafts.started("go"), agent: "app/Other", parent: { sessionId: "s", runId: "run-1", callId: "1.0" } },
        ...DeadRun.inTools("work").slice(1, 3),
        Drafts.approvalRequested("1.0"),
        Drafts.suspended
      ].map((draft) => ({ ...draft, runId: "below run" }))
    )
    yield* TestClock.setTime(8 * 86_400_000)
    const made = yield* TestAgent.make([ScriptedModel.text("done")], { store })
    return { ...made, look: looking(made) }
  })

  it.effect("is read again every ten minutes once it is older than is looked back, where its own agent has read it", () =>
    Effect.gen(function*() {
      const { look, store } = yield* waiting
      const other = yield* TestAgent.make([], { store, name: "app/Other" })
      yield* other.agent.recover({ answered: true })
      assert.deepStrictEqual(yield* look, { taken: [], read: ["below", "s"] })
      yield* TestClock.adjust("599999 millis")
      assert.deepStrictEqual(yield* look, nothing)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* look, { taken: [], read: ["below", "s"] })
    }))

  it.effect("is seen in time where it is answered, however little is looked back", () =>
    Effect.gen(function*() {
      const { agent } = yield* waiting
      const look = agent.recover({ answered: true, within: "5 minutes" })
      yield* look
      yield* TestClock.adjust("30 seconds")
      yield* agent.decide({ sessionId: "below", approvalId: "1.0", approved: false })
      const taken: Array<string> = []
      for (let n = 0; n < 10; n++) {
        taken.push(...(yield* look).runs.map(({ sessionId }) => sessionId))
        yield* TestClock.adjust("30 seconds")
      }
      assert.deepStrictEqual(taken, ["s"])
    }))

  it.effect("is not kept from a look by one that looks back less", () =>
    Effect.gen(function*() {
      const { agent } = yield* waiting
      yield* agent.decide({ sessionId: "below", approvalId: "1.0", approved: false })
      yield* TestClock.adjust("6 minutes")
      assert.deepStrictEqual((yield* agent.recover({ answered: true, within: "5 minutes" })).runs, [])
      const { runs } = yield* agent.recover({ answered: true })
      assert.deepStrictEqual(runs.map(({ sessionId }) => sessionId), ["s"])
    }))

  it.effect("is read by each look that looks back that far", () =>
    Effect.gen(function*() {
      const { agent, look } = yield* waiting
      yield* look
      yield* agent.decide({ sessionId: "below", approvalId: "1.0", approved: false })
      assert.deepStrictEqual(yield* look, { taken: [], read: ["below"] })
      const { runs } = yield* agent.recover({ answered: true, within: Infinity })
      assert.deepStrictEqual(runs.map(({ sessionId }) => sessionId), ["s"])
    }))
})

describe("the agents of a store", () => {
  it.effect("do not read what one of them has read, except for their own runs that are due", () =>
    Effect.gen(function*() {
      const { look, looking, store } = yield* suspended()
      yield* DeadRun.write(store, "dead", DeadRun.unanswered("app/Other", "dead"))
      const another = yield* TestAgent.make([], { store, name: "app/Another" })
      assert.deepStrictEqual(yield* looking(another), { taken: [], read: ["dead"] })
      assert.deepStrictEqual(yield* look, nothing)
      const other = yield* TestAgent.make([ScriptedModel.text("done")], { store, name: "app/Other" })
      assert.deepStrictEqual(yield* looking(other), { taken: ["dead"], read: ["dead"] })
    }))

  it.effect("do not read what a look that is under way has read", () =>
    Effect.gen(function*() {
      const { service } = yield* TestStore.make()
      const [reached, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      let isHeld = false
      const lastOf: typeof service.lastOf = (sessionId, ...args) => {
        if (isHeld || sessionId !== "older") return service.lastOf(sessionId, ...args)
        isHeld = true
        const held = Effect.andThen(Deferred.succeed(reached, undefined), Deferred.await(go))
        return Effect.andThen(held, service.lastOf(sessionId, ...args))
      }
      const { looking, store } = noting({ ...service, lastOf })
      for (const [at, id] of [[1000, "older"], [2000, "newer"]] as const) {
        yield* DeadRun.write(store, id, DeadRun.unanswered("app/Other", id).map((draft) => ({ ...draft, at })))
      }
      const first = yield* TestAgent.make([], { store })
      const second = yield* TestAgent.make([], { store, name: "app/Another" })
      const looks = yield* Effect.forkChild(first.agent.recover())
      yield* Deferred.await(reached)
      assert.deepStrictEqual(yield* looking(second), { taken: [], read: ["older"] })
      yield* Deferred.succeed(go, undefined)
      assert.deepStrictEqual(yield* Fiber.join(looks), { runs: [], refused: [] })
      assert.deepStrictEqual(yield* looking(first), nothing)
    }))
})
