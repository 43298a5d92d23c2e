/** What is observed of a compaction, in a run and by hand: its span, and the calls of the condensing model. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Tracer from "effect/Tracer"
import { inspect } from "node:util"
import * as ContextChain from "../../../src/layers/ContextChain.ts"
import * as ContextKeyFacts from "../../../src/layers/ContextKeyFacts.ts"
import * as ContextSummary from "../../../src/layers/ContextSummary.ts"
import * as ContextWindow from "../../../src/layers/ContextWindow.ts"
import * as ModelFallback from "../../../src/layers/ModelFallback.ts"
import type { Run } from "../../../src/Run.ts"
import * as RunError from "../../../src/run/RunError.ts"
import * as ContextManager from "../../../src/services/ContextManager.ts"
import * as Model from "../../../src/services/Model.ts"
import { RecordContent } from "../../../src/services/RecordContent.ts"
import * as RetryPolicy from "../../../src/services/RetryPolicy.ts"
import * as ScriptedModel from "../../../src/testing/ScriptedModel.ts"
import * as Condensing from "../../support/Condensing.ts"
import * as Measured from "../../support/Measured.ts"
import * as Overflows from "../../support/Overflows.ts"
import * as Overloaded from "../../support/Overloaded.ts"
import * as RunLog from "../../support/RunLog.ts"
import * as TestAgent from "../../support/TestAgent.ts"
import * as Traces from "../../support/Traces.ts"

const agentSpan = "invoke_agent test/Tested"
const compactSpan = "compact_context"
const chatSpan = "chat condenser"

const { history, overflow } = Overflows
const ok = ScriptedModel.text("ok")
const summed = [
  ScriptedModel.text("They SAID things."),
  ScriptedModel.finish("stop", { inputTokens: 70, outputTokens: 3 })
]

const refused = ScriptedModel.fail(
  new RunError.NonRetryableError<RunError.ProviderRefusal>({ _tag: "Authentication", message: "ADA SAID what" })
)

/** Traces and metrics of what runs `within` them, with content only if requested. */
const watched = () => {
  const traces = Traces.make()
  const measured = Measured.make()
  return {
    traces,
    /** of the condensing models */
    read: (name: RegExp) =>
      Effect.map(measured.read(name), (lines) => lines.filter((line) => !line.includes("name=scripted"))),
    within: <A, E, R>(self: Effect.Effect<A, E, R>) =>
      self.pipe(
        Effect.provideService(Tracer.Tracer, traces.tracer),
        Effect.provideService(Metric.MetricRegistry, measured.registry)
      )
  }
}

/** Each span except those of stores: how it ended, and below which span it is. */
const treeOf = (traces: Traces.Traces) =>
  traces.spans.filter(({ name }) => !name.startsWith("SessionStore")).map((span) =>
    [`${span.name}: ${Traces.stateOf(span)}`, ...Traces.above(traces, span)].join(" < ")
  )

const attributesOf = (span: Tracer.NativeSpan) => Object.fromEntries(span.attributes)

const model = "name=chat,name=test,model=condenser"

describe("a condensing model's call", () => {
  it.effect("in a run has a span below that of its compaction, and is counted", () =>
    Effect.gen(function*() {
      const { read, traces, within } = watched()
      const gate = yield* ScriptedModel.makeGate
      const made = yield* Condensing.make([overflow, ok], ContextSummary.layer, [[ScriptedModel.gate(gate), ...summed]])
      const running = yield* Effect.forkChild(within(Overflows.run(made, { history: history(12) })))
      yield* gate.started
      yield* TestClock.adjust("2 seconds")
      yield* gate.release
      const { end, log } = yield* Fiber.join(running)
      assert.strictEqual(end, "RunCompleted(stop)")
      assert.deepStrictEqual(treeOf(traces), [
        `${agentSpan}: ok`,
        `chat scripted: ContextOverflow: ContextOverflow < ${agentSpan}`,
        `${compactSpan}: ok < ${agentSpan}`,
        `${chatSpan}: ok < ${compactSpan} < ${agentSpan}`,
        `chat scripted: ok < ${agentSpan}`
      ])
      const { runId } = log[0]!
      const inRun = { "gen_ai.conversation.id": "s", "fiberloop.run.id": runId }
      const [compacted] = RunLog.only(log, "ContextCompacted")
      assert.deepStrictEqual(attributesOf(traces.named(compactSpan)), {
        ...inRun,
        "fiberloop.compaction.cause": "overflow",
        "fiberloop.compaction.strategy": "summary",
        "fiberloop.compaction.before": compacted!.before,
        "fiberloop.compaction.after": compacted!.after
      })
      assert.deepStrictEqual(attributesOf(traces.named(chatSpan)), {
        ...inRun,
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "test",
        "gen_ai.request.model": "condenser",
        "gen_ai.request.stream": true,
        "fiberloop.turn": 1,
        "gen_ai.usage.input_tokens": 70,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.response.model": "condenser",
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.response.time_to_first_chunk": 2
      })
      assert.strictEqual(traces.named(chatSpan).kind, "client")
      assert.deepStrictEqual(yield* read(/^gen_ai|tokens/), [
        `gen_ai.client.operation.duration{${model}} 2/1`,
        `gen_ai.client.operation.time_to_first_chunk{${model}} 2/1`,
        `gen_ai.client.token.usage{${model},type=input} 70/1`,
        `gen_ai.client.token.usage{${model},type=output} 3/1`,
        "tokens{kind=input} 70",
        "tokens{kind=output} 3"
      ])
    }))

  it.effect("in a compaction by hand has them too, below the caller's span", () =>
    Effect.gen(function*() {
      const { read, traces, within } = watched()
      const made = yield* Condensing.make([ok], ContextSummary.layer, [summed])
      yield* Overflows.run(made, { history: history(12) })
      yield* within(Effect.withSpan(made.agent.compact("s"), "app"))
      assert.deepStrictEqual(treeOf(traces), [
        "app: ok",
        `${compactSpan}: ok < app`,
        `${chatSpan}: ok < ${compactSpan} < app`
      ])
      assert.strictEqual(traces.named(compactSpan).attributes.get("fiberloop.compaction.cause"), "manual")
      assert.deepStrictEqual(yield* read(/token/), [
        `gen_ai.client.token.usage{${model},type=input} 70/1`,
        `gen_ai.client.token.usage{${model},type=output} 3/1`,
        "tokens{kind=input} 70",
        "tokens{kind=output} 3"
      ])
    }))

  it.effect("has them at each attempt, including a model that took over, and in a chain", () =>
    Effect.gen(function*() {
      const { read, traces, within } = watched()
      const layerOf = (name: string, ...turns: ReadonlyArray<ScriptedModel.Turn>) =>
        ScriptedModel.layer(turns, { info: { provider: "test", name } })
      const both = ModelFallback.layer([
        layerOf(
          "condenser",
          Overloaded.fail(),
          [ScriptedModel.text("ha"), ScriptedModel.cut],
          Overloaded.fail(3_600_000)
        ),
        layerOf("other", ScriptedModel.text(" "), ScriptedModel.text(`{"results":["done"]}`))
      ])
      const context = ContextChain.layer(Layer.provide(ContextKeyFacts.layer, both), ContextWindow.layer)
      const made = yield* TestAgent.make([overflow, ok], { agent: { retry: RetryPolicy.make({ base: 0 }) }, context })
      const { end } = yield* within(Overflows.run(made, { history: history(12) }))
      assert.strictEqual(end, "RunCompleted(stop)")
      const calls = treeOf(traces).filter((line) => /condenser|other/.test(line)).map((line) => line.split(" < "))
      assert.deepStrictEqual(calls.map(([call]) => call), [
        `${chatSpan}: Overloaded: Overloaded`,
        `${chatSpan}: StreamTruncated: StreamTruncated`,
        `${chatSpan}: Overloaded: Overloaded`,
        // as in a turn, an empty answer is no failure of the call
        "chat other: ok",
        "chat other: ok"
      ])
      for (const [, ...above] of calls) assert.deepStrictEqual(above, [compactSpan, agentSpan])
      assert.deepStrictEqual(yield* read(/^gen_ai.*duration|attempts|retries/), [
        `gen_ai.client.operation.duration{${model},type=Overloaded} 0/2`,
        `gen_ai.client.operation.duration{${model},type=StreamTruncated} 0/1`,
        "gen_ai.client.operation.duration{name=chat,name=test,model=other} 0/2"
      ])
    }))
})

describe("what a custom strategy traces", () => {
  it.effect("is below its compaction, which carries the strategy's name", () =>
    Effect.gen(function*() {
      const { traces, within } = watched()
      const window = ContextWindow.make()
      const context = Layer.succeed(ContextManager.ContextManager, {
        plan: window.plan,
        compact: (request) =>
          window.compact(request).pipe(
            Effect.map((made) => ({ ...made, strategy: "mine" })),
            Effect.withSpan("my model")
          )
      })
      const made = yield* TestAgent.make([overflow, ok], { context })
      assert.strictEqual((yield* within(Overflows.run(made, { history: history(12) }))).end, "RunCompleted(stop)")
      assert.include(treeOf(traces), `my model: ok < ${compactSpan} < ${agentSpan}`)
      assert.strictEqual(traces.named(compactSpan).attributes.get("fiberloop.compaction.strategy"), "mine")
    }))
})

describe("a compaction that fails", () => {
  const failing = (recordsContent: boolean) =>
    Effect.gen(function*() {
      const { read, traces, within } = watched()
      // the context has nothing to prune
      const made = yield* Condensing.make([overflow], ContextSummary.layer, [refused])
      const { end } = yield* Effect.provideService(
        within(Overflows.run(made, { history: history(12) })),
        RecordContent,
        recordsContent
      )
      assert.strictEqual(end, "RunFailed(ContextOverflow)")
      return { traces, counts: yield* read(/^gen_ai/) }
    })

  it.effect("ends its span as failed, described by tags", () =>
    Effect.gen(function*() {
      const { counts, traces } = yield* failing(false)
      assert.deepStrictEqual(treeOf(traces), [
        `${agentSpan}: ContextOverflow: ContextOverflow`,
        `chat scripted: ContextOverflow: ContextOverflow < ${agentSpan}`,
        `${compactSpan}: CompactionFailed: CompactionFailed < ${agentSpan}`,
        `${chatSpan}: Authentication: Authentication < ${compactSpan} < ${agentSpan}`
      ])
      assert.strictEqual(traces.named(compactSpan).attributes.get("error.type"), "CompactionFailed")
      assert.strictEqual(traces.named(chatSpan).attributes.get("error.type"), "Authentication")
      assert.deepStrictEqual(counts, [`gen_ai.client.operation.duration{${model},type=Authentication} 0/1`])
    }))

  it.effect("is described in words if content is recorded", () =>
    Effect.gen(function*() {
      const { traces } = yield* failing(true)
      assert.strictEqual(Traces.stateOf(traces.named(chatSpan)), "Authentication: ADA SAID what")
      assert.match(Traces.stateOf(traces.named(compactSpan)), /^CompactionFailed: .*ADA SAID what/)
    }))

  const cuts: ReadonlyArray<{
    readonly by: string
    readonly options?: TestAgent.Options
    readonly cut: (run: Run<string>, close: Effect.Effect<void>) => Effect.Effect<unknown>
    readonly states: ReadonlyArray<string>
  }> = [
    {
      by: "an abort",
      cut: (run) => run.abort,
      states: [`${compactSpan}: interrupted < ${agentSpan}`, `${chatSpan}: interrupted < ${compactSpan} < ${agentSpan}`]
    },
    {
      by: "a shutdown",
      cut: (_, close) => close,
      states: [`${compactSpan}: interrupted < ${agentSpan}`, `${chatSpan}: interrupted < ${compactSpan} < ${agentSpan}`]
    },
    {
      by: "the time of a call",
      options: { agent: { timeouts: { call: "5 seconds" }, retry: RetryPolicy.make({ maxRetries: 0 }) } },
      cut: () => TestClock.adjust("5 seconds"),
      states: [
        `${compactSpan}: CompactionFailed: CompactionFailed < ${agentSpan}`,
        `${chatSpan}: TimedOut: TimedOut < ${compactSpan} < ${agentSpan}`
      ]
    },
    {
      by: "the time of a compaction",
      options: { agent: { timeouts: { compaction: "5 seconds" } } },
      cut: () => TestClock.adjust("5 seconds"),
      states: [
        `${compactSpan}: CompactionFailed: CompactionFailed < ${agentSpan}`,
        `${chatSpan}: interrupted < ${compactSpan} < ${agentSpan}`
      ]
    }
  ]

  it.effect.each(cuts)(
    "by $by ends its span, and the call's too",
    ({ cut, options, states }) =>
      Effect.gen(function*() {
        const { traces, within } = watched()
        const gate = yield* ScriptedModel.makeGate
        const made = yield* Condensing.make([overflow], ContextSummary.layer, [ScriptedModel.gate(gate)], options)
        const run = yield* within(made.agent.start({ sessionId: "s", input: "go", history: history(12) }))
        yield* gate.started
        yield* cut(run, made.close)
        yield* Effect.exit(run.result)
        assert.deepStrictEqual(treeOf(traces).filter((line) => /condense|compact/.test(line)), states)
        assert.notInclude(treeOf(traces).join("\n"), "open")
      })
  )

  it.effect("by a model that cannot be interrupted ends its span, and the call's too", () =>
    Effect.gen(function*() {
      const { traces, within } = watched()
      const started = yield* Deferred.make<void>()
      const stuck = Layer.succeed(Model.Model, {
        info: { provider: "test", name: "condenser" },
        stream: () =>
          Stream.fromEffect(
            Effect.uninterruptible(Effect.andThen(Deferred.succeed(started, undefined), Effect.never))
          )
      })
      const made = yield* TestAgent.make([overflow], { context: Layer.provide(ContextSummary.layer, stuck) })
      const run = yield* within(made.agent.start({ sessionId: "s", input: "go", history: history(12) }))
      yield* Deferred.await(started)
      const aborting = yield* Effect.forkChild(run.abort)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(aborting)
      assert.notInclude(treeOf(traces).join("\n"), "open")
    }))

  it.effect("by a bug in the model does not say what the bug was", () =>
    Effect.gen(function*() {
      const { traces, within } = watched()
      const made = yield* Condensing.make([overflow], ContextSummary.layer, [ScriptedModel.die(new Error("SAID"))])
      yield* within(Overflows.run(made, { history: history(12) }))
      assert.deepStrictEqual(treeOf(traces).slice(2), [
        `${compactSpan}: CompactionFailed: CompactionFailed < ${agentSpan}`,
        `${chatSpan}: Unknown: Unknown < ${compactSpan} < ${agentSpan}`
      ])
    }))
})

describe("what a condensing model is asked and answers", () => {
  const recorded = (recordsContent: boolean) =>
    Effect.gen(function*() {
      const { read, traces, within } = watched()
      const made = yield* Condensing.make([overflow, ok], ContextSummary.layer, [summed])
      yield* Effect.provideService(
        within(Overflows.run(made, { history: history(12) })),
        RecordContent,
        recordsContent
      )
      assert.notMatch((yield* read(/./)).join(), /SAID/)
      return traces
    })

  it.effect("is in no span", () =>
    Effect.gen(function*() {
      const traces = yield* recorded(false)
      assert.notMatch(inspect(traces.spans.map(({ attributes, status }) => [attributes, status]), { depth: 9 }), /SAID/)
    }))

  it.effect("is on the span of the call if content is recorded", () =>
    Effect.gen(function*() {
      const traces = yield* recorded(true)
      const { attributes } = traces.named(chatSpan)
      assert.deepStrictEqual(JSON.parse(attributes.get("gen_ai.output.messages") as string), [
        { role: "assistant", parts: [{ type: "text", content: "They SAID things." }], finish_reason: "stop" }
      ])
      const [system, question] = JSON.parse(attributes.get("gen_ai.input.messages") as string)
      assert.deepStrictEqual([system.role, question.role], ["system", "user"])
      assert.include(question.parts[0].content, "message 0")
    }))
})
