/** A session is followed by who comes and goes: no fact is missed, none comes twice, and live events go on between them. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as RunsLocal from "../../src/layers/RunsLocal.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import type * as SessionStore from "../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as Watch from "../support/Watch.ts"

const go = { sessionId: "s", runId: "r", input: "go" }

/** `a` is said before the gate, `b` after it. */
const hold = Effect.fnUntraced(function*(options?: TestAgent.Options) {
  const gate = yield* ScriptedModel.makeGate
  const made = yield* TestAgent.make([
    [ScriptedModel.text("a"), ScriptedModel.gate(gate), ScriptedModel.text("b")],
    ScriptedModel.text("c")
  ], options)
  const run = yield* made.agent.start(go)
  yield* gate.started
  return { ...made, gate, run }
})

const held = hold()

const limits = { maxTurns: 1000 }
const manyTurns = Array.from({ length: 50 }, (_, turn) => TestAgent.work(turn))

/** The store, with the number of events that were read from it, and a wait until it is watched. */
const counted = (inner: SessionStore.Store) => {
  const count = { read: 0 }
  const watched = Deferred.makeUnsafe<void>()
  const counting = <A, E>(events: Stream.Stream<A, E>) =>
    Stream.mapArray(events, (page) => {
      count.read += page.length
      return page
    })
  const watch: SessionStore.Store["watch"] = (...asked) =>
    Stream.unwrap(Effect.as(Deferred.succeed(watched, undefined), inner.watch(...asked)))
  const store = TestStore.over({
    ...inner,
    read: (...asked) => counting(inner.read(...asked)),
    watch: (...asked) => counting(watch(...asked))
  })
  return { count, store, watched: Deferred.await(watched) }
}

const factsOf = (events: ReadonlyArray<RunEvent.RunEvent>) => events.filter(RunEvent.isDurable).map(({ seq }) => seq)
const textOf = (events: ReadonlyArray<RunEvent.RunEvent>) =>
  RunLog.only(events, "TextDelta").map(({ delta }) => delta).join("|")

describe("a session", () => {
  it.effect("is seen from its beginning, live, and over its runs", () =>
    Effect.gen(function*() {
      const { agent, gate, store } = yield* held
      const watch = yield* Watch.make(agent.follow("s"))
      yield* watch.until("TextDelta")
      yield* gate.release
      yield* watch.until("RunCompleted")
      yield* agent.run({ ...go, runId: "r2", input: "more" })
      yield* watch.until("RunCompleted", 2)
      assert.deepStrictEqual(factsOf(watch.seen), (yield* store.log("s")).map(({ seq }) => seq))
      assert.strictEqual(textOf(watch.seen), "a|b|c")
    }))

  it.effect("is seen by one who comes back from the fact that it saw last, with the answer under way", () =>
    Effect.gen(function*() {
      const { agent, gate, store } = yield* held
      const watch = yield* Watch.make(agent.follow("s", store.head("s")))
      yield* watch.until("TextDelta")
      assert.deepStrictEqual([factsOf(watch.seen), textOf(watch.seen)], [[], "a"])
      yield* gate.release
      yield* watch.until("RunCompleted")
      assert.deepStrictEqual([factsOf(watch.seen)[0], textOf(watch.seen)], [3, "a|b"])
    }))

  it.effect("is not seen live before the fact that its reader has, which says the same", () =>
    Effect.gen(function*() {
      const answer = 3
      const inner = (yield* TestStore.make()).service
      // as of a store that has the fact, which the drive is still to show
      const info: typeof inner.info = (id) => Effect.map(inner.info(id), (info) => info && { ...info, head: answer })
      const { agent, gate } = yield* hold({ store: TestStore.over({ ...inner, info }) })
      const watch = yield* Watch.make(agent.follow("s", answer))
      // came after the other reader, and is told the answer under way
      const later = yield* Watch.make(agent.follow("s"))
      yield* later.until("TextDelta")
      yield* gate.release
      yield* watch.until("RunCompleted")
      assert.strictEqual(textOf(watch.seen), "")
      assert.deepStrictEqual(factsOf(watch.seen), [answer + 1, answer + 2])
    }))

  it.effect("that another process drives is seen in facts", () =>
    Effect.gen(function*() {
      const { gate, run, store } = yield* held
      const { agent } = yield* TestAgent.make([], { store })
      const watch = yield* Watch.make(agent.follow("s", 1))
      yield* gate.release
      yield* watch.until("RunCompleted")
      yield* run.result
      assert.deepStrictEqual(factsOf(watch.seen), [2, 3, 4, 5])
      assert.strictEqual(textOf(watch.seen), "")
    }))

  it.effect("is seen whole by one who comes while a run that died is taken up", () =>
    Effect.gen(function*() {
      const store = yield* DeadRun.of(DeadRun.unanswered())
      const taking = TestStore.holding(() => true)
      store.onAppend = taking.onAppend
      const { agent } = yield* TestAgent.make([ScriptedModel.text("a")], { store })
      yield* Effect.forkScoped(agent.resumeStart({ sessionId: "s" }))
      yield* taking.reached
      const watch = yield* Watch.make(agent.follow("s", 1))
      yield* watch.until("TurnStarted")
      yield* taking.release
      yield* watch.until("RunCompleted")
      assert.deepStrictEqual(factsOf(watch.seen), (yield* store.log("s")).map(({ seq }) => seq).slice(1))
      assert.strictEqual(textOf(watch.seen), "a")
    }))

  it.effect("is seen whichever agent drives it here, and goes on after a failure", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const runs = Layer.succeedContext(yield* Layer.build(RunsLocal.layer))
      const turns = [Overloaded.fail(), [ScriptedModel.text("b"), ScriptedModel.gate(gate)]]
      const failing = yield* TestAgent.make(turns, { runs, agent: { retry: RetryPolicy.make({ maxRetries: 0 }) } })
      const other = yield* TestAgent.make([], { runs, store: failing.store })
      yield* Effect.exit(failing.agent.run(go))
      yield* failing.agent.start({ ...go, runId: "r2" })
      yield* gate.started
      const watch = yield* Watch.make(other.agent.follow("s"))
      yield* watch.until("TextDelta")
      yield* gate.release
      yield* watch.until("RunCompleted")
      assert.deepStrictEqual(RunLog.only(watch.seen, "RunFailed").length, 1)
      assert.deepStrictEqual(factsOf(watch.seen), (yield* failing.store.log("s")).map(({ seq }) => seq))
      assert.strictEqual(textOf(watch.seen), "b")
    }))

  it.effect("is seen beside whoever starts a run, who sees all of it, however late", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([
        ScriptedModel.text("a"),
        [ScriptedModel.text("b"), ScriptedModel.gate(gate), ScriptedModel.text("c")]
      ])
      yield* agent.run(go)
      const run = yield* agent.start({ ...go, runId: "r2" })
      yield* gate.started
      const watch = yield* Watch.make(agent.follow("s"))
      yield* watch.until("TextDelta")
      yield* gate.release
      yield* watch.until("RunCompleted", 2)
      const seen = yield* Stream.runCollect(run.events)
      assert.strictEqual(textOf(seen), "b|c")
      assert.isNotEmpty(RunLog.only(seen, "StatusChanged"))
    }))

  it.effect("is read by one who comes back from its last fact on, however much of a live run is before that", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { count, store } = counted((yield* TestStore.make()).service)
      const last = [ScriptedModel.text("a"), ScriptedModel.gate(gate)]
      const { agent } = yield* TestAgent.make([...manyTurns, last], { store })
      yield* agent.start({ ...go, limits })
      yield* gate.started
      count.read = 0
      const watch = yield* Watch.make(agent.follow("s", store.head("s")))
      yield* watch.until("TextDelta")
      // where the run began, and where the drive is
      assert.isAtMost(count.read, 2)
    }))

  it.effect("is read so, too, where nothing is live, and what begins then is seen live", () =>
    Effect.gen(function*() {
      const runs = Layer.succeedContext(yield* Layer.build(RunsLocal.layer))
      const gate = yield* ScriptedModel.makeGate
      const last = [ScriptedModel.text("b"), ScriptedModel.gate(gate)]
      const driving = yield* TestAgent.make([...manyTurns, ScriptedModel.text("a"), last], { runs })
      yield* driving.agent.run({ ...go, limits })
      const { count, store, watched } = counted(driving.store.service)
      const { agent } = yield* TestAgent.make([], { runs, store })
      const head = driving.store.head("s")
      const watch = yield* Watch.make(agent.follow("s", head))
      yield* watched
      yield* driving.agent.start({ ...go, runId: "r2", input: "more" })
      yield* gate.started
      yield* watch.until("TextDelta")
      assert.deepStrictEqual(factsOf(watch.seen), [head + 1, head + 2])
      assert.strictEqual(textOf(watch.seen), "b")
      assert.isAtMost(count.read, 10)
    }))

  it.effect("that was removed and begun anew tells one who comes back to the one before, instead of showing nothing", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make(["a", "b", "c"].map((text) => ScriptedModel.text(text)))
      yield* agent.run(go)
      yield* agent.run({ ...go, runId: "r2", input: "more" })
      const seen = store.head("s")
      yield* store.service.remove("s")
      yield* agent.run({ ...go, runId: "r3" })
      const { reason } = yield* Effect.flip(Stream.runDrain(agent.follow("s", seen)))
      assert.deepInclude(reason, { _tag: "InvalidInput", field: "after" })
      assert.include(reason.message, "read it from its beginning")
    }))

  it.effect("that is unknown, and a place that is none, are refused", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([ScriptedModel.text("a")])
      yield* agent.run(go)
      for (
        const [sessionId, after, tag] of [["t", 0, "SessionNotFound"], ["s", -1, "InvalidInput"], [
          "s",
          NaN,
          "InvalidInput"
        ]] as const
      ) {
        const error = yield* Effect.flip(Stream.runDrain(agent.follow(sessionId, after)))
        assert.strictEqual(error.reason._tag, tag)
      }
    }))
})
