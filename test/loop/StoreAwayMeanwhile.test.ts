/** What people do while an append is under way that fails: what they wanted holds, also where that ends the run. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Family from "../support/Family.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const go = { sessionId: "s", runId: "r", input: "go" }
const away = "RunFailed(StoreUnavailable)"

const has = (tag: RunEvent.Durable["_tag"]) => (events: TestStore.Batch) => events.some(({ _tag }) => _tag === tag)

/** Holds the first append that has an event of this type, and fails it once it is released. */
const fails = (store: TestStore.TestStore, tag: RunEvent.Durable["_tag"]) => {
  const held = TestStore.holding((_, events) => has(tag)(events))
  let isDown = true
  store.onAppend = (append) => {
    if (!isDown || !has(tag)(append.events)) return append.store
    isDown = false
    return held.onAppend({ ...append, store: Effect.fail(TestStore.unavailable) })
  }
  return held
}

/** What a later process says to its model when it goes on, if it does. */
const goesOn = Effect.fnUntraced(function*(store: TestStore.TestStore) {
  const later = yield* TestAgent.make([ScriptedModel.text("done")], { store })
  const { runs } = yield* later.agent.recover()
  for (const run of runs) yield* run.result
  assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
  return (yield* later.script.requests).map(Steering.said)
})

describe("a run does not go on by itself whose", () => {
  const cases = {
    "abort came": { ends: "RunAborted(requested)", leave: "abort" },
    "caller was interrupted": { ends: "RunAborted(consumer)", leave: "run" },
    "reader left": { ends: "RunAborted(consumer)", leave: "stream" }
  } as const
  for (const [what, { ends, leave }] of Object.entries(cases)) {
    it.effect(`${what} before its store failed`, () =>
      Effect.gen(function*() {
        const { agent, store } = yield* TestAgent.make([TestAgent.work(1)])
        const held = fails(store, "AssistantMessage")
        const caller = yield* Effect.forkChild(
          Effect.exit<unknown, unknown, never>(
            leave === "stream"
              ? Stream.runDrain(agent.stream(go))
              : leave === "run"
              ? agent.run(go)
              : Effect.flatMap(agent.start(go), ({ result }) => result)
          )
        )
        yield* held.reached
        const run = yield* agent.live("r")
        const left = yield* Effect.forkChild(leave === "abort" ? run!.abort : Fiber.interrupt(caller), {
          startImmediately: true
        })
        yield* held.release
        yield* Fiber.join(left)
        assert.strictEqual(RunLog.endOf(yield* store.log("s")), ends)
        assert.deepStrictEqual(yield* goesOn(store), [])
      }))
  }

  it.effect("abort came once an input had been refused, and before that ended it", () =>
    Effect.gen(function*() {
      const working = yield* Deferred.make<void>()
      const stopped = yield* Deferred.make<void>()
      const tool = () =>
        Effect.andThen(Deferred.succeed(working, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Deferred.await(stopped))
        )
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1)], { tool })
      const run = yield* agent.start(go)
      yield* Deferred.await(working)
      const held = fails(store, "InputQueued")
      yield* held.release
      yield* Effect.flip(run.steer("shorter"))
      const left = yield* Effect.forkChild(run.abort, { startImmediately: true })
      yield* Deferred.succeed(stopped, undefined)
      yield* Fiber.join(left)
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(requested)")
      assert.deepStrictEqual(yield* goesOn(store), [])
    }))

  it.effect("failure the call that it works for was told, and the model that made the call", () =>
    Effect.gen(function*() {
      const { agent, root, store } = yield* Family.make()
      const below = "root//1.0"
      let isDown = true
      store.onAppend = ({ events, store }) => {
        if (!isDown || events[0].runId !== below || !has("AssistantMessage")(events)) return store
        isDown = false
        return Effect.fail(TestStore.unavailable)
      }
      yield* root({ turns: [[{ turns: [[{}]] }]] })
      assert.deepStrictEqual(RunLog.outcomes(yield* store.log("root")), ["1.0 Failed"])
      assert.strictEqual(RunLog.endOf(yield* store.log(below)), away)
      assert.deepStrictEqual((yield* agent.recover()).runs, [])
      // somebody may still ask for it
      yield* agent.resumeRun({ sessionId: below })
      assert.strictEqual(RunLog.endOf(yield* store.log(below)), "RunCompleted(stop)")
    }))
})

describe("the sender of an input whose append failed learns what became of it", () => {
  /** Sends an input while a tool is at work, and ends the tool, or the process, before the append of the input fails. */
  const sent = Effect.fnUntraced(function*(meanwhile: "tool" | "shutdown") {
    const working = yield* Deferred.make<void>()
    const worked = yield* Deferred.make<void>()
    const tool = () => Effect.andThen(Deferred.succeed(working, undefined), Effect.as(Deferred.await(worked), "done"))
    const { agent, close, store } = yield* TestAgent.make([TestAgent.work(1)], { tool })
    const run = yield* agent.start(go)
    yield* Deferred.await(working)
    const held = fails(store, "InputQueued")
    const sender = yield* Effect.forkChild(run.steer("shorter"), { startImmediately: true })
    yield* held.reached
    if (meanwhile === "tool") yield* Deferred.succeed(worked, undefined)
    const closing = yield* Effect.forkChild(meanwhile === "shutdown" ? close : Effect.void, { startImmediately: true })
    yield* Effect.yieldNow
    yield* held.release
    const delivery = yield* Fiber.join(sender)
    yield* Fiber.join(closing)
    yield* Effect.exit(run.result)
    return { delivery, store }
  })

  it.effect("from the next turn, which had it by then", () =>
    Effect.gen(function*() {
      const { delivery, store } = yield* sent("tool")
      assert.deepStrictEqual(delivery, { _tag: "Delivered", turn: 2 })
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), away)
      assert.deepStrictEqual(yield* goesOn(store), [["go", "shorter"]])
    }))

  it.effect("from a shutdown, which kept it by then", () =>
    Effect.gen(function*() {
      const { delivery, store } = yield* sent("shutdown")
      assert.strictEqual(delivery._tag, "Kept")
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(shutdown)")
      assert.deepStrictEqual(yield* goesOn(store), [["go", "shorter"]])
    }))
})
