/** What was said to a run that died: whatever follows delivers it once. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as DeadRun from "../support/DeadRun.ts"
import * as RunLog from "../support/RunLog.ts"
import * as Steering from "../support/Steering.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const go = { sessionId: "s", runId: "r", input: "go" }
const isQueued = ({ _tag }: RunEvent.Durable) => _tag === "InputQueued"

/** The writes of a run that is sent a follow-up and then a steer during its first answer, and that calls a tool. */
const whole = Effect.gen(function*() {
  const gate = yield* ScriptedModel.makeGate
  const { agent, store } = yield* TestAgent.make([
    [TestAgent.look(1), ScriptedModel.gate(gate)],
    ScriptedModel.text("two"),
    ScriptedModel.text("three")
  ])
  const run = yield* agent.start(go)
  yield* gate.started
  const followUp = yield* Effect.flatMap(run.queue("followUp", "and now?"), Effect.forkChild)
  const steer = yield* Effect.flatMap(run.queue("steer", "shorter"), Effect.forkChild)
  yield* gate.release
  yield* run.result
  assert.deepStrictEqual(yield* Effect.all([Fiber.join(steer), Fiber.join(followUp)]), [
    { _tag: "Delivered", turn: 2 },
    { _tag: "Delivered", turn: 3 }
  ])
  return store.appends
})

/** The writes up to the one that accepts the n-th input. */
const upTo = (batches: ReadonlyArray<TestStore.Batch>, n: number) => {
  let count = 0
  return batches.slice(0, batches.findIndex((events) => (count += events.filter(isQueued).length) >= n) + 1)
}

const answering = (store: TestStore.TestStore) =>
  TestAgent.make(({ metadata: { turn } }) => turn === 1 ? TestAgent.look(1) : ScriptedModel.text(`${turn}`), { store })

describe("what was said to a run that died", () => {
  it.effect("is delivered by the drive that resumes it, each input where it would have been", () =>
    Effect.gen(function*() {
      const store = yield* Steering.left(upTo(yield* whole, 2))
      const { agent, script } = yield* answering(store)
      yield* Stream.runDrain(agent.resume({ sessionId: "s" }))
      const log = yield* store.log("s")
      assert.deepStrictEqual(Steering.received(log), ["steer: shorter", "followUp: and now?"])
      assert.deepStrictEqual(
        (yield* script.requests).map((request) => Steering.said(request).at(-1)),
        ["go+shorter", "go+shorter", "and now?"]
      )
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("is delivered exactly once, by a resume or before a new message, whatever write it died after", () =>
    Effect.gen(function*() {
      const batches = yield* whole
      for (let n = upTo(batches, 2).length; n < batches.length; n++) {
        for (const goOn of ["resume", "hello"] as const) {
          const store = yield* Steering.left(batches.slice(0, n))
          const { agent, script } = yield* answering(store)
          if (goOn === "resume") yield* Stream.runDrain(agent.resume({ sessionId: "s" }))
          else yield* agent.run({ sessionId: "s", input: "hello" })
          const log = yield* store.log("s")
          const at = `${goOn} after write ${n}`
          assert.deepStrictEqual(RunLog.violations(log), [], at)
          assert.deepStrictEqual(Steering.received(log).toSorted(), ["followUp: and now?", "steer: shorter"], at)
          const words = Steering.said((yield* script.requests).at(-1)).join("+").split("+")
          assert.deepStrictEqual(words.filter((word) => word === "shorter" || word === "and now?").length, 2, at)
          if (goOn === "hello") assert.strictEqual(words.at(-1), "hello", at)
        }
      }
    }))

  it.effect("is the old run's, in order, and precedes the new message in one request", () =>
    Effect.gen(function*() {
      const store = yield* Steering.left(upTo(yield* whole, 2))
      const { agent, script } = yield* TestAgent.make([ScriptedModel.text("hi")], { store })
      const run = yield* agent.start({ sessionId: "s", runId: "new", input: "hello" })
      yield* run.result
      const log = yield* store.log("s")
      const inputs = RunLog.only(log, "InputReceived")
      assert.deepStrictEqual(inputs.map(({ runId }) => runId), ["r", "r"])
      assert.isBelow(inputs[1]!.seq, RunLog.only(log, "RunStarted")[1]!.seq)
      assert.deepStrictEqual(Steering.said((yield* script.requests)[0]), ["go+and now?+shorter+hello"])
      assert.deepStrictEqual(RunLog.violations(log), [])
      // and is not there for the next run
      const next = yield* TestAgent.make([ScriptedModel.text("ho")], { store })
      yield* next.agent.run({ sessionId: "s", input: "again" })
      assert.strictEqual(Steering.received(yield* store.log("s")).length, 2)
    }))

  it.effect("is delivered when the same request is sent again with the run's id", () =>
    Effect.gen(function*() {
      const store = yield* Steering.left(upTo(yield* whole, 2))
      const { agent } = yield* answering(store)
      yield* agent.run(go)
      assert.deepStrictEqual(Steering.received(yield* store.log("s")), ["steer: shorter", "followUp: and now?"])
      const head = store.head("s")
      yield* agent.run(go)
      assert.strictEqual(store.head("s"), head)
    }))

  it.effect("is kept through repeated deaths until a drive continues", () =>
    Effect.gen(function*() {
      const batches = upTo(yield* whole, 2)
      let store = yield* Steering.left(batches)
      for (let crash = 0; crash < 4; crash++) {
        const { agent } = yield* TestAgent.make([ScriptedModel.die("never reached")], { store })
        const n = store.appends.length
        // dies after the first event of its drive
        store.onAppend = ({ events, store }) =>
          events.some(({ _tag }) => _tag === "TurnStarted") ? Effect.fail(TestStore.unavailable) : store
        yield* Effect.exit(Stream.runDrain(agent.resume({ sessionId: "s" })))
        const log = yield* store.log("s")
        const resumed = log.findLastIndex(({ _tag }) => _tag === "RunResumed")
        assert.isAbove(store.appends.length, n)
        store = yield* Steering.left([log.slice(0, resumed + 1) as never])
      }
      const { agent } = yield* answering(store)
      // the fifth death in a row is one too many to continue unasked
      const result = yield* agent.run(go)
      assert.deepStrictEqual([result._tag, "reason" in result && result.reason], ["Limited", "crashLoop"])
      yield* Stream.runDrain(agent.resume({ sessionId: "s" }))
      const log = yield* store.log("s")
      assert.deepStrictEqual(Steering.received(log), ["steer: shorter", "followUp: and now?"])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))
})

it.effect("what is said to a run that is found to have died too often is not accepted: nothing of it is delivered later", () =>
  Effect.gen(function*() {
    const dead = [...DeadRun.unanswered(), ...DeadRun.again(5), DeadRun.crashed]
    const store = yield* DeadRun.of(dead.map((draft) => ({ ...draft, runId: "r" })))
    const resuming = TestStore.holding((_, events) => events.some(({ _tag }) => _tag === "RunResumed"))
    store.onAppend = resuming.onAppend
    const { agent } = yield* TestAgent.make([ScriptedModel.text("hi")], { store })
    yield* TestClock.adjust("2 days")
    const recovering = yield* Effect.forkChild(agent.recover())
    yield* resuming.reached
    const steering = yield* Effect.forkChild(agent.steer("s", "shorter"), { startImmediately: true })
    yield* resuming.release
    assert.deepInclude(yield* Fiber.join(steering), { _tag: "NotDelivered", reason: "ended" })
    yield* Effect.flatMap(Fiber.join(recovering), ({ runs }) => Effect.forEach(runs, ({ result }) => result))
    assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunLimited(crashLoop)")
    yield* agent.run({ sessionId: "s", input: "next" })
    assert.deepStrictEqual(Steering.received(yield* store.log("s")), [])
  }))

describe("a follow-up to a run that died before it could complete", () => {
  it.effect("is what the resumed run continues with", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([[ScriptedModel.text("one"), ScriptedModel.gate(gate)]])
      const run = yield* agent.start(go)
      yield* gate.started
      const n = store.appends.length
      yield* gate.release
      yield* run.result
      const settled = store.appends[n]!.slice(0, 2)
      const { seq } = settled[1]!
      const said = {
        _tag: "InputQueued",
        kind: "followUp",
        messages: [{ role: "user", content: [{ type: "text", text: "and now?" }] }]
      }
      const place = { seq: seq + 1, at: 0, runId: "r", version: 1 }
      const dead = yield* Steering.left([...store.appends.slice(0, n), [...settled, { ...said, ...place }] as never])
      const later = yield* TestAgent.make([ScriptedModel.text("two")], { store: dead })
      yield* Stream.runDrain(later.agent.resume({ sessionId: "s" }))
      assert.deepStrictEqual(Steering.said((yield* later.script.requests)[0]), ["go", "and now?"])
      assert.deepStrictEqual(RunLog.only(yield* dead.log("s"), "NoticeAdded"), [])
    }))
})
