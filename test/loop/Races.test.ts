/**
 * A run that is cut off at any moment of its life, in every possible way: the log is legal and ended, everybody gets an
 * answer, and the session takes the next message at once. Moments are counted in turns of the scheduler.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as Hang from "../support/Hang.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as TestStore from "../support/TestStore.ts"

const yields = (n: number) => Effect.forEach(Array.from({ length: n }), () => Effect.yieldNow, { discard: true })

/** An agent whose store, tools and model all take a few turns of the scheduler. */
const slow = Effect.fnUntraced(function*(pace: number) {
  const store = yield* TestStore.make(({ store }) => Effect.andThen(yields(pace), store))
  const gate: ScriptedModel.Gate = {
    ...(yield* ScriptedModel.makeGate),
    wait: yields(pace)
  }
  return yield* TestAgent.make([
    [TestAgent.work(1, "a"), ScriptedModel.gate(gate), TestAgent.work(2, "b")],
    [ScriptedModel.text("a"), ScriptedModel.gate(gate), ScriptedModel.text("b")],
    ScriptedModel.text("hello"),
    ScriptedModel.text("hello"),
    ScriptedModel.text("hello")
  ], {
    store,
    tool: ({ n }) => Effect.as(yields(pace), `done ${n}`),
    agent: { toolPolicy: { maxParallel: 2 } }
  })
})

type Cut = (made: TestAgent.TestAgent, moment: number) => Effect.Effect<unknown, unknown>

const input = { sessionId: "s", input: "go" }

/** Stops `self` after `moment` turns of the scheduler. */
const interrupted = <A, E>(self: Effect.Effect<A, E>, moment: number) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(self, { startImmediately: true })
    yield* yields(moment)
    yield* Fiber.interrupt(fiber)
  })

const cuts: Record<string, Cut> = {
  "interrupting run": ({ agent }, moment) => interrupted(agent.run(input), moment),
  "interrupting the consumer of stream": ({ agent }, moment) =>
    interrupted(Stream.runDrain(agent.stream(input)), moment),
  "interrupting start": ({ agent }, moment) =>
    Effect.andThen(interrupted(agent.start(input), moment), Effect.ignore(agent.live("none"))),
  "abort": ({ agent }, moment) =>
    Effect.gen(function*() {
      const run = yield* agent.start(input)
      yield* yields(moment)
      yield* run.abort
      yield* run.result
      yield* Stream.runDrain(run.events)
    }),
  "two aborts": ({ agent }, moment) =>
    Effect.gen(function*() {
      const run = yield* agent.start(input)
      yield* yields(moment)
      yield* Effect.all([run.abort, run.abort], { concurrency: 2 })
      yield* run.result
    }),
  "an abort and a consumer that leaves": ({ agent }, moment) =>
    Effect.gen(function*() {
      const run = yield* agent.start(input)
      yield* yields(moment)
      yield* Effect.all([run.abort, interrupted(Stream.runDrain(agent.stream({ ...input, runId: run.runId })), 1)], {
        concurrency: 2
      })
      yield* run.result
    }),
  "an abort out of the reader": ({ agent }, moment) =>
    Effect.gen(function*() {
      const run = yield* agent.start(input)
      let left = moment
      yield* Stream.runForEach(run.events, () => left-- === 0 ? run.abort : Effect.void)
      yield* run.result
    })
}

describe("a run cut off at any moment by", () => {
  for (const [name, cut] of Object.entries(cuts)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        for (const pace of [0, 2]) {
          for (let moment = 0; moment < 40; moment++) {
            const at = `pace ${pace}, moment ${moment}`
            const made = yield* slow(pace)
            yield* cut(made, moment)
            // a run that nobody may cut off any more is allowed to end
            const log = yield* name === "interrupting start" ? settled(made) : made.store.log("s")
            assert.deepStrictEqual(RunLog.violations(log), [], `${at}: ${RunLog.tags(log).join(" ")}`)
            const next = yield* made.agent.run({ sessionId: "s", input: "hello?" })
            assert.strictEqual(next._tag, "Completed", at)
            assert.deepStrictEqual(RunLog.violations(yield* made.store.log("s")), [], at)
            assert.strictEqual(yield* made.script.openStreams, 0, at)
          }
        }
      }))
  }

  it.effect("closing the layer", () =>
    Effect.gen(function*() {
      for (const pace of [0, 2]) {
        for (let moment = 0; moment < 40; moment++) {
          const at = `pace ${pace}, moment ${moment}`
          const made = yield* slow(pace)
          const fiber = yield* Effect.forkDetach(made.agent.run(input), { startImmediately: true })
          yield* yields(moment)
          assert.isTrue(yield* Hang.ends(made.close), `${at}: closing waits for ever`)
          assert.isTrue(yield* Hang.ends(Fiber.await(fiber)), `${at}: run waits for ever`)
          const log = yield* made.store.log("s")
          assert.deepStrictEqual(RunLog.violations(log), [], at)
        }
      }
    }))
})

/** The log once the session's last run has ended by itself. */
const settled = Effect.fnUntraced(function*(made: TestAgent.TestAgent) {
  const log = yield* made.store.log("s")
  const runId = log.at(-1)?.runId
  const live = runId === undefined ? undefined : yield* made.agent.live(runId)
  if (live !== undefined) yield* Effect.exit(live.result)
  return yield* made.store.log("s")
})
