/** What an agent and its tools see of the world: the layer's services, and settings from options, caller and layer. */
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as AgentContext from "../src/AgentContext.ts"
import {
  Agent,
  ContextManager,
  ContextWindow,
  Fiberloop,
  Grace,
  Ids,
  Limits,
  Model,
  RetryPolicy,
  Runs,
  SessionStore,
  SessionStoreMemory,
  Timeouts,
  ToolCall
} from "../src/index.ts"
import * as Stop from "../src/loop/drive/Stop.ts"
import type { Budget } from "../src/loop/env/Budget.ts"
import * as CallAround from "../src/loop/env/CallAround.ts"
import type * as RunPolicy from "../src/run/RunPolicy.ts"
import { ScriptedModel } from "../src/testing/index.ts"
import * as Family from "./support/Family.ts"
import * as Overloaded from "./support/Overloaded.ts"
import * as RunLog from "./support/RunLog.ts"
import * as TestAgent from "./support/TestAgent.ts"
import * as Watch from "./support/Watch.ts"

class Books extends Context.Service<Books, { readonly name: string }>()("test/Books") {}

const search = Tool.make("search", { success: Schema.String, dependencies: [Books] })
const services = Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer)

/** The result of the last tool call that the model was given. */
const told = Effect.map(ScriptedModel.Script, (script) => script.requests).pipe(
  Effect.flatten,
  Effect.map((requests) => {
    const last = requests.at(-1)?.messages.at(-1)
    return last?.role === "tool" ? last.content[0]?.result : undefined
  })
)

describe("two agents in one app", () => {
  const kit = Toolkit.make(Tool.make("search", { success: Schema.String }))
  class North extends Agent.Service<North>()("test/North", { instructions: "", toolkit: kit }) {}
  class South extends Agent.Service<South>()("test/South", { instructions: "", toolkit: kit }) {}
  const handler = (text: string) => kit.toLayer({ search: () => Effect.succeed(text) })

  it.effect("each call their own tool of the same name", () =>
    Effect.gen(function*() {
      const [north, south] = [yield* North, yield* South]
      const events = yield* Effect.all([
        Stream.runCollect(north.stream({ input: "go" })),
        Stream.runCollect(south.stream({ input: "go" }))
      ], { concurrency: 2 })
      const results = events.map((seen) => RunLog.only(seen, "ToolSettled").map((event) => event.outcome))
      assert.deepStrictEqual(results, [[{ _tag: "Succeeded", result: "snow" }], [{ _tag: "Succeeded", result: "sun" }]])
    }).pipe(Effect.provide(
      Layer.mergeAll(
        Layer.provide(North.layer, [
          handler("snow"),
          ScriptedModel.layer([ScriptedModel.call("search", {}), ScriptedModel.text("a")])
        ]),
        Layer.provide(South.layer, [
          handler("sun"),
          ScriptedModel.layer([ScriptedModel.call("search", {}), ScriptedModel.text("b")])
        ])
      ).pipe(Layer.provide(services))
    )))

  it.effect("a class's layer is built once, however many layers it is provided to", () =>
    Effect.gen(function*() {
      let built = 0
      const toolkit = Effect.suspend(() => {
        built++
        return Effect.provide(kit, handler("fog"))
      })
      class Shared extends Agent.Service<Shared>()("test/Shared", { instructions: "", toolkit }) {}
      const users = [1, 2].map(() => Layer.provide(Layer.effectDiscard(Shared), Shared.layer))
      const below = Layer.merge(services, ScriptedModel.layer([]))
      yield* Layer.build(Layer.mergeAll(Layer.empty, ...users).pipe(Layer.provide(below)))
      assert.strictEqual(built, 1)
    }))
})

describe("a tool", () => {
  const turns = [ScriptedModel.call("search", {}), ScriptedModel.text("ok")]

  it.effect("with dependencies uses the services of the agent's layer, whatever the caller has", () =>
    Effect.gen(function*() {
      const kit = Toolkit.make(search)
      const handlers = kit.toLayer({ search: () => Effect.map(Books, ({ name }) => name) })
      const below = Layer.mergeAll(services, ScriptedModel.layer(turns), Layer.succeed(Books, { name: "the layer's" }))
      const context = yield* Layer.build(Layer.provideMerge(handlers, below))
      const agent = yield* Agent.make({ instructions: "", toolkit: kit }).pipe(Effect.provide(context))
      yield* agent.run({ input: "go" }).pipe(Effect.provideService(Books, { name: "the caller's" }))
      assert.strictEqual(yield* Effect.provide(told, context), "the layer's")
    }))

  it.effect("uses an application's own Reference as the agent's layer has it, and where that has none the caller's", () =>
    Effect.gen(function*() {
      const Locale = Context.Reference("test/Locale", { defaultValue: () => "the default" })
      const kit = Toolkit.make(Tool.make("search", { success: Schema.String }))
      const handlers = kit.toLayer({ search: () => Effect.map(Locale, (locale) => locale) })
      const context = yield* Layer.build(Layer.merge(services, ScriptedModel.layer([...turns, ...turns, ...turns])))
      const make = Agent.make({ instructions: "", toolkit: kit }).pipe(
        Effect.provide(handlers),
        Effect.provide(context)
      )
      const by = (who: string) => Effect.provideService(Locale, who)
      const [own, bare] = [yield* by("the layer's")(make), yield* make]
      const heard = (run: Effect.Effect<unknown, unknown>) => Effect.andThen(run, Effect.provide(told, context))
      assert.strictEqual(yield* heard(by("the caller's")(own.run({ input: "go" }))), "the layer's")
      assert.strictEqual(yield* heard(by("the caller's")(bare.run({ input: "go" }))), "the caller's")
      assert.strictEqual(yield* heard(bare.run({ input: "go" })), "the default")
    }))

  it.effect("with a service of Effect itself also uses the layer's", () =>
    Effect.gen(function*() {
      const named = (name: string) => FileSystem.makeNoop({ readFileString: () => Effect.succeed(name) })
      const kit = Toolkit.make(Tool.make("search", { success: Schema.String, dependencies: [FileSystem.FileSystem] }))
      const handlers = kit.toLayer({
        search: () => Effect.flatMap(FileSystem.FileSystem, (fs) => Effect.orDie(fs.readFileString("x")))
      })
      const below = Layer.mergeAll(
        services,
        ScriptedModel.layer(turns),
        Layer.succeed(FileSystem.FileSystem, named("the layer's"))
      )
      const context = yield* Layer.build(Layer.provideMerge(handlers, below))
      const agent = yield* Agent.make({ instructions: "", toolkit: kit }).pipe(Effect.provide(context))
      yield* agent.run({ input: "go" }).pipe(Effect.provideService(FileSystem.FileSystem, named("the caller's")))
      assert.strictEqual(yield* Effect.provide(told, context), "the layer's")
    }))

  it.effect("with a service of ours also uses the layer's: its tenant's sessions, and its model", () =>
    Effect.gen(function*() {
      const dependencies = [SessionStore, Model, Runs, ContextManager]
      const all = Effect.all([SessionStore, Model, Runs, ContextManager])
      const kit = Toolkit.make(Tool.make("search", { success: Schema.String, dependencies }))
      const used: Array<unknown> = []
      const handlers = kit.toLayer({ search: () => Effect.map(all, (found) => `${used.push(...found)}`) })
      const layer = Layer.mergeAll(services, ScriptedModel.layer(turns), ContextWindow.layer)
      const context = yield* Layer.build(layer)
      const others = yield* Layer.build(Layer.fresh(layer))
      const agent = yield* Agent.make({ instructions: "", toolkit: kit }).pipe(
        Effect.provide(handlers),
        Effect.provide(context)
      )
      yield* agent.run({ input: "go" }).pipe(Effect.provide(others))
      const own = yield* Effect.provide(all, context)
      assert.deepStrictEqual(used.map((service, i) => service === own[i]), [true, true, true, true])
      const theirs = yield* Effect.provide(all, others)
      assert.deepStrictEqual(own.map((service, i) => service === theirs[i]), [false, false, false, false])
    }))

  it.effect("is told on whose behalf it is called", () =>
    Effect.gen(function*() {
      const calls: Array<ToolCall["Service"]> = []
      const { agent } = yield* TestAgent.make([
        [TestAgent.work(1, "a"), TestAgent.work(2, "a")],
        TestAgent.work(3, "a"),
        ScriptedModel.text("ok")
      ], { tool: () => Effect.map(ToolCall, (call) => `${calls.push(call)}`) })
      yield* agent.run({ sessionId: "s", runId: "r", input: "go", data: { tenant: 7 } })
      const { idempotencyKey, ...first } = calls[0]!
      assert.deepStrictEqual(first, { sessionId: "s", runId: "r", callId: "1.0", attempt: 1, data: { tenant: 7 } })
      assert.deepStrictEqual(calls.map((call) => call.callId), ["1.0", "1.1", "2.0"])
      assert.strictEqual(new Set(calls.map((call) => call.idempotencyKey)).size, 3)
      assert.include(idempotencyKey, "s")
    }))

  it.effect("has its own idempotency key in every session and run, whatever their ids look like", () =>
    Effect.gen(function*() {
      const keys: Array<string> = []
      const ids = [["s", "r/1"], ["s/r", "1"], ["s", "r"], ["s/r/1", "1.0"]]
      const { agent } = yield* TestAgent.make(ids.flatMap(() => [TestAgent.work(1), ScriptedModel.text("ok")]), {
        tool: () => Effect.map(ToolCall, ({ idempotencyKey }) => `${keys.push(idempotencyKey)}`)
      })
      for (const [sessionId, runId] of ids) yield* agent.run({ sessionId, runId, input: "go" })
      assert.strictEqual(new Set(keys).size, ids.length, keys.join(", "))
    }))

  it.effect("that runs another agent has its own call, and the other agent's tools have theirs", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const note = Effect.map(ToolCall, ({ sessionId }) => `${seen.push(sessionId)}`)
      const inner = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], { tool: () => note })
      const outer = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("ok")], {
        tool: () => inner.agent.run({ sessionId: "inner", input: "go" }).pipe(Effect.orDie, Effect.andThen(note))
      })
      yield* outer.agent.run({ sessionId: "outer", input: "go" })
      assert.deepStrictEqual(seen, ["inner", "outer"])
    }))
})

describe("an agent", () => {
  it.effect("made while a call is running, and asked outside of it, spends nothing from that call's run", () =>
    Effect.gen(function*() {
      const made = yield* Deferred.make<Family.Client>()
      const asked = yield* Deferred.make<void>()
      let below = Context.empty() as Context.Context<Agent.Requires<{}, never>>
      const family = yield* Family.make({
        handler: () =>
          Effect.gen(function*() {
            const here = yield* Effect.context<never>()
            const agent = Agent.make({ instructions: "" }).pipe(Effect.provideContext(Context.merge(below, here)))
            yield* Deferred.succeed(made, yield* agent)
            yield* Deferred.await(asked)
            return "done"
          })
      })
      below = family.services
      const running = yield* Effect.forkChild(family.root({ turns: [[{}]] }))
      const agent = yield* Deferred.await(made)
      const { usage } = yield* agent.run({ sessionId: "beside", input: "{}" })
      yield* Deferred.succeed(asked, undefined)
      const around = yield* Fiber.join(running)
      assert.deepStrictEqual(usage, { inputTokens: 10, outputTokens: 5 })
      // two model calls of its own
      assert.deepStrictEqual(around.usage, { inputTokens: 20, outputTokens: 10 })
      const logs = yield* family.logs
      assert.deepStrictEqual(RunLog.only(logs.get("beside")!, "RunStarted").map(({ parent }) => parent), [undefined])
    }))

  it.effect("made while a call is running keeps neither the budget of that call's run nor what cuts that off", () =>
    Effect.gen(function*() {
      const building = Context.make(CallAround.DriveBudget, {} as Budget)
      const around = AgentContext.surround(Context.add(building, Stop.DriveAround, { stopped: Stop.shutdown }), {})
      assert.isUndefined(yield* around(Effect.service(CallAround.DriveBudget)))
      assert.isUndefined(yield* around(Effect.service(Stop.DriveAround)))
    }))

  it.effect("gets its layer's service when the service's name only begins like a setting's", () =>
    Effect.gen(function*() {
      class Traced extends Context.Service<Traced, string>()("effect/TracerX") {}
      const around = AgentContext.surround(Context.make(Traced, "the layer's"), {})
      const seen = around(Effect.service(Traced))
      assert.strictEqual(yield* Effect.provideService(seen, Traced, "the caller's"), "the layer's")
    }))
})

describe("a toolkit made by an effect", () => {
  const kit = Toolkit.make(Tool.make("search", { success: Schema.String }))

  it.effect("is made once, together with the agent", () =>
    Effect.gen(function*() {
      let made = 0
      const source = Effect.suspend(() => {
        made++
        return Effect.provide(kit, kit.toLayer({ search: () => Effect.succeed("found") }))
      })
      const context = yield* Layer.build(Layer.merge(
        services,
        ScriptedModel.layer([
          ScriptedModel.call("search", {}),
          ScriptedModel.text("a"),
          ScriptedModel.text("b")
        ])
      ))
      const agent = yield* Agent.make({ instructions: "", toolkit: source }).pipe(Effect.provide(context))
      yield* agent.run({ input: "go" })
      yield* agent.run({ input: "go" })
      assert.strictEqual(made, 1)
    }))

  it.effect("fails the construction of the agent with its own error", () =>
    Effect.gen(function*() {
      const context = yield* Layer.build(Layer.merge(services, ScriptedModel.layer([])))
      const error = yield* Effect.flip(
        Agent.make({ instructions: "", toolkit: Effect.fail("no tools today") }).pipe(Effect.provide(context))
      )
      assert.strictEqual(error, "no tools today")
    }))
})

describe("a setting", () => {
  const policy = (millis: number) => RetryPolicy.make({ base: millis, cap: millis, maxRunTime: Infinity })
  /** The delay before a retry, which identifies the policy that set it. */
  const delayOf = Effect.fnUntraced(function*(from: ReadonlyArray<"options" | "caller" | "layer">) {
    const isIn = (place: "options" | "caller" | "layer") => from.includes(place)
    const building = TestAgent.make([Overloaded.fail(), ScriptedModel.text("ok")], {
      agent: isIn("options") ? { retry: policy(100_000) } : {}
    })
    const { agent } = yield* isIn("layer")
      ? Effect.provideService(building, RetryPolicy.RetryPolicy, policy(1_000_000))
      : building
    const events = agent.stream({ input: "go" })
    const watch = yield* Watch.make(
      isIn("caller") ? Stream.provideService(events, RetryPolicy.RetryPolicy, policy(10_000_000)) : events
    )
    const { delay } = yield* watch.until("RetryScheduled")
    yield* TestClock.adjust(Duration.millis(delay + 1))
    yield* watch.over
    return Math.round(Math.log10(delay))
  })

  it.effect("from the agent's options comes first, then the caller's, then the layer's, then the default", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* delayOf(["options", "caller", "layer"]), 5)
      assert.strictEqual(yield* delayOf(["caller", "layer"]), 7)
      assert.strictEqual(yield* delayOf(["layer"]), 6)
      assert.strictEqual(yield* delayOf([]), 3)
    }))

  it.effect("that the caller sets to undefined is undefined, whatever the layer says", () =>
    Effect.gen(function*() {
      const around = AgentContext.surround(Context.make(References.UnhandledLogLevel, "Debug"), {})
      const said = around(Effect.service(References.UnhandledLogLevel))
      assert.strictEqual(yield* said, "Debug")
      assert.isUndefined(yield* Effect.provideService(said, References.UnhandledLogLevel, undefined))
    }))

  it.effect("for ids comes from the caller before the layer", () =>
    Effect.gen(function*() {
      const numbered = (prefix: string) => {
        let n = 0
        return { next: Effect.sync(() => `${prefix}${++n}`) }
      }
      const { agent } = yield* Effect.provideService(
        TestAgent.make([ScriptedModel.text("a"), ScriptedModel.text("b")]),
        Ids,
        numbered("layer")
      )
      const first = yield* agent.run({ input: "go" })
      assert.deepStrictEqual([first.runId, first.sessionId], ["layer1", "layer2"])
      const second = yield* Effect.provideService(agent.run({ input: "go" }), Ids, numbered("caller"))
      assert.deepStrictEqual([second.runId, second.sessionId], ["caller1", "caller2"])
    }))

  it.effect("of several fields is the caller's in those that it sets, and the layer's in the others", () =>
    Effect.gen(function*() {
      const layer = Context.make(Limits, { maxTurns: 5, maxCost: 1 }).pipe(
        Context.add(Timeouts, { call: { seconds: 10 }, tools: { a: 1, b: 2 } })
      )
      const around = AgentContext.surround(layer, {})
      const limits = around(Effect.service(Limits))
      const timeouts = around(Effect.service(Timeouts))
      assert.deepStrictEqual(yield* limits, { maxTurns: 5, maxCost: 1 })
      assert.deepStrictEqual(yield* Effect.provideService(limits, Limits, { maxTurns: undefined, maxCost: 2 }), {
        maxTurns: 5,
        maxCost: 2
      })
      assert.deepStrictEqual(yield* Effect.provideService(limits, Limits, { maxTurns: Infinity, maxErrors: 0 }), {
        maxTurns: Infinity,
        maxCost: 1,
        maxErrors: 0
      })
      assert.deepStrictEqual(
        yield* Effect.provideService(timeouts, Timeouts, { call: { minutes: 1 }, tools: { b: 3, c: undefined } }),
        { call: { minutes: 1 }, tools: { a: 1, b: 3 } }
      )
      assert.deepStrictEqual(yield* Effect.provideService(timeouts, Timeouts, { tool: 7 }), {
        call: { seconds: 10 },
        tool: 7,
        tools: { a: 1, b: 2 }
      })
    }))

  it.effect.each([undefined, null, 7, ["maxTurns"]])(
    "of several fields that the caller sets to %o is refused",
    (wrong) =>
      Effect.gen(function*() {
        const { agent } = yield* Effect.provideService(TestAgent.make([]), Limits, { maxTurns: 5 })
        const { reason } = yield* Effect.flip(
          Effect.provideService(agent.run({ input: "go" }), Limits, wrong as unknown as RunPolicy.LimitsInput)
        )
        assert.deepInclude(reason, { _tag: "InvalidInput", field: "limits" })
      })
  )

  it.effect("for limits is each caller's own, whoever called before", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([
        ScriptedModel.text("a"),
        ScriptedModel.text("b"),
        ScriptedModel.text("c")
      ])
      const of = (maxTokens: number) =>
        Effect.provideService(Effect.exit(agent.run({ input: "go" })), Limits, { maxTokens })
      const wrong = yield* of(0)
      assert.strictEqual(Exit.findErrorOption(wrong).pipe(Option.getOrThrow).reason._tag, "InvalidInput")
      const started = yield* Effect.provideService(agent.start({ input: "go" }), Limits, { maxTokens: 7 })
      yield* started.result
      const plain = yield* agent.start({ input: "go" })
      yield* plain.result
      const limits = yield* Effect.forEach(
        [started, plain],
        ({ events }) =>
          Effect.map(Stream.runCollect(events), (seen) => RunLog.only(seen, "RunStarted")[0]?.input.limits.maxTokens)
      )
      assert.deepStrictEqual(limits, [7, undefined])
    }))

  it.effect("with an invalid timeout refuses a run before anything is stored", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([])
      const error = yield* Effect.provideService(Effect.flip(agent.run({ input: "go" })), Timeouts, { tool: 0 })
      assert.deepInclude(error.reason, { _tag: "InvalidInput", field: "timeouts.tool" })
      assert.deepStrictEqual(yield* store.service.list(), [])
    }))

  it.effect("for the grace period comes from the layer when the caller has none", () =>
    Effect.gen(function*() {
      const gate = yield* ScriptedModel.makeGate
      const stuck = { ...gate, wait: Effect.uninterruptible(gate.wait) }
      const { agent } = yield* Effect.provideService(
        TestAgent.make([ScriptedModel.gate(stuck)]),
        Grace,
        Duration.seconds(2)
      )
      const fiber = yield* Effect.forkChild(agent.run({ input: "go" }))
      yield* gate.started
      const interrupting = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("1999 millis")
      assert.isUndefined(interrupting.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(interrupting)
      yield* gate.release
    }))
})
