/** A dead drive's end and the beginning of what follows it are one write: nobody finds one without the other. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

/** A run that died in its tools; `process` makes an agent of another process over its store. */
const dead = Effect.gen(function*() {
  const store = yield* DeadRun.left({ wasAborted: false })
  const process = Effect.map(
    TestAgent.make([ScriptedModel.text("done")], { store, agent: { toolPolicy: { maxParallel: 2 } } }),
    ({ agent }) => agent
  )
  return { store, before: store.appends.length, process }
})

const request = { sessionId: "s", runId: "dead", input: "go" }

const resumed = (agent: TestAgent.TestAgent["agent"]) => Stream.runCollect(agent.resume({ sessionId: "s" }))

describe("the first write after a death", () => {
  it.effect("has the dead drive's end and the next drive's beginning", () =>
    Effect.gen(function*() {
      const { before, process, store } = yield* dead
      yield* resumed(yield* process)
      assert.deepStrictEqual(RunLog.tags(store.appends[before]!), ["RunAborted", "RunResumed"])
    }))

  it.effect("has the dead drive's end, the outcomes of its calls and the new message", () =>
    Effect.gen(function*() {
      const { before, process, store } = yield* dead
      yield* (yield* process).run({ sessionId: "s", input: "hello" })
      assert.deepStrictEqual(RunLog.tags(store.appends[before]!), [
        "RunAborted",
        "ToolSettled",
        "ToolSettled",
        "RunStarted"
      ])
    }))

  it.effect("is not made when another process sends the request again, which is refused: the session is busy", () =>
    Effect.gen(function*() {
      const { process, store } = yield* dead
      const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "RunResumed"))
      store.onAppend = held.onAppend
      const first = yield* Effect.forkChild((yield* process).run(request))
      yield* held.reached
      const told = yield* Effect.result((yield* process).run(request))
      yield* held.release
      assert.strictEqual(Result.isFailure(told) && told.failure.reason._tag, "SessionBusy")
      assert.strictEqual((yield* Fiber.join(first))._tag, "Completed")
    }))

  it.effect("that the store refuses leaves the session as it was, for the next to try", () =>
    Effect.gen(function*() {
      const { process, store } = yield* dead
      const log = yield* store.log("s")
      store.onAppend = TestStore.failing(() => true)
      const refused = Effect.flatMap(process, (agent) => Effect.flip(agent.run(request)))
      assert.strictEqual((yield* refused).reason._tag, "StoreUnavailable")
      assert.deepStrictEqual(yield* store.log("s"), log)
      store.onAppend = ({ store }) => store
      assert.strictEqual(RunLog.endOf(yield* resumed(yield* process)), "RunCompleted(stop)")
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("that is stored but reported as failed is not written twice", () =>
    Effect.gen(function*() {
      const { before, process, store } = yield* dead
      store.onAppend = TestStore.lying((n) => n === before + 1)
      yield* Effect.exit(resumed(yield* process))
      assert.strictEqual(RunLog.endOf(yield* resumed(yield* process)), "RunCompleted(stop)")
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.violations(log), [])
      assert.lengthOf(RunLog.only(log, "RunAborted"), 1)
    }))
})
