/**
 * The same agent with the OpenTelemetry SDK, for applications that already use it: processors, samplers and exporters are the
 * SDK's, and spans of other libraries are in the same traces. Needs `npm install @effect/opentelemetry@4.1.0` and the SDK:
 * `@opentelemetry/api`, `api-logs`, `resources`, `sdk-logs`, `sdk-metrics`, `sdk-trace-base`, `sdk-trace-node` and an exporter.
 *
 * `npm run build`, a collector on port 4318, OPENAI_API_KEY, then `node examples/opentelemetry.ts "Is the red kettle in stock?"`
 */
import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import { NodeRuntime } from "@effect/platform-node"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import type { MetricReader } from "@opentelemetry/sdk-metrics"
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { Console, Effect, Layer } from "effect"
import { ModelOpenAi, SessionStoreMemory } from "fiberloop"
import { ask, ClerkLive } from "./observability.ts"

/** Sends traces to a collector, and metrics to the reader if there is one; closing the layer sends the rest. */
export const telemetry = (baseUrl: string, metricReader?: MetricReader) =>
  NodeSdk.layer(() => ({
    resource: { serviceName: "shop" },
    spanProcessor: new BatchSpanProcessor(new OTLPTraceExporter({ url: `${baseUrl}/v1/traces` })),
    ...(metricReader === undefined ? {} : { metricReader })
  }))

if (process.argv[1] === import.meta.filename) {
  ask(process.argv[2] ?? "Is the red kettle in stock, and what is it?").pipe(
    Effect.flatMap(Console.log),
    Effect.provide(
      ClerkLive().pipe(
        Layer.provide([
          SessionStoreMemory.layer,
          ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })
        ])
      )
    ),
    Effect.provide(telemetry(process.env.OTEL_EXPORTER_OTLP_ENDPOINT ?? "http://localhost:4318")),
    NodeRuntime.runMain
  )
}
