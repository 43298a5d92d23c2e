/** examples/observability.ts and examples/opentelemetry.ts, each exporting to a collector on the loopback interface. */
import { assert, it } from "@effect/vitest"
import * as SdkMetrics from "@opentelemetry/sdk-metrics"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import * as Observability from "../../examples/observability.ts"
import * as OpenTelemetry from "../../examples/opentelemetry.ts"
import * as OtlpCollector from "../support/OtlpCollector.ts"

const asked = (telemetry: Layer.Layer<never>, told: Array<string> = []) =>
  Observability.ask("Is the red kettle in stock?").pipe(
    Effect.provide(
      Observability.ClerkLive((line) => Effect.sync(() => told.push(line))).pipe(
        Layer.provide([
          SessionStoreMemory.layer,
          ScriptedModel.layer([
            [
              ScriptedModel.call("get_stock", { item: "red kettle" }),
              ScriptedModel.call("get_price", { item: "kettle" })
            ],
            ScriptedModel.text("It is, and what it costs nobody knows.")
          ])
        ])
      )
    ),
    Effect.provide(telemetry),
    Effect.provideService(Metric.MetricRegistry, new Map())
  )

const chat = { "chat scripted": [] }
const tree = [{
  ask: [{
    "invoke_agent shop/Clerk": [
      { "SessionStore.open": [] },
      chat,
      { "execute_tool get_stock": [{ "ask the warehouse": [] }] },
      { "execute_tool get_price": [] },
      chat
    ]
  }]
}]

it.live("effect/observability sends the tree of spans and the metrics, and the observer is told of the end", () =>
  Effect.gen(function*() {
    const collector = yield* OtlpCollector.make
    const told: Array<string> = []
    yield* asked(Observability.telemetry(collector.baseUrl), told)
    assert.deepStrictEqual(OtlpCollector.tree(collector.spans()), tree)
    assert.include(collector.metrics(), "fiberloop.runs")
    assert.strictEqual(told.length, 1)
    assert.match(told[0]!, /^shop\/Clerk \S+ RunCompleted after 2 turns$/)
  }))

it.live("the OpenTelemetry SDK sends the same tree, with the attributes, and reads the metrics", () =>
  Effect.gen(function*() {
    const collector = yield* OtlpCollector.make
    const exporter = new SdkMetrics.InMemoryMetricExporter(SdkMetrics.AggregationTemporality.CUMULATIVE)
    const reader = new SdkMetrics.PeriodicExportingMetricReader({ exporter })
    yield* asked(OpenTelemetry.telemetry(collector.baseUrl, reader))
    assert.deepStrictEqual(OtlpCollector.tree(collector.spans()), tree)
    const failed = collector.spans().find(({ name }) => name === "execute_tool get_price")
    assert.strictEqual(failed?.attributes["gen_ai.tool.name"], "get_price")
    assert.strictEqual(failed?.attributes["error.type"], "Failed")
    assert.strictEqual(failed?.status.code, 2)
    const names = exporter.getMetrics().flatMap(({ scopeMetrics }) =>
      scopeMetrics.flatMap(({ metrics }) => metrics.map(({ descriptor }) => descriptor.name))
    )
    assert.includeMembers(names, ["fiberloop.runs", "gen_ai.client.operation.duration"])
  }))
