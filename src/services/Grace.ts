/**
 * How long the end of a run waits for what does not let itself be interrupted, and the way to leave it behind.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"

/** Default: 5 seconds. */
export const Grace = Context.Reference<Duration.Duration>("fiberloop/services/Grace", {
  defaultValue: () => Duration.seconds(5)
})

/** How long to wait in periods of grace, and what ends the wait for what does not end at once: a limit of time. */
export interface Severing<B, E2> {
  readonly times?: number
  readonly limit?: Effect.Effect<B, E2>
}

/**
 * Runs `self` on a fiber of its own, so that interrupting it cannot take longer than the grace period (`times` that
 * period): a cooperative `self` is awaited with its finalizers, another one is left running and `onLeak` says so. What ends
 * without waiting for anything costs no more than that fiber.
 */
export const severed = <A, E, R, B = never, E2 = never>(
  self: Effect.Effect<A, E, R>,
  onLeak: Effect.Effect<void>,
  severing?: Severing<B, E2>
): Effect.Effect<A | B, E | E2, R> =>
  Effect.uninterruptibleMask((restore) => {
    const fiber = start(self, contextHere() as Context.Context<R>)
    return fiber.pollUnsafe() ?? join(fiber, restore, onLeak, severing)
  })

/** The context of the fiber that runs this code; there must be one. */
export const contextHere = (): Context.Context<never> => Fiber.getCurrent()!.context

/** A fiber that nothing else ends; `self` has begun, and is over where it waits for nothing, unless the fiber yields before. */
export const start = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  context: Context.Context<R>,
  options?: { readonly uninterruptible: boolean }
): Fiber.Fiber<A, E> => Effect.runForkWith(context)(self, options)

/**
 * Awaits a fiber that was started where only `restore` lets an interruption in, and ends it as `severed` does. Called by code
 * that a fiber runs, as `contextHere`.
 */
export const join = <A, E, B = never, E2 = never>(
  fiber: Fiber.Fiber<A, E>,
  restore: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>,
  onLeak: Effect.Effect<void>,
  { limit, times = 1 }: Severing<B, E2> = {}
): Effect.Effect<A | B, E | E2> => {
  const timer = limit === undefined ? undefined : start(limit, contextHere())
  const first = Effect.callback<A | B, E | E2>((resume) => {
    const forget = [fiber.addObserver(resume), timer?.addObserver(resume)]
    return Effect.sync(() => forget.forEach((_) => _?.()))
  })
  // also where the wait was cut off before it began
  return Effect.onExitPrimitive(restore(first), () => {
    timer?.interruptUnsafe()
    return release(fiber, times, onLeak)
  })
}

/** Awaits `self` at most the grace period, also where it cannot be interrupted; `None` when it was left running. */
export const within = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<Option.Option<Exit.Exit<A, E>>, never, R> =>
  Effect.contextWith((context: Context.Context<R>) => {
    const fiber = start(self, context)
    const exit = fiber.pollUnsafe()
    return exit === undefined ? wait(fiber) : Effect.succeed(Option.some(exit))
  })

/** Awaits a fiber at most so many grace periods, and does nothing to it. */
export const wait = <A, E>(fiber: Fiber.Fiber<A, E>, times = 1): Effect.Effect<Option.Option<Exit.Exit<A, E>>> =>
  Effect.flatMap(Grace, (period) => Effect.timeoutOption(Fiber.await(fiber), Duration.times(period, times)))

/** Closes a scope and awaits its finalizers at most the grace period; `false` when they were left running. */
export const close = (scope: Scope.Closeable, exit: Exit.Exit<unknown, unknown>): Effect.Effect<boolean> =>
  Effect.suspend(() => closing(scope, exit) ?? Effect.succeed(true))

/**
 * Closes a scope; gives the wait of `close` for its finalizers, and nothing where there is nothing to wait for. Called by
 * code that a fiber runs, as `contextHere`.
 */
export const closing = (
  scope: Scope.Closeable,
  exit: Exit.Exit<unknown, unknown>
): Effect.Effect<boolean> | undefined => {
  const finalizers = Scope.closeUnsafe(scope, exit)
  if (finalizers === undefined || Exit.isExit(finalizers)) return undefined
  const fiber = start(finalizers, contextHere())
  return fiber.pollUnsafe() === undefined ? Effect.map(wait(fiber), Option.isSome) : undefined
}

/** Ends what has not; nothing where there is nothing to wait for. */
const release = (
  fiber: Fiber.Fiber<unknown, unknown>,
  times: number,
  onLeak: Effect.Effect<void>
): Effect.Effect<void> | undefined => {
  if (fiber.pollUnsafe() !== undefined) return undefined
  fiber.interruptUnsafe()
  // what ends at once arms no timer
  if (fiber.pollUnsafe() !== undefined) return undefined
  return Effect.flatMap(Grace, (grace) =>
    Fiber.await(fiber).pipe(
      Effect.timeoutOption(Duration.times(grace, times)),
      Effect.flatMap((exit) => Option.isNone(exit) ? onLeak : Effect.void)
    ))
}
