/**
 * The context that an agent's drives work in: what its options say, then the caller's references, then those of its layer; of limits
 * and time limits each by itself. Hooks and observers of all three add up. The services that tools depend on are always the layer's own.
 *
 * Does not own what a drive looks up there, nor the defaults (`loop/env/Settings`).
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Tracer from "effect/Tracer"
import * as Stop from "./loop/drive/Stop.ts"
import * as CallAround from "./loop/env/CallAround.ts"
import * as ContextManager from "./services/ContextManager.ts"
import * as Hooks from "./services/Hooks.ts"
import * as Limits from "./services/Limits.ts"
import * as Model from "./services/Model.ts"
import * as Observers from "./services/Observers.ts"
import * as RetryPolicy from "./services/RetryPolicy.ts"
import * as Runs from "./services/Runs.ts"
import * as SessionStore from "./services/SessionStore.ts"
import * as Timeouts from "./services/Timeouts.ts"
import { ToolCall } from "./services/ToolCall.ts"
import * as ToolExecutor from "./services/ToolExecutor.ts"

/** Keys that belong to the caller, not to a layer: time, tracing, logging, scopes, and settings, including ours. */
const ambient: ReadonlyArray<string> = [
  "fiberloop",
  "effect/Clock",
  "effect/ConfigProvider",
  "effect/Console",
  "effect/Layer",
  "effect/LogLevel",
  "effect/Logger",
  "effect/Metric",
  "effect/Random",
  "effect/References",
  "effect/Scheduler",
  "effect/Scope",
  "effect/Tracer",
  "effect/testing"
]

/** Our keys that are not settings. */
const services: ReadonlySet<string> = new Set(
  [Model.Model, SessionStore.SessionStore, ToolExecutor.ToolExecutor, ContextManager.ContextManager, Runs.Runs]
    .map(({ key }) => key)
)

/** `effect/Tracer` also covers `effect/Tracer/ParentSpan`, but not `effect/TracerX`. */
const isAmbient = (key: string): boolean =>
  !services.has(key) && ambient.some((name) => key.startsWith(name) && !/\w/.test(key.charAt(name.length)))

/** What belongs to the moment at which the layer was built, also inside a tool's handler; not passed on. */
const ofBuilding: ReadonlySet<string> = new Set(
  [Scope.Scope, Tracer.ParentSpan, ToolCall, CallAround.DriveBudget, Stop.DriveAround].map(({ key }) => key)
)

/** Settings with fields that are each set by themselves. */
const withFields: ReadonlySet<string> = new Set([Limits.Limits.key, Timeouts.Timeouts.key])

/** What an agent's own options add to the context of its drives. */
interface Options {
  readonly retry?: RetryPolicy.RetryPolicy | undefined
  readonly hooks?: ReadonlyArray<Hooks.Hook> | undefined
}

/** Runs an effect in the context of an agent that has these options and was made in the context `layer`. */
export const surround = (layer: Context.Context<never>, options: Options) => {
  const own = ownOf(layer, options)
  /** by the caller's context, which never changes: most callers have one for all their runs */
  const known = new WeakMap<Context.Context<never>, Context.Context<never>>()
  return <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.updateContext(self, (caller: Context.Context<R>) => {
      const made = known.get(caller)
      if (made !== undefined) return made as Context.Context<R>
      const merged = around(own, caller)
      known.set(caller, merged)
      return merged as Context.Context<R>
    })
}

interface Entry {
  readonly key: Context.Key<never, unknown>
  readonly value: unknown
}

/** What an agent adds to a caller's context. */
interface Own {
  /** used where the caller has no value */
  readonly below: ReadonlyArray<Entry>
  /** used whatever the caller has */
  readonly above: ReadonlyArray<Entry>
  /** those of `below` whose fields are used where the caller's value lacks them */
  readonly byField: ReadonlyArray<Entry>
  readonly hooks: ReadonlyArray<Hooks.Hook>
  readonly observers: ReadonlyArray<Observers.Observer>
}

const ownOf = (layer: Context.Context<never>, { hooks = [], retry }: Options): Own => {
  const pick = (keep: (key: string) => boolean): ReadonlyArray<Entry> =>
    [...layer.mapUnsafe].filter(([key]) => keep(key)).map(([key, value]) => ({ key: Context.Service(key), value }))
  const owned = pick((key) => !isAmbient(key))
  const below = pick((key) => isAmbient(key) && !ofBuilding.has(key))
  return {
    below,
    byField: below.filter(({ key }) => withFields.has(key.key)),
    above: retry === undefined ? owned : [...owned, { key: RetryPolicy.RetryPolicy, value: retry }],
    hooks: together([...new Set(hooks)], Context.get(layer, Hooks.Hooks)),
    observers: together([], Context.get(layer, Observers.Observers))
  }
}

/** Marks what a context does not have; `undefined` may be a value. */
const absent = Symbol()

/** A caller's context with what the agent adds; the caller's own object when that changes nothing. */
const around = (
  { above, below, byField, hooks, observers }: Own,
  caller: Context.Context<never>
): Context.Context<never> => {
  const ofCaller = ({ key }: Entry): unknown => Context.getOrElse(caller, key, () => absent)
  const partly = byField.filter((entry) => ![absent, entry.value].includes(ofCaller(entry)))
  const missing = [
    ...below.filter((entry) => ofCaller(entry) === absent),
    ...partly.map((entry) => ({ ...entry, value: filled(entry.value, ofCaller(entry)) })),
    ...above.filter((entry) => ofCaller(entry) !== entry.value)
  ]
  let merged = missing.length === 0
    ? caller
    : Context.merge(caller, Context.makeUnsafe(new Map(missing.map(({ key, value }) => [key.key, value]))))
  const allHooks = together(hooks, Context.get(caller, Hooks.Hooks))
  if (!isEmpty(allHooks)) merged = Context.add(merged, Hooks.Hooks, allHooks)
  const allObservers = together(observers, Context.get(caller, Observers.Observers))
  if (!isEmpty(allObservers)) merged = Context.add(merged, Observers.Observers, allObservers)
  return merged
}

/**
 * What `over` sets, and the rest of `base`; `tools`, which has a field for each tool, likewise. Where untyped code gave something else
 * than fields, that: it is refused when it is looked up.
 */
const filled = (base: unknown, over: unknown): unknown => {
  if (!hasFields(base) || !hasFields(over)) return over
  const set = Object.fromEntries(Object.entries(over).filter(([, value]) => value !== undefined))
  const tools = "tools" in base && "tools" in set ? { tools: filled(base["tools"], set["tools"]) } : {}
  return { ...base, ...set, ...tools }
}

const hasFields = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/**
 * Both lists, each item once, in order; `ours` has no duplicates. Where untyped code gave something else than a list, that: it is
 * refused when it is looked up.
 */
const together = <A>(ours: ReadonlyArray<A>, theirs: ReadonlyArray<A>): ReadonlyArray<A> => {
  if (!Array.isArray(ours)) return ours
  if (!Array.isArray(theirs)) return theirs
  return theirs.length === 0 ? ours : [...new Set([...ours, ...theirs])]
}

const isEmpty = (list: ReadonlyArray<unknown>): boolean => Array.isArray(list) && list.length === 0
