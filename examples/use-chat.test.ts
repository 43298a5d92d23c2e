import { NodeHttpServer } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import {
  AbstractChat,
  type ChatInit,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage
} from "ai"
import { Context, Deferred, Effect, Layer, Stream } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { Fiberloop, RunEvent, SessionStore, SessionStoreMemory } from "fiberloop"
import { ScriptedModel } from "fiberloop/testing"
import { createServer } from "node:http"
import { Assistant, Routes, Tools, ToolsLive } from "./use-chat.ts"

// Real sockets take real time, so these tests use `it.live`.

const serving = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  HttpRouter.serve(Routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provide(Layer.provide(Assistant.layer, [Fiberloop.layer, ToolsLive])),
    Layer.provideMerge([
      SessionStoreMemory.layer,
      ScriptedModel.layer(turns),
      // a page keeps its connection open for seconds
      NodeHttpServer.layer(createServer, { port: 0, gracefulShutdownTimeout: 0 })
    ])
  )

/** What `useChat` consists of, without React. */
class Page extends AbstractChat<UIMessage> {
  constructor(
    init: Omit<ChatInit<UIMessage>, "messages">,
    messages: Array<UIMessage>,
    onMessage: (message: UIMessage) => void
  ) {
    super({
      ...init,
      state: {
        status: "ready",
        error: undefined,
        messages,
        pushMessage: (message) => {
          messages.push(message)
          onMessage(message)
        },
        popMessage: () => void messages.pop(),
        replaceMessage: (at, message) => {
          messages[at] = message
          onMessage(message)
        },
        snapshot: (thing) => structuredClone(thing)
      }
    })
  }
}

/** A page with chat `id`, opened as a browser would: with what was said before. */
const open = Effect.fnUntraced(function*(
  id: string,
  onMessage: (message: UIMessage) => void = () => {},
  init: Pick<ChatInit<UIMessage>, "onToolCall" | "onError"> = {}
) {
  const url = yield* HttpServer.addressFormattedWith(Effect.succeed)
  const api = `${url}/api/chat`
  const said = yield* Effect.promise(() => fetch(`${api}/${id}`).then((response) => response.json()))
  const sendAutomaticallyWhen = (chat: { readonly messages: Array<UIMessage> }) =>
    lastAssistantMessageIsCompleteWithApprovalResponses(chat) || lastAssistantMessageIsCompleteWithToolCalls(chat)
  const page = new Page(
    { ...init, id, transport: new DefaultChatTransport({ api }), sendAutomaticallyWhen },
    said as Array<UIMessage>,
    onMessage
  )
  return { page, api }
})

const textOf = (message: UIMessage | undefined) =>
  message?.parts.map((part) => part.type === "text" ? part.text : "").join("") ?? ""

it.live("a page asks a person, sends the answer, and shows the same when it is reopened", () =>
  Effect.gen(function*() {
    const { page } = yield* open("one")
    yield* Effect.promise(() => page.sendMessage({ text: "Mail Ann that I am late." }))
    const asked = page.lastMessage?.parts.at(-1)
    assert(asked?.type === "tool-sendMail" && asked.state === "approval-requested")
    yield* Effect.promise(async () => page.addToolApprovalResponse({ id: asked.approval.id, approved: true }))
    const facts = (yield* SessionStore).watch("one")
    yield* Stream.runDrain(Stream.takeUntil(facts, (event) => event._tag === "RunCompleted"))
    const { page: again } = yield* open("one")
    assert.strictEqual(textOf(again.lastMessage), "Shall I? Done.")
    assert.deepStrictEqual(again.messages.map(({ id }) => id), page.messages.map(({ id }) => id))
    const sent = again.lastMessage?.parts.find((part) => part.type === "tool-sendMail")
    assert(sent?.type === "tool-sendMail" && sent.state === "output-available")
    assert.strictEqual(sent.output, "sent to Ann")
  }).pipe(Effect.provide(serving(
    [ScriptedModel.text("Shall I? "), ScriptedModel.call("sendMail", { to: "Ann", text: "late" })],
    ScriptedModel.text("Done.")
  ))))

it.live("a page closed in the middle of an answer has all of it when it is reopened", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    yield* Effect.gen(function*() {
      const { page } = yield* open("two")
      const asking = page.sendMessage({ text: "A story" })
      yield* gate.started
      yield* Effect.promise(() => page.stop())
      yield* Effect.promise(() => asking)
      const shown = yield* Deferred.make<void>()
      const { page: again } = yield* open("two", (message) => {
        if (textOf(message).includes("Once upon")) Deferred.doneUnsafe(shown, Effect.void)
      })
      const resuming = again.resumeStream()
      yield* Deferred.await(shown)
      yield* gate.release
      yield* Effect.promise(() => resuming)
      assert.strictEqual(textOf(again.lastMessage), "Once upon a time.")
      assert.strictEqual(again.error, undefined)
      assert.deepStrictEqual(again.messages.map(({ role }) => role), ["user", "assistant"])
    }).pipe(Effect.provide(serving([
      ScriptedModel.text("Once ", "upon "),
      ScriptedModel.gate(gate),
      ScriptedModel.text("a time.")
    ])))
  }))

it.live("a page is shown the answer that another process gives", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    yield* Effect.gen(function*() {
      const others = yield* Layer.build(Layer.fresh(Layer.provide(Assistant.layer, [Fiberloop.layer, ToolsLive])))
      const run = yield* Context.get(others, Assistant).start({ sessionId: "nine", input: "A story" })
      yield* gate.started
      const shown = yield* Deferred.make<void>()
      const { page } = yield* open("nine", ({ role }) => {
        if (role === "assistant") Deferred.doneUnsafe(shown, Effect.void)
      })
      const resuming = page.resumeStream()
      yield* Deferred.await(shown)
      yield* gate.release
      yield* Effect.promise(() => resuming)
      assert.strictEqual(textOf(page.lastMessage), "Once upon a time.")
      assert.strictEqual((yield* run.result)._tag, "Completed")
    }).pipe(
      Effect.provide(
        serving([ScriptedModel.text("Once upon "), ScriptedModel.gate(gate), ScriptedModel.text("a time.")])
      ),
      Effect.scoped,
      Effect.timeout("10 seconds")
    )
  }))

/** A run of another process over the same store, up to this event; its weather is known once `measured` is completed. */
const elsewhere = Effect.fnUntraced(function*(
  sessionId: string,
  input: string,
  until: "ApprovalRequested" | "ToolStarted"
) {
  const measured = yield* Deferred.make<void>()
  const tools = Tools.toLayer({
    sendMail: ({ to }) => Effect.succeed(`sent to ${to}`),
    askUser: () => Effect.die("the page answers"),
    getWeather: () => Effect.as(Deferred.await(measured), { celsius: 4 })
  })
  const others = yield* Layer.build(Layer.fresh(Layer.provide(Assistant.layer, [Fiberloop.layer, tools])))
  const run = yield* Context.get(others, Assistant).start({ sessionId, input })
  yield* Stream.runHead(Stream.filter(run.events, ({ _tag }) => _tag === until))
  return { measured, run }
})

it.live("a yes to a run that goes on in another process is answered with what follows", () =>
  Effect.gen(function*() {
    const { measured, run } = yield* elsewhere("fourteen", "Mail Ann how warm it is in Oslo.", "ApprovalRequested")
    const { page } = yield* open("fourteen")
    const asked = page.lastMessage?.parts.find((part) => part.type === "tool-sendMail")
    assert(asked?.type === "tool-sendMail" && asked.state === "approval-requested")
    const shown = yield* Deferred.make<void>()
    const settled = Stream.filter(run.events, (event) => event._tag === "ToolSettled" && event.tool === "sendMail")
    yield* Effect.forkScoped(Effect.andThen(Stream.runHead(settled), Deferred.succeed(shown, undefined)))
    yield* Effect.promise(async () => page.addToolApprovalResponse({ id: asked.approval.id, approved: true }))
    // with a call open, a page sends its answer when it is told to
    const sending = page.sendMessage()
    yield* Deferred.await(shown)
    yield* Deferred.succeed(measured, undefined)
    yield* Effect.promise(() => sending)
    assert.strictEqual(page.error, undefined)
    assert.strictEqual(textOf(page.lastMessage), "It is cold there.")
    assert.strictEqual((yield* run.result)._tag, "Completed")
  }).pipe(
    Effect.provide(serving(
      [
        ScriptedModel.call("sendMail", { to: "Ann", text: "4" }, "a"),
        ScriptedModel.call("getWeather", { city: "Oslo" }, "b")
      ],
      ScriptedModel.text("It is cold there.")
    )),
    Effect.scoped,
    Effect.timeout("20 seconds")
  ))

it.live("what is said to an answer under way in another process is part of it", () =>
  Effect.gen(function*() {
    const { measured, run } = yield* elsewhere("fifteen", "How warm is it in Oslo?", "ToolStarted")
    const shown = yield* Deferred.make<void>()
    const { api, page } = yield* open("fifteen", ({ role }) => {
      if (role === "assistant") Deferred.doneUnsafe(shown, Effect.void)
    })
    const steer = () =>
      fetch(`${api}/fifteen/steer`, {
        method: "POST",
        body: JSON.stringify({ text: "In Fahrenheit.", id: "message-2" }),
        headers: { "content-type": "application/json" }
      }).then((response) => response.json())
    const steering = steer()
    yield* Stream.runHead(Stream.filter(run.events, ({ _tag }) => _tag === "InputQueued"))
    const resuming = page.resumeStream()
    yield* Deferred.await(shown)
    yield* Deferred.succeed(measured, undefined)
    assert.deepStrictEqual(yield* Effect.promise(() => steering), { _tag: "Delivered", turn: 2 })
    yield* Effect.promise(() => resuming)
    assert.strictEqual(textOf(page.lastMessage), "It is 39 °F.")
    assert.include(JSON.stringify(page.lastMessage?.parts), "In Fahrenheit.")
    yield* run.result
    // said once, however often a page repeats it
    assert.deepStrictEqual(yield* Effect.promise(steer), { _tag: "Delivered", turn: 2 })
  }).pipe(
    Effect.provide(serving(ScriptedModel.call("getWeather", { city: "Oslo" }), ScriptedModel.text("It is 39 °F."))),
    Effect.scoped,
    Effect.timeout("20 seconds")
  ))

it.live("a run continues after the page that said yes has left, and is shown in full to one opened then", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    yield* Effect.gen(function*() {
      const { page } = yield* open("four")
      yield* Effect.promise(() => page.sendMessage({ text: "Mail Ann that I am late." }))
      const asked = page.lastMessage?.parts.at(-1)
      assert(asked?.type === "tool-sendMail" && asked.state === "approval-requested")
      yield* Effect.promise(async () => page.addToolApprovalResponse({ id: asked.approval.id, approved: true }))
      yield* gate.started
      yield* Effect.promise(() => page.stop())
      const shown = yield* Deferred.make<void>()
      const { page: again } = yield* open("four", (message) => {
        if (textOf(message).includes("Do")) Deferred.doneUnsafe(shown, Effect.void)
      })
      const resuming = again.resumeStream()
      yield* Deferred.await(shown)
      yield* gate.release
      yield* Effect.promise(() => resuming)
      assert.deepStrictEqual(
        again.lastMessage?.parts.map(({ type }) => type),
        ["step-start", "text", "tool-sendMail", "step-start", "text"]
      )
      assert.strictEqual(textOf(again.lastMessage), "Shall I? Done.")
      assert.strictEqual(again.error, undefined)
    }).pipe(Effect.provide(serving(
      [ScriptedModel.text("Shall I? "), ScriptedModel.call("sendMail", { to: "Ann", text: "late" })],
      [ScriptedModel.text("Do"), ScriptedModel.gate(gate), ScriptedModel.text("ne.")]
    )))
  }))

it.live("a page asks something else, or sends an answer again with a different one", () =>
  Effect.gen(function*() {
    const { page, api } = yield* open("five")
    yield* Effect.promise(() => page.sendMessage({ text: "Mail Ann and Bob." }))
    const asked = page.lastMessage!
    const [ann, bob] = asked.parts.flatMap((part) =>
      part.type === "tool-sendMail" && part.state === "approval-requested" ? [part] : []
    )
    const say = (...said: ReadonlyArray<typeof ann>) =>
      Effect.promise(async () => {
        const parts = said.map((part) => ({
          ...part,
          state: "approval-responded",
          approval: { id: part?.approval.id, approved: true }
        }))
        const body = JSON.stringify({ id: "five", messages: [{ ...asked, parts }] })
        const response = await fetch(api, { method: "POST", body, headers: { "content-type": "application/json" } })
        return { status: response.status, text: await response.text() }
      })
    assert.include((yield* say(ann)).text, "tool-calls")
    assert.include((yield* say(ann, bob)).text, "Which one?")
    assert.strictEqual((yield* say(ann, bob)).status, 409)
    yield* Effect.promise(() => page.sendMessage({ text: "Never mind." }))
    assert.strictEqual(page.error, undefined)
    assert.strictEqual(textOf(page.lastMessage), "As you like.")
    const { page: again } = yield* open("five")
    assert.strictEqual(textOf(again.lastMessage), "As you like.")
  }).pipe(Effect.provide(serving(
    [
      ScriptedModel.call("sendMail", { to: "Ann", text: "late" }, "a"),
      ScriptedModel.call("sendMail", { to: "Bob", text: "late" }, "b")
    ],
    [ScriptedModel.text("Which one?"), ScriptedModel.call("sendMail", { to: "Cleo", text: "late" })],
    ScriptedModel.text("As you like.")
  ))))

const asks = [ScriptedModel.text("Hm. "), ScriptedModel.call("askUser", { question: "Where to?" })]

/** The call of `askUser` as a page has it. */
const askIn = (page: Page, message = page.lastMessage) => {
  const part = message?.parts.find((part) => part.type === "tool-askUser")
  assert(part?.type === "tool-askUser")
  return part
}

it.live("a person answers in place of a tool, even on a page opened since", () =>
  Effect.gen(function*() {
    const { page: first } = yield* open("six")
    yield* Effect.promise(() => first.sendMessage({ text: "Plan a trip." }))
    assert.strictEqual(askIn(first).state, "input-available")
    const { page } = yield* open("six")
    const { state, toolCallId } = askIn(page)
    assert.strictEqual(state, "input-available")
    yield* Effect.promise(async () => page.addToolOutput({ tool: "askUser", toolCallId, output: "Bergen" }))
    const facts = (yield* SessionStore).watch("six")
    yield* Stream.runDrain(Stream.takeUntil(facts, (event) => event._tag === "RunCompleted"))
    const { page: again } = yield* open("six")
    assert.strictEqual(textOf(again.lastMessage), "Hm. To Bergen, then.")
    assert.deepInclude(askIn(again), { state: "output-available", output: "Bergen" })
    const log = yield* Stream.runCollect((yield* SessionStore).read("six"))
    assert.deepStrictEqual(log.filter(({ _tag }) => _tag === "ToolStarted"), [])
  }).pipe(Effect.provide(serving(asks, ScriptedModel.text("To Bergen, then.")))))

it.live("a page answers by itself, as often as it is asked, and its own error is a no", () =>
  Effect.gen(function*() {
    const ended = yield* Deferred.make<void>()
    const { page } = yield* open("seven", (message) => {
      if (textOf(message).endsWith("Home, then.")) Deferred.doneUnsafe(ended, Effect.void)
    }, {
      onToolCall: ({ toolCall: { toolCallId } }) => {
        const tool = "askUser"
        void (toolCallId.endsWith("/1.0")
          ? page.addToolOutput({ tool, toolCallId, output: "somewhere" })
          : page.addToolOutput({ tool, toolCallId, state: "output-error", errorText: "no idea" }))
      }
    })
    yield* Effect.promise(() => page.sendMessage({ text: "Plan a trip." }))
    yield* Deferred.await(ended)
    assert.strictEqual(page.error, undefined)
    const log = yield* Stream.runCollect((yield* SessionStore).read("seven"))
    assert.deepStrictEqual(log.flatMap((event) => event._tag === "ToolSettled" ? [event.outcome] : []), [
      { _tag: "Succeeded", result: "somewhere" },
      { _tag: "Denied", reason: "no idea" }
    ])
  }).pipe(Effect.provide(serving(
    asks,
    [ScriptedModel.call("askUser", { question: "Where exactly?" })],
    ScriptedModel.text("Home, then.")
  ))))

it.live("a call of a later run is a different one to the page", () =>
  Effect.gen(function*() {
    const facts = (yield* SessionStore).watch("ten")
    const completed = (runs: number) =>
      Stream.runDrain(Stream.take(Stream.filter(facts, ({ _tag }) => _tag === "RunCompleted"), runs))
    const { page } = yield* open("ten")
    for (const [at, output] of ["Bergen", "three"].entries()) {
      yield* Effect.promise(() => page.sendMessage({ text: "Plan a trip." }))
      const { toolCallId } = askIn(page)
      yield* Effect.promise(async () => page.addToolOutput({ tool: "askUser", toolCallId, output }))
      yield* completed(at + 1)
    }
    const { page: again } = yield* open("ten")
    const answers = again.messages.filter(({ role }) => role === "assistant").map((message) =>
      askIn(again, message).output
    )
    assert.deepStrictEqual(answers, ["Bergen", "three"])
  }).pipe(
    Effect.provide(serving(asks, ScriptedModel.text("To Bergen."), asks, ScriptedModel.text("For three days."))),
    Effect.timeout("10 seconds")
  ))

/** A message whose first call asks a person; the other call asks nobody. */
const besides = (asking: ScriptedModel.Step) =>
  serving([asking, ScriptedModel.call("getWeather", { city: "Oslo" }, "b")], ScriptedModel.text("It is cold there."))

/** The page has a call that asks and one that does not, and the run continues once the page has answered. */
const answering = Effect.fnUntraced(function*(id: string, answer: (page: Page) => void | PromiseLike<void>) {
  const ended = yield* Deferred.make<void>()
  const { page } = yield* open(id, (message) => {
    if (textOf(message) === "It is cold there.") Deferred.doneUnsafe(ended, Effect.void)
  })
  yield* Effect.promise(() => page.sendMessage({ text: "Tell Ann how warm it is in Oslo." }))
  const weather = page.lastMessage?.parts.find((part) => part.type === "tool-getWeather")
  assert(weather?.type === "tool-getWeather" && weather.state === "output-available")
  yield* Effect.promise(async () => answer(page))
  yield* Deferred.await(ended)
})

it.live("a yes is sent even if another call follows the question", () =>
  answering("eleven", (page) => {
    const asked = page.lastMessage?.parts.find((part) => part.type === "tool-sendMail")
    assert(asked?.type === "tool-sendMail" && asked.state === "approval-requested")
    return page.addToolApprovalResponse({ id: asked.approval.id, approved: true })
  }).pipe(
    Effect.provide(besides(ScriptedModel.call("sendMail", { to: "Ann", text: "4" }, "a"))),
    Effect.timeout("10 seconds")
  ))

it.live("what a person says in place of a tool is sent even if another call follows it", () =>
  answering("twelve", (page) => {
    const { toolCallId } = askIn(page)
    return page.addToolOutput({ tool: "askUser", toolCallId, output: "Celsius" })
  }).pipe(
    Effect.provide(besides(ScriptedModel.call("askUser", { question: "In which unit?" }, "a"))),
    Effect.timeout("10 seconds")
  ))

it.live("what a page says in place of another tool is not believed", () =>
  Effect.gen(function*() {
    const refused = yield* Deferred.make<Error>()
    const onError = (error: Error) => void Deferred.doneUnsafe(refused, Effect.succeed(error))
    const { page } = yield* open("eight", () => {}, { onError })
    yield* Effect.promise(() => page.sendMessage({ text: "Mail Ann that I am late." }))
    const asked = page.lastMessage?.parts.at(-1)
    assert(asked?.type === "tool-sendMail")
    const { toolCallId } = asked
    yield* Effect.promise(async () => page.addToolOutput({ tool: "sendMail", toolCallId, output: "sent to Bob" }))
    assert.include((yield* Deferred.await(refused)).message, "answers no question")
    const log = yield* Stream.runCollect((yield* SessionStore).read("eight"))
    assert.deepStrictEqual(log.filter(({ _tag }) => _tag === "ApprovalResolved"), [])
  }).pipe(Effect.provide(serving([ScriptedModel.call("sendMail", { to: "Ann", text: "late" })]))))

it.live("a run is aborted by way of its session, and a page without one has nothing to continue", () =>
  Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    yield* Effect.gen(function*() {
      const { api, page } = yield* open("three")
      yield* Effect.promise(() => page.resumeStream())
      const asking = page.sendMessage({ text: "A story" })
      yield* gate.started
      yield* Effect.promise(() => fetch(`${api}/three/run`, { method: "DELETE" }))
      yield* Effect.promise(() => asking)
      const ends = yield* (yield* SessionStore).read("three").pipe(Stream.filter(RunEvent.isEnd), Stream.runCollect)
      assert.deepStrictEqual(ends.map(({ _tag }) => _tag), ["RunAborted"])
      const headers = { "content-type": "application/json" }
      const wrong = yield* Effect.promise(() => fetch(api, { method: "POST", headers, body: "{}" }))
      assert.strictEqual(wrong.status, 400)
    }).pipe(Effect.provide(serving([ScriptedModel.text("Once"), ScriptedModel.gate(gate)])))
  }))

it.live("what waits for a person is over once its run is aborted, and the page shows it", () =>
  Effect.gen(function*() {
    const { api, page } = yield* open("thirteen")
    yield* Effect.promise(() => page.sendMessage({ text: "Mail Ann that I am late." }))
    const stopped = yield* Effect.promise(() => fetch(`${api}/thirteen/run`, { method: "DELETE" }))
    assert.strictEqual(stopped.status, 204)
    const { page: again } = yield* open("thirteen")
    const asked = again.lastMessage?.parts.at(-1)
    assert(asked?.type === "tool-sendMail" && asked.state === "output-denied")
    assert.strictEqual(asked.approval.reason, "Not executed: the run was aborted before this call.")
  }).pipe(Effect.provide(serving([ScriptedModel.call("sendMail", { to: "Ann", text: "late" })]))))
