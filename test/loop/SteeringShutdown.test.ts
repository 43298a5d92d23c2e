/** What was said to a run whose process was shut down: its sender is told that it waits, and whatever follows delivers it once. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type * as Agent from "../../src/Agent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Shrinking from "../support/Shrinking.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const go = { sessionId: "s", runId: "r", input: "go" }
const both = ["followUp: and now?", "steer: shorter"]

/** A run that was sent a follow-up and then a steer during its first answer, which calls a tool, and whose agent is closed then. */
const shutDown = Effect.fnUntraced(function*(input: Parameters<typeof Steering.held>[3] = {}) {
  const made = yield* Steering.held([TestAgent.look(1)], [], {}, input)
  const followUp = yield* Steering.say(made.run, "followUp", "and now?")
  const steer = yield* Steering.say(made.run, "steer", "shorter")
  yield* made.close
  const told = yield* Effect.all([Fiber.join(followUp), Fiber.join(steer)])
  return { ...made, told }
})

const answering = (store: TestStore.TestStore, options: TestAgent.Options = {}) =>
  TestAgent.make(({ metadata: { turn } }) => turn === 1 ? TestAgent.look(1) : ScriptedModel.text(`${turn}`), {
    ...options,
    store
  })

type Follow = (agent: Agent.Client<string>) => Effect.Effect<unknown, unknown>

const ways: Record<string, Follow> = {
  "a resume": (agent) => Stream.runDrain(agent.resume({ sessionId: "s" })),
  "a recovery": (agent) => Effect.flatMap(agent.recover(), ({ runs }) => Effect.forEach(runs, ({ result }) => result)),
  "the same request": (agent) => agent.run(go),
  "a new message": (agent) => agent.run({ sessionId: "s", input: "hello" })
}

/** Which of the two a request has, as often as it has them. */
const heard = (request: Parameters<typeof Steering.said>[0]) =>
  Steering.said(request).join("+").split("+").filter((words) => words === "shorter" || words === "and now?").toSorted()

describe("what was said to a run that a shutdown ended", () => {
  it.effect("waits: its senders are told so, and the end says which inputs it keeps", () =>
    Effect.gen(function*() {
      const { run, store, told } = yield* shutDown()
      for (const delivery of told) {
        assert.strictEqual(delivery._tag, "Kept")
        assert.match(delivery._tag === "Kept" ? delivery.explain : "", /is stored.*goes on/)
      }
      const log = yield* store.log("s")
      const queued = RunLog.only(log, "InputQueued").map(({ seq }) => seq)
      assert.deepStrictEqual(RunLog.only(log, "RunAborted").map(({ kept, reason }) => [reason, kept]), [
        ["shutdown", queued]
      ])
      assert.match((yield* run.result).explain, /can be resumed.*2 messages/)
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  for (const [name, follow] of Object.entries(ways)) {
    it.effect(`is delivered once by ${name}, and never again`, () =>
      Effect.gen(function*() {
        const { store } = yield* shutDown()
        const { agent, script } = yield* answering(store)
        yield* follow(agent)
        const log = yield* store.log("s")
        assert.deepStrictEqual(Steering.received(log).toSorted(), both)
        assert.deepStrictEqual(heard((yield* script.requests).at(-1)), ["and now?", "shorter"])
        assert.deepStrictEqual(RunLog.violations(log), [])
        const later = yield* answering(store)
        yield* later.agent.run({ sessionId: "s", input: "again" })
        assert.strictEqual(Steering.received(yield* store.log("s")).length, 2)
      }))
  }

  it.effect("is delivered where it would have been", () =>
    Effect.gen(function*() {
      const { store } = yield* shutDown()
      const { agent, script } = yield* answering(store)
      yield* agent.resumeRun({ sessionId: "s" })
      assert.deepStrictEqual(
        (yield* script.requests).map((request) => Steering.said(request).at(-1)),
        ["go+shorter", "go+shorter", "and now?"]
      )
    }))

  it.effect("is kept through further shutdowns until a turn begins with it", () =>
    Effect.gen(function*() {
      const { store } = yield* shutDown()
      for (let time = 0; time < 3; time++) {
        const held = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "RunResumed"))
        store.onAppend = held.onAppend
        const { agent, close } = yield* answering(store)
        const resuming = yield* Effect.forkChild(Effect.exit(agent.resumeRun({ sessionId: "s" })))
        yield* held.reached
        const closing = yield* Effect.forkChild(close, { startImmediately: true })
        yield* held.release
        yield* Fiber.join(closing)
        yield* Fiber.join(resuming)
      }
      const ends = RunLog.only(yield* store.log("s"), "RunAborted")
      assert.strictEqual(ends.length, 4)
      for (const { kept } of ends) assert.deepStrictEqual(kept, ends[0]!.kept)
      const { agent } = yield* answering(store)
      yield* agent.resumeRun({ sessionId: "s" })
      const log = yield* store.log("s")
      assert.deepStrictEqual(Steering.received(log).toSorted(), both)
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("is given up by an abort that follows", () =>
    Effect.gen(function*() {
      const { store } = yield* shutDown()
      const { agent, script } = yield* answering(store)
      yield* agent.abort("s")
      yield* agent.resumeRun({ sessionId: "s" })
      yield* agent.run({ sessionId: "s", input: "hello" })
      const log = yield* store.log("s")
      assert.deepStrictEqual(Steering.received(log), [])
      for (const request of yield* script.requests) assert.deepStrictEqual(heard(request), [])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("outlasts a compaction by hand, and a reader that starts there", () =>
    Effect.gen(function*() {
      const { store } = yield* shutDown({ history: Shrinking.history(4) })
      const { agent, script } = yield* answering(store, { context: Shrinking.layer() })
      yield* agent.compact("s")
      yield* agent.resumeRun({ sessionId: "s" })
      assert.deepStrictEqual(Steering.received(yield* store.log("s")).toSorted(), both)
      assert.deepStrictEqual(heard((yield* script.requests).at(-1)), ["and now?", "shorter"])
    }))

  it.effect("is not said in a copy of the session, and still is in the original", () =>
    Effect.gen(function*() {
      const { store } = yield* shutDown()
      yield* store.service.fork("s", { to: "copy" })
      const { agent } = yield* answering(store)
      yield* agent.resumeRun({ sessionId: "copy" })
      assert.deepStrictEqual(Steering.received(yield* store.log("copy")), [])
      assert.deepStrictEqual(RunLog.violations(yield* store.log("copy")), [])
      yield* agent.resumeRun({ sessionId: "s" })
      assert.deepStrictEqual(Steering.received(yield* store.log("s")).toSorted(), both)
    }))
})
