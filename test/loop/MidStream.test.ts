/** Failures in the middle of an answer: what every reader sees of them, what they cost, and what is not done. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type * as RunError from "../../src/run/RunError.ts"
import type * as RunEvent from "../../src/run/RunEvent.ts"
import * as RunEvents from "../../src/run/RunEvents.ts"
import * as RetryPolicy from "../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"

/** More pieces than a reader's buffer holds. */
const pieces = (name: string) => Array.from({ length: 1500 }, (_, n) => `${name}${n} `)
const say = (name: string) => ScriptedModel.text(...pieces(name))
const whole = pieces("second").join("")

const atOnce = { agent: { retry: RetryPolicy.make({ base: 0 }) } }

/** What a reader has in the end that keeps a text and forgets what is discarded. */
const textOf = (events: ReadonlyArray<RunEvent.RunEvent>): string =>
  events.reduce(
    (text, event) =>
      event._tag === "AttemptDiscarded"
        ? ""
        : event._tag === "TextDelta"
        ? text + event.delta
        : event._tag === "AssistantMessage"
        ? event.message.content.map((part) => part.type === "text" ? part.text : "").join("")
        : text,
    ""
  )

/** Deltas that come before the previous attempt was discarded. */
const tooEarly = (events: ReadonlyArray<RunEvent.RunEvent>) => {
  const discarded = RunLog.only(events, "AttemptDiscarded")[0]!
  return RunLog.only(events.slice(0, events.indexOf(discarded)), "TextDelta").filter(({ attempt }) =>
    attempt > discarded.attempt
  )
}

/** A run whose first attempt fails midway, and that holds in the middle of the second. */
const failing = Effect.gen(function*() {
  const gate = yield* ScriptedModel.makeGate
  const made = yield* TestAgent.make([
    [say("first"), TestAgent.work(1), Overloaded.fail()],
    [
      ScriptedModel.text(...pieces("second").slice(0, 700)),
      ScriptedModel.gate(gate),
      ScriptedModel.text(...pieces("second").slice(700))
    ]
  ], atOnce)
  const run = yield* made.agent.start({ sessionId: "s", input: "go" })
  return { ...made, run, gate }
})

type Reader = (
  events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>,
  over: Effect.Effect<unknown>
) => Effect.Effect<ReadonlyArray<RunEvent.RunEvent>, RunError.RunError>

const readers: Readonly<Record<string, Reader>> = {
  "reads on": (events) => Stream.runCollect(events),
  "stops after its first event until the run is over": (events, over) =>
    Stream.runCollect(Stream.tap(events, (event) => event._tag === "RunStarted" ? over : Effect.void)),
  "stops in the first attempt until the run is over": (events, over) =>
    Stream.runCollect(
      Stream.tap(events, (event) => event._tag === "TextDelta" && event.attempt === 1 ? over : Effect.void)
    ),
  "coalesces": (events) => Stream.runCollect(RunEvents.coalesce("1 millis")(events)),
  "comes when the run is over": (events, over) => Effect.andThen(over, Stream.runCollect(events))
}

describe("a discarded attempt", () => {
  for (const [name, read] of Object.entries(readers)) {
    it.live(`is discarded before the next one's first delta, and the text is there once, for a reader that ${name}`, () =>
      Effect.gen(function*() {
        const { gate, run } = yield* failing
        const reader = yield* Effect.forkScoped(read(run.events, Effect.exit(run.result)))
        yield* gate.started
        yield* gate.release
        const events = yield* Fiber.join(reader)
        assert.deepStrictEqual(tooEarly(events), [])
        assert.strictEqual(textOf(events), whole)
        const order = RunLog.tags(RunLog.durable(events))
        assert.deepStrictEqual(order, [
          "RunStarted",
          "TurnStarted",
          "AttemptDiscarded",
          "AssistantMessage",
          "TurnFinished",
          "RunCompleted"
        ])
      }))
  }

  it.live("is also discarded for a reader that joins in the middle of the next one", () =>
    Effect.gen(function*() {
      const { gate, run } = yield* failing
      yield* gate.started
      const reader = yield* Effect.forkScoped(Stream.runCollect(run.events))
      yield* gate.release
      const events = yield* Fiber.join(reader)
      assert.deepStrictEqual(tooEarly(events), [])
      assert.strictEqual(textOf(events), whole)
    }))

  it.live("is left out of the text that a late reader gets", () =>
    Effect.gen(function*() {
      const { gate, run } = yield* failing
      yield* gate.started
      yield* gate.release
      yield* run.result
      // the first reader sees all deltas, the second one what is in the store
      yield* Stream.runDrain(run.events)
      const text = yield* Stream.runCollect(RunEvents.text(run.events))
      assert.strictEqual(text.join(""), whole)
    }))

  it.effect("has none of its calls run, and none of its text sent again", () =>
    Effect.gen(function*() {
      let ran = 0
      const { agent, script, store } = yield* TestAgent.make([
        [ScriptedModel.text("half an ans"), TestAgent.work(1), Overloaded.fail()],
        [TestAgent.work(2)],
        ScriptedModel.text("ok")
      ], { ...atOnce, tool: ({ n }) => Effect.sync(() => `${ran += n}`) })
      yield* agent.run({ sessionId: "s", input: "go" })
      assert.strictEqual(ran, 2)
      assert.notInclude(JSON.stringify((yield* script.requests).map(({ messages }) => messages)), "half an ans")
      const log = yield* store.log("s")
      assert.deepStrictEqual(RunLog.outcomes(log), ["1.0 Succeeded"])
      assert.deepStrictEqual(RunLog.violations(log), [])
    }))

  it.effect("costs what it used, if the provider reported it", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([
        [ScriptedModel.text(" "), ScriptedModel.finish("stop", { inputTokens: 100, outputTokens: 7 })],
        ScriptedModel.text("ok")
      ], atOnce)
      const { usage } = yield* agent.run({ sessionId: "s", input: "go" })
      assert.deepStrictEqual(usage, { inputTokens: 110, outputTokens: 12 })
      const [discarded] = RunLog.only(yield* store.log("s"), "AttemptDiscarded")
      assert.deepStrictEqual(discarded?.usage, { inputTokens: 100, outputTokens: 7 })
    }))
})
