/** Guarantee 1, durable before visible, and guarantee 2, intent before effect: even if the store is slow or breaks. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as RunEvent from "../../src/run/RunEvent.ts"
import { ToolCall } from "../../src/services/ToolCall.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import { notices } from "../../src/testing/sessions/Fixtures.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

/** Two parallel calls, a retry and a text: every kind of write but the rare ones. */
const turns: ReadonlyArray<ScriptedModel.Turn> = [
  [ScriptedModel.text("Let me see."), TestAgent.work(1, "a"), TestAgent.work(2, "b")],
  TestAgent.work(3),
  ScriptedModel.text("All ", "done")
]

/** Runs the script over `store`, and notes every event that was seen, and every tool that ran, before it was stored. */
const observe = Effect.fnUntraced(function*(store: TestStore.TestStore) {
  const tooEarly: Array<string> = []
  const seen: Array<RunEvent.RunEvent> = []
  const ran: Array<string> = []
  const { agent } = yield* TestAgent.make(turns, {
    store,
    tool: ({ n }) =>
      Effect.gen(function*() {
        const { callId } = yield* ToolCall
        ran.push(callId)
        const isStored = store.appends.flat().some((event) => event._tag === "ToolStarted" && event.callId === callId)
        if (!isStored) tooEarly.push(`the handler of ${callId}`)
        return `done ${n}`
      }),
    agent: { toolPolicy: { maxParallel: 2 } }
  })
  const see = (event: RunEvent.RunEvent) =>
    Effect.sync(() => {
      seen.push(event)
      if (RunEvent.isDurable(event) && event.seq > store.head("s")) tooEarly.push(`${event.seq} ${event._tag}`)
    })
  const run = agent.stream({ sessionId: "s", input: "go" }).pipe(Stream.runForEach(see))
  return { agent, run, seen, ran, tooEarly }
})

const appendsOfAHealthyRun = Effect.gen(function*() {
  const store = yield* TestStore.make()
  const { run, tooEarly } = yield* observe(store)
  yield* run
  assert.deepStrictEqual(tooEarly, [])
  return store.appends.length
})

describe("a slow store", () => {
  it.effect("holds back every tool, and every event of a pending append and after it", () =>
    Effect.gen(function*() {
      const count = yield* appendsOfAHealthyRun
      for (let n = 1; n <= count; n++) {
        const held = TestStore.holding((k) => k === n)
        const store = yield* TestStore.make(held.onAppend)
        const { ran, run, seen, tooEarly } = yield* observe(store)
        const fiber = yield* Effect.forkChild(run)
        yield* held.reached
        // everything ready runs before the append is released
        yield* Effect.yieldNow
        const head = store.head("s")
        const intents = store.appends.flat().filter((event) => event._tag === "ToolStarted").length
        assert.isTrue(RunLog.durable(seen).every((event) => event.seq <= head), `append ${n}`)
        assert.isAtMost(ran.length, intents, `append ${n}`)
        yield* held.release
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(tooEarly, [], `append ${n}`)
        assert.strictEqual(RunLog.endOf(seen), "RunCompleted(stop)")
      }
    }))

  it.effect("shows transient events only after the pending append that they follow", () =>
    Effect.gen(function*() {
      const held = TestStore.holding((_, events) => events.some((event) => event._tag === "AbortRequested"))
      const store = yield* TestStore.make(held.onAppend)
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make(
        [[ScriptedModel.text("before"), ScriptedModel.gate(gate), ScriptedModel.text("after")]],
        { store }
      )
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const reading = yield* Effect.forkChild(Stream.runCollect(run.events))
      yield* gate.started
      const aborting = yield* Effect.forkChild(run.abort)
      yield* held.reached
      yield* gate.release
      yield* gate.closed
      yield* held.release
      yield* Fiber.join(aborting)
      const events = yield* Fiber.join(reading)
      const texts = RunLog.only(events, "TextDelta").map((event) => event.delta)
      assert.strictEqual(texts[0], "before")
      const requested = events.findIndex((event) => event._tag === "AbortRequested")
      const after = events.findIndex((event) => event._tag === "TextDelta" && event.delta === "after")
      assert.isTrue(after < 0 || after > requested)
    }))
})

/** A store that breaks in some way at append `n`, up to the `last` one; a run over it must leave things in order. */
const breaks = (
  name: string,
  onAppend: (n: number) => TestStore.OnAppend,
  mayBeOpen: (n: number, count: number) => boolean,
  last = (count: number) => count
) =>
  it.effect(name, () =>
    Effect.gen(function*() {
      const count = yield* appendsOfAHealthyRun
      for (let n = 1; n <= last(count); n++) {
        const store = yield* TestStore.make(onAppend(n))
        const { ran, run, seen, tooEarly } = yield* observe(store)
        const exit = yield* Effect.exit(run)
        const at = `append ${n} of ${count}`
        assert.deepStrictEqual(tooEarly, [], at)
        assert.isTrue(Exit.isFailure(exit), at)
        const error = yield* Effect.flip(exit)
        assert.strictEqual(error.reason._tag, "StoreUnavailable", `${at}: ${error.message}`)
        const log = yield* store.log("s")
        assert.deepStrictEqual(RunLog.violations(log, mayBeOpen(n, count)), [], at)
        for (const callId of ran) {
          assert.isTrue(log.some((event) => event._tag === "ToolStarted" && event.callId === callId), at)
        }
        const facts = RunLog.durable(seen)
        assert.deepStrictEqual(facts, log.slice(0, facts.length), at)
      }
    }))

describe("a store whose session another writer takes over", () => {
  it.effect("shows no reader what it refused, however much the other writer has written", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make()
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([[ScriptedModel.gate(gate), ScriptedModel.text("hello")]], { store })
      const seen: Array<RunEvent.RunEvent> = []
      const reading = yield* agent.stream({ sessionId: "s", input: "go" }).pipe(
        Stream.runForEach((event) => Effect.sync(() => seen.push(event))),
        Effect.forkChild
      )
      yield* gate.started
      const other = yield* store.service.open("s", { runId: "other", create: false, takeOver: true })
      yield* other.append(notices(other.head() + 1, other.head() + 9))
      yield* gate.release
      const error = yield* Effect.flip(Fiber.join(reading))
      assert.strictEqual(error.reason._tag, "StaleWriter")
      const facts = RunLog.durable(seen)
      assert.isNotEmpty(facts)
      assert.deepStrictEqual(facts, (yield* store.log("s")).slice(0, facts.length))
    }))
})

describe("a store that breaks", () => {
  breaks(
    "once, at any append, ends the run typed and in order; only a refused end is missing",
    (n) => TestStore.failing((k) => k === n),
    (n, count) => n === count
  )

  breaks(
    "for good, at any append, ends the run typed; what it holds is legal and lacks at most the end",
    (n) => TestStore.failing((k) => k >= n),
    () => true
  )

  breaks(
    "by storing an append before the end and reporting that it failed ends the run typed, and no event is stored twice",
    (n) => TestStore.lying((k) => k === n),
    () => false,
    (count) => count - 1
  )

  it.effect("by storing the end and reporting that it failed leaves the run as it ended, and its session free by then", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make(({ events, store }) =>
        events.some(RunEvent.isEnd) ? Effect.andThen(store, Effect.fail(TestStore.unavailable)) : store
      )
      const shown: Array<string> = []
      store.onReleased = Effect.sync(() => void shown.push("released"))
      const { agent } = yield* TestAgent.make([ScriptedModel.text("one"), ScriptedModel.text("two")], { store })
      const input = { sessionId: "s", input: "go" }
      const see = (event: RunEvent.RunEvent) =>
        Effect.sync(() => {
          if (RunEvent.isEnd(event)) shown.push(event._tag)
        })
      yield* Stream.runForEach(agent.stream(input), see)
      assert.deepStrictEqual(shown, ["released", "RunCompleted"])
      assert.strictEqual((yield* agent.run(input))._tag, "Completed")
      const ends = (yield* store.log("s")).filter(RunEvent.isEnd)
      assert.deepStrictEqual(ends.map(({ _tag }) => _tag), ["RunCompleted", "RunCompleted"])
    }))

  it.effect("at the end event fails the stream without showing the end", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make(({ events, store }) =>
        events.some(RunEvent.isEnd) ? Effect.fail(TestStore.unavailable) : store
      )
      const { run, seen } = yield* observe(store)
      const error = yield* Effect.flip(run)
      assert.strictEqual(error.reason._tag, "StoreUnavailable")
      assert.isFalse(seen.some(RunEvent.isEnd))
    }))

  it.effect("once leaves a session that takes the next message", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make(TestStore.failing((n) => n === 3))
      const { agent } = yield* TestAgent.make([TestAgent.work(1), TestAgent.work(2), ScriptedModel.text("hello")], {
        store
      })
      yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      const result = yield* agent.run({ sessionId: "s", input: "hello?" })
      assert.strictEqual(result._tag, "Completed")
      assert.deepStrictEqual(RunLog.violations(yield* store.log("s")), [])
    }))

  it.effect("at the first append makes start fail and leaves no session", () =>
    Effect.gen(function*() {
      const store = yield* TestStore.make(TestStore.failing((n) => n === 1))
      const { agent } = yield* TestAgent.make([ScriptedModel.text("hello")], { store })
      const error = yield* Effect.flip(agent.start({ sessionId: "s", input: "go" }))
      assert.strictEqual(error.reason._tag, "StoreUnavailable")
      assert.isUndefined(yield* store.service.info("s"))
      const result = yield* agent.run({ sessionId: "s", input: "hello?" })
      assert.strictEqual(result._tag, "Completed")
    }))

  it.effect("while handlers run in parallel interrupts them and waits for them", () =>
    Effect.gen(function*() {
      const stored = yield* Deferred.make<void>()
      let cleaned = 0
      const store = yield* TestStore.make(({ events, store }) =>
        events.some((event) => event._tag === "ToolSettled") ? Effect.fail(TestStore.unavailable) : store
      )
      const { agent } = yield* TestAgent.make([[TestAgent.work(1, "a"), TestAgent.work(2, "b")]], {
        store,
        agent: { toolPolicy: { maxParallel: 2 } },
        tool: ({ n }) =>
          n === 1
            ? Effect.as(Deferred.await(stored), "first")
            : Deferred.succeed(stored, undefined).pipe(
              Effect.andThen(Effect.never),
              Effect.onInterrupt(() => Effect.sync(() => cleaned++))
            )
      })
      const error = yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
      assert.strictEqual(error.reason._tag, "StoreUnavailable")
      assert.strictEqual(cleaned, 1)
    }))
})
