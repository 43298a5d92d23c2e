/**
 * An agent behind HTTP. `POST /sessions/:id/stream` runs it and streams its events as server-sent events; a client that leaves
 * that stream aborts the run, and the model's connection closes. `POST /sessions/:id/start` runs it even if the client leaves,
 * until `DELETE /sessions/:id/run` aborts it, now or after a restart.
 * `GET /sessions/:id/events` reads along from `Last-Event-ID`, in any number of tabs: the `id` of a fact is its place in the
 * log, so a reader that comes back misses none and sees none twice, even after a restart. `POST /sessions/:id/answer` waits for
 * the end instead, and `GET /sessions/:id/messages` has the conversation so far, for a page that opens. Errors:
 * `http-errors.ts`. `http-guard.ts` refuses pages of other sites; your middleware decides who may see which session.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, `node examples/http-server.ts`, then
 * `curl -N localhost:3000/sessions/one/stream --json '{"text":"Tell me a story"}'`. It listens on 127.0.0.1, for this machine
 * only; set HOST to change that: `HOST=0.0.0.0` for all that can reach it, and HOSTS to the names that they reach it by.
 */
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Effect, Layer, Option, Schedule, Schema, Sink, Stream } from "effect"
import { Sse } from "effect/encoding"
import { HttpRouter, HttpServerResponse } from "effect/http"
import {
  Agent,
  Fiberloop,
  ModelOpenAi,
  RunError,
  RunEvent,
  SessionStore,
  SessionStoreSqlite,
  Transcript
} from "fiberloop"
import { createServer } from "node:http"
import { toResponse } from "./http-errors.ts"
import { guard } from "./http-guard.ts"

export class Assistant extends Agent.Service<Assistant>()("http/Assistant", { instructions: "Be brief." }) {}

const Ask = Schema.Struct({
  pathParams: Schema.Struct({ id: Schema.String }),
  /** `runId`, made by the client, makes it safe to repeat the request */
  body: Schema.Struct({ text: Schema.String, runId: Schema.optionalKey(Schema.String) })
})
const asked = Effect.map(HttpRouter.schemaJson(Ask), ({ body, pathParams }) => ({
  sessionId: pathParams.id,
  input: body.text,
  runId: body.runId
}))

const Read = Schema.Struct({
  pathParams: Schema.Struct({ id: Schema.String }),
  headers: Schema.Struct({ "last-event-id": Schema.optionalKey(Schema.FiniteFromString) })
})

/** The whole conversation of a session, even what its model is no longer sent; without what the runtime said in between. */
const conversation = (events: Stream.Stream<RunEvent.Durable, RunError.RunError>) =>
  events.pipe(
    Stream.filter(({ _tag }) => _tag !== "ContextCompacted" && _tag !== "NoticeAdded"),
    Stream.runFold(() => Transcript.empty, Transcript.append),
    Effect.map((transcript) => Transcript.said(transcript))
  )

const send = (event: string, data: unknown, id?: number) =>
  Sse.encoder.write({ _tag: "Event", event, data: JSON.stringify(data), id: id === undefined ? id : String(id) })

const ping = ": ping\n\n"

/** Facts carry an id. If the stream fails, `Broken` comes last: after `RunFailed`, or alone when the store failed. */
const sse = (events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>) =>
  HttpServerResponse.stream(
    events.pipe(
      Stream.map((event) => send(event._tag, event, RunEvent.isDurable(event) ? event.seq : undefined)),
      Stream.catch(({ reason }) => Stream.make(send("Broken", { error: reason._tag, message: reason.message }))),
      // the first ping goes out at once: until something is sent, a page does not know that it is connected
      Stream.merge(
        Stream.concat(Stream.make(ping), Stream.as(Stream.fromSchedule(Schedule.spaced("15 seconds")), ping)),
        {
          haltStrategy: "left"
        }
      ),
      Stream.encodeText
    ),
    { contentType: "text/event-stream", headers: { "cache-control": "no-cache, no-transform" } }
  )

/** An id has up to 200 characters, each of up to nine characters in a URL; a router allows only a hundred by default. */
export const routerConfig = { maxParamLength: 1800 }

export const Routes = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const assistant = yield* Assistant
  const store = yield* SessionStore
  const orRefuse = Effect.catchTags({
    RetryableError: (error: RunError.RunError) => Effect.succeed(toResponse(error)),
    NonRetryableError: (error: RunError.RunError) => Effect.succeed(toResponse(error)),
    SchemaError: (error: Schema.SchemaError) =>
      Effect.succeed(toResponse(RunError.invalidInput("request", error.message))),
    HttpServerError: () => Effect.succeed(toResponse(RunError.invalidInput("body", "the body is no JSON")))
  })

  const stream = Effect.gen(function*() {
    // the first event says that the run began: an error before it can still set the status
    const [first, rest] = yield* Stream.peel(assistant.stream(yield* asked), Sink.head())
    return sse(Stream.concat(Stream.fromIterable(Option.toArray(first)), rest))
  })

  const start = Effect.gen(function*() {
    const { runId } = yield* assistant.start(yield* asked)
    return HttpServerResponse.jsonUnsafe({ runId }, { status: 202 })
  })

  const abort = Effect.gen(function*() {
    const { pathParams: { id } } = yield* HttpRouter.schemaNoBody(Read)
    yield* assistant.abort(id)
    return HttpServerResponse.empty({ status: 204 })
  })

  const answer = Effect.gen(function*() {
    const result = yield* assistant.run(yield* asked)
    return HttpServerResponse.jsonUnsafe({ end: result._tag, text: result.text, explain: result.explain })
  })

  const events = Effect.gen(function*() {
    const { headers, pathParams: { id } } = yield* HttpRouter.schemaNoBody(Read)
    // an unknown session is found out before the first byte: afterwards there is no status
    if ((yield* store.info(id)) === undefined) return yield* Effect.fail(RunError.sessionNotFound(id))
    return sse(assistant.follow(id, headers["last-event-id"]))
  })

  const messages = Effect.gen(function*() {
    const { pathParams: { id } } = yield* HttpRouter.schemaNoBody(Read)
    const { head = 0 } = (yield* store.info(id)) ?? {}
    const said = yield* conversation(store.read(id, { to: head }))
    // where `events` continues after these messages
    return HttpServerResponse.jsonUnsafe(said, { headers: { "last-event-id": String(head) } })
  })

  yield* router.add("POST", "/sessions/:id/stream", orRefuse(stream))
  yield* router.add("POST", "/sessions/:id/start", orRefuse(start))
  yield* router.add("DELETE", "/sessions/:id/run", orRefuse(abort))
  yield* router.add("POST", "/sessions/:id/answer", orRefuse(answer))
  yield* router.add("GET", "/sessions/:id/events", orRefuse(events))
  yield* router.add("GET", "/sessions/:id/messages", orRefuse(messages))
})).pipe(Layer.merge(guard()))

if (process.argv[1] === import.meta.filename) {
  const Agents = Assistant.layer.pipe(
    Layer.provide([Fiberloop.layer, ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })]),
    Layer.provideMerge(SessionStoreSqlite.layer({ filename: "http-server.db" }))
  )
  const Server = NodeHttpServer.layer(createServer, {
    host: process.env.HOST || "127.0.0.1",
    port: 3000,
    gracefulShutdownTimeout: "3 seconds"
  })
  const App = Layer.mergeAll(Agent.recovering(Assistant), HttpRouter.serve(Routes, { routerConfig }))
  // the agents first: a server that listens while their store is opened takes requests that nobody answers
  NodeRuntime.runMain(Layer.launch(App.pipe(Layer.provide(Server), Layer.provide(Agents))))
}
