/** What sentences and short snippets of the pages say, where no example and no test of a part shows it. */
import { NodeHttpClient, NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Sse from "effect/encoding/Sse"
import * as Fiber from "effect/Fiber"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { createServer } from "node:http"
import {
  Agent,
  Approver,
  Fiberloop,
  type Hook,
  RetryPolicy,
  RunEvent,
  RunEvents,
  Sessions,
  SessionStore,
  SessionStoreMemory,
  ToolCall
} from "../../src/index.ts"
import { ScriptedModel } from "../../src/testing/index.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"

const below = (turns: ScriptedModel.Turns) =>
  Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, ScriptedModel.layer(turns))

const logOf = (sessionId: string) => SessionStore.use((store) => Stream.runCollect(store.read(sessionId)))

describe("docs/approvals.md", () => {
  const Shop = Toolkit.make(Tool.make("refund", { success: Schema.String, needsApproval: true }))

  it.effect("an approver answers in the drive that it is provided to, and in no other one", () =>
    Effect.gen(function*() {
      const agent = yield* Effect.provide(
        Agent.make({ instructions: "Refund.", toolkit: Shop, retry: RetryPolicy.make({ maxRetries: 0 }) }),
        Shop.toLayer({ refund: () => Effect.succeed("paid") })
      )
      const yes = Effect.provideService(Approver, { ask: () => Effect.succeed({ approved: true, by: "rule" }) })
      yield* Effect.flip(yes(agent.run({ sessionId: "s", input: "Go." })))
      const alone = yield* agent.resumeRun({ sessionId: "s" })
      const again = yield* yes(agent.resumeRun({ sessionId: "s" }))
      assert.deepStrictEqual([alone._tag, again._tag], ["Suspended", "Completed"])
      const answers = RunLog.only(yield* logOf("s"), "ApprovalResolved")
      assert.deepStrictEqual(answers.map(({ by, callId }) => `${callId} ${by}`), ["1.0 rule", "2.0 rule"])
    }).pipe(Effect.provide(below([
      ScriptedModel.call("refund", {}),
      Overloaded.fail(),
      ScriptedModel.call("refund", {}),
      ScriptedModel.text("Done.")
    ]))))

  const Desk = Toolkit.make(
    Tool.make("ask", { success: Schema.String, failure: Schema.String, dependencies: [ToolCall] })
      .annotate(Tool.Idempotent, true)
  )
  const isForCall = (sessionId: string) =>
    SessionStore.use((store) => Stream.runHead(store.read(sessionId, { to: 1 }))).pipe(
      Effect.map(Option.exists((first) => first._tag === "RunStarted" && first.parent !== undefined))
    )

  it.effect("the session to resume is found from where it is asked, and is the one that a list of chats has", () =>
    Effect.gen(function*() {
      const support = yield* Effect.provide(
        Agent.make({ name: "support", instructions: "Refund.", toolkit: Shop }),
        Shop.toLayer({ refund: () => Effect.succeed("paid") })
      )
      const manager = yield* Effect.provide(
        Agent.make({ name: "manager", instructions: "Ask.", toolkit: Desk }),
        Desk.toLayer({ ask: () => ToolCall.runAgent(support, { input: "Refund." }) })
      )
      yield* manager.run({ sessionId: "outer", input: "Go." })
      const [asking] = yield* Stream.runCollect(Sessions.asking)
      const { session: { sessionId }, approvals: [{ id }] } = asking!
      assert.deepStrictEqual([sessionId === "outer", yield* Sessions.outermost(sessionId)], [false, "outer"])
      const chats = Stream.filterEffect(
        Sessions.list(),
        ({ sessionId }) => Effect.map(isForCall(sessionId), (isForCall) => !isForCall)
      )
      assert.deepStrictEqual((yield* Stream.runCollect(chats)).map((session) => session.sessionId), ["outer"])
      yield* support.decide({ sessionId, approvalId: id, approved: true })
      const { runs } = yield* manager.recover({ answered: true })
      assert.deepStrictEqual(yield* Effect.map(runs[0]!.result, ({ text }) => text), "Done.")
    }).pipe(Effect.provide(below([
      ScriptedModel.call("ask", {}),
      ScriptedModel.call("refund", {}),
      ScriptedModel.text("Refunded."),
      ScriptedModel.text("Done.")
    ]))))
})

describe("docs/hooks.md", () => {
  const Numbers = Toolkit.make(Tool.make("count", { success: Schema.Struct({ count: Schema.Finite }) }))

  it.effect("no schema of the tool checks what a hook answers or puts in the place of a result", () =>
    Effect.gen(function*() {
      const answers: Hook = {
        name: "answers",
        beforeToolCall: () => Effect.succeed({ _tag: "Answer", result: "many" })
      }
      const changes: Hook = {
        name: "changes",
        afterToolCall: () => Effect.succeed({ outcome: { _tag: "Succeeded", result: [1] } })
      }
      for (const hook of [answers, changes]) {
        const agent = yield* Effect.provide(
          Agent.make({ instructions: "Count.", toolkit: Numbers, hooks: [hook] }),
          Numbers.toLayer({ count: () => Effect.succeed({ count: 1 }) })
        )
        yield* agent.run({ sessionId: hook.name, input: "Count." })
      }
      const settled = RunLog.only([...yield* logOf("answers"), ...yield* logOf("changes")], "ToolSettled")
      assert.deepStrictEqual(settled.map(({ outcome }) => outcome), [
        { _tag: "Succeeded", result: "many" },
        { _tag: "Succeeded", result: [1] }
      ])
    }).pipe(
      Effect.provide(
        below(({ messages }) =>
          messages.at(-1)?.role === "tool" ? ScriptedModel.text("Done.") : ScriptedModel.call("count", {})
        )
      )
    ))
})

describe("docs/events.md", () => {
  const Find = Toolkit.make(Tool.make("find", { success: Schema.String }))
  const make = Effect.provide(
    Agent.make({ instructions: "Find.", toolkit: Find }),
    Find.toLayer({ find: () => Effect.succeed("7") })
  )

  it.effect("RunEvents.text has the texts of all turns without a separator, the result that of the last one", () =>
    Effect.gen(function*() {
      const agent = yield* make
      const text = yield* Stream.mkString(RunEvents.text(agent.stream({ sessionId: "a", input: "How many?" })))
      const result = yield* agent.run({ sessionId: "b", input: "How many?" })
      assert.deepStrictEqual([text, result.text], ["Let me look.Seven.", "Seven."])
    }).pipe(Effect.provide(below(({ messages }) =>
      messages.at(-1)?.role === "tool"
        ? ScriptedModel.text("Seven.")
        : [ScriptedModel.text("Let me look."), ScriptedModel.call("find", {})]
    ))))

  it.effect("the sentence of a handler that died has the defect's message, in the log and for the model", () =>
    Effect.gen(function*() {
      const agent = yield* Effect.provide(
        Agent.make({ instructions: "Find.", toolkit: Find }),
        Find.toLayer({ find: () => Effect.die(new Error("connect postgres://app:secret@db")) })
      )
      yield* agent.run({ sessionId: "s", input: "How many?" })
      const result = "The tool failed unexpectedly: connect postgres://app:secret@db"
      const [settled] = RunLog.only(yield* logOf("s"), "ToolSettled")
      assert.deepStrictEqual(settled?.outcome, { _tag: "Failed", result })
      const [, second] = yield* (yield* ScriptedModel.Script).requests
      assert.include(JSON.stringify(second?.messages.at(-1)), result)
    }).pipe(Effect.provide(below([ScriptedModel.call("find", {}), ScriptedModel.text("I do not know.")]))))
})

describe("docs/http.md", () => {
  class Assistant extends Agent.Service<Assistant>()("docs/Sse", { instructions: "Be brief." }) {}
  const Ask = Schema.Struct({
    pathParams: Schema.Struct({ id: Schema.String }),
    headers: Schema.Struct({ "content-type": Schema.Literal("application/json") }),
    body: Schema.Struct({ text: Schema.String })
  })
  const send = (event: string, data: unknown) =>
    Sse.encoder.write({ _tag: "Event", event, data: JSON.stringify(data), id: undefined })
  const Routes = HttpRouter.use(Effect.fnUntraced(function*(router) {
    const assistant = yield* Assistant
    yield* router.add(
      "POST",
      "/sessions/:id/stream",
      Effect.gen(function*() {
        const { body, pathParams: { id } } = yield* HttpRouter.schemaJson(Ask)
        const events = assistant.stream({ sessionId: id, input: body.text }).pipe(
          Stream.map((event) => send(event._tag, event)),
          Stream.catch(({ reason }) => Stream.make(send("Broken", { error: reason._tag, message: reason.message }))),
          Stream.encodeText
        )
        return HttpServerResponse.stream(events, { contentType: "text/event-stream" })
      })
    )
  }))
  const Loopback = HttpServer.layerTestClient.pipe(
    Layer.provide(NodeHttpClient.layerUndici),
    Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0 }))
  )
  const serving = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
    HttpRouter.serve(Routes, { disableLogger: true, disableListenLog: true }).pipe(
      Layer.provide(Layer.provide(Assistant.layer, Fiberloop.layer)),
      Layer.provideMerge([SessionStoreMemory.layer, ScriptedModel.layer(turns), Loopback])
    )
  const post = (text: string) =>
    HttpClient.execute(HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post("/sessions/one/stream"), { text }))

  it.live("the least of a route sends the events of a run, or why there is none", () =>
    Effect.gen(function*() {
      const response = yield* post("Hello!")
      assert.strictEqual(response.headers["content-type"], "text/event-stream")
      assert.match(yield* response.text, /^event: RunStarted\ndata: [^]*\n\nevent: RunCompleted\ndata: .*\n\n$/)
      assert.match(yield* (yield* post("")).text, /^event: Broken\ndata: {"error":"InvalidInput",.*\n\n$/)
    }).pipe(Effect.provide(serving(ScriptedModel.text("Hi.")))))

  it.live("the least of a route begins no run for what any page may send", () =>
    Effect.gen(function*() {
      const plain = HttpClientRequest.bodyText(HttpClientRequest.post("/sessions/one/stream"), "{\"text\":\"Hello!\"}")
      assert.strictEqual((yield* HttpClient.execute(plain)).status, 400)
      assert.isUndefined(yield* SessionStore.use((store) => store.info("one")))
    }).pipe(Effect.provide(serving(ScriptedModel.text("Hi.")))))

  it.live("a client that leaves it aborts the run", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      yield* Effect.gen(function*() {
        const { stream } = yield* post("Hello!")
        yield* Stream.runDrain(Stream.takeUntil(Stream.decodeText(stream), (text) => text.includes("TextDelta")))
        yield* gate.closed
        const end = SessionStore.use((store) => Stream.runHead(Stream.filter(store.watch("one"), RunEvent.isEnd)))
        assert.deepInclude(Option.getOrUndefined(yield* end), { _tag: "RunAborted", reason: "consumer" })
      }).pipe(Effect.provide(serving([ScriptedModel.text("Once"), ScriptedModel.gate(gate)])))
    }))
})

describe("docs/stores.md", () => {
  const Pages = Toolkit.make(Tool.make("read_page", { success: Schema.String }))

  it.effect("a copy up to a turn's end is resumed with the results of that turn", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore
      const agent = yield* Effect.provide(
        Agent.make({ instructions: "Read.", toolkit: Pages }),
        Pages.toLayer({ read_page: () => Effect.succeed("This is page 1.") })
      )
      yield* agent.run({ sessionId: "book", input: "What is it about?" })
      const [turn] = RunLog.only(yield* logOf("book"), "TurnFinished")
      const copy = yield* store.fork("book", { to: "again", at: turn!.seq })
      assert.deepStrictEqual([copy.sessionId, copy.end], ["again", "RunAborted"])
      const result = yield* agent.resumeRun({ sessionId: "again" })
      assert.deepStrictEqual([result._tag, result.text, result.turns], ["Completed", "A cat.", 2])
    }).pipe(Effect.provide(below([
      ScriptedModel.call("read_page", {}),
      ScriptedModel.text("A dog."),
      ScriptedModel.text("A cat.")
    ]))))
})

describe("docs/testing.md", () => {
  it.effect("a handler's sleep goes by the test's clock, moved once the handler has shown that it runs", () =>
    Effect.gen(function*() {
      const Slow = Toolkit.make(Tool.make("wait", { success: Schema.String }))
      const agent = yield* Effect.provide(
        Agent.make({ instructions: "Wait.", toolkit: Slow }),
        Slow.toLayer({ wait: () => Effect.as(Effect.sleep("30 seconds"), "waited") })
      )
      const run = yield* agent.start({ input: "Wait." })
      const result = yield* Effect.forkChild(run.result)
      yield* Stream.runHead(Stream.filter(run.events, ({ _tag }) => _tag === "ToolStarted"))
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* Fiber.join(result)).text, "Done.")
    }).pipe(Effect.provide(below([ScriptedModel.call("wait", {}), ScriptedModel.text("Done.")]))))
})
