/**
 * An agent in the traces, metrics and logs that you already have. Spans by the OpenTelemetry conventions for generative AI,
 * metrics, and a debug line per step go to a collector over OTLP; `/metrics` serves the same metrics to Prometheus; an observer
 * hears of every end. The agent itself knows nothing of this.
 *
 * `npm run build`, a collector on port 4318 (`docker run -p 4318:4318 otel/opentelemetry-collector`), OPENAI_API_KEY, then
 * `node examples/observability.ts "Is the red kettle in stock, and what is it?"`, and `curl localhost:9464/metrics` meanwhile.
 * `/metrics` listens on 127.0.0.1, for this machine only; set HOST to change that: `HOST=0.0.0.0` for a Prometheus on another
 * machine, and HOSTS to the name that it asks for, if that is no address.
 */
import { NodeHttpClient, NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Console, Effect, Layer, References, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { HttpRouter } from "effect/http"
import { Otlp, PrometheusMetrics } from "effect/observability"
import { Agent, Fiberloop, ModelOpenAi, type Observer, Observers, RunEvent, SessionStoreMemory } from "fiberloop"
import { createServer } from "node:http"
import { guard } from "./http-guard.ts"

const item = { parameters: Schema.Struct({ item: Schema.String }), failure: Schema.String }
const Shop = Toolkit.make(
  Tool.make("get_stock", { ...item, success: Schema.Finite }).annotate(Tool.Readonly, true),
  Tool.make("get_price", { ...item, success: Schema.String }).annotate(Tool.Readonly, true)
)

export class Clerk extends Agent.Service<Clerk>()("shop/Clerk", {
  instructions: "Answer in one sentence, from what the tools say.",
  toolkit: Shop,
  toolPolicy: { maxParallel: 4 }
}) {}

/** Hears of every end, even of runs that nobody waits for; called once the end is stored, and holds up nothing. */
export const tellEnds = (tell: (line: string) => Effect.Effect<void>): Observer => ({
  name: "ends",
  observe: ({ agent, events, runId }) =>
    Effect.forEach(
      events.filter(RunEvent.isEnd),
      (end) => tell(`${agent} ${runId} ${end._tag} after ${end.totals.turns} turns`),
      { discard: true }
    )
})

export const ClerkLive = (tell: (line: string) => Effect.Effect<void> = Console.error) =>
  Clerk.layer.pipe(
    Layer.provide([
      Shop.toLayer({
        // a handler's own spans are children of `execute_tool get_stock`
        get_stock: ({ item }) =>
          Effect.succeed(item === "red kettle" ? 3 : 0).pipe(Effect.withSpan("ask the warehouse")),
        get_price: ({ item }) => item === "red kettle" ? Effect.succeed("24 EUR") : Effect.fail(`no price for ${item}`)
      }),
      Layer.succeed(Observers, [tellEnds(tell)]),
      Fiberloop.layer
    ])
  )

/** Sends traces, metrics and logs to a collector; closing the layer sends the rest. */
export const telemetry = (baseUrl: string) =>
  Otlp.layerJson({ baseUrl, resource: { serviceName: "shop" }, loggerMergeWithExisting: false }).pipe(
    Layer.provide(NodeHttpClient.layerUndici)
  )

/** The same metrics as text. */
const prometheus = HttpRouter.serve(Layer.merge(PrometheusMetrics.layerHttp(), guard()), { disableLogger: true }).pipe(
  Layer.provide(NodeHttpServer.layer(createServer, { host: process.env.HOST || "127.0.0.1", port: 9464 }))
)

export const ask = Effect.fn("ask")(function*(question: string) {
  const clerk = yield* Clerk
  return (yield* clerk.run({ input: question })).text
})

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
    Effect.provide([telemetry(process.env.OTEL_EXPORTER_OTLP_ENDPOINT ?? "http://localhost:4318"), prometheus]),
    // for the debug line of each step
    Effect.provideService(References.MinimumLogLevel, "Debug"),
    NodeRuntime.runMain
  )
}
