/**
 * The front door: makes an agent, as a service with its layer or as a value; either way the result is a client.
 *
 * Does not own how a run goes; that is `loop`.
 */
import type * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as AgentContext from "./AgentContext.ts"
import * as AgentOptions from "./AgentOptions.ts"
import type { Client } from "./Client.ts"
import type * as Env from "./loop/env/Env.ts"
import * as Following from "./loop/start/Following.ts"
import * as Launch from "./loop/start/Launch.ts"
import * as Started from "./loop/start/Started.ts"
import { make as toRun, type Run } from "./Run.ts"
import type * as RunInput from "./run/RunInput.ts"
import * as ContextManager from "./services/ContextManager.ts"
import * as Model from "./services/Model.ts"
import * as Runs from "./services/Runs.ts"
import * as SessionStore from "./services/SessionStore.ts"
import type { ToolCall } from "./services/ToolCall.ts"
import * as ToolExecutor from "./services/ToolExecutor.ts"

export type { Run } from "./Run.ts"

export type { Options, Source } from "./AgentOptions.ts"
export type { Client, MessageOptions, Recovered } from "./Client.ts"
export { recovering } from "./Recovering.ts"

/** `never` for `any`, which means that the needs are not known. */
type Known<R> = 0 extends 1 & R ? never : R

/** What an agent needs: the services, and what its tools need, except the `ToolCall` that the executor provides. */
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
  options: AgentOptions.Options<Tools, A, E, R>
): Context.ServiceClass<Self, Id, Client<A>> & {
  readonly layer: Layer.Layer<Self, E, Requires<Tools, R>>
} => {
  const Base = Context.Service<Self, Client<A>>()(id)
  return Object.defineProperty(Base, "layer", {
    get: once((self: typeof Base) => Layer.effect(self, scoped(id, options))),
    configurable: true
  }) as never
}

/** One layer per class, so that it is built once however often it is provided. */
const once = <Self extends object, A>(make: (self: Self) => A) => {
  const made = new WeakMap<Self, A>()
  return function(this: Self): A {
    const known = made.get(this) ?? make(this)
    made.set(this, known)
    return known
  }
}

/** `instructions` is here too, because the compiler takes generic options for no type that has optional keys only. */
interface Named {
  readonly instructions: string
  readonly name?: string | undefined
}

/**
 * An agent without a class: one per tenant or connection, or with tools known only at run time. `name` (default "agent") is what logs
 * call it, and how `recover` finds its runs: give agents that share a store different names.
 */
export const make = <
  Tools extends Record<string, Tool.Any> = {},
  A = string,
  E = never,
  R = never
>(
  options: AgentOptions.Options<Tools, A, E, R> & Named
): Effect.Effect<Client<A>, E, Requires<Tools, R>> =>
  // untyped code may give none
  Effect.map(construct(options?.name ?? "agent", options), (made) => made.client)

/** Closing the scope aborts the agent's live runs before the layers below it close. */
const scoped = <Tools extends Record<string, Tool.Any>, A, E, R>(
  id: string,
  options: AgentOptions.Options<Tools, A, E, R>
) =>
  Effect.map(
    Effect.acquireRelease(construct(id, options), (made) => made.shutdown),
    (made) => made.client
  )

const construct = Effect.fnUntraced(function*<Tools extends Record<string, Tool.Any>, A, E, R>(
  name: string,
  options: AgentOptions.Options<Tools, A, E, R>
): Effect.fn.Return<
  { readonly client: Client<A>; readonly shutdown: Effect.Effect<void> },
  E,
  Requires<Tools, R>
> {
  yield* AgentOptions.check(options)
  const services: Env.Services = {
    model: yield* Model.Model,
    store: yield* SessionStore.SessionStore,
    executor: yield* ToolExecutor.ToolExecutor,
    context: yield* ContextManager.ContextManager,
    runs: yield* Runs.Runs
  }
  const handlers = yield* resolve(yield* AgentOptions.toolkit(options.toolkit))
  const definition = yield* AgentOptions.define(name, options, handlers)
  const launch = Launch.make(services, definition)
  const inContext = AgentContext.surround(yield* Effect.context<never>(), options)
  const start = (input: RunInput.RunInput, isWatched: boolean) => inContext(launch.start(input, isWatched))
  const resume = (input: RunInput.ResumeInput, isWatched: boolean) => inContext(launch.resume(input, isWatched))
  const queue: Client<A>["queue"] = (sessionId, kind, message, { id } = {}) =>
    inContext(launch.queue(sessionId, kind, message, id))
  const result = (starting: Started.Starting) => Started.held(starting, (run) => run.result as Run<A>["result"])
  // a run of another agent has an answer of another type
  const own = (run: Runs.LiveRun | undefined) => run?.agent === name ? toRun<A>(run) : undefined
  const held = (starting: Started.Starting) => Started.held(starting, (run) => Effect.succeed(toRun<A>(run)))

  return {
    client: {
      stream: (input) => Started.whileRead(start(input, true)),
      run: (input) => result(start(input, false)),
      start: (input) => held(start(input, true)),
      resume: (input) => Started.whileRead(resume(input, true)),
      resumeRun: (input) => result(resume(input, false)),
      resumeStart: (input) => held(resume(input, true)),
      recover: (input = {}) =>
        Effect.map(inContext(launch.recover(input)), (found) => ({ ...found, runs: found.runs.map(toRun<A>) })),
      approvals: (sessionId) => inContext(launch.approvals(sessionId)),
      decide: (decision) => inContext(launch.decide(decision)),
      steer: (sessionId, message, options) => Effect.flatten(queue(sessionId, "steer", message, options)),
      followUp: (sessionId, message, options) => Effect.flatten(queue(sessionId, "followUp", message, options)),
      queue,
      abort: (sessionId) => inContext(launch.abort(sessionId)),
      compact: (sessionId) => inContext(launch.compact(sessionId)),
      live: (runId, sessionId) => Effect.map(services.runs.live(runId, sessionId), own),
      liveIn: (sessionId) => Effect.map(services.runs.inSession(sessionId), own),
      follow: (sessionId, after = 0) => Following.follow(services, sessionId, after)
    },
    shutdown: launch.shutdown
  }
})

/** Resolves the handlers once, so that agents with equal tool names can live side by side. */
const resolve = <Tools extends Record<string, Tool.Any>, E, R>(
  source: AgentOptions.Source<Tools, E, R> | undefined
): Effect.Effect<ToolExecutor.Handlers, E, Requires<Tools, R>> => {
  const made = source === undefined ? noTools : Effect.isEffect(source) ? source : Effect.succeed(source)
  const handlers = made as Effect.Effect<ToolExecutor.Handlers, E, Requires<Tools, R>>
  // a toolkit is an effect with `tools`; what another effect makes may do more in its `handle` than call a handler
  return Effect.isEffect(source) && "tools" in source
    ? Effect.zipWith(handlers, Effect.context<never>(), (resolved, foundIn) => ({ ...resolved, foundIn }))
    : handlers
}

const noTools: Effect.Effect<ToolExecutor.Handlers> = Effect.succeed({
  tools: {},
  handle: () => Effect.die(new Error("fiberloop: an agent without tools has nothing to run"))
})
