/** Spans of drives, model calls and tool calls, on virtual time. */
import { assert, describe, it } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Tracer from "effect/Tracer"
import { inspect } from "node:util"
import * as RunError from "../../../src/run/RunError.ts"
import * as ContextManager from "../../../src/services/ContextManager.ts"
import { Hooks } from "../../../src/services/Hooks.ts"
import * as Model from "../../../src/services/Model.ts"
import { Prices, table } from "../../../src/services/Prices.ts"
import { RecordContent } from "../../../src/services/RecordContent.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as Hang from "../../support/Hang.ts"
import * as TestAgent from "../../support/TestAgent.ts"
import * as TestStore from "../../support/TestStore.ts"
import * as Traces from "../../support/Traces.ts"

const agentSpan = "invoke_agent test/Tested"
const chatSpan = "chat scripted"

const refused = ScriptedModel.fail(
  new RunError.NonRetryableError({ _tag: "Authentication", message: "the key of ADA is not valid" })
)

describe("a chat span", () => {
  it.effect("has the time to the first chunk in seconds, and lasts as long as the call", () =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const first = yield* ScriptedModel.makeGate
      const second = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([[
        ScriptedModel.gate(first),
        ScriptedModel.text("one "),
        ScriptedModel.gate(second),
        ScriptedModel.text("two")
      ]])
      const run = yield* Effect.provideService(agent.start({ input: "go" }), Tracer.Tracer, traces.tracer)
      yield* first.started
      yield* TestClock.adjust("2 seconds")
      yield* first.release
      yield* second.started
      yield* TestClock.adjust("3 seconds")
      yield* second.release
      yield* run.result
      const chat = traces.named(chatSpan)
      assert.strictEqual(chat.attributes.get("gen_ai.response.time_to_first_chunk"), 2)
      assert.strictEqual(Traces.durationOf(chat), 5000)
      assert.strictEqual(Traces.durationOf(traces.named(agentSpan)), 5000)
    }))

  it.effect("has the tokens of the call and what they cost, as that of its run has of all of them", () =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("a")])
      yield* agent.run({ input: "go" }).pipe(
        Effect.provideService(Prices, table({ scripted: { input: 1_000_000, output: 2_000_000 } })),
        Effect.provideService(Tracer.Tracer, traces.tracer)
      )
      const costs = (name: string) =>
        traces.spans.filter((span) => span.name === name).map(({ attributes }) =>
          attributes.get("fiberloop.usage.cost")
        )
      assert.deepStrictEqual([costs(chatSpan), costs(agentSpan)], [[20, 20], [40]])
    }))

  it.effect("is interrupted with its run, whose span says that it was aborted", () =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const gate = yield* ScriptedModel.makeGate
      const { agent } = yield* TestAgent.make([[ScriptedModel.text("a"), ScriptedModel.gate(gate)]])
      const run = yield* Effect.provideService(agent.start({ input: "go" }), Tracer.Tracer, traces.tracer)
      yield* gate.started
      yield* run.abort
      yield* run.result
      assert.strictEqual(Traces.stateOf(traces.named(chatSpan)), "interrupted")
      const { attributes } = traces.named(agentSpan)
      assert.deepStrictEqual(
        [attributes.get("fiberloop.run.end"), attributes.get("fiberloop.run.reason")],
        ["aborted", "requested"]
      )
    }))
})

describe("a failure", () => {
  const failing = (recordsContent: boolean) =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const { agent } = yield* TestAgent.make([refused])
      yield* Effect.exit(agent.run({ input: "go" })).pipe(
        Effect.provideService(Tracer.Tracer, traces.tracer),
        Effect.provideService(RecordContent, recordsContent)
      )
      return [traces.named(chatSpan), traces.named(agentSpan)]
    })

  it.effect("is described by its tag, on the call and on the run", () =>
    Effect.gen(function*() {
      for (const span of yield* failing(false)) {
        assert.strictEqual(span.attributes.get("error.type"), "Authentication")
        assert.strictEqual(Traces.stateOf(span), "Authentication: Authentication")
      }
    }))

  it.effect("is described in words if content is recorded", () =>
    Effect.gen(function*() {
      for (const span of yield* failing(true)) {
        assert.strictEqual(Traces.stateOf(span), "Authentication: the key of ADA is not valid")
      }
    }))

  it.effect("caused by a bug is described without the bug's words", () =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const { agent } = yield* TestAgent.make([ScriptedModel.die(new Error("SECRET"))])
      yield* Effect.exit(agent.run({ input: "go" })).pipe(Effect.provideService(Tracer.Tracer, traces.tracer))
      assert.deepStrictEqual(traces.spans.filter(({ name }) => name !== "SessionStore.open").map(Traces.stateOf), [
        "Unknown: Unknown",
        "Unknown: Unknown"
      ])
    }))

  it.effect("is also recorded for a run that was refused", () =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const { agent } = yield* TestAgent.make([])
      yield* Effect.exit(agent.run({ sessionId: "s", createSession: false, input: "go" })).pipe(
        Effect.provideService(Tracer.Tracer, traces.tracer)
      )
      assert.strictEqual(traces.named(agentSpan).attributes.get("error.type"), "SessionNotFound")
    }))
})

describe("below a tool's span", () => {
  it.effect("are the handler's spans, and a run that it starts", () =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const inner = yield* TestAgent.make([ScriptedModel.text("inner")])
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("outer")], {
        tool: () =>
          Effect.orDie(inner.agent.run({ input: "go" })).pipe(Effect.map(({ text }) => text), Effect.withSpan("work"))
      })
      yield* Effect.provideService(agent.run({ input: "go" }), Tracer.Tracer, traces.tracer)
      const nested = traces.spans.filter(({ name }) => name === agentSpan).at(-1)!
      assert.deepStrictEqual(Traces.above(traces, nested), ["work", "execute_tool work", agentSpan])
    }))

  it.effect("of parallel calls are those of its own handler", () =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const both = yield* Deferred.make<void>()
      let started = 0
      const { agent } = yield* TestAgent.make([
        [TestAgent.work(1), TestAgent.look(2)],
        ScriptedModel.text("done")
      ], {
        agent: { toolPolicy: { maxParallel: 2 } },
        tool: ({ n }) =>
          Effect.suspend(() => ++started === 2 ? Deferred.succeed(both, undefined) : Deferred.await(both)).pipe(
            Effect.as("ok"),
            Effect.withSpan(`handler ${n}`)
          )
      })
      yield* Effect.provideService(agent.run({ input: "go" }), Tracer.Tracer, traces.tracer)
      assert.deepStrictEqual(Traces.above(traces, traces.named("handler 1")), ["execute_tool work", agentSpan])
      assert.deepStrictEqual(Traces.above(traces, traces.named("handler 2")), ["execute_tool look", agentSpan])
    }))
})

describe("a run's span", () => {
  it.effect("is below the caller's, and there is one for each drive, with that drive's tokens", () =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const used = (inputTokens: number) => ScriptedModel.finish("tool-calls", { inputTokens, outputTokens: 1 })
      const { agent } = yield* TestAgent.make([
        [TestAgent.work(1), used(10)],
        [TestAgent.work(2), used(200)]
      ])
      yield* Effect.gen(function*() {
        yield* agent.run({ sessionId: "s", input: "go", limits: { maxTurns: 1 } })
        yield* Stream.runDrain(agent.resume({ sessionId: "s", limits: { maxTurns: 2 } }))
      }).pipe(Effect.withSpan("app"), Effect.provideService(Tracer.Tracer, traces.tracer))
      const drives = traces.spans.filter(({ name }) => name === agentSpan)
      assert.deepStrictEqual(drives.map(({ attributes }) => attributes.get("gen_ai.usage.input_tokens")), [10, 200])
      assert.deepStrictEqual(drives.map((span) => Traces.above(traces, span)), [["app"], ["app"]])
    }))

  it.effect("of a drive that lost its store says how it ended, and what it spent", () =>
    Effect.gen(function*() {
      const traces = Traces.make()
      // the answer is stored, its outcome is not
      const store = yield* TestStore.make((append) =>
        append.events.some(({ _tag }) => _tag === "ToolSettled" || _tag === "RunFailed")
          ? Effect.fail(TestStore.unavailable)
          : append.store
      )
      const { agent } = yield* TestAgent.make([TestAgent.work(1)], { store })
      yield* Effect.provideService(Effect.exit(agent.run({ input: "go" })), Tracer.Tracer, traces.tracer)
      const { attributes } = traces.named(agentSpan)
      assert.deepStrictEqual(
        ["fiberloop.run.end", "fiberloop.run.reason", "error.type", "gen_ai.usage.input_tokens"].map((name) =>
          attributes.get(name)
        ),
        ["failed", "StoreUnavailable", "StoreUnavailable", 10]
      )
    }))

  it.effect("of an exporter that breaks is incomplete, which is reported once, and the run does not notice", () =>
    Effect.gen(function*() {
      const warnings: Array<unknown> = []
      class Broken extends Tracer.NativeSpan {
        override event(): void {
          throw new Error("SECRET")
        }
      }
      const { agent, store } = yield* TestAgent.make([TestAgent.work(1)], {
        agent: { toolPolicy: { requireApprovalByDefault: true } }
      })
      const result = yield* agent.run({ sessionId: "s", input: "go" }).pipe(
        Effect.provideService(Tracer.Tracer, Tracer.make({ span: (options) => new Broken(options) })),
        Effect.provide(Logger.layer([Logger.make(({ message }) => void warnings.push(String(message)))]))
      )
      assert.strictEqual(result._tag, "Suspended")
      const runId = (yield* store.log("s"))[0]!.runId
      assert.deepStrictEqual(warnings, [`the spans of run "${runId}" failed and are incomplete`])
    }))

  it.effect("with a tracer that begins none leaves nobody waiting, and holds no session", () =>
    Effect.gen(function*() {
      const broken = Tracer.make({
        span: () => {
          throw new Error("SECRET")
        }
      })
      const { agent } = yield* TestAgent.make([ScriptedModel.text("done")])
      const run = agent.run({ sessionId: "s", input: "go" })
      const refused = yield* Effect.forkDetach(Effect.provideService(Effect.exit(run), Tracer.Tracer, broken))
      assert.isTrue(yield* Hang.ends(Fiber.await(refused)), "run waits for ever")
      assert.strictEqual((yield* run)._tag, "Completed")
    }))
})

describe("a tracer", () => {
  type Run = Effect.Effect<unknown, RunError.RunError>
  interface Place {
    readonly at: string
    readonly layer?: (tracer: Tracer.Tracer) => <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    readonly caller?: (tracer: Tracer.Tracer) => (run: Run) => Run
  }
  const places: ReadonlyArray<Place> = [
    { at: "the caller", caller: (tracer) => Effect.provideService(Tracer.Tracer, tracer) },
    { at: "the agent's layer", layer: (tracer) => Effect.provideService(Tracer.Tracer, tracer) },
    {
      at: "a ManagedRuntime",
      caller: (tracer) => (run) =>
        Effect.acquireUseRelease(
          Effect.sync(() => ManagedRuntime.make(Layer.succeed(Tracer.Tracer, tracer))),
          (runtime) => Effect.promise(() => runtime.runPromise(run)),
          ({ disposeEffect }) => disposeEffect
        )
    }
  ]

  it.effect.each(places)("of $at has all spans, each in its place", ({ caller, layer }) =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const made = TestAgent.make([TestAgent.work(1), ScriptedModel.text("done")], {
        tool: () => Effect.withSpan(Effect.succeed("ok"), "handler")
      })
      const { agent } = yield* layer === undefined ? made : layer(traces.tracer)(made)
      const run = agent.run({ input: "go" })
      yield* caller === undefined ? run : caller(traces.tracer)(run)
      const spans = traces.spans.filter(({ name }) => name !== "SessionStore.open")
      assert.deepStrictEqual(spans.map((span) => [span.name, ...Traces.above(traces, span)]), [
        [agentSpan],
        [chatSpan, agentSpan],
        ["execute_tool work", agentSpan],
        ["handler", "execute_tool work", agentSpan],
        [chatSpan, agentSpan]
      ])
    }))
})

describe("when nobody sees spans", () => {
  it.effect("a handler has no current span to write into, as when they are seen, and is in the caller's trace", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const turns = Arr.replicate([TestAgent.work(1), ScriptedModel.text("done")], 3).flat()
      const { agent } = yield* TestAgent.make(turns, {
        tool: () =>
          Effect.all([Effect.option(Effect.currentSpan), Effect.orDie(Effect.currentParentSpan)]).pipe(
            Effect.map(([current, { traceId }]) => {
              seen.push([Option.isNone(current), traceId])
              return "ok"
            })
          )
      })
      const app = yield* Effect.makeSpan("app")
      for (const tracer of [Traces.make().tracer, Tracer.nativeTracer]) {
        yield* agent.run({ input: "go" }).pipe(Effect.withParentSpan(app), Effect.provideService(Tracer.Tracer, tracer))
      }
      yield* Effect.withParentSpan(agent.run({ input: "go" }), app)
      assert.deepStrictEqual(seen, [[true, app.traceId], [true, app.traceId], [true, app.traceId]])
    }))

  it.effect("the spans of a handler's own tracer are in the caller's trace", () =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("done")], {
        tool: () =>
          Effect.succeed("ok").pipe(Effect.withSpan("own"), Effect.provideService(Tracer.Tracer, traces.tracer))
      })
      const app = yield* Effect.makeSpan("app")
      yield* Effect.withParentSpan(agent.run({ input: "go" }), app)
      assert.deepStrictEqual(traces.spans.map(({ name, traceId }) => [name, traceId]), [["own", app.traceId]])
    }))

  it.effect("a model is below the run's span, which keeps none of its log lines", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const ask = Effect.gen(function*() {
        yield* Effect.log("asked")
        const span = yield* Effect.orDie(Effect.currentSpan)
        assert.instanceOf(span, Tracer.NativeSpan)
        seen.push([span.name, span.status._tag, span.events])
        return { type: "finish", reason: "length", usage: { inputTokens: 1, outputTokens: 1 } } as const
      })
      const { agent } = yield* TestAgent.make([], {
        model: Layer.succeed(Model.Model, {
          info: { provider: "test", name: "test" },
          stream: () => Stream.fromEffect(ask)
        })
      })
      yield* Effect.provideService(
        Effect.exit(agent.run({ input: "go" })),
        Logger.CurrentLoggers,
        new Set([Logger.tracerLogger])
      )
      assert.deepStrictEqual(seen, [[agentSpan, "Started", []]])
    }))
})

it.effect("a compaction that failed is an event on the run's span, without its message", () =>
  Effect.gen(function*() {
    const traces = Traces.make()
    const failing = Layer.succeed(ContextManager.ContextManager, {
      plan: (request) => ({ _tag: "Compact", request }),
      compact: () =>
        Effect.fail(
          new ContextManager.CompactionError({ message: "SECRET", usage: { inputTokens: 70, outputTokens: 3 } })
        )
    })
    const { agent } = yield* TestAgent.make([], { context: failing })
    yield* Effect.provideService(Effect.exit(agent.run({ input: "go" })), Tracer.Tracer, traces.tracer)
    assert.deepStrictEqual(
      traces.named(agentSpan).events.map(([name, , attributes]) => [name, attributes]),
      [["fiberloop.compaction_failed", { "gen_ai.usage.input_tokens": 70, "gen_ai.usage.output_tokens": 3 }]]
    )
  }))

it.effect("a run without tracing behaves as with it", () =>
  Effect.gen(function*() {
    const traces = Traces.make()
    const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("done")], {
      tool: () => Effect.withSpan(Effect.succeed("ok"), "work")
    })
    const result = yield* agent.run({ input: "go" }).pipe(
      Effect.withTracerEnabled(false),
      Effect.provideService(Tracer.Tracer, traces.tracer)
    )
    assert.strictEqual(result.text, "done")
    assert.deepStrictEqual(traces.spans, [])
  }))

it.effect("a span's exit contains nothing that was said", () =>
  Effect.gen(function*() {
    const traces = Traces.make()
    const { agent } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("SECRET")], {
      tool: () => Effect.succeed("SECRET")
    })
    yield* agent.run({ input: "go" }).pipe(Effect.provideService(Tracer.Tracer, traces.tracer))
    const ended = traces.spans.filter(({ name }) => name !== "SessionStore.open").map(({ status }) => status)
    assert.isAbove(ended.length, 3)
    assert.notMatch(inspect(ended, { depth: 20 }), /SECRET/)
  }))

it.effect("what hooks mask is masked in recorded content", () =>
  Effect.gen(function*() {
    const traces = Traces.make()
    const { agent } = yield* TestAgent.make([TestAgent.work(4242), ScriptedModel.text("done")], {
      tool: () => Effect.succeed("SECRET")
    })
    yield* agent.run({ input: "go" }).pipe(
      Effect.provideService(Hooks, [{
        name: "masks",
        beforeToolCall: () => Effect.succeed({ _tag: "Change", params: { n: 0 } }),
        afterToolCall: () => Effect.succeed({ outcome: { _tag: "Succeeded", result: "***" } })
      }]),
      Effect.provideService(Tracer.Tracer, traces.tracer),
      Effect.provideService(RecordContent, true)
    )
    const { attributes } = traces.named("execute_tool work")
    assert.strictEqual(attributes.get("gen_ai.tool.call.arguments"), `{"n":0}`)
    assert.strictEqual(attributes.get("gen_ai.tool.call.result"), `"***"`)
    assert.notMatch(JSON.stringify(traces.spans.map(({ attributes }) => [...attributes])), /SECRET/)
  }))
