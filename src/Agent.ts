/**
 * The front door: an agent as a service with its layer, or as a value, and the client that both give.
 *
 * Does not own how a run goes; that is `loop`.
 */
import type * as Tool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as AgentContext from "./AgentContext.ts"
import type { Client } from "./Client.ts"
import type * as Definition from "./loop/env/Definition.ts"
import type * as Env from "./loop/env/Env.ts"
import * as FinalAnswer from "./loop/start/FinalAnswer.ts"
import * as Launch from "./loop/start/Launch.ts"
import * as Started from "./loop/start/Started.ts"
import { make as toRun, type Run } from "./Run.ts"
import * as InputCheck from "./run/InputCheck.ts"
import type * as RunError from "./run/RunError.ts"
import type * as RunInput from "./run/RunInput.ts"
import type * as RunPolicy from "./run/RunPolicy.ts"
import * as ContextManager from "./services/ContextManager.ts"
import type * as Hooks from "./services/Hooks.ts"
import * as Model from "./services/Model.ts"
import type * as PrepareTurn from "./services/PrepareTurn.ts"
import type * as RetryPolicy from "./services/RetryPolicy.ts"
import * as Runs from "./services/Runs.ts"
import * as SessionStore from "./services/SessionStore.ts"
import * as StopWhen from "./services/StopWhen.ts"
import type { ToolCall } from "./services/ToolCall.ts"
import * as ToolExecutor from "./services/ToolExecutor.ts"

export type { Run } from "./Run.ts"

export type { Client } from "./Client.ts"

/** A toolkit, one with its handlers, or an effect that makes one (MCP, per tenant). */
export type Source<Tools extends Record<string, Tool.Any>, E, R> =
  | Toolkit.Toolkit<Tools>
  | Toolkit.WithHandler<Tools>
  | Effect.Effect<Toolkit.WithHandler<Tools>, E, R>

/** What an agent is. Wrong values are a defect when it is made. */
export interface Options<Tools extends Record<string, Tool.Any>, A, E = never, R = never> {
  /** the system message; a run's `instructions` replace it */
  readonly instructions: string
  /** what the model may call; default no tools */
  readonly toolkit?: Source<Tools, E, R> | undefined
  /** Types `output` of a completed run: the final answer is decoded, a wrong one gets one corrective turn. */
  readonly output?: Schema.ConstraintCodec<A, unknown, never, never> | undefined
  /** Of each run. Default: those of the Reference `Limits`, else 20 turns, 20 errors and 3 compactions in a row. */
  readonly limits?: RunPolicy.LimitsInput | undefined
  /** Which tools are offered and how their calls run. Default: all, one after the other; a call that fails ends no run. */
  readonly toolPolicy?: RunPolicy.ToolPolicyInput | undefined
  /**
   * The same calls with the same results `after` times in a row (2 to 20, default 3) are a loop: the model is told, and once
   * more ends the run `limited`. Calls of `exempt` tools are passed over. `false`: no loops. Wrong values are a defect.
   */
  readonly doomLoop?:
    | { readonly after?: number | undefined; readonly exempt?: ReadonlyArray<keyof NoInfer<Tools>> | undefined }
    | false
    | undefined
  /**
   * Of single steps. Default: those of the Reference `Timeouts`, else 120 s a model call, 60 s a gap in it, 120 s a tool
   * (or what `tools` says of one), 10 min a strategy's compaction.
   */
  readonly timeouts?: RunPolicy.TimeoutsInput<keyof NoInfer<Tools> & string> | undefined
  /** Of failed model calls. Default: the Reference `RetryPolicy`, else 3 retries, 1 s doubling to 10 s. */
  readonly retry?: RetryPolicy.RetryPolicy | undefined
  /** Guards and observers, in order, before those of the Reference `Hooks`; one that blocks a run fails it: `HookBlocked`. */
  readonly hooks?: ReadonlyArray<Hooks.Hook> | undefined
  /**
   * Asked after each turn, with its message and the outcomes of its calls: `true` completes the run with `stopWhen`. With
   * an `output` schema the turn's text must fit it, else the run fails with `InvalidOutput`. A condition that throws, fails or
   * takes longer than a tool may ends the run with `HookBlocked`. Default: never.
   */
  readonly stopWhen?: StopWhen.Condition<StopWhen.Turn> | undefined
  /**
   * Asked with the calls of a message before any of them runs: `true` settles them all as not executed and completes the
   * run with `stopBefore`. Otherwise as `stopWhen`.
   */
  readonly stopBefore?: StopWhen.Condition<StopWhen.Round> | undefined
  /**
   * Asked before each turn: may narrow its tools, say whether they must be called, and replace its instructions. Throwing,
   * failing, or taking longer than a tool may ends the run with `HookBlocked`. Default: every turn is the same.
   */
  readonly prepareTurn?: PrepareTurn.PrepareTurn<Extract<keyof NoInfer<Tools>, string>> | undefined
}

const optionNames: Record<keyof Options<{}, unknown> | "name", true> = {
  name: true,
  instructions: true,
  toolkit: true,
  output: true,
  limits: true,
  toolPolicy: true,
  doomLoop: true,
  timeouts: true,
  retry: true,
  hooks: true,
  stopWhen: true,
  stopBefore: true,
  prepareTurn: true
}

/** Nothing for `any`, which stands for needs that nobody knows. */
type Known<R> = 0 extends 1 & R ? never : R

/** What an agent needs: the services, and what its tools need, but for the `ToolCall` that the executor provides. */
export type Requires<Tools extends Record<string, Tool.Any>, R> =
  | Model.Model
  | SessionStore.SessionStore
  | ToolExecutor.ToolExecutor
  | ContextManager.ContextManager
  | Runs.Runs
  | Known<R>
  | Exclude<Known<Tool.HandlerServices<Tools[keyof Tools]>>, ToolCall>

/**
 * An agent as a service with its layer:
 * `class Assistant extends Agent.Service<Assistant>()("app/Assistant", { instructions, toolkit }) {}`.
 */
export const Service = <Self>() =>
<
  const Id extends string,
  Tools extends Record<string, Tool.Any> = {},
  A = string,
  E = never,
  R = never
>(
  id: Id,
  options: Options<Tools, A, E, R>
): Context.ServiceClass<Self, Id, Client<A>> & { readonly layer: Layer.Layer<Self, E, Requires<Tools, R>> } => {
  const Base = Context.Service<Self, Client<A>>()(id)
  return Object.defineProperty(Base, "layer", {
    get: once((self: typeof Base) => Layer.effect(self, scoped(id, options))),
    configurable: true
  }) as never
}

/** One layer for each class, so that it is built once however often it is provided. */
const once = <Self extends object, A>(make: (self: Self) => A) => {
  const made = new WeakMap<Self, A>()
  return function(this: Self): A {
    const known = made.get(this) ?? make(this)
    made.set(this, known)
    return known
  }
}

/** An agent without a class: made per tenant, per connection, or from tools known only at run time. */
export const make = <
  Tools extends Record<string, Tool.Any> = {},
  A = string,
  E = never,
  R = never
>(
  options: Options<Tools, A, E, R> & { readonly name?: string | undefined }
): Effect.Effect<Client<A>, E, Requires<Tools, R>> =>
  Effect.map(construct(options.name ?? "agent", options), (made) => made.client)

/** Closing the scope aborts the agent's live runs before the layers below it close. */
const scoped = <Tools extends Record<string, Tool.Any>, A, E, R>(id: string, options: Options<Tools, A, E, R>) =>
  Effect.map(
    Effect.acquireRelease(construct(id, options), (made) => made.shutdown),
    (made) => made.client
  )

const construct = Effect.fnUntraced(function*<Tools extends Record<string, Tool.Any>, A, E, R>(
  name: string,
  options: Options<Tools, A, E, R>
): Effect.fn.Return<
  { readonly client: Client<A>; readonly shutdown: Effect.Effect<void> },
  E,
  Requires<Tools, R>
> {
  yield* orDefect(InputCheck.noOthers("an agent", options, optionNames))
  const services: Env.Services = {
    model: yield* Model.Model,
    store: yield* SessionStore.SessionStore,
    executor: yield* ToolExecutor.ToolExecutor,
    context: yield* ContextManager.ContextManager,
    runs: yield* Runs.Runs
  }
  const handlers = yield* resolve(options.toolkit)
  const tools = Object.keys(handlers.tools)
  for (const rule of ["stopWhen", "stopBefore"] as const) {
    yield* orDefect(InputCheck.names(rule, StopWhen.toolsOf(options[rule]), tools))
  }
  const definition: Definition.Definition = {
    name,
    instructions: options.instructions,
    handlers,
    timeouts: yield* orDefect(InputCheck.timeouts(options.timeouts ?? {}, tools)),
    output: options.output === undefined ? undefined : FinalAnswer.make(options.output),
    rules: {
      stopWhen: options.stopWhen,
      stopBefore: options.stopBefore,
      prepareTurn: options.prepareTurn as PrepareTurn.PrepareTurn | undefined
    },
    limits: yield* orDefect(InputCheck.limits(options.limits ?? {})),
    toolPolicy: yield* orDefect(InputCheck.policy(options.toolPolicy ?? {}, tools)),
    doomLoop: yield* orDefect(InputCheck.doomLoop(options.doomLoop, tools))
  }
  const launch = Launch.make(services, definition)
  const inContext = AgentContext.surround(yield* Effect.context<never>(), options)
  const start = (input: RunInput.RunInput, isWatched: boolean) => inContext(launch.start(input, isWatched))
  const resume = (input: RunInput.ResumeInput, isWatched: boolean) => inContext(launch.resume(input, isWatched))
  const result = (starting: Started.Starting) => Started.held(starting, (run) => run.result as Run<A>["result"])
  const held = (starting: Started.Starting) => Started.held(starting, (run) => Effect.succeed(toRun<A>(run)))

  return {
    client: {
      stream: (input) => Started.whileRead(start(input, true)),
      run: (input) => result(start(input, false)),
      start: (input) => held(start(input, true)),
      resume: (input) => Started.whileRead(resume(input, true)),
      resumeRun: (input) => result(resume(input, false)),
      resumeStart: (input) => held(resume(input, true)),
      approvals: (sessionId) => inContext(launch.approvals(sessionId)),
      decide: (decision) => inContext(launch.decide(decision)),
      compact: (sessionId) => inContext(launch.compact(sessionId)),
      live: (runId, sessionId) => Effect.map(services.runs.live(runId, sessionId), found<A>),
      liveIn: (sessionId) => Effect.map(services.runs.inSession(sessionId), found<A>)
    },
    shutdown: launch.shutdown
  }
})

const found = <A>(run: Runs.LiveRun | undefined): Run<A> | undefined => run === undefined ? undefined : toRun<A>(run)

/** What an agent is made with is the programmer's: wrong values are a defect when it is made. */
const orDefect = <A>(checked: Result.Result<A, RunError.RunError>): Effect.Effect<A> =>
  Effect.orDie(Effect.fromResult(checked))

/** Resolves the handlers, once: agents with equal tool names live side by side. */
const resolve = <Tools extends Record<string, Tool.Any>, E, R>(
  source: Source<Tools, E, R> | undefined
): Effect.Effect<ToolExecutor.Handlers, E, Requires<Tools, R>> => {
  const made = source === undefined ? noTools : Effect.isEffect(source) ? source : Effect.succeed(source)
  const handlers = made as Effect.Effect<ToolExecutor.Handlers, E, Requires<Tools, R>>
  // a toolkit is an effect that has tools; what other effects make may do more in its `handle` than call a handler
  return Effect.isEffect(source) && "tools" in source
    ? Effect.zipWith(handlers, Effect.context<never>(), (resolved, foundIn) => ({ ...resolved, foundIn }))
    : handlers
}

const noTools: Effect.Effect<ToolExecutor.Handlers> = Effect.succeed({
  tools: {},
  handle: () => Effect.die(new Error("fiberloop: an agent without tools has nothing to run"))
})
