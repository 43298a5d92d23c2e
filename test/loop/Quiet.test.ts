/** Guarantee 10, quiet secrets, and that nothing of a run stays behind: no fibers, no open streams, no noise. */
import { assert, describe, it } from "@effect/vitest"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Tracer from "effect/Tracer"
import * as Agent from "../../src/Agent.ts"
import * as Fiberloop from "../../src/Fiberloop.ts"
import * as ModelLanguageModel from "../../src/layers/ModelLanguageModel.ts"
import * as SessionStoreMemory from "../../src/layers/SessionStoreMemory.ts"
import type { Point } from "../../src/services/Hooks.ts"
import * as Model from "../../src/services/Model.ts"
import * as ScriptedModel from "../../src/testing/ScriptedModel.ts"
import * as BrokenHooks from "../support/BrokenHooks.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as Scripted from "../support/ScriptedLanguageModel.ts"
import * as TestAgent from "../support/TestAgent.ts"
import * as Traces from "../support/Traces.ts"

const secrets = ["PROMPT-1", "INSTRUCTIONS-2", "ANSWER-3", "424242", "RESULT-5", "FAILURE-6", "DATA-7"]

describe("secrets", () => {
  it.effect("are in no span and no log of a run: prompts, instructions, answers, arguments, results, data", () =>
    Effect.gen(function*() {
      const { spans, tracer } = Traces.make()
      const logs: Array<string> = []
      const logger = Logger.make((options) => {
        logs.push(Logger.formatJson.log(options))
      })
      const { model } = yield* Scripted.make([
        {
          parts: [
            { type: "tool-call", id: "a", name: "work", params: { n: 424242 } },
            { type: "tool-call", id: "b", name: "look", params: { n: 1 } },
            { type: "tool-call", id: "c", name: "again", params: { n: "424242" } },
            Scripted.finish("tool-calls")
          ]
        },
        { parts: [...Scripted.text("0", "ANSWER-3"), Scripted.finish()] }
      ])
      const handlers = TestAgent.kit.toLayer({
        work: () => Effect.succeed("RESULT-5"),
        look: () => Effect.fail("FAILURE-6"),
        again: () => Effect.die(new Error("RESULT-5"))
      })
      const below = Layer.mergeAll(
        Fiberloop.layer,
        SessionStoreMemory.layer,
        handlers,
        Layer.provide(ModelLanguageModel.layer, Layer.succeed(LanguageModel.LanguageModel, model))
      )
      yield* Effect.gen(function*() {
        const agent = yield* Agent.make({ instructions: "INSTRUCTIONS-2", toolkit: TestAgent.kit })
        yield* Stream.runDrain(agent.stream({ sessionId: "s", input: "PROMPT-1", data: "DATA-7" }))
      }).pipe(
        Effect.provide(below),
        Effect.withSpan("app"),
        Effect.provideService(Tracer.Tracer, tracer),
        Effect.provide(Logger.layer([logger])),
        Effect.provideService(References.MinimumLogLevel, "Trace")
      )
      assert.isAbove(spans.length, 2)
      const described = spans.map(({ attributes, events, name, status }) => [
        name,
        [...attributes],
        events.map(([name, , more]) => [name, more]),
        status._tag === "Ended" && status.exit._tag === "Failure" ? String(status.exit.cause) : ""
      ])
      const text = JSON.stringify(
        [described, logs],
        (_, value: unknown) => typeof value === "bigint" ? `${value}` : value
      )
      assert.deepStrictEqual(secrets.filter((secret) => text.includes(secret)), [])
    }))
})

/** How many fibers `self` starts, and how many of them are alive afterwards. */
const census = Effect.fnUntraced(function*<A, E, R>(self: Effect.Effect<A, E, R>) {
  let started = 0
  let ended = 0
  const metrics: Metric.FiberRuntimeMetricsService = {
    recordFiberStart: () => void started++,
    recordFiberEnd: () => void ended++
  }
  yield* Effect.provideService(self, Metric.FiberRuntimeMetrics, metrics)
  yield* Effect.yieldNow
  return { started, left: started - ended }
})

describe("what application code throws", () => {
  const quoting = () => JSON.parse("RESULT-5")
  const broken: Record<string, TestAgent.Options> = {
    "a condition": { agent: { stopWhen: quoting } },
    "what prepares a turn": { agent: { prepareTurn: quoting } },
    "a model": { model: Layer.succeed(Model.Model, { info: { provider: "p", name: "m" }, stream: quoting }) }
  }
  for (const [name, options] of Object.entries(broken)) {
    it.effect(`is named in the error and the log, and its words are only in its cause: ${name}`, () =>
      Effect.gen(function*() {
        const { agent, store } = yield* TestAgent.make([ScriptedModel.text("ok")], options)
        const error = yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
        assert.include(error.message, "SyntaxError, see the error's cause")
        assert.include(String(error.cause), "RESULT-5")
        assert.notInclude(JSON.stringify([error.reason, yield* store.log("s")]), "RESULT-5")
      }))
  }
})

it.effect("a model's failure that may not even say what it is", () =>
  Effect.gen(function*() {
    const nameless = Object.defineProperty(new Error("RESULT-5"), "name", {
      get: () => {
        throw new Error("RESULT-5")
      }
    })
    const stream = () => {
      throw nameless
    }
    const { agent, store } = yield* TestAgent.make([], {
      model: Layer.succeed(Model.Model, { info: { provider: "p", name: "m" }, stream })
    })
    const error = yield* Effect.flip(agent.run({ sessionId: "s", input: "go" }))
    assert.strictEqual(error.message, "a defect ended the run: see the error's cause")
    assert.strictEqual((yield* store.log("s")).at(-1)?._tag, "RunFailed")
  }))

describe("no fiber is left", () => {
  const scenarios: Record<string, Effect.Effect<unknown, unknown, Scope.Scope>> = {
    "of a run with parallel tools": Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([
        [1, 2, 3, 4].map((n) => TestAgent.work(n, `${n}`)),
        ScriptedModel.text("ok")
      ], { agent: { toolPolicy: { maxParallel: 3 } } })
      yield* agent.run({ input: "go" })
    }),
    "of runs with readers that stay to the end": Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")])
      const run = yield* agent.start({ input: "go" })
      yield* Effect.all([Stream.runDrain(run.events), Stream.runDrain(run.events)], { concurrency: 2 })
    }),
    "of a run that timed out and was retried": Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([ScriptedModel.gate(gate), ScriptedModel.text("ok")])
      const run = yield* agent.start({ input: "go" })
      yield* gate.started
      yield* TestClock.adjust("2 minutes")
      yield* run.result
    }),
    "of a run whose tool timed out": Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], {
        tool: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      })
      const run = yield* agent.start({ input: "go" })
      yield* Deferred.await(started)
      yield* TestClock.adjust("2 minutes")
      yield* run.result
    }),
    "of a run with hooks, one of them always late": Effect.gen(function*() {
      const late = (point: Point) => BrokenHooks.at(point, BrokenHooks.ways["is late"]!, { kind: "observer" })
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], {
        agent: { hooks: BrokenHooks.points.map(late) }
      })
      yield* Effect.provide(agent.run({ input: "go" }), Logger.layer([]))
    }),
    "of a run that was aborted in a model call": Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([[ScriptedModel.text("a"), ScriptedModel.gate(gate)]])
      const run = yield* agent.start({ input: "go" })
      yield* gate.started
      yield* run.abort
    }),
    "of a run that was aborted in a tool": Effect.gen(function*() {
      const started = yield* Deferred.make<void>()
      const { agent } = yield* TestAgent.make([TestAgent.work(1)], {
        tool: () => Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
      })
      const fiber = yield* Effect.forkChild(agent.run({ input: "go" }))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
    }),
    "of a run with a time limit that was not reached": Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([ScriptedModel.text("ok")])
      yield* agent.run({ input: "go", limits: { maxDuration: "1 hour" } })
    }),
    "of a run that failed": Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([Overloaded.fail()])
      yield* Effect.exit(agent.run({ input: "go", limits: { maxErrors: 0 } }))
    })
  }
  for (const [name, scenario] of Object.entries(scenarios)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const { left, started } = yield* census(scenario)
        assert.isAbove(started, 3)
        assert.strictEqual(left, 0)
      }))
  }

  it.effect("of 200 runs at once", () =>
    Effect.gen(function*() {
      const ids = Array.from({ length: 200 }, (_, i) => `s${i}`)
      const { left } = yield* census(Effect.gen(function*() {
        const { agent } = yield* TestAgent.make(ids.map((id) => ScriptedModel.text(id)))
        yield* Effect.forEach(ids, (sessionId) => agent.run({ sessionId, input: "go" }), { concurrency: "unbounded" })
      }))
      assert.strictEqual(left, 0)
    }))
})
