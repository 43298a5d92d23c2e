/** The front door as README.md shows it: a program, its test, and what a client's inputs are checked for. */
import { assert, describe, it } from "@effect/vitest"
import { parsePartialJson } from "ai"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agent, Fiberloop, Limits, RunEvents, SessionStoreMemory, StopWhen } from "../src/index.ts"
import type * as RunError from "../src/run/RunError.ts"
import type * as RunInput from "../src/run/RunInput.ts"
import { ScriptedModel } from "../src/testing/index.ts"
import * as TestAgent from "./support/TestAgent.ts"

const Weather = Toolkit.make(
  Tool.make("get_weather", {
    description: "Current temperature of a city",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.Struct({ celsius: Schema.Finite })
  }).annotate(Tool.Readonly, true)
)

class Assistant extends Agent.Service<Assistant>()("app/Assistant", {
  instructions: "Answer in one sentence. Look facts up before you answer.",
  toolkit: Weather,
  limits: { maxTurns: 10 }
}) {}

const AssistantLive = Assistant.layer.pipe(Layer.provide([
  Weather.toLayer({ get_weather: ({ city }) => Effect.succeed({ celsius: city === "Oslo" ? 4 : 19 }) }),
  Fiberloop.layer
]))

const Test = Layer.provideMerge(Layer.mergeAll(
  SessionStoreMemory.layer,
  ScriptedModel.layer([ScriptedModel.call("get_weather", { city: "Oslo" }), ScriptedModel.text("It is ", "Rome.")])
))

describe("the README's agent", () => {
  it.effect("answers", () =>
    Effect.gen(function*() {
      const result = yield* (yield* Assistant).run({ input: "Is it warmer in Oslo or in Rome?" })
      assert.strictEqual(result._tag, "Completed")
      if (result._tag === "Completed") assert.strictEqual(result.output, "It is Rome.")
      assert.strictEqual(result.turns, 2)
      assert.deepStrictEqual(result.usage, { inputTokens: 20, outputTokens: 10 })
    }).pipe(Effect.provide(AssistantLive.pipe(Test))))

  it.effect("streams its text", () =>
    Effect.gen(function*() {
      const assistant = yield* Assistant
      const pieces = yield* assistant.stream({ input: "Oslo or Rome?" }).pipe(RunEvents.text, Stream.runCollect)
      assert.deepStrictEqual(pieces, ["It is ", "Rome."])
    }).pipe(Effect.provide(AssistantLive.pipe(Test))))

  it.effect("tells the model its instructions, its tools and their results", () =>
    Effect.gen(function*() {
      yield* (yield* Assistant).run({ input: "Oslo or Rome?" })
      const [first, second] = yield* (yield* ScriptedModel.Script).requests
      assert.deepStrictEqual(first?.messages, [
        { role: "system", content: "Answer in one sentence. Look facts up before you answer." },
        { role: "user", content: [{ type: "text", text: "Oslo or Rome?" }] }
      ])
      assert.deepStrictEqual(first?.tools.map((tool) => tool.name), ["get_weather"])
      const last = second?.messages.at(-1)
      assert.deepStrictEqual(last?.role === "tool" ? last.content.map((part) => part.result) : [], [{ celsius: 4 }])
    }).pipe(Effect.provide(AssistantLive.pipe(Test))))

  it.effect("continues a session's conversation", () =>
    Effect.gen(function*() {
      const { agent, script } = yield* TestAgent.make([ScriptedModel.text("I am Bo."), ScriptedModel.text("Bo.")])
      yield* agent.run({ sessionId: "s", input: "Who are you?" })
      yield* agent.run({ sessionId: "s", input: "Again?" })
      const [, second] = yield* script.requests
      assert.deepStrictEqual(second?.messages.map((message) => message.role), ["system", "user", "assistant", "user"])
    }))
})

describe("a bad input is refused by name before anything is stored", () => {
  const bad: Record<string, RunInput.RunInput> = {
    input: { input: "  \n" },
    sessionId: { input: "x", sessionId: "" },
    runId: { input: "x", runId: " r" },
    "limits.maxTurns": { input: "x", limits: { maxTurns: 0 } },
    "limits.maxDuration": { input: "x", limits: { maxDuration: 0 } },
    allowedTools: { input: "x", allowedTools: ["nope"] },
    toolOrder: { input: "x", toolOrder: ["nope"] },
    "toolPolicy.allowList": { input: "x", toolPolicy: { allowList: ["nope"] } },
    "toolPolicy.maxParallel": { input: "x", toolPolicy: { maxParallel: 0 } }
  }
  it.effect.each(Object.entries(bad))("%s", ([field, input]) =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([])
      const error = yield* Effect.flip(agent.run(input))
      assert.strictEqual(error._tag, "NonRetryableError")
      assert.strictEqual(error.reason._tag === "InvalidInput" ? error.reason.field : error.reason._tag, field)
      assert.deepStrictEqual(yield* store.service.list(), [])
    }))

  const empty: Record<string, (agent: Agent.Client<string>) => Effect.Effect<unknown, RunError.RunError>> = {
    run: (agent) => agent.run({ input: "x", sessionId: "" }),
    resume: (agent) => Stream.runDrain(agent.resume({ sessionId: "" })),
    resumeRun: (agent) => agent.resumeRun({ sessionId: "" }),
    resumeStart: (agent) => agent.resumeStart({ sessionId: "" }),
    approvals: (agent) => agent.approvals(""),
    decide: (agent) => agent.decide({ sessionId: "", approvalId: "r/c", approved: true }),
    compact: (agent) => agent.compact("")
  }
  it.effect.each(Object.entries(empty))(
    "an empty session id, which only a new run may leave out: %s",
    ([name, call]) =>
      Effect.gen(function*() {
        const { agent } = yield* TestAgent.make([])
        const error = yield* Effect.flip(call(agent))
        const hint = name === "run" ? "leave it out for a new one" : "name the session"
        assert.strictEqual(error.message, `sessionId is empty; ${hint}`)
      })
  )

  it.effect("createSession false with an unknown session is SessionNotFound", () =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([])
      const error = yield* Effect.flip(agent.run({ input: "x", sessionId: "s", createSession: false }))
      assert.strictEqual(error.reason._tag, "SessionNotFound")
      assert.deepStrictEqual(yield* store.service.list(), [])
    }))

  it.effect("a history for a session that already has messages", () =>
    Effect.gen(function*() {
      const { agent } = yield* TestAgent.make([ScriptedModel.text("a")])
      yield* agent.run({ input: "x", sessionId: "s", history: [{ role: "user", content: "before" }] })
      const error = yield* Effect.flip(
        agent.run({ input: "y", sessionId: "s", history: [{ role: "user", content: "before" }] })
      )
      assert.deepInclude(error.reason, { _tag: "InvalidInput", field: "history" })
    }))
})

describe("a run's input", () => {
  it.effect.each<readonly [string, Partial<RunInput.RunInput>]>([
    ["says nothing of them", {}],
    ["says more", { data: { tenant: 1 } }]
  ])("holds the agent's limits and policy as JSON can hold them when it %s", ([, more]) =>
    Effect.gen(function*() {
      const { agent, store } = yield* TestAgent.make([ScriptedModel.text("ok")], {
        agent: {
          limits: { maxTurns: Infinity, maxTokens: 1000 },
          toolPolicy: { enabled: true, maxParallel: Infinity, maxCallsPerRun: { work: 2, "*": Infinity } }
        }
      })
      const run = agent.run({ sessionId: "s", input: "go", ...more })
      yield* Effect.provideService(run, Limits, { maxErrors: Infinity, maxTokens: 1 })
      const [started] = yield* store.log("s")
      assert.strictEqual(started?._tag, "RunStarted")
      if (started?._tag !== "RunStarted") return
      assert.deepStrictEqual(started.input.limits, { maxCompactions: 3, maxTokens: 1000 })
      assert.deepStrictEqual(started.input.toolPolicy, {
        maxParallel: Number.MAX_SAFE_INTEGER,
        maxCallsPerRun: { work: 2 }
      })
    }))

  it.effect("narrows and orders the tools that are offered", () =>
    Effect.gen(function*() {
      const offered = Effect.fnUntraced(function*(input: Omit<RunInput.RunInput, "input">) {
        const { agent, script } = yield* TestAgent.make([ScriptedModel.text("a")])
        yield* agent.run({ ...input, input: "x" })
        const [request] = yield* script.requests
        return request!.tools.map((tool) => tool.name)
      })
      assert.deepStrictEqual(yield* offered({}), ["work", "look", "again"])
      assert.deepStrictEqual(yield* offered({ allowedTools: ["look", "work"] }), ["work", "look"])
      assert.deepStrictEqual(yield* offered({ toolOrder: ["again"] }), ["again", "work", "look"])
      assert.deepStrictEqual(yield* offered({ toolPolicy: { allowList: ["look"] }, allowedTools: ["work"] }), [])
      assert.deepStrictEqual(yield* offered({ toolPolicy: { enabled: false } }), [])
    }))

  it.effect("replaces the instructions", () =>
    Effect.gen(function*() {
      const { agent, script } = yield* TestAgent.make([ScriptedModel.text("a"), ScriptedModel.text("b")])
      yield* agent.run({ input: "x", instructions: "Shout." })
      yield* agent.run({ input: "x", instructions: "" })
      const [first, second] = yield* script.requests
      assert.deepStrictEqual(first?.messages[0], { role: "system", content: "Shout." })
      assert.strictEqual(second?.messages[0]?.role, "user")
    }))

  it.effect("with no tools has no tool choice, and a call in the answer is to an unknown tool", () =>
    Effect.gen(function*() {
      const { agent, script, store } = yield* TestAgent.make([TestAgent.work(1), ScriptedModel.text("b")])
      yield* agent.run({ input: "x", sessionId: "s", toolPolicy: { enabled: false } })
      const [first] = yield* script.requests
      assert.strictEqual(first?.toolChoice, "none")
      const log = yield* store.log("s")
      const settled = log.find((event) => event._tag === "ToolSettled")
      assert.deepStrictEqual(settled?.outcome, { _tag: "UnknownTool", available: [] })
    }))
})

describe("instructions that are cut in the middle of a character", () => {
  const cut = "Memory: \ud83d"
  const options: Record<string, [NonNullable<TestAgent.Options["agent"]>, Partial<RunInput.RunInput>]> = {
    "of the agent": [{ instructions: cut }, {}],
    "of a run": [{}, { instructions: cut }],
    "of a turn": [{ prepareTurn: () => Effect.succeed({ instructions: cut }) }, {}]
  }
  it.effect.each(Object.entries(options))(
    "are sent without its half: %s",
    ([, [agent, input]]) =>
      Effect.gen(function*() {
        const made = yield* TestAgent.make([ScriptedModel.text("ok")], { agent })
        yield* made.agent.run({ input: "go", ...input })
        const [request] = yield* made.script.requests
        assert.deepStrictEqual(request?.messages[0], { role: "system", content: "Memory: \ufffd" })
      })
  )
})

describe("no agent is made", () => {
  it.effect.each<readonly [object, string]>([
    [{ toolpolicy: {} }, "an agent has no \"toolpolicy\"; it has name, instructions, toolkit, "],
    [{ timeouts: { tols: {} } }, "timeouts has no \"tols\""],
    [
      { stopWhen: StopWhen.toolCalled("wrok") },
      "stopWhen names \"wrok\", which is not a tool of this agent; it has work, look"
    ],
    [{ stopBefore: StopWhen.toolCalled("work", "wrok") }, "stopBefore names \"wrok\""],
    [{ retry: { maxRetries: 3 } }, "retry must be a policy, as RetryPolicy.make returns it"],
    [{ retry: null }, "retry must be a policy, as RetryPolicy.make returns it"],
    [{ instructions: 7 }, "instructions must be a string"],
    [{ instructions: null }, "instructions must be a string"],
    [{ prepareTurn: {} }, "prepareTurn must be a function"],
    [{ stopWhen: true }, "stopWhen must be a function"],
    [{ toolkit: [] }, "toolkit must be what Toolkit.make returns"],
    [{ output: { parse: () => 1 } }, "output must be a Schema of effect"],
    [{ hooks: {} }, "hooks must be a list of hooks"],
    [{ hooks: [{ beforeModelCall: () => Effect.void }] }, "hooks[0].name must be a text"],
    [{ hooks: [{ name: "h" }] }, "the hook \"h\" would never run: give it one of beforeModelCall, "],
    [
      { hooks: [{ name: "h", kind: "watch", beforeModelCall: () => Effect.void }] },
      "the hook \"h\" must be of the kind guard or observer"
    ],
    [{ hooks: [{ name: "h", afterToolCall: {} }] }, "afterToolCall of the hook \"h\" must be a function"],
    ...[0, NaN, -1, "10s", [], { minute: 1 }, {}].map((timeout) =>
      [
        { hooks: [{ name: "h", timeout, beforeModelCall: () => Effect.void }] },
        "the timeout of the hook \"h\" must be a duration of at least 1 millisecond; it is "
      ] as const
    ),
    [
      { hooks: [{ name: "h", beforeTool: () => Effect.fail("no"), afterModelCall: () => Effect.void }] },
      "the hook \"h\" has no \"beforeTool\"; it has beforeModelCall, afterModelCall, beforeToolCall, afterToolCall"
    ]
  ])("with %o", ([agent, message]) =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(TestAgent.make([], { agent }))
      assert(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.include(String(Cause.squash(exit.cause)), message)
    }))
})

const words = "an agent has name, instructions, toolkit, output, limits, "

it.effect.each<readonly [unknown, string]>([
  [undefined, "not undefined"],
  [null, "not null"],
  ["Be brief.", "not a string"],
  [[], "not a list"],
  [Promise.resolve({ instructions: "" }), "not a promise"]
])("no agent is made of %o", ([options, not]) =>
  Effect.gen(function*() {
    class Assistant extends Agent.Service<Assistant>()("test/Assistant", options as Agent.Options<{}, string>) {}
    const below = Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, ScriptedModel.layer([]))
    const made = Agent.make(options as never) as Effect.Effect<unknown>
    for (
      const each of [Effect.provide(made, below), Effect.provide(Assistant, Layer.provide(Assistant.layer, below))]
    ) {
      const exit = yield* Effect.exit(each as Effect.Effect<unknown>)
      assert(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      const said = String(Cause.squash(exit.cause))
      assert.include(said, words)
      assert.include(said, `give an object of these, ${not}`)
    }
  }))

describe("no agent is made with a tool whose", () => {
  const ofOthers = { parse: (value: unknown) => value }
  const ofJson = { type: "object", properties: { city: { type: "string" } } }
  const andDynamic = ", and a JSON Schema goes to Tool.dynamic"
  it.effect.each<readonly [string, unknown, string]>([
    ["parameters", ofOthers, andDynamic],
    ["parameters", ofJson, andDynamic],
    ["success", ofOthers, ""],
    ["failure", ofJson, ""]
  ])("%s is no Schema of effect: %o", ([option, schema, instead]) =>
    Effect.gen(function*() {
      const kit = Toolkit.make(Tool.make("search", { [option]: schema }))
      const agent = Agent.make({ instructions: "", toolkit: kit }).pipe(
        Effect.provide(kit.toLayer({ search: () => Effect.void }))
      )
      const exit = yield* Effect.exit(
        Effect.provide(agent, Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, ScriptedModel.layer([])))
      )
      assert(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.include(
        String(Cause.squash(exit.cause)),
        `${option} of the tool "search" must be a Schema of effect; another library's has to be written as one${instead}`
      )
    }))

  it.effect("parameters are JSON Schema is made, where the tool is dynamic", () =>
    Effect.gen(function*() {
      const kit = Toolkit.make(Tool.dynamic("search", { parameters: ofJson as never, success: Schema.String }))
      const below = Layer.mergeAll(
        Fiberloop.layer,
        SessionStoreMemory.layer,
        ScriptedModel.layer([ScriptedModel.call("search", { city: "Oslo" }), ScriptedModel.text("done")]),
        kit.toLayer({ search: () => Effect.succeed("found") })
      )
      const context = yield* Layer.build(below)
      const agent = yield* Agent.make({ instructions: "", toolkit: kit }).pipe(Effect.provide(context))
      assert.strictEqual((yield* agent.run({ input: "go" }))._tag, "Completed")
    }))
})

describe("a typed answer", () => {
  const Total = Schema.Struct({ total: Schema.Finite })
  const typed = Effect.fnUntraced(function*(turns: ReadonlyArray<ScriptedModel.Turn>) {
    const store = SessionStoreMemory.layer
    const below = Layer.mergeAll(Fiberloop.layer, store, ScriptedModel.layer(turns))
    const context = yield* Layer.build(below)
    const agent = yield* Agent.make({ instructions: "Add.", output: Total }).pipe(Effect.provide(context))
    const script = yield* Effect.provide(ScriptedModel.Script, context)
    return { agent, script }
  })

  it.effect("is decoded, even inside a fence", () =>
    Effect.gen(function*() {
      const { agent, script } = yield* typed([ScriptedModel.text("```json\n{\"total\": 3}\n```")])
      const result = yield* agent.run({ input: "1 + 2" })
      assert.deepStrictEqual(result._tag === "Completed" ? result.output : result._tag, { total: 3 })
      const [request] = yield* script.requests
      const system = request?.messages[0]
      assert.include(system?.role === "system" ? system.content : "", "\"total\"")
    }))

  it.effect("that does not fit the schema gets one corrective turn", () =>
    Effect.gen(function*() {
      const { agent, script } = yield* typed([ScriptedModel.text("three"), ScriptedModel.text("{\"total\": 3}")])
      const result = yield* agent.run({ input: "1 + 2" })
      assert.deepStrictEqual(result._tag === "Completed" ? result.output : result._tag, { total: 3 })
      const [, second] = yield* script.requests
      assert.strictEqual(second?.messages.at(-1)?.role, "user")
    }))

  it.effect("that a content filter cuts off fails the run, even when it was to be a call", () =>
    Effect.gen(function*() {
      const filtered = ScriptedModel.finish("content-filter")
      for (const said of [ScriptedModel.text("three"), ScriptedModel.call("add", {})]) {
        const { agent } = yield* typed([[said, filtered], ScriptedModel.text("{\"total\": 3}")])
        const seen: Array<string> = []
        const reading = Stream.runForEach(
          agent.stream({ sessionId: "s", input: "1 + 2" }),
          ({ _tag }) => Effect.sync(() => seen.push(_tag))
        )
        assert.strictEqual((yield* Effect.flip(reading)).reason._tag, "ContentPolicy")
        assert.strictEqual(seen.at(-1), "RunFailed")
        assert.strictEqual((yield* agent.resumeRun({ sessionId: "s" }))._tag, "Completed")
      }
    }))

  it.effect("is requested with its whole schema, including the definitions it refers to", () =>
    Effect.gen(function*() {
      interface Part {
        readonly name: string
        readonly parts: ReadonlyArray<Part>
      }
      const Part = Schema.Struct({
        name: Schema.String,
        parts: Schema.Array(Schema.suspend((): Schema.Codec<Part> => Part))
      }).annotate({ identifier: "Part" })
      const lamp = { name: "lamp", parts: [{ name: "bulb", parts: [] }] }
      const context = yield* Layer.build(
        Layer.mergeAll(
          Fiberloop.layer,
          SessionStoreMemory.layer,
          ScriptedModel.layer([ScriptedModel.text(JSON.stringify(lamp))])
        )
      )
      const agent = yield* Agent.make({ instructions: "", output: Part }).pipe(Effect.provide(context))
      const result = yield* agent.run({ input: "a lamp" })
      assert.deepStrictEqual(result._tag === "Completed" ? result.output : result._tag, lamp)
      const [request] = yield* Effect.flatMap(ScriptedModel.Script, ({ requests }) => requests).pipe(
        Effect.provide(context)
      )
      const system = request?.messages[0]
      const asked = system?.role === "system" ? system.content : ""
      const { $defs, ...root } = JSON.parse(asked.slice(asked.indexOf("\n") + 1))
      assert.deepStrictEqual(root, { $ref: "#/$defs/Part" })
      assert.deepStrictEqual($defs.Part.properties.parts, { type: "array", items: { $ref: "#/$defs/Part" } })
    }))

  it.effect("is shown as it grows; a corrected one starts over", () =>
    Effect.gen(function*() {
      const Trip = Schema.Struct({ city: Schema.String, days: Schema.Array(Schema.Finite) })
      const turns = [
        [ScriptedModel.text("I look. "), ScriptedModel.call("get_weather", { city: "Oslo" })],
        ScriptedModel.text("{\"city\":", "\"Os", "lo\"", ",\"day\":", "1}"),
        ScriptedModel.text("```json\n{\"city\":\"Oslo\",", "\"days\":[1", "]}\n```")
      ]
      const below = Layer.mergeAll(
        Fiberloop.layer,
        SessionStoreMemory.layer,
        ScriptedModel.layer(turns),
        Weather.toLayer({ get_weather: () => Effect.succeed({ celsius: 4 }) })
      )
      const agent = yield* Agent.make({ instructions: "", toolkit: Weather, output: Trip }).pipe(
        Effect.provide(yield* Layer.build(below))
      )
      const shown = yield* agent.stream({ input: "Oslo" }).pipe(RunEvents.partialOutput(Trip), Stream.runCollect)
      assert.deepStrictEqual<ReadonlyArray<unknown>>(shown, [
        {},
        { city: "Os" },
        { city: "Oslo" },
        { city: "Oslo", day: 1 },
        { city: "Oslo" },
        { city: "Oslo", days: [] },
        { city: "Oslo", days: [1] }
      ])
    }))

  it.effect("is one JSON text, as a page using useObject of the AI SDK reads it", () =>
    Effect.gen(function*() {
      const { agent } = yield* typed([ScriptedModel.text("{\"to", "tal\"", ":3", "4", "}")])
      const pieces = yield* agent.stream({ input: "30 + 4" }).pipe(RunEvents.text, Stream.runCollect)
      const read = (_: string, at: number) => parsePartialJson(pieces.slice(0, at + 1).join(""))
      const objects = yield* Effect.promise(() => Promise.all(pieces.map(read)))
      const values = objects.map(({ value }) => value)
      assert.deepStrictEqual(values, [{}, {}, { total: 3 }, { total: 34 }, { total: 34 }])
    }))

  it.effect("that does not fit the schema twice fails the run", () =>
    Effect.gen(function*() {
      const { agent, script } = yield* typed([ScriptedModel.text("three"), ScriptedModel.text("four")])
      const error = yield* Effect.flip(agent.run({ input: "1 + 2" }))
      assert.strictEqual(error.reason._tag, "InvalidOutput")
      assert.strictEqual((yield* script.requests).length, 2)
    }))

  it.effect("of a replayed run that no longer fits the schema is an error that says why", () =>
    Effect.gen(function*() {
      const ask = { sessionId: "s", runId: "r", input: "1 + 2" }
      const of = (output: Schema.ConstraintCodec<unknown, unknown, never, never>) =>
        Agent.make({ instructions: "Add.", output })
      const first = yield* of(Schema.Struct({ total: Schema.Finite }))
      yield* first.run(ask)
      const today = yield* of(Schema.Struct({ sum: Schema.Finite }))
      const error = yield* Effect.flip(today.run(ask))
      assert.strictEqual(error.reason._tag, "InvalidOutput")
      assert.include(error.message, "sum")
    }).pipe(Effect.provide(Layer.mergeAll(
      Fiberloop.layer,
      SessionStoreMemory.layer,
      ScriptedModel.layer([ScriptedModel.text("{\"total\":3}")])
    ))))

  it.effect("of a run of before is read again as it was then, where its schema is not one of objects", () =>
    Effect.gen(function*() {
      const ask = { sessionId: "s", runId: "r", input: "How is the weather?" }
      const agent = yield* Agent.make({ instructions: "Classify.", output: Schema.Literals(["sunny", "rainy"]) })
      // what an earlier version asked for
      const first = yield* agent.run(ask)
      assert.strictEqual(first.text, "\"rainy\"")
      const again = yield* agent.run(ask)
      assert.deepStrictEqual([first, again].map((result) => result._tag === "Completed" && result.output), [
        "rainy",
        "rainy"
      ])
    }).pipe(Effect.provide(Layer.mergeAll(
      Fiberloop.layer,
      SessionStoreMemory.layer,
      ScriptedModel.layer([ScriptedModel.text("\"rainy\"")])
    ))))

  it.effect("has the schema's types, including those that JSON lacks", () =>
    Effect.gen(function*() {
      const text = ScriptedModel.text("{\"on\":\"2026-01-02T00:00:00.000Z\",\"cents\":\"7\"}")
      const below = Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, ScriptedModel.layer([text]))
      const output = Schema.Struct({ on: Schema.Date, cents: Schema.BigInt })
      const agent = yield* Agent.make({ instructions: "Add.", output }).pipe(Effect.provide(yield* Layer.build(below)))
      const result = yield* agent.run({ input: "1 + 2" })
      const answer: { readonly on: Date; readonly cents: bigint } | undefined = result._tag === "Completed"
        ? result.output
        : undefined
      assert.deepStrictEqual(answer, { on: new Date("2026-01-02"), cents: 7n })
    }))

  it.effect("that a content filter cuts fails the run, since there is no answer to type", () =>
    Effect.gen(function*() {
      const { agent } = yield* typed([[ScriptedModel.text("{\"tot"), ScriptedModel.finish("content-filter")]])
      const error = yield* Effect.flip(agent.run({ input: "1 + 2" }))
      assert.strictEqual(error.reason._tag, "ContentPolicy")
    }))
})

describe("a session", () => {
  it.effect("may continue with another agent, which reads what the first was told", () =>
    Effect.gen(function*() {
      const sales = yield* Agent.make({ name: "sales", instructions: "Sell." })
      const support = yield* Agent.make({ name: "support", instructions: "Help." })
      yield* sales.run({ sessionId: "s", input: "I want a lamp." })
      yield* support.run({ sessionId: "s", input: "It arrived broken." })
      const [, request] = yield* (yield* ScriptedModel.Script).requests
      const user = (text: string) => ({ role: "user", content: [{ type: "text", text }] }) as const
      assert.deepStrictEqual<unknown>(request?.messages, [
        { role: "system", content: "Help." },
        user("I want a lamp."),
        { role: "assistant", content: [{ type: "text", text: "Here it is." }] },
        user("It arrived broken.")
      ])
    }).pipe(Effect.provide(Layer.mergeAll(
      Fiberloop.layer,
      SessionStoreMemory.layer,
      ScriptedModel.layer([ScriptedModel.text("Here it is."), ScriptedModel.text("Send it back.")])
    ))))
})
