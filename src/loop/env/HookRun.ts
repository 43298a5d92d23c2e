/**
 * One run of a hook: its time limit, what a failure of it means, how long it took.
 *
 * Does not own what a hook is asked, nor what follows from its answer (`ModelHooks`, `ToolHooks`).
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import * as Foreign from "../../run/Foreign.ts"
import * as InputCheck from "../../run/InputCheck.ts"
import type * as RunEvent from "../../run/RunEvent.ts"
import type * as OpenCall from "../../run/state/OpenCall.ts"
import type * as ToolOutcome from "../../run/ToolOutcome.ts"
import * as Stopwatch from "../../services/fibers/Stopwatch.ts"
import type * as Hooks from "../../services/Hooks.ts"
import type * as ToolExecutor from "../../services/ToolExecutor.ts"
import * as Warning from "../../services/Warning.ts"
import * as AppCode from "./AppCode.ts"
import type * as Env from "./Env.ts"

type With<P extends Hooks.Point> = Hooks.Hook & { readonly [Q in P]: NonNullable<Hooks.Hook[Q]> }

export type ByPoint = { readonly [P in Hooks.Point]: ReadonlyArray<With<P>> }

/** The hooks of a drive, the time they took in the turn under way, where one ran, and the outcomes that they look at, by call id. */
export interface Hooking {
  readonly at: ByPoint
  times: Map<string, RunEvent.HookTime> | undefined
  held: Map<string, Held> | undefined
}

/** What is told of a call before hooks have seen it; `duration` is that of its handler, in milliseconds. */
export interface Told extends ToolExecutor.Settlement {
  readonly duration: number
}

/** An outcome that is not stored yet: `left` is what is stored of it where the drive ends now. */
export interface Held {
  /** as it was before its intent */
  readonly call: OpenCall.OpenCall
  readonly told: Told
  readonly left: ToolOutcome.ToolOutcome
  /** no guard may still withhold or change it */
  readonly isKnown: boolean
}

export const byPoint = (hooks: ReadonlyArray<Hooks.Hook>): ByPoint => {
  const at = <P extends Hooks.Point>(point: P) => hooks.filter((hook): hook is With<P> => hook[point] !== undefined)
  return {
    beforeModelCall: at("beforeModelCall"),
    afterModelCall: at("afterModelCall"),
    beforeToolCall: at("beforeToolCall"),
    afterToolCall: at("afterToolCall")
  }
}

/** What a hook answered, if anything. */
type Word<A> = { readonly _tag: "Given"; readonly value: A | undefined } | Broken

/** No usable answer: what was wrong, with what the hook failed with, if it did. A typed failure is how a guard blocks. */
export interface Broken {
  readonly _tag: "Broken"
  readonly why: string
  readonly isTyped?: boolean
  readonly thrown?: unknown
  /** what only the process's own log says of it */
  readonly warned?: string
}

const nothing: Word<never> = { _tag: "Given", value: undefined }

export interface Asked<P extends Hooks.Point, A extends object> {
  readonly hook: Hooks.Hook
  readonly on: P
  /** the turn or the call that it is about */
  readonly subject: string
  readonly ask: () => Effect.Effect<unknown, unknown>
  /** what it may return besides nothing, if anything: whatever else it returns is no usable answer */
  readonly gives: Schema.ConstraintDecoder<A, never> | undefined
}

/**
 * Never fails; only our interruption passes through. The hook runs on a fiber of its own, so that it may throw or return what is no
 * effect, and so that one that does not stop when told to can be left behind, and named.
 */
export const run = <P extends Hooks.Point, A extends object>(
  env: Env.Env,
  asked: Asked<P, A>
): Effect.Effect<Word<A>> =>
  Effect.suspend(() => {
    const { hook, on, subject } = asked
    const elapsed = Stopwatch.start(env.clock)
    const limit = Duration.fromInputUnsafe(hook.timeout ?? "10 seconds")
    return AppCode.within(env, `hook ${hook.name}`, `${on} ${subject}`, limit, Effect.suspend(() => started(asked)))
      .pipe(
        Effect.exit,
        Effect.flatMap((exit) => {
          addTime(env, hook.name, on, elapsed())
          const given = read(exit, asked, limit)
          if (given._tag === "Broken") return broken(asked, given)
          return Effect.succeed<Word<A>>(hook.kind === "observer" ? nothing : given)
        })
      )
  })

/** What untyped code returns may be no effect. */
const started = <P extends Hooks.Point, A extends object>({ ask }: Asked<P, A>): Effect.Effect<unknown, unknown> => {
  const asked = ask()
  return Foreign.isEffect(asked) ? asked : Effect.succeed(noEffect)
}

const noEffect: unique symbol = Symbol("no effect")

/** Warns of a hook that broke, unless it meant to block. An observer's word does not count. */
const broken = (
  { hook, on, subject }: Pick<Asked<Hooks.Point, object>, "hook" | "on" | "subject">,
  given: Broken
): Effect.Effect<Word<never>> => {
  const more = given.warned ?? Warning.saidOf(given.thrown)
  const what = `the hook "${hook.name}" ${given.why}${more} (${on} ${subject})`
  if (hook.kind === "observer") {
    return Effect.as(Warning.warn(`${what}; it is an observer, so this is ignored`), nothing)
  }
  return given.isTyped === true
    ? Effect.succeed(given)
    : Effect.as(Warning.warn(`${what}; it is a guard, so this blocks`), given)
}

const read = <A extends object>(
  exit: Exit.Exit<Option.Option<unknown>, unknown>,
  { gives, on }: Pick<Asked<Hooks.Point, A>, "gives" | "on">,
  limit: Duration.Duration
): Word<A> => {
  if (Exit.isFailure(exit)) {
    return { _tag: "Broken", why: "failed", isTyped: Cause.hasFails(exit.cause), thrown: Cause.squash(exit.cause) }
  }
  if (Option.isNone(exit.value)) {
    return { _tag: "Broken", why: `took more than ${Duration.toMillis(limit)} ms, its timeout` }
  }
  const { value } = exit.value
  if (value === noEffect) {
    return {
      _tag: "Broken",
      why: "failed",
      warned: ": it returned no Effect, such as Effect.void or Effect.promise(() => ...)"
    }
  }
  if (value === undefined) return nothing
  const usable = gives === undefined ? undefined : InputCheck.decodedWhole(value, gives)
  return usable === undefined
    ? { _tag: "Broken", why: "returned something that cannot be used", warned: `: it may return ${mayReturn[on]}` }
    : { _tag: "Given", value: usable }
}

const mayReturn: Record<Hooks.Point, string> = {
  beforeModelCall: "{ messages, tools }, either of them, or nothing",
  afterModelCall: "nothing; to block, it fails",
  beforeToolCall:
    "{ _tag: \"Change\", params }, { _tag: \"Deny\", reason }, { _tag: \"Answer\", result, content }, or nothing",
  afterToolCall: "{ outcome }, or nothing"
}

const addTime = ({ hooks }: Env.Env, hook: string, on: Hooks.Point, duration: number): void => {
  const times = hooks.times ??= new Map()
  const key = `${on} ${hook}`
  const before = times.get(key)
  times.set(key, { hook, on, calls: (before?.calls ?? 0) + 1, duration: (before?.duration ?? 0) + duration })
}

/** The times of the turn that is over, for its trace; there are none where no hook ran. */
export const takeTimes = ({ hooks }: Env.Env): { readonly hooks?: Array<RunEvent.HookTime> } => {
  const { times } = hooks
  if (times === undefined) return {}
  hooks.times = undefined
  return { hooks: [...times.values()] }
}
