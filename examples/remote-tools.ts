/**
 * Tools that run in another process: a `ToolExecutor` of your own sends each call to a worker, which answers with its outcome.
 * The agent's process does not need the handlers. The loop is unchanged: intents before, outcomes after, and approvals, hooks and
 * limits here. An abort closes the connection, which interrupts the handler at the worker. The worker runs every call that
 * reaches it: your middleware, or your network, decides who may call.
 *
 * `npm run build`, `node examples/remote-tools.ts worker`, and in another shell, with OPENAI_API_KEY or OPENAI_BASE_URL set,
 * `node examples/remote-tools.ts "Is the red kettle in stock?"`
 */
import { NodeHttpClient, NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Console, Duration, Effect, Layer, Schema } from "effect"
import { Tool, Toolkit } from "effect/ai"
import {
  HttpClient,
  HttpClientRequest,
  HttpClientResponse,
  HttpRouter,
  HttpServerRequest,
  HttpServerResponse
} from "effect/http"
import {
  Agent,
  Fiberloop,
  ModelOpenAi,
  SessionStoreMemory,
  ToolExecutor,
  ToolExecutorToolkit,
  ToolOutcome
} from "fiberloop"
import type { Handlers } from "fiberloop/services/ToolExecutor"
import { createServer } from "node:http"
import { guard } from "./http-guard.ts"

/** What both sides know of the tools. */
export const Shop = Toolkit.make(
  Tool.make("get_stock", {
    description: "How many of an item are in stock",
    parameters: Schema.Struct({ item: Schema.String }),
    success: Schema.Finite
  }).annotate(Tool.Readonly, true)
)

const Call = Schema.Struct({
  name: Schema.String,
  params: Schema.Json,
  /** milliseconds */
  timeout: Schema.Finite,
  identity: Schema.Struct({
    sessionId: Schema.String,
    runId: Schema.String,
    callId: Schema.String,
    idempotencyKey: Schema.String,
    attempt: Schema.Finite,
    data: Schema.UndefinedOr(Schema.Json)
  })
})

/** An outcome; or the runs whose questions must be answered before there is one. */
const Settlement = Schema.Union([
  Schema.Struct({ outcome: ToolOutcome.ToolOutcome, originalSize: Schema.optionalKey(Schema.Finite) }),
  Schema.Struct({ waitsFor: Schema.Array(Schema.Struct({ sessionId: Schema.String, runId: Schema.String })) })
])

/** The agent's side. Everything but running a call, such as reading a tool's annotations, is left to the toolkit's executor. */
export const executor = (url: string) =>
  Layer.effect(
    ToolExecutor,
    Effect.map(HttpClient.HttpClient, (client) => {
      const { execute: _, ...local } = ToolExecutorToolkit.make
      return ToolExecutor.of({
        ...local,
        execute: (handlers, { timeout, ...call }) =>
          HttpClientRequest.post(`${url}/calls`).pipe(
            HttpClientRequest.schemaBodyJson(Call)({ ...call, timeout: Duration.toMillis(timeout) }),
            Effect.flatMap(client.execute),
            Effect.flatMap(HttpClientResponse.filterStatusOk),
            Effect.flatMap(HttpClientResponse.schemaBodyJson(Settlement)),
            // the worker enforces the limit; this is for a worker that does not answer
            Effect.timeout(Duration.sum(timeout, Duration.seconds(10))),
            Effect.tapError((error) => Effect.logWarning(`nothing came back of ${call.name}: ${error.message}`)),
            // nobody knows whether the call took effect: only a call that may run again is simply a failure
            Effect.catch(() =>
              Effect.succeed<typeof Settlement.Type>({
                outcome: local.isRepeatable(handlers, call.name)
                  ? { _tag: "Failed", result: "The tool cannot be reached." }
                  : { _tag: "OutcomeUnknown" }
              })
            )
          )
      })
    })
  )

/** The worker's side: the toolkit's own executor, behind a route. */
export const Routes = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const handlers = yield* Shop
  const answer = Effect.gen(function*() {
    const { timeout, ...call } = yield* HttpServerRequest.schemaBodyJson(Call)
    const settlement = yield* ToolExecutorToolkit.make.execute(
      handlers as Handlers,
      { ...call, timeout: Duration.millis(timeout) },
      { progress: () => Effect.void, leftBehind: () => Effect.void }
    )
    return yield* HttpServerResponse.schemaJson(Settlement)(settlement)
  })
  yield* router.add("POST", "/calls", answer)
})).pipe(Layer.merge(guard()))

/** An agent whose calls run there. */
export class Clerk extends Agent.Service<Clerk>()("remote/Clerk", {
  instructions: "Answer in one sentence, from what the tools say.",
  toolkit: { tools: Shop.tools, handle: () => Effect.die(new Error("its handlers are in another process")) }
}) {}

export const ShopLive = Shop.toLayer({
  get_stock: ({ item }) => Effect.succeed(item === "red kettle" ? 3 : 0)
})

if (process.argv[1] === import.meta.filename) {
  const [what = "Is the red kettle in stock?"] = process.argv.slice(2)
  const Worker = HttpRouter.serve(Routes).pipe(
    Layer.provide([ShopLive, NodeHttpServer.layer(createServer, { port: 4000, host: "127.0.0.1" })])
  )
  const ask = Effect.gen(function*() {
    const result = yield* (yield* Clerk).run({ input: what })
    yield* Console.log(result.text)
  })
  const Live = Clerk.layer.pipe(
    Layer.provide(executor("http://127.0.0.1:4000").pipe(Layer.provide(NodeHttpClient.layerUndici))),
    Layer.provide([
      Fiberloop.layer,
      SessionStoreMemory.layer,
      ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })
    ])
  )
  if (what === "worker") NodeRuntime.runMain(Layer.launch(Worker))
  else NodeRuntime.runMain(Effect.provide(ask, Live))
}
