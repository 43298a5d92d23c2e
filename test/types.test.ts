/**
 * What the compiler says of the front door: a missing handler or layer is an error, `ToolCall` is nobody's to provide.
 * The programs here are compiled and never run; a `@ts-expect-error` without an error is one.
 */
import { it } from "@effect/vitest"
import * as McpClient from "effect/ai/McpClient"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import {
  Agent,
  type Approver,
  ContextSummary,
  ContextWindow,
  Fiberloop,
  type Hook,
  Hooks,
  ModelOpenAi,
  RetryPolicy,
  RunEvents,
  SessionStore,
  SessionStoreMemory,
  StopWhen,
  ToolCall
} from "../src/index.ts"
import type {
  ContextManager,
  Delivery,
  Model,
  RunError,
  RunEvent,
  RunInput,
  RunPolicy,
  RunResult,
  Runs,
  ToolExecutor
} from "../src/index.ts"
import type { SessionInfo } from "../src/services/SessionStore.ts"
import { ScriptedModel } from "../src/testing/index.ts"

type Services =
  | Model
  | SessionStore
  | ToolExecutor
  | ContextManager
  | Runs

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? [] : ["not the same"]
/** Compiles if both types are the same; `any` equals only itself. */
declare const same: <A>() => <B>(...proof: Same<A, B>) => void
declare const run: <A, E>(program: Effect.Effect<A, E>) => void
type LayerOf<T> = T extends { readonly layer: infer L } ? L : never

const Kit = Toolkit.make(Tool.make("pay", {
  parameters: Schema.Struct({ n: Schema.Finite }),
  success: Schema.String,
  dependencies: [ToolCall]
}))

class Payer extends Agent.Service<Payer>()("app/Payer", {
  instructions: "",
  toolkit: Kit,
  output: Schema.Struct({ total: Schema.Finite })
}) {}

class Plain extends Agent.Service<Plain>()("app/Plain", { instructions: "" }) {}

const use = Effect.gen(function*() {
  const result = yield* (yield* Payer).run({ input: "x" })
  return result._tag === "Completed" ? result.output.total : 0
})
const base = Layer.mergeAll(Fiberloop.layer, SessionStoreMemory.layer, ScriptedModel.layer([]))
const handlers = Kit.toLayer({ pay: () => Effect.succeed("") })

export const programs = {
  missingHandler: () =>
    // @ts-expect-error the handler of "pay" is missing
    run(use.pipe(Effect.provide(Payer.layer.pipe(Layer.provide(base))))),

  missingModel: () =>
    run(
      // @ts-expect-error the model is missing
      use.pipe(
        Effect.provide(Payer.layer.pipe(Layer.provide([Fiberloop.layer, SessionStoreMemory.layer, handlers])))
      )
    ),

  missingStore: () =>
    run(
      // @ts-expect-error the session store is missing
      use.pipe(Effect.provide(Payer.layer.pipe(Layer.provide([Fiberloop.layer, ScriptedModel.layer([]), handlers]))))
    ),

  toolCallStaysInside: () => {
    const pay = Kit.toLayer({
      pay: Effect.fnUntraced(function*({ n }) {
        const { idempotencyKey } = yield* ToolCall
        return `${n} ${idempotencyKey}`
      })
    })
    run(use.pipe(Effect.provide(Payer.layer.pipe(Layer.provide(base), Layer.provide(pay)))))
    same<Layer.Services<LayerOf<typeof Payer>>>()<Services | Tool.HandlersFor<typeof Kit.tools>>()
  },

  noToolkit: () => {
    run(
      Effect.flatMap(Plain, (plain) => plain.run({ input: "x" })).pipe(
        Effect.provide(Plain.layer.pipe(Layer.provide(base)))
      )
    )
    same<Layer.Services<LayerOf<typeof Plain>>>()<Services>()
  },

  // @ts-expect-error a handler of the wrong type is an error where it is given
  wrongHandler: () => Kit.toLayer({ pay: () => Effect.succeed(1) }),

  otherDependenciesReachTheLayer: () => {
    class Db extends Object {}
    type Needs = Context.ServiceClass<Db, "Db", {}>
    const needs = undefined as unknown as Needs
    const Other = Toolkit.make(Tool.make("query", { success: Schema.String, dependencies: [needs, ToolCall] }))
    class Asker extends Agent.Service<Asker>()("app/Asker", { instructions: "", toolkit: Other }) {}
    same<Layer.Services<LayerOf<typeof Asker>>>()<Services | Tool.HandlersFor<typeof Other.tools> | Db>()
  },

  // the caller's code is tested with a fake agent and no model at all
  fake: () =>
    Layer.mock(Payer, {
      run: () =>
        Effect.succeed({
          _tag: "Completed",
          runId: "r",
          sessionId: "s",
          text: "",
          output: { total: 3 },
          turns: 1,
          explain: "",
          usage: { inputTokens: 0, outputTokens: 0 }
        })
    }),

  // what is listed is what is decided about, in any process that has the agent
  decidesFromAnywhere: () => {
    const decide = Effect.gen(function*() {
      const payer = yield* Payer
      for (const { id, params } of yield* payer.approvals("s")) {
        yield* payer.decide({ sessionId: "s", approvalId: id, approved: true, by: "ann", params })
      }
    })
    same<Effect.Error<typeof decide>>()<RunError.RunError>()
    same<Effect.Services<typeof decide>>()<Payer>()
  },

  // tools known only at run time: MCP, or one toolkit per tenant
  dynamic: () => {
    const remote = Effect.flatMap(McpClient.McpClient, (client) => McpClient.toolkit(client, "srv__"))
    const agent = Agent.make({ instructions: "", toolkit: remote })
    same<Effect.Services<typeof agent>>()<Services | McpClient.McpClient>()
    return Effect.flatMap(agent, (client) => client.run({ input: "x" }))
  },

  toolsOfAnyType: (resolved: Toolkit.WithHandler<Record<string, Tool.Any>>) => {
    const agent = Agent.make({ instructions: "", toolkit: resolved })
    same<Effect.Services<typeof agent>>()<Services>()
  },

  resolvedToolkit: (resolved: Effect.Success<typeof Kit>) => {
    const agent = Agent.make({ instructions: "", toolkit: resolved })
    same<Effect.Services<typeof agent>>()<Services>()
  },

  failingToolkit: () => {
    const agent = Agent.make({ instructions: "", toolkit: Effect.fail("down" as const) })
    same<Effect.Error<typeof agent>>()<"down">()
  },

  client: (client: Agent.Client<{ readonly total: number }>) => {
    same<ReturnType<typeof client.stream>>()<Stream.Stream<RunEvent.RunEvent, RunError.RunError>>()
    same<ReturnType<typeof client.run>>()<
      Effect.Effect<RunResult.RunResult<{ readonly total: number }>, RunError.RunError>
    >()
    // @ts-expect-error an input has a text or messages
    client.run({})
    // @ts-expect-error only the user speaks in an input
    client.run({ input: [{ role: "assistant", content: "x" }] })
    // @ts-expect-error resume takes no input
    client.resume({ sessionId: "s", input: "x" })
  },

  agentsAsTools: (text: Agent.Client<string>, sum: Agent.Client<{ readonly total: number }>, isSum: boolean) => {
    const one = ToolCall.runAgent(isSum ? sum : text, { input: "x" })
    same<typeof one>()<Effect.Effect<string | { readonly total: number }, string, ToolCall>>()
    const all = ToolCall.runAgents(sum, [{ input: "x" }])
    same<typeof all>()<Effect.Effect<ReadonlyArray<{ readonly total: number }>, string, ToolCall>>()
    const results = ToolCall.runAgents(sum, [{ input: "x" }], { mode: "result" })
    type Results = ReadonlyArray<Result.Result<{ readonly total: number }, string>>
    same<typeof results>()<Effect.Effect<Results, never, ToolCall>>()
    // @ts-expect-error several have several texts
    ToolCall.runAgents(text, [], { progress: (said: string) => Effect.log(said) })
    // @ts-expect-error resuming is for the run to do
    ToolCall.runAgent(text, { sessionId: "s" })
  },

  errors: (client: Agent.Client<string>) =>
    client.run({ input: "x" }).pipe(
      Effect.catchReason("RetryableError", "SessionBusy", (reason) => Effect.succeed(reason.runId)),
      Effect.catchTag("RetryableError", (error) => Effect.succeed(error.retryAfter)),
      Effect.catchTag("NonRetryableError", (error) => Effect.succeed(error.reason._tag)),
      run
    ),

  wrongOptions: () => {
    // @ts-expect-error an agent has instructions
    Agent.make({})
    // @ts-expect-error maxTurns is a number
    Agent.make({ instructions: "", limits: { maxTurns: "3" } })
    // @ts-expect-error a cost is a number
    Agent.make({ instructions: "", limits: { maxCost: "3" } })
    // @ts-expect-error loops are looked for, or they are not
    Agent.make({ instructions: "", doomLoop: true })
    // @ts-expect-error an agent without tools has none to exempt
    Agent.make({ instructions: "", doomLoop: { exempt: ["search"] } })
    Agent.make({ instructions: "", toolkit: Kit, timeouts: { tools: { pay: "1 minute" } } })
    // @ts-expect-error calls of an unknown tool have no timeout
    Agent.make({ instructions: "", toolkit: Kit, timeouts: { tools: { search: "1 minute" } } })
    // @ts-expect-error an agent without tools has no tool timeouts
    Agent.make({ instructions: "", timeouts: { tools: { search: "1 minute" } } })
    // @ts-expect-error there is no such limit
    Agent.make({ instructions: "", limits: { maxTurn: 3 } })
  },

  // what a configuration leaves undefined is passed on as it is
  configured: (config: {
    readonly number: number | undefined
    readonly tools: typeof Kit | undefined
    readonly limits: RunPolicy.LimitsInput | undefined
    readonly hooks: ReadonlyArray<Hook> | undefined
    readonly after: SessionInfo | undefined
    readonly text: string | undefined
  }) => {
    const approver: Approver = { ask: () => Effect.succeed({ approved: false, by: config.text, reason: config.text }) }
    const observer: Hook = {
      name: "counter",
      kind: undefined,
      timeout: config.number,
      beforeModelCall: undefined,
      afterModelCall: undefined,
      beforeToolCall: config.text === undefined ? undefined : () => Effect.succeed({ _tag: "Deny", reason: "dry run" }),
      afterToolCall: undefined
    }
    const model = ModelOpenAi.layer({
      model: "m",
      provider: config.text,
      contextWindow: config.number,
      maxOutput: undefined
    })
    const window = ContextWindow.layerWith({
      compactThreshold: config.number,
      maxTokens: config.number,
      keep: undefined
    })
    const summary = ContextSummary.layerWith({ budget: config.number, instructions: config.text, automatic: undefined })
    const agent = Agent.make({
      name: undefined,
      instructions: "",
      toolkit: config.tools,
      limits: config.limits,
      toolPolicy: { maxParallel: config.number },
      timeouts: { tool: config.number },
      doomLoop: { after: config.number },
      retry: RetryPolicy.make({ maxRetries: config.number }),
      hooks: config.hooks
    })
    same<Effect.Services<typeof agent>>()<Services | Tool.HandlersFor<typeof Kit.tools>>()
    const sessions = Effect.flatMap(SessionStore, (store) => store.list({ limit: config.number, after: config.after }))
    const range = { from: config.number, to: config.number }
    const log = Effect.map(SessionStore, (store) => store.read("s", range))
    const input: RunInput.RunInput = {
      input: [{
        role: "user",
        content: [
          { type: "file", mediaType: "image/png", data: "AAAA", fileName: config.text, metadata: undefined },
          { type: "text", text: "What is this?", metadata: undefined }
        ]
      }]
    }
    return { approver, observer, model, window, summary, sessions, log, input }
  },

  hooks: () => {
    const agent = Agent.make({
      instructions: "",
      hooks: [{
        name: "h",
        beforeModelCall: ({ tools }) => Effect.succeed({ tools: tools.slice(1) }),
        afterModelCall: () => Effect.fail("whatever"),
        beforeToolCall: ({ tool }) => tool === "pay" ? Effect.succeed({ _tag: "Deny", reason: "no" }) : Effect.void,
        afterToolCall: ({ outcome }) => Effect.succeed({ outcome })
      }]
    })
    // a hook's failure is not the agent's error, and a hook adds no requirements
    same<typeof agent>()<Effect.Effect<Agent.Client<string>, never, Services>>()
    Effect.provideService(agent, Hooks, [{ name: "h" }])
    // @ts-expect-error a hook has a name
    Agent.make({ instructions: "", hooks: [{ afterModelCall: () => Effect.void }] })
    // @ts-expect-error there is no such decision
    Agent.make({ instructions: "", hooks: [{ name: "h", beforeToolCall: () => Effect.succeed({ _tag: "Allow" }) }] })
    // @ts-expect-error a hook that sees an answer returns nothing, and fails to block
    Agent.make({ instructions: "", hooks: [{ name: "h", afterModelCall: () => Effect.succeed({ _tag: "Deny" }) }] })
    // @ts-expect-error what a hook needs was provided to it before
    Agent.make({ instructions: "", hooks: [{ name: "h", afterModelCall: () => Effect.asVoid(ToolCall) }] })
  },

  turnRules: () => {
    const stopWhen = StopWhen.toolCalled("pay")
    const agent = Agent.make({
      instructions: "",
      toolkit: Kit,
      stopWhen,
      stopBefore: stopWhen,
      prepareTurn: ({ turn }) => turn === 1 ? { tools: ["pay"], toolChoice: { tool: "pay" } } : undefined
    })
    // the tools are still the toolkit's
    same<Effect.Services<typeof agent>>()<
      Services | Tool.HandlersFor<typeof Kit.tools>
    >()
    // @ts-expect-error there is no such tool
    Agent.make({ instructions: "", toolkit: Kit, prepareTurn: () => ({ tools: ["pray"] }) })
    // @ts-expect-error nor is there one to choose
    Agent.make({ instructions: "", toolkit: Kit, prepareTurn: () => ({ toolChoice: { tool: "pray" } }) })
    // @ts-expect-error a promise is no answer
    Agent.make({ instructions: "", toolkit: Kit, stopWhen: () => Promise.resolve(true) })
  },

  steering: (live: Agent.Run<string>) => {
    same<ReturnType<typeof live.steer>>()<Effect.Effect<Delivery.Delivery, RunError.RunError>>()
    // @ts-expect-error only the user speaks
    live.steer([{ role: "assistant", content: "x" }])
  },

  partialOutput: (events: Stream.Stream<RunEvent.RunEvent, RunError.RunError>) => {
    interface Category {
      readonly name: string
      readonly subs: ReadonlyArray<Category>
    }
    const Category = Schema.Struct({
      name: Schema.String,
      subs: Schema.Array(Schema.suspend((): Schema.Codec<Category> => Category))
    })
    const Shape = Schema.Struct({
      kind: Schema.Literals(["a", "b"]),
      count: Schema.optionalKey(Schema.Finite),
      note: Schema.optional(Schema.NullOr(Schema.String)),
      days: Schema.Array(Schema.Struct({ on: Schema.Date, ok: Schema.Boolean })),
      pair: Schema.Tuple([Schema.String, Schema.Finite]),
      by: Schema.Record(Schema.String, Schema.BigInt),
      any: Schema.Unknown
    })
    const partial = events.pipe(RunEvents.partialOutput(Shape))
    same<typeof partial>()<
      Stream.Stream<{
        readonly kind?: string
        readonly count?: number
        readonly note?: string | null
        readonly days?: ReadonlyArray<{ readonly on?: Schema.Json; readonly ok?: boolean }>
        readonly pair?: readonly [string?, number?]
        readonly by?: { readonly [x: string]: Schema.Json | undefined }
        readonly any?: Schema.Json
      }, RunError.RunError>
    >()
    const categories = events.pipe(RunEvents.partialOutput(Category))
    const depth = Stream.map(categories, ({ subs }) => subs?.[0]?.subs?.[0]?.name)
    same<Stream.Success<typeof depth>>()<string | undefined>()
    const json = events.pipe(RunEvents.partialOutput(Schema.Json))
    same<Stream.Success<typeof json>>()<Schema.Json>()
    const kinds = events.pipe(RunEvents.partialOutput(Schema.Union([Schema.Literals(["a", "b"]), Schema.Null])))
    same<Stream.Success<typeof kinds>>()<string | null>()
  },

  asText: () => {
    const agent = Agent.make({ instructions: "" })
    same<Effect.Success<typeof agent>>()<Agent.Client<string>>()
  },

  // an answer is what the schema says, whatever type the place expects where the agent is made
  outputIsWhatItsSchemaSays: (isTyped: boolean) => {
    const Sum = Schema.Struct({ total: Schema.Finite })
    class Summing extends Context.Service<Summing, Agent.Client<typeof Sum.Type>>()("test/Summing") {}
    const typed: Effect.Effect<Agent.Client<typeof Sum.Type>, never, Services> = Agent.make({
      instructions: "",
      output: Sum
    })
    // @ts-expect-error without the schema the answers would be text
    Agent.make({ instructions: "", output: isTyped ? Sum : undefined })
    const perhaps = Agent.make<{}, string | typeof Sum.Type>({ instructions: "", output: isTyped ? Sum : undefined })
    same<Effect.Success<typeof perhaps>>()<Agent.Client<string | typeof Sum.Type>>()
    const none = Agent.make({ instructions: "", output: undefined })
    same<Effect.Success<typeof none>>()<Agent.Client<string>>()
    const generic = <A>(output: Schema.Codec<A, unknown>) => Agent.make({ instructions: "", output })
    same<Effect.Success<ReturnType<typeof generic<number>>>>()<Agent.Client<number>>()
    // @ts-expect-error the schema is missing
    const forgotten: Effect.Effect<Agent.Client<typeof Sum.Type>, never, Services> = Agent.make({ instructions: "" })
    // @ts-expect-error the schema is missing
    const layer = Layer.effect(Summing, Agent.make({ instructions: "" }))
    // @ts-expect-error the schema is of another type
    const other: Effect.Effect<Agent.Client<number>, never, Services> = Agent.make({ instructions: "", output: Sum })
    // @ts-expect-error a promise is no schema
    Agent.make({ instructions: "", output: Promise.resolve(Sum) })
    return { typed, forgotten, layer, other }
  },

  // options have a type before the agent is made: a wrapper's answers are those of its options
  wrappersKeepTheAnswer: (
    sums: Agent.Options<{}, { readonly total: number }>,
    texts: Agent.Options<{}, string>,
    either: Agent.Options<{}, string | { readonly total: number }>
  ) => {
    const Sum = Schema.Struct({ total: Schema.Finite })
    type Sum = typeof Sum.Type
    const given = Agent.make(sums)
    same<typeof given>()<Effect.Effect<Agent.Client<Sum>, never, Services>>()
    const named = Agent.make({ ...sums, name: "sums" })
    same<typeof named>()<typeof given>()
    class Summing extends Agent.Service<Summing>()("test/Summing", sums) {}
    same<(typeof Summing)["Service"]>()<Agent.Client<Sum>>()
    const text = Agent.make(texts)
    same<Effect.Success<typeof text>>()<Agent.Client<string>>()
    const perhaps = Agent.make(either)
    same<Effect.Success<typeof perhaps>>()<Agent.Client<string | Sum>>()
    const explicit = Agent.make<{}, Sum>({ instructions: "", output: Sum })
    same<Effect.Success<typeof explicit>>()<Agent.Client<Sum>>()

    const wrap = <Tools extends Record<string, Tool.Any>, A, E, R>(options: Agent.Options<Tools, A, E, R>) =>
      Agent.make({ ...options, name: "wrapped" })
    const wrapped = wrap({ instructions: "", toolkit: Kit, output: Sum })
    same<typeof wrapped>()<
      Effect.Effect<Agent.Client<Sum>, never, Services | Tool.HandlersFor<typeof Kit.tools>>
    >()
    const rewritten = <A>(options: Agent.Options<{}, A>) => Agent.make({ ...options, instructions: "" })
    same<ReturnType<typeof rewritten<Sum>>>()<typeof given>()
    const unchanged = <A>(options: Agent.Options<{}, A>) => Agent.make(options)
    same<ReturnType<typeof unchanged<Sum>>>()<typeof given>()
    const failing = wrap({ instructions: "", toolkit: Effect.fail("down" as const), output: Sum })
    same<Effect.Error<typeof failing>>()<"down">()
    const service = <A>(options: Agent.Options<{}, A>) => {
      class Made extends Agent.Service<Made>()("test/Made", options) {}
      return Made
    }
    const Made = service({ instructions: "", output: Sum })
    same<(typeof Made)["Service"]>()<Agent.Client<Sum>>()
    const wrapText = <A = string>(options: Agent.Options<{}, A>) => Agent.make({ ...options, name: "wrapped" })
    const wrappedText = wrapText({ instructions: "" })
    same<Effect.Success<typeof wrappedText>>()<Agent.Client<string>>()
    // @ts-expect-error the schema is missing
    const missing: Agent.Options<{}, Sum> = { instructions: "" }
    // @ts-expect-error the schema is missing
    Agent.make<{}, Sum>({ instructions: "" })
    // @ts-expect-error the schema is missing
    Agent.Service<Summing>()<"test/Summing", {}, Sum>("test/Summing", { instructions: "" })
    // @ts-expect-error the schema is missing
    const wrong: Effect.Effect<Agent.Client<Sum>, never, Services> = wrapText({ instructions: "" })
    // @ts-expect-error text is no answer of every type
    const anything = <A>(): Effect.Effect<Agent.Client<A>, never, Services> => Agent.make({ instructions: "" })
    return { missing, wrong, anything }
  }
}

it("compiles", () => {})
