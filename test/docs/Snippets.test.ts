/** What snippets on the pages do when they run, if no example shows it. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as LayerMap from "effect/LayerMap"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { json } from "node:stream/consumers"
import { pipeline } from "node:stream/promises"
import {
  Agent,
  Fiberloop,
  type Hook,
  Limits,
  Message,
  Model,
  ModelFallback,
  type Observer,
  Observers,
  Prices,
  RetryPolicy,
  RunError,
  RunEvent,
  RunEvents,
  Sessions,
  SessionStore,
  SessionStoreMemory,
  StopWhen,
  UiMessages
} from "../../src/index.ts"
import * as ModelAiSdk from "../../src/layers/ModelAiSdk.ts"
import { ScriptedModel } from "../../src/testing/index.ts"
import * as Loopback from "../support/Loopback.ts"
import * as OpenAi from "../support/OpenAiServer.ts"
import * as Overloaded from "../support/Overloaded.ts"
import * as RunLog from "../support/RunLog.ts"
import * as TestStore from "../support/TestStore.ts"

const below = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, ScriptedModel.layer(turns))

describe("docs/agents.md", () => {
  const make = Agent.make({ instructions: "Be brief." })

  it.effect("layers around `Agent.make` alone are closed when it returns", () =>
    Effect.gen(function*() {
      const agent = yield* Effect.provide(make, Fiberloop.layer)
      const { reason } = yield* Effect.flip(agent.run({ input: "Hello!" }))
      assert.strictEqual(reason._tag, "ShuttingDown")
    }).pipe(Effect.provide([SessionStoreMemory.layer, ScriptedModel.layer([])])))

  it.effect("tenants have their own models, stores and live runs, side by side", () =>
    Effect.gen(function*() {
      class Assistant extends Agent.Service<Assistant>()("docs/Tenants", { instructions: "Be brief." }) {}
      const gates = { a: yield* ScriptedModel.makeGate, b: yield* ScriptedModel.makeGate }
      const tenants = yield* LayerMap.make((tenant: "a" | "b") =>
        Layer.fresh(
          Layer.provide(
            Assistant.layer,
            below([ScriptedModel.gate(gates[tenant]), ScriptedModel.text(`I am ${tenant}.`)])
          )
        ), { idleTimeToLive: "10 minutes" })
      const ask = (tenant: "a" | "b") =>
        Effect.provide(
          Effect.flatMap(Assistant, (assistant) => assistant.run({ sessionId: "chat", runId: "job", input: "Who?" })),
          tenants.get(tenant)
        )
      const a = yield* Effect.forkChild(ask("a"))
      yield* gates.a.started
      const b = yield* Effect.forkChild(ask("b"))
      yield* gates.b.started
      yield* Effect.all([gates.a.release, gates.b.release])
      assert.deepStrictEqual([(yield* Fiber.join(a)).text, (yield* Fiber.join(b)).text], ["I am a.", "I am b."])
    }))

  it.effect("a tenant whose store was away is built anew for who asks next", () =>
    Effect.gen(function*() {
      class Assistant extends Agent.Service<Assistant>()("docs/Anew", { instructions: "Be brief." }) {}
      const { service } = yield* TestStore.make()
      let isAway = true
      const store = Layer.effect(
        SessionStore,
        Effect.suspend(() =>
          isAway
            ? Effect.fail(new RunError.RetryableError({ _tag: "StoreUnavailable", message: "away" }))
            : Effect.succeed(service)
        )
      )
      const tenants = yield* LayerMap.make((tenant: string) =>
        Layer.fresh(Layer.provide(
          Assistant.layer,
          [Fiberloop.layer, store, ScriptedModel.layer([ScriptedModel.text(`I am ${tenant}.`)])]
        )), { idleTimeToLive: "10 minutes" })
      const layerOf = (tenant: string) => tenants.get(tenant).pipe(Layer.tapError(() => tenants.invalidate(tenant)))
      const ask = Effect.flatMap(Assistant, (assistant) => assistant.run({ input: "Hello!" })).pipe(
        Effect.provide(layerOf("acme"))
      )
      assert.strictEqual((yield* Effect.flip(ask)).reason._tag, "StoreUnavailable")
      isAway = false
      assert.strictEqual((yield* ask).text, "I am acme.")
    }))

  it.effect("a tenant that nobody asks for is closed under a run, unless a fiber waits there for its end", () =>
    Effect.gen(function*() {
      class Assistant extends Agent.Service<Assistant>()("docs/Held", { instructions: "Be brief." }) {}
      const gates = { held: yield* ScriptedModel.makeGate, left: yield* ScriptedModel.makeGate }
      const tenants = yield* LayerMap.make((tenant: "held" | "left") =>
        Layer.fresh(
          Layer.provide(Assistant.layer, below([ScriptedModel.gate(gates[tenant]), ScriptedModel.text("Hi.")]))
        ), { idleTimeToLive: "10 seconds" })
      const start = Effect.flatMap(Assistant, (assistant) => assistant.start({ sessionId: "chat", input: "Hello!" }))
      const left = yield* Effect.provide(start, tenants.get("left"))
      const begun = yield* Deferred.make<Effect.Success<typeof start>, RunError.RunError>()
      yield* start.pipe(
        Effect.tap((run) => Deferred.succeed(begun, run)),
        Effect.flatMap((run) => run.result),
        Effect.provide(tenants.get("held")),
        Effect.tapCause((cause) => Deferred.failCause(begun, cause)),
        Effect.forkDetach
      )
      const held = yield* Deferred.await(begun)
      yield* Effect.all([gates.left.started, gates.held.started])
      yield* TestClock.adjust("20 seconds")
      yield* gates.held.release
      const [ofLeft, ofHeld] = [yield* left.result, yield* held.result]
      assert.strictEqual(ofLeft._tag === "Aborted" ? ofLeft.reason : ofLeft._tag, "shutdown")
      assert.strictEqual(ofHeld._tag, "Completed")
    }))
})

describe("docs/events.md", () => {
  it.effect("what an answer rests on is shown beneath it", () =>
    Effect.gen(function*() {
      const beneath = (event: RunEvent.RunEvent): ReadonlyArray<string> =>
        event._tag !== "AssistantMessage" || event.sources === undefined
          ? []
          : event.sources.map((source) =>
            source.type === "url"
              ? `${source.title ?? "a page"}: ${source.url}`
              : `${source.title}: ${source.fileName ?? source.mediaType}`
          )
      const agent = yield* Agent.make({ instructions: "Be brief." })
      const events = yield* Stream.runCollect(agent.stream({ input: "What is new in Bergen?" }))
      assert.deepStrictEqual(events.flatMap(beneath), [
        "News: https://example.com/",
        "a page: https://example.org/",
        "Rainfall: rain.pdf"
      ])
    }).pipe(Effect.provide(below([
      ScriptedModel.text("Rain."),
      ScriptedModel.sources(
        { type: "url", url: "https://example.com/", title: "News" },
        { type: "url", url: "https://example.org/" },
        { type: "document", id: "1", title: "Rainfall", mediaType: "application/pdf", fileName: "rain.pdf" }
      )
    ]))))
})

describe("docs/hooks.md", () => {
  const guard: Hook = {
    name: "guard",
    beforeModelCall: ({ messages }) =>
      JSON.stringify(messages.at(-1)?.content.at(-1)).includes("homework") ? Effect.fail("no") : Effect.void
  }

  it.effect("a message that a guard refused becomes part of the next one, before its last part", () =>
    Effect.gen(function*() {
      const agent = yield* Agent.make({ instructions: "", hooks: [guard] })
      const { reason } = yield* Effect.flip(agent.run({ sessionId: "s", input: "Do my homework." }))
      assert.strictEqual(reason._tag, "HookBlocked")
      yield* agent.run({ sessionId: "s", input: "Hello!" })
      const [request] = yield* (yield* ScriptedModel.Script).requests
      assert.deepStrictEqual(request?.messages, [
        { role: "user", content: [{ type: "text", text: "Do my homework." }, { type: "text", text: "Hello!" }] }
      ])
    }).pipe(Effect.provide(below(ScriptedModel.text("Hi.")))))

  it.effect("a guard that looks at the last part alone says why it refused that, and lets the next message pass", () =>
    Effect.gen(function*() {
      class OffTopic extends Schema.TaggedError<OffTopic>()("OffTopic", { topic: Schema.String }) {}
      const isOffTopic = Schema.is(OffTopic)
      const onlyOrders: Hook = {
        name: "only-orders",
        beforeModelCall: Effect.fnUntraced(function*({ messages }) {
          const last = messages.at(-1)
          if (last?.role !== "user") return
          const topic = Message.textOf(last.content.slice(-1)).includes("homework") ? "homework" : "orders"
          if (topic !== "orders") return yield* Effect.fail(new OffTopic({ topic }))
        })
      }
      const agent = yield* Agent.make({ instructions: "", hooks: [onlyOrders] })
      const ask = (input: string) =>
        agent.run({ sessionId: "s", input }).pipe(
          Effect.map(({ text }) => text),
          Effect.catchReason(
            "NonRetryableError",
            "HookBlocked",
            (_, error) =>
              isOffTopic(error.cause) ? Effect.succeed(`I know nothing of ${error.cause.topic}.`) : Effect.fail(error)
          )
        )
      assert.strictEqual(yield* ask("Do my homework."), "I know nothing of homework.")
      assert.strictEqual(yield* ask("Where is order 7?"), "It is on its way.")
    }).pipe(Effect.provide(below(ScriptedModel.text("It is on its way.")))))
})

describe("docs/limits.md", () => {
  it.effect("a job with the rest of a budget around it may be sent again, however much is left; one that names it may not", () =>
    Effect.gen(function*() {
      const agent = yield* Agent.make({ instructions: "Be brief." })
      const job = (left: number) =>
        agent.start({ runId: "job", input: "go" }).pipe(
          Effect.provideService(Limits, { maxCost: Math.max(left, 1e-9) }),
          Effect.flatMap((run) => run.result)
        )
      assert.strictEqual((yield* job(1))._tag, "Limited")
      for (const left of [0.5, 0, -1]) assert.strictEqual((yield* job(left))._tag, "Limited")
      const naming = (maxCost: number) => agent.run({ runId: "named", input: "go", limits: { maxCost } })
      assert.strictEqual((yield* naming(100))._tag, "Completed")
      assert.strictEqual((yield* Effect.flip(naming(50))).reason._tag, "RunConflict")
    }).pipe(
      Effect.provide(below([ScriptedModel.call("none", {})], ScriptedModel.text("done"))),
      Effect.provideService(Prices.Prices, () => ({ input: 1_000_000, output: 0 }))
    ))
})

describe("docs/errors.md", () => {
  const request = { runId: "job", input: "Hello!" }
  const again = (assistant: Agent.Client<string>) =>
    Effect.flatMap(assistant.resumeStart({ sessionId: "job" }), (run) => run.result)
  const jobOf = (assistant: Agent.Client<string>, failed: Effect.Effect<unknown> = Effect.void) =>
    assistant.start(request).pipe(
      Effect.flatMap((run) => run.result),
      Effect.catchReasons("RetryableError", {
        RetriesExhausted: (_, { retryAfter = 0 }) => Effect.delay(again(assistant), retryAfter),
        StoreUnavailable: (_, error) =>
          Effect.catchReason(again(assistant), "NonRetryableError", "SessionNotFound", () => Effect.fail(error))
      }),
      Effect.catchReasons("NonRetryableError", {
        Authentication: () => again(assistant),
        QuotaExhausted: () => again(assistant)
      }),
      Effect.tapError(() => failed),
      Effect.retry({ while: ({ _tag }) => _tag === "RetryableError", schedule: Schedule.spaced("1 minute"), times: 5 })
    )
  const made = Agent.make({ instructions: "Be brief.", retry: RetryPolicy.make({ maxRetries: 0 }) })
  const hi = ScriptedModel.text("Hi.")
  const away = new RunError.RetryableError({ _tag: "StoreUnavailable", message: "away" })
  const wrongKey = ScriptedModel.fail(
    new RunError.NonRetryableError({ _tag: "Authentication", message: "HTTP 401", status: 401 })
  )

  it.effect("a failed job is retried, and replayed once it is done", () =>
    Effect.gen(function*() {
      const assistant = yield* made
      const job = jobOf(assistant)
      const failure = Effect.map(Effect.flip(assistant.run(request)), ({ reason }) => reason._tag)
      assert.deepStrictEqual([yield* failure, yield* failure], ["RetriesExhausted", "RetriesExhausted"])
      assert.deepStrictEqual([(yield* job).text, (yield* job).text], ["Hi.", "Hi."])
      assert.lengthOf(yield* (yield* ScriptedModel.Script).requests, 2)
    }).pipe(Effect.provide(below(Overloaded.fail(), hi))))

  it.effect("a job that a wrong key failed is done once the key is right", () =>
    Effect.gen(function*() {
      const assistant = yield* made
      const job = jobOf(assistant)
      const answers = Effect.map(Effect.flip(job), ({ reason }) => reason._tag)
      assert.strictEqual(yield* answers, "Authentication")
      assert.strictEqual((yield* job).text, "Hi.")
      assert.lengthOf(yield* (yield* ScriptedModel.Script).requests, 3)
    }).pipe(Effect.provide(below(wrongKey, wrongKey, hi))))

  for (const [what, at] of [["before it began", 1], ["while it was under way", 2], ["when it ended", 3]] as const) {
    it.effect(`a job whose store was away ${what} is done at the next try`, () =>
      Effect.gen(function*() {
        const store = yield* TestStore.make(({ n, store }) => n === at ? Effect.fail(away) : store)
        yield* Effect.gen(function*() {
          const job = yield* Effect.forkChild(jobOf(yield* made))
          yield* TestClock.adjust("1 minute")
          assert.strictEqual((yield* Fiber.join(job)).text, "Hi.")
        }).pipe(Effect.provide([Fiberloop.layer, store.layer, ScriptedModel.layer([hi, hi])]))
      }))
  }

  it.effect("a job is tried again no sooner than its provider asked for", () =>
    Effect.gen(function*() {
      const job = yield* Effect.forkChild(jobOf(yield* made))
      const requests = Effect.map((yield* ScriptedModel.Script).requests, ({ length }) => length)
      yield* TestClock.adjust("119 seconds")
      assert.strictEqual(yield* requests, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(job)).text, "Hi.")
    }).pipe(Effect.provide(below(Overloaded.fail(120_000), hi))))

  it.effect("a job given to two workers is retried by one of them, whose answer both return", () =>
    Effect.gen(function*() {
      const [busy, gate] = [yield* Deferred.make<void>(), yield* ScriptedModel.makeGate]
      yield* Effect.gen(function*() {
        const job = jobOf(yield* made, Deferred.succeed(busy, undefined))
        const [one, other] = [yield* Effect.forkChild(job), yield* Effect.forkChild(job)]
        yield* Deferred.await(busy)
        yield* gate.release
        yield* Effect.raceFirst(Fiber.join(one), Fiber.join(other))
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual([(yield* Fiber.join(one)).text, (yield* Fiber.join(other)).text], ["Hi.", "Hi."])
        assert.lengthOf(yield* (yield* ScriptedModel.Script).requests, 2)
      }).pipe(Effect.provide(below(Overloaded.fail(), [ScriptedModel.gate(gate), hi])))
    }))

  for (const fails of [false, true]) {
    it.effect(`a job goes on after a shutdown${fails ? " while it was tried again" : ""}`, () =>
      Effect.gen(function*() {
        const gate = yield* ScriptedModel.makeGate
        const wait = [ScriptedModel.gate(gate)]
        const world = yield* Layer.build(
          Layer.mergeAll(
            SessionStoreMemory.layer,
            ScriptedModel.layer([...(fails ? [Overloaded.fail()] : []), wait, hi])
          )
        )
        const worker = Effect.flatMap(made, (assistant) => jobOf(assistant)).pipe(
          Effect.provide(Fiberloop.layer),
          Effect.provideContext(world)
        )
        const first = yield* Effect.forkChild(worker)
        yield* gate.started
        yield* Fiber.interrupt(first)
        assert.strictEqual((yield* worker)._tag, "Completed")
      }))
  }
})

describe("docs/http.md", () => {
  class Assistant extends Agent.Service<Assistant>()("docs/Assistant", { instructions: "Be brief." }) {}

  /** A runtime whose model waits at a gate, over a store that the test sees too. */
  const waiting = Effect.gen(function*() {
    const gate = yield* ScriptedModel.makeGate
    const world = yield* Layer.build(
      Layer.mergeAll(SessionStoreMemory.layer, ScriptedModel.layer([ScriptedModel.gate(gate)]))
    )
    const runtime = ManagedRuntime.make(
      Assistant.layer.pipe(Layer.provide([Fiberloop.layer, Layer.succeedContext(world)]))
    )
    const log = Stream.runCollect(Context.get(world, SessionStore).read("ada"))
    return { gate, runtime, end: Effect.map(log, RunLog.endOf) }
  })
  const refused = ScriptedModel.fail(new RunError.NonRetryableError({ _tag: "ContentPolicy", message: "no" }))
  const input = { sessionId: "ada", input: "Hello!" }

  it.live("a signal aborts a run awaited by a promise", () =>
    Effect.gen(function*() {
      const { end, gate, runtime } = yield* waiting
      const controller = new AbortController()
      const answer = runtime.runPromiseExit(
        Effect.flatMap(Assistant, (assistant) => assistant.run(input)),
        { signal: controller.signal }
      )
      yield* gate.started
      controller.abort()
      yield* gate.closed
      yield* Effect.promise(() => answer)
      assert.strictEqual(yield* end, "RunAborted(consumer)")
      yield* runtime.disposeEffect
    }))

  it.live("a promise rejects with the error of its run", () =>
    Effect.gen(function*() {
      const runtime = ManagedRuntime.make(Layer.provide(Assistant.layer, below(refused)))
      const answer = runtime.runPromiseExit(Effect.flatMap(Assistant, (assistant) => assistant.run(input)))
      const exit = yield* Effect.promise(() => answer)
      assert.propertyVal(Exit.isFailure(exit) && Cause.squash(exit.cause), "_tag", "NonRetryableError")
      yield* runtime.disposeEffect
    }))

  it.live("a build that failed is known before anybody asks, and stays failed", () =>
    Effect.gen(function*() {
      let builds = 0
      const away = Effect.suspend(() => {
        builds++
        return Effect.fail(new RunError.RetryableError({ _tag: "StoreUnavailable", message: "away" }))
      })
      const store = Layer.effect(SessionStore, away)
      const runtime = ManagedRuntime.make(
        Assistant.layer.pipe(Layer.provide([Fiberloop.layer, store, ScriptedModel.layer([])]))
      )
      const built = Effect.flip(Effect.tryPromise({ try: () => runtime.context(), catch: (error) => error }))
      for (const _ of [1, 2]) assert.propertyVal(yield* built, "_tag", "RetryableError")
      assert.strictEqual(builds, 1)
      yield* runtime.disposeEffect
    }))

  /** The page's server, as a client sees it. */
  const asking = Effect.fnUntraced(function*(runtime: ManagedRuntime.ManagedRuntime<Assistant, never>) {
    const write = async (request: IncomingMessage, response: ServerResponse) => {
      const input = String(await json(request))
      const text = Effect.flatMap(
        Assistant,
        (assistant) => Stream.toAsyncIterableEffect(RunEvents.text(assistant.stream({ sessionId: "ada", input })))
      )
      await pipeline(Readable.from(await runtime.runPromise(text)), response)
    }
    const server = createServer((request, response) => {
      if (request.method !== "POST" || request.headers["content-type"] !== "application/json") {
        response.writeHead(415).end()
        return
      }
      write(request, response).catch(() => response.destroy())
    })
    const host = yield* Loopback.listen(server)
    return (init: RequestInit = {}) =>
      Effect.promise(() =>
        fetch(`http://${host}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify("Hello!"),
          ...init
        })
      )
  })

  it.live("leaving a text response aborts the run", () =>
    Effect.gen(function*() {
      const { end, gate, runtime } = yield* waiting
      const ask = yield* asking(runtime)
      const controller = new AbortController()
      const response = yield* Effect.forkChild(Effect.exit(ask({ signal: controller.signal })))
      yield* gate.started
      controller.abort()
      yield* gate.closed
      yield* Fiber.join(response)
      yield* runtime.disposeEffect
      assert.strictEqual(yield* end, "RunAborted(consumer)")
    }))

  it.live("a text response begins no run for what any page may send", () =>
    Effect.gen(function*() {
      const { end, runtime } = yield* waiting
      const ask = yield* asking(runtime)
      assert.strictEqual((yield* ask({ headers: { "content-type": "text/plain" } })).status, 415)
      assert.strictEqual((yield* ask({ method: "GET", body: null })).status, 415)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(end)))
      yield* runtime.disposeEffect
    }))

  it.live("a run that fails breaks off a text response", () =>
    Effect.gen(function*() {
      const begun = [ScriptedModel.text("Once"), refused].flat()
      const runtime = ManagedRuntime.make(Layer.provide(Assistant.layer, below(begun)))
      const ask = yield* asking(runtime)
      const read = Effect.flatMap(ask(), (response) => Effect.tryPromise(() => response.text()))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(read)))
      yield* runtime.disposeEffect
    }))

  it.live("dispose aborts what was started and nobody awaits", () =>
    Effect.gen(function*() {
      const { end, gate, runtime } = yield* waiting
      yield* Effect.promise(() => runtime.runPromise(Effect.flatMap(Assistant, (assistant) => assistant.start(input))))
      yield* gate.started
      yield* Effect.promise(() => runtime.dispose())
      yield* gate.closed
      assert.strictEqual(yield* end, "RunAborted(shutdown)")
    }))

  it.effect("a message is sent again, or another one in its place, in a session that has what was said before it", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore
      const sessionBefore = Effect.fnUntraced(function*(sessionId: string, messageId: string) {
        const begun = yield* store.lastOf(sessionId, "RunStarted", UiMessages.runIdOf(messageId) ?? messageId)
        if (begun === undefined) return yield* Effect.fail(`no run has a message "${messageId}"`)
        const to = `before ${messageId}`
        const end = yield* store.read(sessionId, { to: begun }).pipe(Stream.filter(RunEvent.isEnd), Stream.runLast)
        if (Option.isSome(end)) yield* store.fork(sessionId, { to, at: end.value.seq })
        return to
      })
      const agent = yield* Agent.make({ instructions: "" })
      const say = (sessionId: string, runId: string, input: string) => agent.run({ sessionId, runId, input })
      const shown = (sessionId: string) =>
        Effect.map(UiMessages.messages()(store.read(sessionId)), (messages) => messages.map(({ id }) => id))
      for (const id of ["1", "2", "3"]) yield* say("s", id, `Message ${id}`)
      const all = ["1", "1:answer", "2", "2:answer", "3", "3:answer"]
      assert.deepStrictEqual(yield* shown("s"), all)
      const again = yield* sessionBefore("s", "2:answer")
      yield* say(again, "2", "Message 2")
      assert.deepStrictEqual(yield* shown(again), all.slice(0, 4))
      const edited = yield* sessionBefore("s", "3")
      yield* say(edited, "3", "Another message")
      assert.deepStrictEqual(yield* shown(edited), all)
      const first = yield* sessionBefore("s", "1")
      yield* say(first, "1", "Another beginning")
      assert.deepStrictEqual(yield* shown(first), all.slice(0, 2))
      assert.strictEqual(yield* Effect.flip(sessionBefore("s", "4")), "no run has a message \"4\"")
      assert.deepStrictEqual(yield* shown("s"), all)
    }).pipe(Effect.provide(Layer.mergeAll(
      Fiberloop.layer,
      SessionStoreMemory.layer,
      ScriptedModel.layer(() => ScriptedModel.text("Hi."))
    ))))
})

describe("docs/stores.md", () => {
  const removeOlder = Effect.fnUntraced(function*(age: Duration.Input) {
    const before = (yield* DateTime.now).epochMilliseconds - Duration.toMillis(age)
    const ended = Sessions.list({
      parents: [undefined],
      ends: ["RunCompleted", "RunAborted", "RunLimited", "RunFailed"]
    })
    yield* ended.pipe(
      Stream.filter(({ updatedAt }) => updatedAt < before),
      Stream.runForEach(({ sessionId }) =>
        Effect.asVoid(Sessions.remove(sessionId)).pipe(
          Effect.catchReason("RetryableError", "SessionBusy", () => Effect.logInfo(`${sessionId} is in use`)),
          Effect.catchReason("NonRetryableError", "SessionNotFound", () => Effect.void)
        )
      )
    )
  })
  const asks = Tool.make("pay", { success: Schema.String, needsApproval: true })

  it.effect("what nobody wrote to for long enough is removed, but for what waits for people or is in use", () =>
    Effect.gen(function*() {
      const toolkit = Toolkit.make(asks)
      const agent = yield* Effect.provide(
        Agent.make({ instructions: "", toolkit }),
        toolkit.toLayer({ pay: () => Effect.succeed("paid") })
      )
      for (const sessionId of ["pay", "old", "used"]) yield* agent.run({ sessionId, input: sessionId })
      yield* TestClock.adjust("20 days")
      yield* agent.run({ sessionId: "young", input: "Hello!" })
      yield* TestClock.adjust("10 days")
      const store = yield* SessionStore
      yield* store.open("used", { runId: "other", create: false })
      yield* removeOlder("15 days")
      assert.sameMembers((yield* store.list()).map(({ sessionId }) => sessionId), ["pay", "used", "young"])
    }).pipe(
      Effect.scoped,
      Effect.provide([
        Fiberloop.layer,
        SessionStoreMemory.layer,
        ScriptedModel.layer(({ metadata }) =>
          metadata.sessionId === "pay" ? ScriptedModel.call("pay", {}) : ScriptedModel.text("Hi.")
        )
      ])
    ))
})

describe("docs/providers.md", () => {
  const bounded = <E, R>(model: Layer.Layer<Model, E, R>, calls: number) =>
    Layer.provide(
      Layer.effect(
        Model,
        Effect.map(Effect.all([Model, Semaphore.make(calls)]), ([inner, slots]) => ({
          ...inner,
          stream: (request) => Stream.unwrap(Effect.as(Semaphore.takeScoped(slots, 1), inner.stream(request)))
        }))
      ),
      model
    )

  it.effect("a model with slots is asked by as many runs at once, and a run that is aborted leaves the queue", () => {
    const asked: Array<string> = []
    const scripted = ScriptedModel.layer(({ metadata }) => {
      asked.push(metadata.sessionId)
      return [ScriptedModel.delay("1 second"), ScriptedModel.text("Hi.")]
    })
    return Effect.gen(function*() {
      const agent = yield* Agent.make({ instructions: "" })
      const ask = (sessionId: string) => Effect.forkChild(agent.run({ sessionId, input: "Hello!" }))
      const [first, second, third, fourth] = yield* Effect.forEach(["a", "b", "c", "d"], ask)
      yield* TestClock.adjust(999)
      assert.deepStrictEqual(asked, ["a", "b"])
      yield* Fiber.interrupt(third!)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(asked, ["a", "b", "d"])
      yield* TestClock.adjust(1000)
      for (const fiber of [first, second, fourth]) assert.strictEqual((yield* Fiber.join(fiber!))._tag, "Completed")
    }).pipe(Effect.provide([Fiberloop.layer, SessionStoreMemory.layer, bounded(scripted, 2)]))
  })

  const metered = <E, R>(model: Layer.Layer<Model, E, R>, report: (tokens: number) => Effect.Effect<void>) =>
    Layer.provide(
      Layer.effect(
        Model,
        Effect.map(Model, (inner) => ({
          ...inner,
          stream: (request) =>
            Stream.tap(
              inner.stream(request),
              (part) => part.type === "finish" ? report(part.usage.inputTokens + part.usage.outputTokens) : Effect.void
            )
        }))
      ),
      model
    )

  it.effect("a model around a model sees every finish, and that of the next model if it is around each", () =>
    Effect.gen(function*() {
      const reports: Array<string> = []
      const report = (who: string) => (tokens: number) => Effect.sync(() => void reports.push(`${who} ${tokens}`))
      const model = (...turns: ReadonlyArray<ScriptedModel.Turn>) => ScriptedModel.layer(turns)
      const refused = ScriptedModel.fail(new RunError.NonRetryableError({ _tag: "Authentication", message: "no" }))
      const said = [ScriptedModel.text("Hi."), ScriptedModel.finish("stop", { inputTokens: 3, outputTokens: 4 })]
      const ask = Effect.flatMap(Agent.make({ instructions: "" }), (agent) => agent.run({ input: "Hello!" })).pipe(
        Effect.provide([Fiberloop.layer, SessionStoreMemory.layer])
      )
      const around = metered(ModelFallback.layer([model(refused), model(said)]), report("around"))
      const each = ModelFallback.layer([
        metered(model(refused), report("first")),
        metered(model(said), report("second"))
      ])
      for (const layer of [metered(model(said), report("one")), around, each]) yield* Effect.provide(ask, layer)
      assert.deepStrictEqual(reports, ["one 7", "second 7"])
    }))

  it.effect("a model of the AI SDK with a `fetch` that follows no redirects takes key and conversation nowhere else", () =>
    Effect.gen(function*() {
      const other = yield* OpenAi.make(OpenAi.status(401, {}))
      const location = `${other.baseUrl}/messages`
      const server = yield* OpenAi.make(OpenAi.status(307, "", { location }))
      const anthropic = createAnthropic({
        apiKey: "k",
        baseURL: server.baseUrl,
        fetch: (input, init) => fetch(input, { ...init, redirect: "manual" })
      })
      const { reason } = yield* Effect.gen(function*() {
        const agent = yield* Agent.make({ instructions: "" })
        return yield* Effect.flip(agent.run({ input: "Hello!" }))
      }).pipe(Effect.provide([
        Fiberloop.layer,
        SessionStoreMemory.layer,
        ModelAiSdk.layer({ model: anthropic("claude-sonnet-4-5") })
      ]))
      assert.deepStrictEqual([server.requests.length, other.requests.length], [1, 0])
      assert.include(reason.message, `${server.host} redirects to ${location} (HTTP 307), which is not followed`)
    }))
})

describe("docs/steering.md", () => {
  it.effect("an agent that takes over answers what was asked last, and a page can leave out what it was sent", () =>
    Effect.gen(function*() {
      const Front = Toolkit.make(Tool.make("hand_over", { success: Schema.String }))
      const front = yield* Agent.make({
        instructions: "",
        toolkit: Front,
        stopWhen: StopWhen.toolCalled("hand_over")
      }).pipe(Effect.provide(Front.toLayer({ hand_over: () => Effect.succeed("handed over") })))
      const billing = yield* Agent.make({ name: "billing", instructions: "" })
      const ask = (sessionId: string, runId: string, input: string) =>
        front.stream({ sessionId, runId, input }).pipe(Stream.flatMap((event) => {
          const rest = event._tag === "RunCompleted" && event.reason === "stopWhen"
            ? billing.stream({
              sessionId,
              runId: `takeover/${runId}`,
              input: "You take over. Answer what I asked last."
            })
            : Stream.empty
          return Stream.concat(Stream.succeed(event), rest)
        }))
      const events = yield* Stream.runCollect(ask("s", "r", "How much is it?"))
      assert.deepStrictEqual(events.flatMap((event) => event._tag === "RunCompleted" ? [event.reason] : []), [
        "stopWhen",
        "stop"
      ])
      const [, second] = yield* (yield* ScriptedModel.Script).requests
      assert.deepStrictEqual(second?.messages.map(({ role }) => role), ["user", "assistant", "tool", "user"])
      const shown = yield* UiMessages.messages()((yield* SessionStore).read("s"))
      assert.deepStrictEqual(shown.map(({ id }) => id), ["r", "r:answer", "takeover/r", "takeover/r:answer"])
    }).pipe(Effect.provide(below(ScriptedModel.call("hand_over", {}), ScriptedModel.text("42 euros.")))))

  const Who = Schema.Literals(["front", "billing"])
  const isWho = Schema.is(Who)
  const Desk = Toolkit.make(
    Tool.make("hand_over", { parameters: Schema.Struct({ to: Who }), success: Who }),
    Tool.make("find_invoice", { success: Schema.String })
  )
  const staff = {
    front: { instructions: "Hand over.", tools: ["hand_over"] },
    billing: { instructions: "Answer.", tools: ["find_invoice", "hand_over"] }
  } as const

  it.effect("a run that is handed over continues with other instructions and tools, and so does the next message", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore
      const handlers = Desk.toLayer({
        hand_over: ({ to }) => Effect.succeed(to),
        find_invoice: () => Effect.succeed("42 euros")
      })
      const desk = yield* Agent.make({
        instructions: staff.front.instructions,
        toolkit: Desk,
        prepareTurn: ({ sessionId }) =>
          store.read(sessionId).pipe(
            Stream.runFold((): typeof Who.Type => "front", (who, event) => {
              if (event._tag !== "ToolSettled" || event.tool !== "hand_over") return who
              return event.outcome._tag === "Succeeded" && isWho(event.outcome.result) ? event.outcome.result : who
            }),
            Effect.map((who) => staff[who])
          )
      }).pipe(Effect.provide(handlers))
      for (const input of ["How much is it?", "And with tax?"]) yield* desk.run({ sessionId: "s", input })
      const seen = (yield* (yield* ScriptedModel.Script).requests).map(({ messages: [system], tools }) =>
        `${system?.role === "system" ? system.content : ""} ${tools.map(({ name }) => name).join()}`
      )
      const billing = "Answer. hand_over,find_invoice"
      assert.deepStrictEqual(seen, ["Hand over. hand_over", billing, billing, billing])
    }).pipe(Effect.provide(below(
      ScriptedModel.call("hand_over", { to: "billing" }),
      ScriptedModel.call("find_invoice", {}),
      ScriptedModel.text("42 euros."),
      ScriptedModel.text("50 euros.")
    ))))
})

describe("docs/tools.md", () => {
  it.effect("an agent that is made for a request gives its handlers the service that is around that", () =>
    Effect.gen(function*() {
      class CurrentUser extends Context.Service<CurrentUser, { readonly id: string }>()("docs/CurrentUser") {}
      const Kit = Toolkit.make(Tool.make("who_am_i", { success: Schema.String, dependencies: [CurrentUser] }))
      const handlers = Kit.toLayer({ who_am_i: () => Effect.map(CurrentUser, ({ id }) => id) })
      const ask = (user: CurrentUser["Service"], input: string) =>
        Effect.flatMap(
          Effect.provideService(
            Agent.make({ name: `ask/${user.id}`, instructions: "", toolkit: Kit }),
            CurrentUser,
            user
          ),
          (agent) => agent.run({ sessionId: user.id, input })
        )
      const ids = ["ada", "bob"]
      yield* Effect.forEach(ids, (id) => ask({ id }, "Who am I?"), { concurrency: 2 }).pipe(Effect.provide(handlers))
      const store = yield* SessionStore
      const logs = yield* Effect.forEach(ids, (id) => Stream.runCollect(store.read(id)))
      assert.deepStrictEqual(
        logs.map((log) => RunLog.only(log, "ToolSettled")[0]?.outcome),
        ids.map((result) => ({ _tag: "Succeeded" as const, result }))
      )
    }).pipe(Effect.provide(Layer.mergeAll(
      Fiberloop.layer,
      SessionStoreMemory.layer,
      ScriptedModel.layer(({ messages }) =>
        messages.at(-1)?.role === "tool" ? ScriptedModel.text("You.") : ScriptedModel.call("who_am_i", {})
      )
    ))))

  it.effect("agents with equally named tools have their own handlers if each is given them, else the last ones", () =>
    Effect.gen(function*() {
      const made = (word: string) => {
        const toolkit = Toolkit.make(Tool.make("find", { success: Schema.String }))
        const agent = Agent.make({ instructions: word, toolkit })
        return { agent, handlers: toolkit.toLayer({ find: () => Effect.succeed(word) }) }
      }
      const [orders, products] = [made("orders"), made("products")]
      const own = [orders, products].map(({ agent, handlers }) => Effect.provide(agent, handlers))
      const together = Effect.all([orders.agent, products.agent]).pipe(
        Effect.provide([orders.handlers, products.handlers])
      )
      for (const agent of [...yield* Effect.all(own), ...yield* together]) yield* agent.run({ input: "Find it." })
      const found = (yield* (yield* ScriptedModel.Script).requests).flatMap(({ messages }) => {
        const last = messages.at(-1)
        return last?.role === "tool" ? last.content.map(({ result }) => result) : []
      })
      assert.deepStrictEqual(found, ["orders", "products", "products", "products"])
    }).pipe(Effect.provide(below(
      ...Array.from({ length: 4 }, () => [ScriptedModel.call("find", {}), ScriptedModel.text("Here.")]).flat()
    ))))

  it.effect("tools with a JSON Schema are called with what the model gave", () =>
    Effect.gen(function*() {
      const parameters = { type: "object", properties: { words: { type: "string" } } } as const
      const toolkit = Toolkit.make(
        ...["find"].map((name) => Tool.dynamic(name, { parameters, success: Schema.Unknown }))
      )
      const handlers = toolkit.toHandlers({ find: (params: unknown) => Effect.succeed({ found: params }) })
      const agent = yield* Agent.make({
        instructions: "Find it.",
        toolkit: Effect.flatMap(handlers, (context) => Effect.provideContext(toolkit, context))
      })
      yield* agent.run({ input: "Lamps?" })
      const [first, second] = yield* (yield* ScriptedModel.Script).requests
      assert.deepStrictEqual(first?.tools.map((tool) => Tool.getJsonSchema(tool)), [parameters])
      assert.include(JSON.stringify(second?.messages.at(-1)?.content), `"result":{"found":{"words":"lamps"}}`)
    }).pipe(Effect.provide(below(ScriptedModel.call("find", { words: "lamps" }), ScriptedModel.text("None.")))))

  it.effect("an agent inside a tool has the observers of the outer agent's caller", () =>
    Effect.gen(function*() {
      const seen = new Set<string>()
      const observer: Observer = { name: "agents", observe: ({ agent }) => Effect.sync(() => void seen.add(agent)) }
      yield* Effect.gen(function*() {
        const helper = yield* Agent.make({ name: "helper", instructions: "Help." })
        const Help = Toolkit.make(Tool.make("help", { parameters: Schema.Struct({}), success: Schema.String }))
        const handlers = Help.toLayer({
          help: () => Effect.orDie(Effect.map(helper.run({ input: "Help!" }), ({ text }) => text))
        })
        const agent = yield* Effect.provide(
          Agent.make({ name: "boss", instructions: "Lead.", toolkit: Help }),
          handlers
        )
        yield* Effect.provideService(agent.run({ input: "Go." }), Observers, [observer])
      }).pipe(Effect.provide(below(
        ScriptedModel.call("help", {}),
        ScriptedModel.text("Here."),
        ScriptedModel.text("Done.")
      )))
      assert.deepStrictEqual([...seen].toSorted(), ["boss", "helper"])
    }))
})
