/** Guarantee 10: what people, models and tools say is in no span, log or metric, except in named attributes on request. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Otlp from "effect/observability/Otlp"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"
import * as Agent from "../../../src/Agent.ts"
import * as Fiberloop from "../../../src/Fiberloop.ts"
import * as ContextSummary from "../../../src/layers/ContextSummary.ts"
import * as ModelOpenAi from "../../../src/layers/ModelOpenAi.ts"
import * as RunsLocal from "../../../src/layers/RunsLocal.ts"
import * as SessionStoreMemory from "../../../src/layers/SessionStoreMemory.ts"
import * as ToolExecutorToolkit from "../../../src/layers/ToolExecutorToolkit.ts"
import { RecordContent } from "../../../src/services/RecordContent.ts"
import * as RetryPolicy from "../../../src/services/RetryPolicy.ts"
import * as OpenAiServer from "../../support/OpenAiServer.ts"
import * as OtlpCollector from "../../support/OtlpCollector.ts"
import * as Overflows from "../../support/Overflows.ts"
import * as Traces from "../../support/Traces.ts"

const kit = Toolkit.make(
  Tool.make("look", {
    parameters: Schema.Struct({ query: Schema.String }),
    success: Schema.String,
    failure: Schema.String
  })
)

const { data, delta, done, events, finish, status, toolCalls } = OpenAiServer

const call = (index: number, name: string, query: unknown) => ({
  index,
  id: `call_${index}`,
  type: "function",
  function: { name, arguments: JSON.stringify({ query }) }
})

/** A prompt that comes back in an error, calls of all kinds, including of a tool that the model made up, and an answer. */
const replies = [
  status(503, { error: { message: "cannot answer CANARY-prompt now" } }),
  events(
    data(toolCalls(
      call(0, "look", "CANARY-argument"),
      call(1, "look", { wrong: "CANARY-argument" }),
      call(2, "CANARY-tool", "CANARY-argument"),
      call(3, "look", "fail"),
      call(4, "look", "die")
    )),
    data(finish("tool_calls")),
    done
  ),
  events(data(delta({ content: "CANARY-answer" })), data(finish("stop")), done)
]

const observed = (recordsContent: boolean) =>
  Effect.gen(function*() {
    const collector = yield* OtlpCollector.make
    const server = yield* OpenAiServer.make(...replies)
    const handlers = kit.toLayer({
      look: ({ query }) => {
        if (query === "fail") return Effect.fail("CANARY-failure")
        return query === "die" ? Effect.die(new Error("CANARY-defect")) : Effect.succeed("CANARY-result")
      }
    })
    const prometheus = yield* Effect.gen(function*() {
      const agent = yield* Agent.make({
        instructions: "CANARY-instructions",
        toolkit: kit,
        retry: RetryPolicy.make({ base: "1 millis" })
      })
      yield* agent.run({ sessionId: "s", input: "CANARY-prompt", data: "CANARY-data" })
      return yield* PrometheusMetrics.format()
    }).pipe(
      Effect.provide(Layer.mergeAll(
        Fiberloop.layer,
        SessionStoreMemory.layer,
        ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl }),
        handlers
      )),
      Effect.provide(
        Layer.provide(
          Otlp.layerJson({
            baseUrl: collector.baseUrl,
            resource: { serviceName: "test" },
            loggerMergeWithExisting: false
          }),
          NodeHttpClient.layerUndici
        )
      ),
      Effect.provideService(Metric.MetricRegistry, new Map()),
      Effect.provideService(References.MinimumLogLevel, "Trace"),
      Effect.provideService(RecordContent, recordsContent)
    )
    return { collector, prometheus }
  })

it.live("nothing that is said is in spans, logs or metrics by default", () =>
  Effect.gen(function*() {
    const { collector, prometheus } = yield* observed(false)
    const all = collector.bodies.join("\n")
    assert.match(all, /execute_tool look/)
    assert.match(all, /tool=_OTHER outcome=UnknownTool/)
    assert.match(all, /outcome=InvalidArguments/)
    assert.include(collector.metrics(), "fiberloop.tool.calls")
    assert.deepStrictEqual(`${all}\n${prometheus}`.match(/CANARY-\w+/g) ?? [], [])
  }))

it.live("on request it is in the attributes that the conventions define for it, and still in none of our metrics or logs", () =>
  Effect.gen(function*() {
    const { collector, prometheus } = yield* observed(true)
    const spans = collector.spans()
    const found = (name: string, attribute: string) =>
      spans.filter((span) => span.name === name).map(({ attributes }) => {
        const value = attributes[attribute]
        return typeof value === "string" ? JSON.parse(value) : undefined
      })
    const [input] = found("chat m", "gen_ai.input.messages")
    assert.deepStrictEqual(input, [
      { role: "system", parts: [{ type: "text", content: "CANARY-instructions" }] },
      { role: "user", parts: [{ type: "text", content: "CANARY-prompt" }] }
    ])
    const [, asked, answered] = found("chat m", "gen_ai.output.messages")
    assert.deepStrictEqual(asked[0].parts[0], {
      type: "tool_call",
      id: spans.find(({ name }) => name === "execute_tool look")?.attributes["gen_ai.tool.call.id"],
      name: "look",
      arguments: { query: "CANARY-argument" }
    })
    assert.deepStrictEqual(answered, [
      { role: "assistant", parts: [{ type: "text", content: "CANARY-answer" }], finish_reason: "stop" }
    ])
    assert.deepStrictEqual(found("execute_tool look", "gen_ai.tool.call.arguments")[0], { query: "CANARY-argument" })
    assert.deepStrictEqual(found("execute_tool look", "gen_ai.tool.call.result").slice(0, 3), [
      "CANARY-result",
      undefined,
      "CANARY-failure"
    ])
    assert.notMatch(prometheus, /CANARY/)
    assert.deepStrictEqual(collector.bodies.filter((body) => /"resourceLogs"/.test(body) && /CANARY/.test(body)), [])
    // without that request it is not
    const others = spans.filter(({ name }) => !/^(chat|execute_tool)/.test(name))
    assert.notMatch(JSON.stringify(others.map(({ attributes, events }) => [attributes, events])), /CANARY-(?!prompt)/)
  }))

it.live.each([false, true])(
  "a provider's own words are in spans if content is recorded (%s), and nowhere else",
  (records) =>
    Effect.gen(function*() {
      const traces = Traces.make()
      const server = yield* OpenAiServer.make(status(400, { error: { message: "CANARY-words" } }))
      const model = ModelOpenAi.layer({ model: "m", baseUrl: server.baseUrl })
      const running = Layer.mergeAll(
        ToolExecutorToolkit.layer,
        RunsLocal.layer,
        SessionStoreMemory.layer,
        model,
        Layer.provide(ContextSummary.layerWith({ compactThreshold: 2 }), model)
      )
      const history = Overflows.history(6, 600)
      yield* Effect.gen(function*() {
        const agent = yield* Agent.make({ instructions: "Help." })
        assert.strictEqual((yield* Effect.flip(agent.run({ input: "go" }))).reason._tag, "InvalidRequest")
        assert.strictEqual((yield* Effect.flip(agent.run({ input: "go", history }))).reason._tag, "CompactionFailed")
      }).pipe(
        Effect.provide(running),
        Effect.provideService(Tracer.Tracer, traces.tracer),
        Effect.provideService(RecordContent, records)
      )
      const said = traces.spans.filter((span) => /CANARY/.test(Traces.stateOf(span))).map(({ name }) => name)
      const streamed = "LanguageModel.streamText"
      assert.deepStrictEqual(
        said.toSorted(),
        records
          ? [streamed, streamed, "chat m", "chat m", "compact_context", "invoke_agent agent", "invoke_agent agent"]
          : []
      )
      assert.deepStrictEqual(
        traces.spans.filter(({ name }) => name === streamed).map((span) => Traces.stateOf(span) === "ok"),
        [false, false]
      )
    })
)
