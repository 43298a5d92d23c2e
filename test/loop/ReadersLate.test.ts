/** Readers that join in the middle of an answer: they get what was said so far at once, and the rest as it comes. */
import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import * as RunError from "../../src/run/RunError.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunEvents from "../../src/run/RunEvents.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Deltas from "../support/Deltas.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const { parts, text } = ScriptedModel

/** Something that reads `told`, and a wait for the first event that `isThere`. */
const readingOf = Effect.fnUntraced(function*<A>(
  told: Stream.Stream<A, RunError.RunError>,
  isThere: (one: A) => boolean
) {
  const seen: Array<A> = []
  const there = yield* Deferred.make<void>()
  const fiber = yield* Effect.forkChild(Stream.runForEach(told, (one) => {
    seen.push(one)
    return isThere(one) ? Deferred.succeed(there, undefined) : Effect.void
  }))
  return { there: Deferred.await(there), all: Effect.as(Fiber.join(fiber), seen), seen }
})

type Run = { readonly events: Stream.Stream<RunEvent.RunEvent, RunError.RunError> }

const reading = ({ events }: Run, isThere: (event: RunEvent.RunEvent) => boolean = RunEvent.isDelta) =>
  readingOf(events, isThere)

const shown = (events: ReadonlyArray<RunEvent.RunEvent>) =>
  Deltas.deltasOf(events).map(({ count = 1, delta, index }) => [index, count, delta] as const)

describe("a reader that joins in the middle of an answer", () => {
  it.effect("gets what was said so far at once as one delta, and then each delta on its own", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([
        TestAgent.work(1),
        [text("Once ", "upon "), ScriptedModel.gate(gate), text("a ", "time.")]
      ])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const first = yield* reading(run, (event) => RunEvent.isDelta(event) && event.index === 1)
      yield* gate.started
      yield* first.there
      const live = yield* agent.live(run.runId)
      const late = yield* reading(live!)
      const attached = yield* reading({ events: agent.stream({ sessionId: "s", runId: run.runId, input: "go" }) })
      const words = yield* readingOf(RunEvents.text(run.events), () => true)
      // before the model says another word
      yield* late.there
      yield* attached.there
      yield* words.there
      yield* gate.release
      assert.deepStrictEqual(shown(yield* first.all), [[0, 1, "Once "], [1, 1, "upon "], [2, 1, "a "], [3, 1, "time."]])
      for (const reader of [late, attached]) {
        assert.deepStrictEqual(shown(yield* reader.all), [[0, 2, "Once upon "], [2, 1, "a "], [3, 1, "time."]])
        assert.deepStrictEqual(RunLog.durable(reader.seen), RunLog.durable(first.seen))
      }
      assert.deepStrictEqual(yield* words.all, ["Once upon ", "a ", "time."])
    }))

  it.effect("gets the reasoning and the arguments of calls too, wherever it joins", () =>
    Effect.gen(function*() {
      const steps = [
        ScriptedModel.reasoning("Let me "),
        ScriptedModel.reasoning("see. \ud83d"),
        parts({ type: "reasoning-delta", block: "reasoning", delta: "\ude42" }),
        text("I look", " it up."),
        parts({ type: "tool-params-delta", block: "one", tool: "look", delta: "{\"n\"" }),
        parts({ type: "tool-params-delta", block: "two", tool: "work", delta: "{" }),
        parts({ type: "tool-params-delta", block: "one", delta: ":1}" }),
        ScriptedModel.call("look", { n: 1 }, "one"),
        parts({ type: "tool-params-delta", block: "two", delta: "\"n\":2}" }),
        ScriptedModel.call("work", { n: 2 }, "two")
      ]
      const gates = yield* Effect.forEach(steps, () => ScriptedModel.makeGate)
      const { agent } = yield* TestAgent.make([
        Arr.flatten(steps.map((step, at) => [step, ScriptedModel.gate(gates[at]!)])),
        text("Done.")
      ])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const first = yield* reading(run)
      const late = yield* Effect.forEach(gates, (gate) =>
        Effect.gen(function*() {
          yield* gate.started
          const reader = yield* reading(run)
          yield* reader.there
          yield* gate.release
          return reader
        }))
      yield* first.all
      const blocks = ["reasoning", "text", "one", "two"]
      const said = blocks.map((block) => Deltas.said(first.seen, block))
      assert.deepStrictEqual(said, ["Let me see. 🙂", "I look it up.Done.", "{\"n\":1}", "{\"n\":2}"])
      for (const { all } of late) {
        const seen = yield* all
        assert.deepStrictEqual(blocks.map((block) => Deltas.said(seen, block)), said)
        assert.deepStrictEqual(
          RunLog.only(seen, "ToolParamsDelta").map(({ block, tool }) => `${block} ${tool}`).sort(
            Intl.Collator().compare
          )
            .filter((name, at, all) => name !== all[at - 1]),
          ["one look", "two work"]
        )
        const deltas = Deltas.deltasOf(seen).filter(({ turn }) => turn === 1)
        const ends = deltas.map(({ count = 1, index }) => index + count)
        assert.deepStrictEqual(deltas.map(({ index }) => index), [0, ...ends.slice(0, -1)])
      }
    }))

  it.effect("gets nothing twice that waits behind a fact being stored", () =>
    Effect.gen(function*() {
      const [gate, next] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
      const stored = yield* Deferred.make<void>()
      const store = yield* TestStore.make()
      const { agent } = yield* TestAgent.make([
        [text("a"), ScriptedModel.gate(gate), text("b"), ScriptedModel.gate(next), text("c")],
        text("d")
      ], { store })
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const first = yield* reading(run)
      yield* gate.started
      const asked = yield* Deferred.make<void>()
      store.onAppend = ({ store }) =>
        Effect.andThen(Deferred.succeed(asked, undefined), Effect.andThen(Deferred.await(stored), store))
      const steering = yield* Effect.forkChild(run.steer("And?"))
      yield* Deferred.await(asked)
      // "b" is shown after the input, which is not stored yet
      yield* gate.release
      yield* next.started
      const late = yield* reading(run)
      yield* late.there
      yield* Deferred.succeed(stored, undefined)
      yield* next.release
      yield* Fiber.join(steering)
      assert.deepStrictEqual(shown(yield* first.all), [[0, 1, "a"], [1, 1, "b"], [2, 1, "c"], [0, 1, "d"]])
      assert.deepStrictEqual(shown(yield* late.all), [[0, 2, "ab"], [2, 1, "c"], [0, 1, "d"]])
      for (const { seen } of [first, late]) assert.deepStrictEqual(RunLog.durable(seen), yield* store.log("s"))
    }))

  it.effect("gets nothing of a discarded attempt", () =>
    Effect.gen(function*() {
      const overloaded = new RunError.RetryableError({ _tag: "Overloaded", message: "busy" })
      const [wrong, gate] = [yield* ScriptedModel.makeGate, yield* ScriptedModel.makeGate]
      const { agent } = yield* TestAgent.make([
        [text("wro", "ng"), ScriptedModel.gate(wrong), ScriptedModel.fail(overloaded)],
        [text("ri"), ScriptedModel.gate(gate), text("ght")]
      ])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const first = yield* reading(run, (event) => event._tag === "RetryScheduled")
      yield* wrong.started
      const before = yield* reading(run)
      yield* before.there
      yield* wrong.release
      yield* first.there
      const late = yield* reading(run)
      yield* TestClock.adjust("1 minute")
      yield* gate.started
      const later = yield* reading(run)
      yield* later.there
      yield* gate.release
      assert.deepStrictEqual(shown(yield* first.all), [[0, 1, "wro"], [1, 1, "ng"], [0, 1, "ri"], [1, 1, "ght"]])
      assert.deepStrictEqual(shown(yield* before.all), [[0, 2, "wrong"], [0, 1, "ri"], [1, 1, "ght"]])
      assert.deepStrictEqual(shown(yield* late.all), [[0, 1, "ri"], [1, 1, "ght"]])
      assert.deepStrictEqual(shown(yield* later.all), [[0, 1, "ri"], [1, 1, "ght"]])
    }))

  it.effect("gets nothing of an aborted attempt, once the run has ended", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([[text("a"), ScriptedModel.gate(gate)]])
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const first = yield* reading(run)
      yield* gate.started
      yield* run.abort
      const late = yield* reading(run)
      assert.deepStrictEqual(shown(yield* late.all), [])
      assert.deepStrictEqual(RunLog.durable(late.seen), RunLog.durable(yield* first.all))
    }))

  it.effect("gets no deltas of a settled answer, whose message restates them", () =>
    Effect.gen(function*() {
      const [begun, goOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const { agent } = yield* TestAgent.make([[text("said"), TestAgent.work(1)], text("done")], {
        tool: () => Effect.as(Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(goOn)), "worked")
      })
      const run = yield* agent.start({ sessionId: "s", input: "go" })
      const first = yield* reading(run)
      yield* Deferred.await(begun)
      const late = yield* reading(run, (event) => event._tag === "ToolStarted")
      yield* late.there
      yield* Deferred.succeed(goOn, undefined)
      assert.deepStrictEqual(shown(yield* late.all), [[0, 1, "done"]])
      assert.deepStrictEqual(RunLog.durable(late.seen), RunLog.durable(yield* first.all))
    }))
})
