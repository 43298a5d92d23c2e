/** Messages and answers from the command line to a run of another process: here an agent in this one, with a store of its own. */
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import * as TestClock from "effect/testing/TestClock"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import { withSession, workplace } from "./Invoke.ts"

/** A workplace whose database has a run under way, held in its first answer. */
const held = Effect.fnUntraced(function*() {
  const place = yield* workplace()
  const store = TestStore.over(Context.get(yield* Layer.build(place.store), SessionStore.SessionStore))
  const there = yield* Steering.held([ScriptedModel.text("one")], [ScriptedModel.text("two")], { store })
  return { ...place, ...there }
})

/** Lets the command reach the run, and its owner look. */
const heard = Effect.fnUntraced(function*(store: TestStore.TestStore) {
  while (Steering.queued(yield* store.log("s")).length === 0) yield* TestClock.adjust("100 millis")
})

/** Lets the run hear of what is said, and end some seconds later; what the command said by then. */
const ended = Effect.fnUntraced(function*<A>(
  { gate, run, store }: Effect.Success<ReturnType<typeof held>>,
  saying: Fiber.Fiber<A>
) {
  yield* heard(store)
  yield* TestClock.adjust("2 seconds")
  yield* gate.release
  yield* run.result
  yield* TestClock.adjust("1 second")
  return yield* Fiber.join(saying)
})

describe("fiberloop steer", () => {
  it.effect("says something to a run of another process, and waits until its model is given that", () =>
    Effect.gen(function*() {
      const place = yield* held()
      const { on, store } = place
      const saying = yield* Effect.forkChild(on("steer", ["s", "be shorter"]))
      const { code, stderr, stdout } = yield* ended(place, saying)
      assert.deepStrictEqual([code, stdout], [0, "✓ delivered with turn 2 of session s\n"])
      assert.strictEqual(
        stderr,
        "The run has the message, and gives it to its model with the next turn. Ctrl-C leaves it there.\n"
      )
      assert.deepStrictEqual(Steering.received(yield* store.log("s")), ["steer: be shorter"])
    }))

  it.effect("says it when the run would complete, and prints JSON, if told to", () =>
    Effect.gen(function*() {
      const place = yield* held()
      const { on, store } = place
      const saying = yield* Effect.forkChild(on("steer", ["s", "--follow-up", "and then?", "--json"]))
      const { code, stderr, stdout } = yield* ended(place, saying)
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.deepStrictEqual(JSON.parse(stdout), { sessionId: "s", _tag: "Delivered", turn: 2 })
      assert.deepStrictEqual(Steering.received(yield* store.log("s")), ["followUp: and then?"])
    }))

  it.effect("leaves the message there when it is cut off", () =>
    Effect.gen(function*() {
      const { gate, on, run, store } = yield* held()
      const first = Effect.as(heard(store), "SIGINT" as const)
      const { code } = yield* on("steer", ["s", "be shorter"], { signals: { first, forget: Effect.void } })
      assert.strictEqual(code, 130)
      yield* gate.release
      yield* run.result
      assert.deepStrictEqual(Steering.received(yield* store.log("s")), ["steer: be shorter"])
    }))

  it.effect("says why a message is not delivered", () =>
    Effect.gen(function*() {
      const { id, on } = yield* withSession()
      const { code, stderr, stdout } = yield* on("steer", [id, "late"])
      assert.deepStrictEqual([code, stderr], [1, ""])
      assert.strictEqual(
        stdout,
        "The message was not delivered: the run was over already. Send it to the session as a new message.\n"
      )
      const unknown = yield* on("steer", ["nowhere", "x"])
      assert.deepStrictEqual([unknown.code, unknown.stdout], [1, ""])
      assert.match(unknown.stderr, /^fiberloop: there is no session "nowhere"/)
      const empty = yield* on("steer", [id, " "])
      assert.deepStrictEqual([empty.code, empty.stdout], [1, ""])
    }))

  it.effect("says that a session cannot be sent a message", () =>
    Effect.gen(function*() {
      const { on, store } = yield* held()
      yield* store.service.open("s", { runId: "r", create: false, takeOver: true })
      const saying = yield* Effect.forkChild(on("steer", ["s", "late"]))
      yield* Effect.repeat(TestClock.adjust("100 millis"), { until: () => saying.pollUnsafe() !== undefined })
      const { code, stderr } = yield* Fiber.join(saying)
      assert.strictEqual(code, 1)
      assert.include(stderr, `session "s" is in use by another process that cannot be sent a message: try again`)
    }))
})

it.effect("fiberloop approve lets a run of another process go on", () =>
  Effect.gen(function*() {
    const { on, store: layer } = yield* workplace()
    const store = TestStore.over(Context.get(yield* Layer.build(layer), SessionStore.SessionStore))
    const approver = Approvals.desk()
    const there = yield* Approvals.make([TestAgent.work(1), ScriptedModel.text("ok")], { approver, store })
    const run = yield* there.agent.start({ sessionId: "s", runId: "r", input: "go" })
    yield* approver.asked("1.0")
    const saying = yield* Effect.forkChild(on("approve", ["s", "1.0"]))
    yield* Effect.repeat(TestClock.adjust("100 millis"), { until: () => saying.pollUnsafe() !== undefined })
    const { code, stderr, stdout } = yield* Fiber.join(saying)
    assert.deepStrictEqual([code, stdout], [0, "✓ approved: work n=1\n"])
    assert.match(stderr, /^If no process goes on with it, go on with it in its program: /)
    assert.strictEqual((yield* run.result)._tag, "Completed")
  }))
