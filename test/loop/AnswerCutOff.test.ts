/** An answer that an end cuts off is kept: a page still has it, and the model is told of it with the next message. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as SessionStoreSqlite from "../../src/layers/SessionStoreSqlite.ts"
import * as RunEvent from "../../src/run/RunEvent.ts"
import * as SessionStore from "../../src/services/SessionStore.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Brief from "../support/Brief.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"
import * as UiPage from "../support/UiPage.ts"

const go = { sessionId: "s", runId: "r", input: "count" }
const { gate, text } = ScriptedModel

/** A run held after what its model says first, which says "done" in every later call. */
const held = Effect.fnUntraced(function*(says: ReadonlyArray<ScriptedModel.Step>, options?: TestAgent.Options) {
  const stop = yield* ScriptedModel.makeGate
  const first: ScriptedModel.Turn = [...says, gate(stop)]
  const made = yield* TestAgent.make([first, ...Array.from({ length: 3 }, () => text("done"))], options)
  const run = yield* made.agent.start(go)
  yield* stop.started
  return { ...made, run }
})

/** What the model was sent last, briefly. */
const sent = ({ script }: TestAgent.TestAgent) =>
  Effect.map(script.requests, (requests) => Brief.messages(requests.at(-1)!.messages))

const unfinishedIn = (log: ReadonlyArray<RunEvent.RunEvent>) => log.filter(RunEvent.isEnd).map(RunEvent.unfinishedOf)

const withNext = ["user: count", "assistant: one, two", "user: (Your answer was cut off here.),and?"]

describe("an answer that is cut off", () => {
  it.effect.each<
    readonly [
      string,
      string,
      TestAgent.Options,
      (cut: {
        readonly run: { readonly abort: Effect.Effect<void, unknown> }
        readonly close: Effect.Effect<void>
      }) => Effect.Effect<unknown, unknown>
    ]
  >([
    ["by an abort", "RunAborted(requested)", {}, ({ run }) => run.abort],
    [
      "at the time limit",
      "RunLimited(duration)",
      { agent: { limits: { maxDuration: "1 minute" } } },
      () => TestClock.adjust("1 minute")
    ]
  ])("%s is in the log, and sent with the next message", ([, end, options, cut]) =>
    Effect.gen(function*() {
      const made = yield* held([text("one, ", "two")], options)
      yield* cut(made)
      yield* made.run.result
      const log = yield* made.store.log("s")
      assert.strictEqual(RunLog.endOf(log), end)
      assert.deepStrictEqual(unfinishedIn(log), [["one, two"]])
      yield* made.agent.run({ sessionId: "s", input: "and?" })
      assert.deepStrictEqual(yield* sent(made), withNext)
      assert.deepStrictEqual(RunLog.violations(yield* made.store.log("s")), [])
    }))

  it.effect("by a reader that leaves is sent with the next message", () =>
    Effect.gen(function*() {
      const stop = yield* ScriptedModel.makeGate
      const made = yield* TestAgent.make([[text("one, ", "two"), gate(stop)], text("done")])
      const reading = yield* Effect.forkChild(Stream.runDrain(made.agent.stream(go)))
      yield* stop.started
      yield* Fiber.interrupt(reading)
      yield* made.agent.run({ sessionId: "s", input: "and?" })
      assert.deepStrictEqual(yield* sent(made), withNext)
    }))

  it.effect("is asked for anew when its run goes on, with the same bytes as before", () =>
    Effect.gen(function*() {
      const made = yield* held([text("one, ", "two")])
      yield* made.run.abort
      const [first] = yield* made.script.requests
      yield* Stream.runDrain(made.agent.resume({ sessionId: "s" }))
      const [, second] = yield* made.script.requests
      assert.strictEqual(JSON.stringify(second!.messages), JSON.stringify(first!.messages))
      yield* made.agent.run({ sessionId: "s", input: "and?" })
      assert.deepStrictEqual(yield* sent(made), ["user: count", "assistant: done", "user: and?"])
    }))

  it.effect("by a shutdown is asked for anew by the process that recovers the run", () =>
    Effect.gen(function*() {
      const made = yield* held([text("one, ", "two")])
      yield* made.close
      const later = yield* TestAgent.make([text("done")], { store: made.store })
      const { runs } = yield* later.agent.recover()
      yield* runs[0]!.result
      assert.deepStrictEqual(yield* sent(later), ["user: count"])
      assert.deepStrictEqual(unfinishedIn(yield* made.store.log("s")), [["one, two"], []])
    }))

  it.effect("is without reasoning, calls, blank texts and half a character", () =>
    Effect.gen(function*() {
      const made = yield* held([
        ScriptedModel.reasoning("hm", { test: { signature: "x" } }),
        text("smile \ud83d"),
        TestAgent.work(1),
        ScriptedModel.parts({ type: "text-delta", block: "2", delta: " \n" })
      ])
      yield* made.run.abort
      assert.deepStrictEqual(unfinishedIn(yield* made.store.log("s")), [["smile "]])
    }))

  it.effect("leaves no trace where nothing of it had come, nor of an attempt that did not count", () =>
    Effect.gen(function*() {
      const none = yield* held([])
      yield* none.run.abort
      assert.notProperty((yield* none.store.log("s")).at(-1), "unfinished")
      const stop = yield* ScriptedModel.makeGate
      const made = yield* TestAgent.make([[text("broken"), ScriptedModel.cut], [gate(stop)]])
      const run = yield* made.agent.start(go)
      yield* Effect.forkChild(TestClock.adjust("1 hour"))
      yield* stop.started
      yield* run.abort
      assert.notProperty((yield* made.store.log("s")).at(-1), "unfinished")
    }))

  it.effect("that no event can hold is not kept, and the end is what it was", () =>
    Effect.gen(function*() {
      const made = yield* held([text("x".repeat(SessionStore.maxContentBytes))])
      yield* made.run.abort
      const log = yield* made.store.log("s")
      assert.strictEqual(RunLog.endOf(log), "RunAborted(requested)")
      assert.notProperty(log.at(-1), "unfinished")
    }))

  it.effect("is on a page that showed it once, and on a page that is opened later", () =>
    Effect.gen(function*() {
      const made = yield* held([text("one, ", "two")])
      const reading = yield* Effect.forkChild(UiPage.chunksOf(made.run.events))
      yield* Effect.yieldNow
      yield* made.run.abort
      const chunks = yield* Fiber.join(reading)
      const [, later] = yield* UiPage.opened(yield* made.store.log("s"))
      assert.deepStrictEqual(UiPage.brief(later), ["step-start", "text: one, two"])
      assert.deepStrictEqual(UiPage.brief((yield* UiPage.read(chunks)).last), UiPage.brief(later))
      const elsewhere = yield* UiPage.chunksOf(Stream.fromIterable(yield* made.store.log("s")))
      assert.deepStrictEqual(UiPage.brief((yield* UiPage.read(elsewhere)).last), UiPage.brief(later))
    }))

  it.live("is read back from a database as it was", () =>
    Effect.scoped(Effect.gen(function*() {
      const store = TestStore.over(yield* SessionStoreSqlite.make({ filename: ":memory:" }))
      const made = yield* held([text("one, ", "two")], { store })
      yield* made.run.abort
      const later = yield* TestAgent.make([text("done")], { store })
      yield* later.agent.run({ sessionId: "s", input: "and?" })
      assert.deepStrictEqual(yield* sent(later), withNext)
    })))
})
