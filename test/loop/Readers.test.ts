/** Readers of a run: they come, leave, lag and stop without holding up the run, and see the same facts. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunEvents from "../../src/run/RunEvents.ts"
import * as Usage from "../../src/run/Usage.ts"
import * as Model from "../../src/services/Model.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const limits = { maxTurns: 1000 }

/** `turns` tool turns with `deltas` deltas each, then a text; its whole text is `text`. */
const long = (turns: number, deltas: number) => {
  const pieces = (turn: number) => Array.from({ length: deltas }, (_, i) => `${turn}.${i} `)
  const script = Array.from({ length: turns }, (_, turn) => [ScriptedModel.text(...pieces(turn)), TestAgent.work(turn)])
  const text = Array.from({ length: turns }, (_, turn) => pieces(turn).join("")).join("")
  return { script: [...script, [ScriptedModel.text("the end")]], text: `${text}the end` }
}

/** Where a reader stops, until it is told to continue. */
const stopping = Effect.gen(function*() {
  const [stopped, goOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
  const stop = Effect.andThen(Deferred.succeed(stopped, undefined), Deferred.await(goOn))
  return {
    stopped: Deferred.await(stopped),
    goOn: Deferred.succeed(goOn, undefined),
    stopIf: (isThere: boolean) => isThere ? stop : Effect.void
  }
})

/** An agent whose model has this many deltas ready, `size` at once, and never waits. */
const ready = (deltas: number, size = 64) => {
  const parts: Array<Model.ModelPart> = Array.from(
    { length: deltas },
    () => ({ type: "text-delta", block: "0", delta: "a" })
  )
  parts.push({ type: "finish", reason: "stop", usage: Usage.zero })
  const stream = Stream.rechunk(Stream.fromIterable(parts), size)
  const model = Layer.succeed(Model.Model, { info: { provider: "test", name: "ready" }, stream: () => stream })
  return TestAgent.make([], { model })
}

const isGapFree = (events: ReadonlyArray<RunEvent.Durable>) => events.every((event, at) => event.seq === at + 1)

describe("a reader that stops reading", () => {
  it.effect("holds up neither tools nor the session, and gets every fact once and in order when it continues", () =>
    Effect.gen(function*() {
      const { script } = long(200, 250)
      const { agent, store } = yield* TestAgent.make([...script, ScriptedModel.text("hello")])
      const { goOn, stopIf, stopped } = yield* stopping
      const facts: Array<RunEvent.Durable> = []
      let longest = 0
      const run = yield* agent.start({ sessionId: "s", input: "go", limits })
      const reading = yield* run.events.pipe(
        Stream.runForEachArray((events) => {
          longest = Math.max(longest, events.length)
          facts.push(...RunLog.durable(events))
          return stopIf(facts.length > 5)
        }),
        Effect.forkChild
      )
      yield* stopped
      yield* run.result
      assert.isBelow(facts.length, 1000)
      const next = yield* agent.run({ sessionId: "s", input: "hello?" })
      assert.strictEqual(next._tag, "Completed")
      yield* goOn
      yield* Fiber.join(reading)
      const log = yield* store.log("s")
      assert.isTrue(isGapFree(facts))
      assert.deepStrictEqual(facts, log.filter((event) => event.runId === run.runId))
      assert.isAtMost(longest, 2048)
    }))

  it.effect("has the text complete through RunEvents.text", () =>
    Effect.gen(function*() {
      const { script, text } = long(200, 250)
      const { agent } = yield* TestAgent.make(script)
      const { goOn, stopIf, stopped } = yield* stopping
      const pieces: Array<string> = []
      const run = yield* agent.start({ sessionId: "s", input: "go", limits })
      const reading = yield* run.events.pipe(
        RunEvents.text,
        Stream.runForEach((piece) => {
          pieces.push(piece)
          return stopIf(pieces.length === 300)
        }),
        Effect.forkChild
      )
      yield* stopped
      yield* run.result
      yield* goOn
      yield* Fiber.join(reading)
      assert.strictEqual(pieces.join(""), text)
    }))

  it.effect("in the middle of one long message has its text complete", () =>
    Effect.gen(function*() {
      const pieces = Array.from({ length: 5000 }, (_, i) => `${i} `)
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([
        [
          ...pieces.slice(0, 10).map((piece) => ScriptedModel.text(piece)),
          ScriptedModel.gate(gate),
          ...pieces.slice(10).map((piece) => ScriptedModel.text(piece))
        ]
      ])
      const { goOn, stopIf, stopped } = yield* stopping
      const seen: Array<string> = []
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const reading = yield* run.events.pipe(
        RunEvents.text,
        Stream.runForEach((piece) => {
          seen.push(piece)
          return stopIf(seen.length === 5)
        }),
        Effect.forkChild
      )
      yield* stopped
      yield* gate.release
      yield* run.result
      yield* goOn
      yield* Fiber.join(reading)
      assert.strictEqual(seen.join(""), pieces.join(""))
      assert.isAtMost(seen.length, 1100)
    }))

  it.effect.each(["stream", "start"] as const)(
    "and cannot read what it missed at first has not left: %s goes on, and it gets every fact",
    (how) =>
      Effect.gen(function*() {
        const { script } = long(200, 250)
        const gate = yield* ScriptedModel.makeGate
        const inner = (yield* TestStore.make()).service
        let failing = 0
        const away = yield* Deferred.make<void>()
        const store = TestStore.over({
          ...inner,
          read: (sessionId, range) =>
            Stream.suspend(() => {
              if (failing === 0) return inner.read(sessionId, range)
              failing--
              if (failing === 0) Deferred.doneUnsafe(away, Effect.void)
              return Stream.fail(TestStore.unavailable)
            })
        })
        const { agent } = yield* TestAgent.make(
          [...script.slice(0, -1), [ScriptedModel.gate(gate), ScriptedModel.text("the end")]],
          { store }
        )
        const { goOn, stopIf, stopped } = yield* stopping
        const facts: Array<RunEvent.Durable> = []
        const input = { sessionId: "s", input: "go", limits }
        const events = how === "stream" ? agent.stream(input) : (yield* agent.start(input)).events
        const reading = yield* events.pipe(
          Stream.runForEachArray((events) => {
            facts.push(...RunLog.durable(events))
            return stopIf(facts.length > 5)
          }),
          Effect.forkChild
        )
        yield* stopped
        yield* gate.started
        failing = 3
        yield* goOn
        yield* Effect.raceFirst(
          Deferred.await(away),
          Effect.forever(Effect.andThen(TestClock.adjust("100 millis"), Effect.yieldNow))
        )
        yield* gate.release
        yield* Effect.raceFirst(
          Fiber.join(reading),
          Effect.forever(Effect.andThen(TestClock.adjust("100 millis"), Effect.yieldNow))
        )
        assert.isTrue(isGapFree(facts))
        assert.deepStrictEqual(facts, yield* store.log("s"))
        assert.strictEqual(facts.at(-1)?._tag, "RunCompleted")
      })
  )

  it.effect("fails where the store does not answer once the run is over", () =>
    Effect.gen(function*() {
      const { script } = long(200, 250)
      const inner = (yield* TestStore.make()).service
      let isAway = false
      const store = TestStore.over({
        ...inner,
        read: (sessionId, range) =>
          Stream.suspend(() => isAway ? Stream.fail(TestStore.unavailable) : inner.read(sessionId, range))
      })
      const { agent } = yield* TestAgent.make(script, { store })
      const { goOn, stopIf, stopped } = yield* stopping
      const run = yield* agent.start({ sessionId: "s", input: "go", limits })
      let seen = 0
      const reading = yield* run.events.pipe(
        Stream.runForEach(() => stopIf(++seen > 5)),
        Effect.flip,
        Effect.forkChild
      )
      yield* stopped
      yield* run.result
      isAway = true
      yield* goOn
      assert.strictEqual((yield* Fiber.join(reading)).reason._tag, "StoreUnavailable")
    }))

  it.effect("and is interrupted does not affect a started run", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([[
        ScriptedModel.text("a"),
        ScriptedModel.gate(gate),
        ScriptedModel.text("b")
      ]])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const reading = yield* Effect.forkChild(Stream.runForEach(run.events, () => Effect.never))
      yield* gate.started
      yield* Fiber.interrupt(reading)
      yield* gate.release
      const result = yield* run.result
      assert.strictEqual(result.text, "ab")
    }))
})

describe("readers of one run", () => {
  it.effect("see the same facts, early and late, live and after the end", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([
        [ScriptedModel.text("let me see"), TestAgent.work(1)],
        [ScriptedModel.text("half "), ScriptedModel.gate(gate), ScriptedModel.text("whole")]
      ])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const early = yield* Effect.forkChild(Stream.runCollect(run.events))
      const twin = yield* Effect.forkChild(Stream.runCollect(run.events))
      yield* gate.started
      const late = yield* Effect.forkChild(Stream.runCollect(run.events))
      const live = yield* agent.live(run.runId)
      assert.isDefined(live)
      const other = yield* Effect.forkChild(Stream.runCollect(live!.events))
      yield* Effect.yieldNow
      yield* gate.release
      yield* run.result
      const after = yield* Stream.runCollect(run.events)
      const log = yield* store.log("s")
      for (const reader of [early, twin, late, other]) {
        assert.deepStrictEqual(RunLog.durable(yield* Fiber.join(reader)), log)
      }
      assert.deepStrictEqual(RunLog.durable(after), log)
    }))

  it.effect("that come first see every delta, however late they come", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([[ScriptedModel.text("a", "b", "c")]])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      yield* run.result
      const events = yield* Stream.runCollect(run.events)
      assert.deepStrictEqual(RunLog.only(events, "TextDelta").map((event) => event.delta), ["a", "b", "c"])
    }))

  it.effect.each([1, 64, 300, 448, 600, 900])(
    "that keep up see each delta on its own, even from a model that never waits, %d at once",
    (size) =>
      Effect.gen(function*() {
        const { agent } = yield* ready(10_000, size)
        const events = yield* Stream.runCollect(agent.stream({ sessionId: "s", input: "go" }))
        assert.strictEqual(RunLog.only(events, "TextDelta").length, 10_000)
      })
  )

  it.effect("that keep up see each delta on its own, even when they take a turn of the event loop", () =>
    Effect.gen(function*() {
      const { agent } = yield* ready(10_000)
      const reading = Stream.mapEffect(
        Stream.chunks(agent.stream({ sessionId: "s", input: "go" })),
        (events) => Effect.as(Effect.yieldNow, events)
      )
      const events = (yield* Stream.runCollect(reading)).flat()
      assert.strictEqual(RunLog.only(events, "TextDelta").length, 10_000)
    }))

  it.effect("that keep up let other fibers run", () =>
    Effect.gen(function*() {
      const { agent } = yield* ready(100_000)
      let turns = 0
      const other = yield* Effect.forkChild(Effect.forever(Effect.andThen(Effect.yieldNow, Effect.sync(() => turns++))))
      yield* Stream.runDrain(agent.stream({ sessionId: "s", input: "go" }))
      yield* Fiber.interrupt(other)
      assert.isAtLeast(turns, 10)
    }))

  it.effect("may leave and come back", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), [
        ScriptedModel.gate(gate),
        ScriptedModel.text("b")
      ]])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const first = yield* Stream.runCollect(Stream.take(run.events, 3))
      assert.strictEqual(first.length, 3)
      yield* gate.started
      const again = yield* Effect.forkChild(Stream.runCollect(run.events))
      yield* gate.release
      assert.deepStrictEqual(RunLog.durable(yield* Fiber.join(again)), yield* store.log("s"))
    }))

  it.effect("neither keep a started run alive nor end it", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("b")])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      yield* Stream.runDrain(Stream.take(run.events, 1))
      const result = yield* run.result
      assert.strictEqual(result._tag, "Completed")
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunCompleted(stop)")
    }))

  it.effect("of stream abort the run by leaving early", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([[ScriptedModel.text("a"), ScriptedModel.gate(gate)]])
      yield* agent.stream({ sessionId: "s", input: "go" }).pipe(
        Stream.takeUntil((event) => event._tag === "TextDelta"),
        Stream.runDrain
      )
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(consumer)")
    }))

  it.effect("that fail or die do not affect a started run", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([[
        ScriptedModel.text("a"),
        ScriptedModel.gate(gate),
        ScriptedModel.text("b")
      ]])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const broken = [
        yield* Effect.forkChild(Stream.runForEach(run.events, () => Effect.fail("no"))),
        yield* Effect.forkChild(Stream.runForEach(run.events, () => Effect.die("bug"))),
        yield* Effect.forkChild(Stream.runForEach(run.events, (): Effect.Effect<void> => {
          throw new Error("bug")
        }))
      ]
      yield* gate.started
      yield* gate.release
      assert.strictEqual((yield* run.result).text, "ab")
      for (const fiber of broken) assert.strictEqual((yield* Fiber.await(fiber))._tag, "Failure")
    }))

  it.effect("of stream that fail abort the run, and fail with their own error", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent, store } = yield* TestAgent.make([[ScriptedModel.text("a"), ScriptedModel.gate(gate)]])
      const error = yield* agent.stream({ sessionId: "s", input: "go" }).pipe(
        Stream.mapEffect((event) => event._tag === "TextDelta" ? Effect.fail("no" as const) : Effect.void),
        Stream.runDrain,
        Effect.flip
      )
      assert.strictEqual(error, "no")
      assert.strictEqual(RunLog.endOf(yield* store.log("s")), "RunAborted(consumer)")
    }))

  it.effect("of a failed run get its error after the end event", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([ScriptedModel.finish("error")])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      for (let i = 0; i < 2; i++) {
        const seen: Array<RunEvent.RunEvent> = []
        const error = yield* run.events.pipe(
          Stream.runForEach((event) => Effect.sync(() => seen.push(event))),
          Effect.flip
        )
        assert.strictEqual(RunLog.endOf(seen), "RunFailed(Unknown)")
        assert.strictEqual(error.reason._tag, "Unknown")
      }
    }))
})
