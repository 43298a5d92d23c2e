/**
 * The backend of a page built with `useChat` of the Vercel AI SDK 7: its protocol, its questions, its reconnects.
 * `POST /api/chat` takes a message, a person's answers to questions, or what they say instead of a tool, and streams what
 * follows; the run goes on even if the client leaves. `GET /api/chat/:id/stream` shows a reloaded page the answer under way from
 * its beginning, even if another process gives it, and `GET /api/chat/:id` what was said before. `POST /api/chat/:id/steer` says
 * something to the answer under way, which shows it, and responds with what became of it; `DELETE /api/chat/:id/run` aborts. Each may
 * reach any process over the same store. Errors: `http-errors.ts`. `http-guard.ts` refuses pages of other sites; your middleware
 * decides who may see which session.
 *
 * `npm run build`, set OPENAI_API_KEY or OPENAI_BASE_URL, then `node examples/use-chat.ts`, which listens on 127.0.0.1; set HOST
 * to change that, and HOSTS to the names that others reach it by. The page:
 *
 * ```ts
 * useChat({ id, messages: await (await fetch(`/api/chat/${id}`)).json(), resume: true,
 *   sendAutomaticallyWhen: (chat) => lastAssistantMessageIsCompleteWithApprovalResponses(chat) ||
 *     lastAssistantMessageIsCompleteWithToolCalls(chat) })
 * ```
 */
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Effect, Layer, Schedule, Schema, Stream } from "effect"
import { Tool, Toolkit } from "effect/ai"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import {
  Agent,
  Fiberloop,
  ModelOpenAi,
  NeedsResult,
  RunError,
  RunEvent,
  SessionStore,
  SessionStoreSqlite,
  UiMessages
} from "fiberloop"
import { createServer } from "node:http"
import { toResponse } from "./http-errors.ts"
import { guard } from "./http-guard.ts"
import { routerConfig } from "./http-server.ts"

export const Tools = Toolkit.make(
  Tool.make("sendMail", {
    description: "Sends a mail in the user's name",
    parameters: Schema.Struct({ to: Schema.String, text: Schema.String }),
    success: Schema.String,
    needsApproval: true
  }),
  // answered by the page, with `addToolOutput`
  Tool.make("askUser", {
    description: "Asks the user what only they know",
    parameters: Schema.Struct({ question: Schema.String }),
    success: Schema.String
  }).annotate(NeedsResult, true),
  Tool.make("getWeather", {
    description: "Current temperature of a city",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.Struct({ celsius: Schema.Finite })
  }).annotate(Tool.Readonly, true)
)

export class Assistant extends Agent.Service<Assistant>()("use-chat/Assistant", {
  instructions: "Be brief.",
  toolkit: Tools,
  // a page sends its answers only when no call of its message is open: one at a time, calls after a question would stay open
  toolPolicy: { maxParallel: Infinity }
}) {}

const Path = Schema.Struct({ id: Schema.String })
const Steer = Schema.Struct({
  pathParams: Path,
  // a page that repeats its request, with the message's own id, has it said once
  body: Schema.Struct({ text: Schema.String, id: Schema.optionalKey(Schema.String) })
})

/** Whether a run under way is over, whose log was stored up to `head`: one that only its process or its store ended goes on. */
const isLast = (event: RunEvent.RunEvent, head: number) =>
  RunEvent.isEnd(event) && event.seq > head && !RunEvent.isLeft(event)

/** Up to the end that follows these answers: the run may have ended, to wait for them, just before. */
const untilEnd = (
  events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>,
  answers: ReadonlyArray<{ readonly approvalId: string }>
) => {
  const unseen = new Set(answers.map(({ approvalId }) => approvalId))
  return Stream.takeUntil(events, (event) => {
    if (event._tag === "ApprovalResolved") unseen.delete(event.approvalId)
    return unseen.size === 0 && RunEvent.isEnd(event) && !RunEvent.isLeft(event)
  })
}

/** What the page sees. The body is server-sent events; pings keep proxies from closing a silent connection. */
const respond = (events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>) =>
  HttpServerResponse.stream(
    events.pipe(
      UiMessages.stream({
        onError: (error) => error._tag === "RetryableError" ? "Please try again." : "That went wrong."
      }),
      UiMessages.encode,
      Stream.merge(Stream.as(Stream.fromSchedule(Schedule.spaced("15 seconds")), ": ping\n\n"), {
        haltStrategy: "left"
      }),
      Stream.encodeText
    ),
    { headers: UiMessages.headers }
  )

export const Routes = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const assistant = yield* Assistant
  const store = yield* SessionStore
  const orRefuse = Effect.catchTags({
    RetryableError: (error: RunError.RunError) => Effect.succeed(toResponse(error)),
    NonRetryableError: (error: RunError.RunError) => Effect.succeed(toResponse(error)),
    SchemaError: (error: Schema.SchemaError) =>
      Effect.succeed(toResponse(RunError.invalidInput("path", error.message))),
    HttpServerError: () => Effect.succeed(toResponse(RunError.invalidInput("body", "the body is no JSON")))
  })

  /** What a run said in the drives before this one, which began at `seq`. */
  const before = ({ runId, sessionId }: Agent.Run<string>, seq: number) =>
    Stream.unwrap(Effect.map(
      store.lastOf(sessionId, "RunStarted", runId),
      (begun = seq) => begun < seq ? store.read(sessionId, { from: begun, to: seq - 1 }) : Stream.empty
    ))

  /** All of a run: if it waited for a person, or its process died, it began before this drive. */
  const whole = (run: Agent.Run<string>) => {
    let isFirst = true
    return Stream.flatMap(run.events, (event) => {
      if (!isFirst || !RunEvent.isDurable(event)) return Stream.succeed(event)
      isFirst = false
      return Stream.concat(before(run, event.seq), Stream.succeed(event))
    })
  }

  const chat = Effect.gen(function*() {
    const body = yield* (yield* HttpServerRequest.HttpServerRequest).json
    const request = yield* UiMessages.request(body, { answers: ["askUser"] })
    if (request._tag === "Ask") return respond(whole(yield* assistant.start(request.input)))
    const { decisions, sessionId } = request
    const waiting = new Set((yield* assistant.approvals(sessionId)).map(({ id }) => id))
    // a page repeats the answers that it, or somebody else, gave before its last one
    const open = decisions.filter(({ approvalId }) => waiting.has(approvalId))
    const { head = 0 } = (yield* store.info(sessionId)) ?? {}
    for (const decision of open.length > 0 ? open : decisions) yield* assistant.decide(decision)
    // a run that is live, here or in another process, goes on by itself, and may be complete already
    yield* Effect.catchIf(
      assistant.resumeStart({ sessionId }),
      ({ reason }) => reason._tag === "SessionBusy" || reason._tag === "NothingToResume",
      () => Effect.void
    )
    return respond(untilEnd(assistant.follow(sessionId, head), open))
  })

  const reconnect = Effect.gen(function*() {
    const { id } = yield* HttpRouter.schemaPathParams(Path)
    const info = yield* store.info(id)
    if (info === undefined || info.end !== undefined) return HttpServerResponse.empty({ status: 204 })
    const begun = yield* store.lastOf(id, "RunStarted")
    const run = assistant.follow(id, begun === undefined ? 0 : begun - 1)
    return respond(Stream.takeUntil(run, (event) => isLast(event, info.head)))
  })

  const messages = Effect.gen(function*() {
    const { id } = yield* HttpRouter.schemaPathParams(Path)
    return HttpServerResponse.jsonUnsafe(
      (yield* store.info(id)) === undefined ? [] : yield* UiMessages.messages()(store.read(id))
    )
  })

  const steer = Effect.gen(function*() {
    const { body: { id, text }, pathParams } = yield* HttpRouter.schemaJson(Steer)
    return HttpServerResponse.jsonUnsafe(yield* assistant.steer(pathParams.id, text, { id }))
  })

  const abort = Effect.gen(function*() {
    yield* assistant.abort((yield* HttpRouter.schemaPathParams(Path)).id)
    return HttpServerResponse.empty({ status: 204 })
  })

  yield* router.add("POST", "/api/chat", orRefuse(chat))
  yield* router.add("GET", "/api/chat/:id/stream", orRefuse(reconnect))
  yield* router.add("GET", "/api/chat/:id", orRefuse(messages))
  yield* router.add("POST", "/api/chat/:id/steer", orRefuse(steer))
  yield* router.add("DELETE", "/api/chat/:id/run", orRefuse(abort))
})).pipe(Layer.merge(guard()))

/** Nothing is really sent or measured here. */
export const ToolsLive = Tools.toLayer({
  sendMail: ({ to }) => Effect.succeed(`sent to ${to}`),
  askUser: () => Effect.die("the page answers"),
  getWeather: ({ city }) => Effect.succeed({ celsius: city === "Oslo" ? 4 : 19 })
})

if (process.argv[1] === import.meta.filename) {
  const Agents = Assistant.layer.pipe(
    Layer.provide([Fiberloop.layer, ToolsLive, ModelOpenAi.layer({ model: process.env.FIBERLOOP_MODEL ?? "gpt-5.5" })]),
    Layer.provideMerge(SessionStoreSqlite.layer({ filename: "use-chat.db" }))
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
