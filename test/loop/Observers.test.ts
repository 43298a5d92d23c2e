/** Observers see what a drive publishes, at their own pace, and never hold it up. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RunEvent from "../../src/run/RunEvent.ts"
import { Grace } from "../../src/services/Grace.ts"
import type { Batch, Observer } from "../../src/services/Observers.ts"
import { Observers } from "../../src/services/Observers.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import { unreadable } from "../support/Unreadable.ts"

const seenBy = (name: string) => {
  const batches: Array<Batch> = []
  const ended = Deferred.makeUnsafe<void>()
  const observer: Observer = {
    name,
    observe: (batch) =>
      Effect.suspend(() => {
        batches.push(batch)
        const last = batch.events.at(-1)!
        return "totals" in last ? Deferred.succeed(ended, undefined) : Effect.void
      })
  }
  return {
    observer,
    batches,
    ended: Deferred.await(ended),
    events: (): Array<RunEvent.RunEvent> => batches.flatMap(({ events }) => [...events])
  }
}

const textOf = (events: ReadonlyArray<RunEvent.RunEvent>): string =>
  events.map((event) => event._tag === "TextDelta" ? event.delta : "").join("")

/** What is warned of in a run whose observer gives this when a tool has started, once it has seen the run's end all the same. */
const warningsAbout = Effect.fnUntraced(function*(odd: ReturnType<Observer["observe"]>) {
  const seen = seenBy("odd")
  const warnings: Array<string> = []
  const observer: Observer = {
    name: "odd",
    observe: (batch) => batch.events.some(({ _tag }) => _tag === "ToolStarted") ? odd : seen.observer.observe(batch)
  }
  const { agent } = yield* TestAgent.make([TestAgent.work(1), TestAgent.work(2), ScriptedModel.text("done")])
  const result = yield* agent.run({ input: "go" }).pipe(
    Effect.provideService(Observers, [observer]),
    Effect.provide(Logger.layer([Logger.make(({ message }) => void warnings.push(String(message)))]))
  )
  yield* seen.ended
  assert.strictEqual(result._tag, "Completed")
  assert.strictEqual(warnings.length, 1)
  return warnings
})

/** Takes one batch and holds it until it is released; then it sees the rest. */
const slow = (name: string) => {
  const seen = seenBy(name)
  const held = Deferred.makeUnsafe<void>()
  const goOn = Deferred.makeUnsafe<void>()
  let isFirst = true
  const observer: Observer = {
    name,
    observe: (batch) =>
      Effect.suspend(() => {
        const wait = isFirst ? Effect.andThen(Deferred.succeed(held, undefined), Deferred.await(goOn)) : Effect.void
        isFirst = false
        return Effect.andThen(wait, seen.observer.observe(batch))
      })
  }
  return { ...seen, observer, held: Deferred.await(held), goOn: Deferred.succeed(goOn, undefined) }
}

const pieces = Array.from({ length: 2000 }, (_, i) => ScriptedModel.text(`${i} `))
const talkative = [[...pieces, TestAgent.work(1)], ScriptedModel.text("done")]

describe("an observer", () => {
  it.effect("of the layer sees all that a run publishes, even if nobody reads it, and learns whose run it is", () =>
    Effect.gen(function*() {
      const seen = seenBy("all")
      const { agent, store } = yield* TestAgent.make([
        [ScriptedModel.text("let ", "me see"), TestAgent.work(1)],
        ScriptedModel.text("done")
      ]).pipe(Effect.provideService(Observers, [seen.observer]))
      const { runId } = yield* agent.run({ sessionId: "s", input: "go" })
      yield* seen.ended
      assert.deepStrictEqual(RunLog.durable(seen.events()), yield* store.log("s"))
      assert.deepStrictEqual(RunLog.only(seen.events(), "TextDelta").map(({ delta }) => delta), [
        "let ",
        "me see",
        "done"
      ])
      assert.deepStrictEqual(RunLog.moves(seen.events()).at(-1), "observing>completed")
      const told = seen.batches.map(({ agent, missed, runId, sessionId }) => ({ agent, missed, runId, sessionId }))
      assert.deepStrictEqual(told[0], { agent: "test/Tested", missed: 0, runId, sessionId: "s" })
    }))

  it.effect("is told the data of a run that another process has begun, or what it is resumed with", () =>
    Effect.gen(function*() {
      const seen = seenBy("all")
      const store = yield* TestStore.make()
      const made = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
        TestAgent.make(turns, { store, agent: { limits: { maxTurns: 1 } } }).pipe(
          Effect.provideService(Observers, [seen.observer])
        )
      const first = yield* made(TestAgent.work(1))
      yield* first.agent.run({ sessionId: "s", input: "go", data: { tenant: "acme" } })
      yield* first.close
      const second = yield* made(TestAgent.work(2), TestAgent.work(3), ScriptedModel.text("done"))
      yield* second.agent.resumeRun({ sessionId: "s", limits: { maxTurns: 2 } })
      yield* second.agent.resumeRun({ sessionId: "s", limits: { maxTurns: 3 }, data: null })
      yield* second.agent.run({ sessionId: "t", input: "go" })
      yield* second.close
      const told = seen.batches.flatMap(({ data, events }) => events.filter(RunEvent.isEnd).map(() => data))
      assert.deepStrictEqual(told, [{ tenant: "acme" }, { tenant: "acme" }, null, undefined])
    }))

  it.effect("of the caller adds to the layer's; one in both sees a run once", () =>
    Effect.gen(function*() {
      const [layer, both, caller] = [seenBy("layer"), seenBy("both"), seenBy("caller")]
      const { agent } = yield* TestAgent.make([ScriptedModel.text("a"), ScriptedModel.text("b")]).pipe(
        Effect.provideService(Observers, [layer.observer, both.observer])
      )
      yield* agent.run({ input: "go" }).pipe(Effect.provideService(Observers, [caller.observer, both.observer]))
      yield* Effect.all([layer.ended, both.ended, caller.ended])
      yield* agent.run({ input: "again" })
      const runs = ({ events }: ReturnType<typeof seenBy>) => RunLog.only(events(), "RunStarted").length
      yield* Effect.yieldNow
      assert.deepStrictEqual([layer, both, caller].map(runs), [2, 2, 1])
    }))

  it.effect("that is slow delays neither the run nor the others, and is told how many transient events it missed", () =>
    Effect.gen(function*() {
      const [late, quick] = [slow("late"), seenBy("quick")]
      const { agent, store } = yield* TestAgent.make(talkative).pipe(
        Effect.provideService(Observers, [late.observer, quick.observer])
      )
      yield* Effect.gen(function*() {
        const running = yield* Effect.forkChild(agent.run({ sessionId: "s", input: "go" }))
        yield* late.held
        assert.strictEqual((yield* Fiber.join(running))._tag, "Completed")
        yield* quick.ended
        assert.strictEqual(quick.batches.reduce((sum, { missed }) => sum + missed, 0), 0)
        yield* late.goOn
        yield* late.ended
        const log = yield* store.log("s")
        assert.deepStrictEqual(RunLog.durable(late.events()), log)
        const transients = (events: ReadonlyArray<RunEvent.RunEvent>) =>
          events.filter((event) => !("seq" in event)).reduce(
            (sum, event) => sum + ("count" in event ? event.count : 1),
            0
          )
        const missed = late.batches.reduce((sum, { missed }) => sum + missed, 0)
        assert.isAbove(missed, 0)
        assert.strictEqual(transients(late.events()) + missed, transients(quick.events()))
      }).pipe(Effect.ensuring(late.goOn))
    }))

  it.effect("gets the end even if the store cannot provide what it missed", () =>
    Effect.gen(function*() {
      const late = slow("late")
      const store = yield* TestStore.make()
      const warnings: Array<unknown> = []
      const { agent } = yield* TestAgent.make(Array.from({ length: 200 }, (_, i) => TestAgent.work(i)), {
        store: {
          ...store,
          layer: TestStore.over({ ...store.service, read: () => Stream.fail(TestStore.unavailable) }).layer
        },
        agent: { limits: { maxTurns: 200 }, doomLoop: false }
      }).pipe(Effect.provideService(Observers, [late.observer]))
      yield* Effect.gen(function*() {
        const running = yield* Effect.forkChild(agent.run({ sessionId: "s", input: "go" }))
        yield* late.held
        yield* Fiber.join(running)
        yield* late.goOn
        yield* late.ended
      }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void warnings.push(message))])))
      assert.strictEqual(RunLog.endOf(late.events()), "RunLimited(turns)")
      assert.match(String(warnings), /"late" missed events that the store could not read/)
    }))

  it.effect("that fails, dies or interrupts itself is named in one warning and stays; the run does not notice", () =>
    Effect.gen(function*() {
      const failures = [
        [Effect.fail("SECRET"), /the observer "odd" failed;/],
        [
          Effect.die(new TypeError("SECRET")),
          /the observer "odd" failed: TypeError at .*Observers.test.ts:\d+:\d+\)?;/
        ],
        [Effect.interrupt, /the observer "odd" interrupted itself;/]
      ] as const
      for (const [failure, said] of failures) {
        const warnings = yield* warningsAbout(failure)
        assert.match(String(warnings), said)
        assert.notMatch(String(warnings), /SECRET/)
      }
    }))

  it.effect.each(["a text", ...Object.keys(unreadable)])(
    "that returns no effect but %s is named in one warning and stays; the run does not notice",
    (name) =>
      Effect.gen(function*() {
        const warnings = yield* warningsAbout(unreadable[name]?.() ?? "a text" as never)
        assert.match(String(warnings), /the observer "odd" failed;/)
      })
  )

  it.effect("is waited for when the layer closes, but only for the grace period", () =>
    Effect.gen(function*() {
      const late = slow("late")
      const left = Deferred.makeUnsafe<void>()
      const stuck: Observer = {
        name: "stuck",
        observe: () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(left, undefined))
      }
      const { agent, close } = yield* TestAgent.make([ScriptedModel.text("done")]).pipe(
        Effect.provideService(Observers, [late.observer, stuck]),
        Effect.provideService(Grace, Duration.seconds(3))
      )
      yield* agent.run({ input: "go" })
      const closing = yield* Effect.forkChild(close)
      yield* late.held
      yield* late.goOn
      yield* late.ended
      yield* TestClock.adjust("2 seconds")
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
      yield* Deferred.await(left)
    }))

  it.effect("changes nothing for a reader and an observer that are behind, where it changes its batches", () =>
    Effect.gen(function*() {
      const late = slow("late")
      const spoilt = { one: Deferred.makeUnsafe<void>(), two: Deferred.makeUnsafe<void>() }
      const ended = Deferred.makeUnsafe<void>()
      const spoiling: Observer = {
        name: "spoiling",
        observe: ({ events }) =>
          Effect.suspend(() => {
            if (events.at(-1)?._tag === "RunCompleted") return Deferred.succeed(ended, undefined)
            const text = textOf((events as unknown as Array<RunEvent.RunEvent>).splice(0))
            return text === "one" || text === "two" ? Deferred.succeed(spoilt[text], undefined) : Effect.void
          })
      }
      const first = yield* ScriptedModel.makeGate
      const second = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([[
        ScriptedModel.text("one"),
        ScriptedModel.gate(first),
        ScriptedModel.text("two"),
        ScriptedModel.gate(second),
        ScriptedModel.text("three")
      ]])
      const read: Array<RunEvent.RunEvent> = []
      const reading = agent.stream({ input: "go" }).pipe(
        Stream.runForEachArray((events) =>
          Effect.suspend(() => {
            const isFirst = read.length === 0
            read.push(...events)
            return isFirst ? Deferred.await(ended) : Effect.void
          })
        ),
        Effect.provideService(Observers, [spoiling, late.observer])
      )
      const reader = yield* Effect.forkChild(reading)
      yield* late.held
      // a piece of text that is published by itself is one array for all
      yield* Deferred.await(spoilt.one)
      yield* first.release
      yield* Deferred.await(spoilt.two)
      yield* second.release
      yield* Fiber.join(reader)
      yield* late.goOn
      // before the wait for the other, which would not see the end
      assert.notInclude(read, undefined as never)
      assert.strictEqual(textOf(read), "onetwothree")
      yield* late.ended
      assert.strictEqual(textOf(late.events()), "onetwothree")
      assert.strictEqual(read.at(-1)?._tag, "RunCompleted")
      assert.deepStrictEqual(RunLog.durable(late.events()), RunLog.durable(read))
    }))

  it.effect("sees nothing of a run that is replayed, or that never began", () =>
    Effect.gen(function*() {
      const seen = seenBy("all")
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")])
      yield* agent.run({ sessionId: "s", runId: "r", input: "go" })
      yield* Effect.gen(function*() {
        assert.strictEqual((yield* agent.run({ sessionId: "s", runId: "r", input: "go" })).text, "done")
        yield* Effect.flip(agent.run({ sessionId: "t", createSession: false, input: "go" }))
      }).pipe(Effect.provideService(Observers, [seen.observer]))
      assert.deepStrictEqual(seen.batches, [])
    }))
})
