/** A store that is slow or breaks around a question: nothing runs without its stored permission and intent. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as RunEvent from "../../src/run/RunEvent.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Approvals from "../support/Approvals.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const script: ReadonlyArray<ScriptedModel.Turn> = [
  [TestAgent.work(1, "a"), TestAgent.look(2, "b"), TestAgent.work(3, "c")],
  TestAgent.work(4),
  ScriptedModel.text("ok"),
  ScriptedModel.text("hello")
]
const go = { sessionId: "s", runId: "r", input: "go" }

/** Runs the script over `store`, suspends at the last call and resumes; notes what came before it was stored. */
const observe = Effect.fnUntraced(function*(store: TestStore.TestStore, maxParallel: number) {
  const tooEarly: Array<string> = []
  const isStored = (isIt: (event: RunEvent.Durable) => boolean, what: string) => {
    if (!store.appends.flat().some(isIt)) tooEarly.push(what)
  }
  const asked = new Set<string>()
  const made = yield* Approvals.make(script, {
    store,
    approver: {
      ask: ({ approvalId, callId }) =>
        Effect.sync(() => {
          isStored(
            (event) => event._tag === "ApprovalRequested" && event.approvalId === approvalId,
            `question ${callId}`
          )
          const isFirst = !asked.has(callId)
          asked.add(callId)
          if (callId === "1.2") return Approvals.no("no")
          return callId === "2.0" && isFirst ? undefined : Approvals.yes
        })
    },
    agent: { toolkit: Approvals.kit, toolPolicy: { maxParallel } },
    tool: ({ n }) =>
      Effect.gen(function*() {
        const { callId } = yield* ToolCall
        isStored((event) => event._tag === "ToolStarted" && event.callId === callId, `intent ${callId}`)
        if (n !== 2) {
          isStored(
            (event) => event._tag === "ApprovalResolved" && event.callId === callId && event.approved,
            `permission ${callId}`
          )
        }
        return `done ${n}`
      })
  })
  const see = (event: RunEvent.RunEvent) =>
    Effect.sync(() => {
      if (RunEvent.isDurable(event) && event.seq > store.head("s")) tooEarly.push(`${event.seq} ${event._tag}`)
    })
  const run = Stream.runForEach(made.agent.stream(go), see).pipe(
    Effect.andThen(Stream.runForEach(made.agent.resume({ sessionId: "s" }), see))
  )
  return { ...made, run, tooEarly }
})

/** How many appends the script takes when nothing breaks. */
const healthy = Effect.fnUntraced(function*(maxParallel: number) {
  const store = yield* TestStore.make()
  const { ran, run, tooEarly } = yield* observe(store, maxParallel)
  yield* run
  const log = yield* store.log("s")
  assert.deepStrictEqual(tooEarly, [])
  assert.deepStrictEqual(Approvals.violations(log), [])
  assert.strictEqual(RunLog.endOf(log), "RunCompleted(stop)")
  assert.sameMembers([...ran], [1, 2, 4])
  return store.appends.length
})

/** Breaks the store at every append of the script in turn; one that `keeps` all the same keeps ends too, which then are the ends. */
const breaks = (name: string, onAppend: (n: number) => TestStore.OnAppend, keeps = false) =>
  it.effect(name, () =>
    Effect.gen(function*() {
      for (const maxParallel of [1, 3]) {
        const count = yield* healthy(maxParallel)
        for (let n = 1; n <= count; n++) {
          const at = `append ${n} of ${count}, ${maxParallel} at once`
          const store = yield* TestStore.make(onAppend(n))
          const { ran, run, tooEarly } = yield* observe(store, maxParallel)
          const reason = yield* run.pipe(
            Effect.as(undefined),
            Effect.catch((error) => Effect.succeed(error.reason._tag))
          )
          const isEnded = keeps && store.appends[n - 1]?.some(RunEvent.isEnd) === true
          assert.strictEqual(reason, isEnded ? undefined : "StoreUnavailable", at)
          assert.deepStrictEqual(tooEarly, [], at)
          const log = yield* store.log("s")
          assert.deepStrictEqual(Approvals.violations(log, true), [], at)
          const intents = RunLog.only(log, "ToolStarted").length
          assert.isAtMost(ran.length, intents, at)
        }
      }
    }))

describe("a store that breaks", () => {
  breaks("once, at any append, runs nothing that was not allowed in the log", (n) => TestStore.failing((k) => k === n))
  breaks(
    "for good, at any append, runs nothing that was not allowed in the log",
    (n) => TestStore.failing((k) => k >= n)
  )
  breaks(
    "by storing an append and reporting that it failed, stores nothing twice",
    (n) => TestStore.lying((k) => k === n),
    true
  )

  it.effect("when a new message comes leaves the questions open, and the next message settles them", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const made = yield* Approvals.make([TestAgent.work(1), ScriptedModel.text("hello")], { store })
      yield* made.agent.run(go)
      const healthyAppend = store.onAppend
      store.onAppend = () => Effect.fail(TestStore.unavailable)
      yield* Effect.flip(made.agent.run({ sessionId: "s", input: "hello?" }))
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunSuspended(approval)")
      store.onAppend = healthyAppend
      assert.strictEqual((yield* made.agent.run({ sessionId: "s", input: "hello?" }))._tag, "Completed")
      assert.deepStrictEqual(Approvals.violations(yield* store.log("s")), [])
    }))

  it.effect("when a run is resumed leaves the questions open", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const made = yield* Approvals.make([TestAgent.work(1), ScriptedModel.text("ok")], { store })
      yield* made.agent.run(go)
      const healthyAppend = store.onAppend
      store.onAppend = () => Effect.fail(TestStore.unavailable)
      const yes = Approvals.answering(() => Approvals.yes)
      const resume = Stream.runCollect(Approvals.by(yes, made.agent.resume({ sessionId: "s" })))
      yield* Effect.flip(resume)
      store.onAppend = healthyAppend
      assert.strictEqual(RunLog.endOf(yield* resume), "RunCompleted(stop)")
      assert.deepStrictEqual(made.ran, [1])
    }))
})

describe("a slow store", () => {
  it.effect("holds back the approver until the question is stored, and the handler until permission and intent are", () =>
    Effect.gen(function*() {
      for (const tag of ["ApprovalRequested", "ApprovalResolved"] as const) {
        const held = TestStore.holding((_, events) => events.some((event) => event._tag === tag))
        const store = yield* TestStore.make(held.onAppend)
        const approver = Approvals.desk()
        yield* approver.answer("1.0", Approvals.yes)
        const made = yield* Approvals.make([TestAgent.work(1), ScriptedModel.text("ok")], { store, approver })
        const running = yield* Effect.forkChild(made.agent.run(go))
        yield* held.reached
        yield* Effect.yieldNow
        assert.strictEqual(approver.questions.length, tag === "ApprovalRequested" ? 0 : 1)
        assert.deepStrictEqual(made.ran, [])
        yield* held.release
        yield* Fiber.join(running)
        assert.deepStrictEqual(made.ran, [1])
      }
    }))
})
