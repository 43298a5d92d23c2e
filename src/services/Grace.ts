/**
 * How long the end of a run waits for work that does not let itself be interrupted, and the waits that this limits.
 *
 * Does not own what happens to the work after that: it goes on, unless the waiter ends it, as `Leavable` does.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Detached from "./fibers/Detached.ts"

/** Default: 5 seconds. */
export const Grace = Context.Reference<Duration.Duration>("fiberloop/services/Grace", {
  defaultValue: () => Duration.seconds(5)
})

/** Awaits `self` for at most the grace period, even if it cannot be interrupted; `None` when it was left running. */
export const within = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<Option.Option<Exit.Exit<A, E>>, never, R> =>
  Effect.contextWith((context: Context.Context<R>) => {
    const fiber = Detached.start(self, context)
    const exit = fiber.pollUnsafe()
    return exit === undefined ? wait(fiber) : Effect.succeed(Option.some(exit))
  })

/** Awaits a fiber for at most `times` grace periods, and does nothing to it. */
export const wait = <A, E>(fiber: Fiber.Fiber<A, E>, times = 1): Effect.Effect<Option.Option<Exit.Exit<A, E>>> =>
  Effect.flatMap(Grace, (period) => Effect.timeoutOption(Fiber.await(fiber), Duration.times(period, times)))

/** Closes a scope and awaits its finalizers for at most the grace period; `false` when they were left running. */
export const close = (scope: Scope.Closeable, exit: Exit.Exit<unknown, unknown>): Effect.Effect<boolean> =>
  Effect.suspend(() => closing(scope, exit) ?? Effect.succeed(true))

/**
 * Closes a scope. Returns the wait of `close` for its finalizers, or `undefined` when there is nothing to wait for. Only
 * for code that a fiber runs, as `Detached.contextHere`.
 */
export const closing = (
  scope: Scope.Closeable,
  exit: Exit.Exit<unknown, unknown>
): Effect.Effect<boolean> | undefined => {
  const finalizers = Scope.closeUnsafe(scope, exit)
  if (finalizers === undefined || Exit.isExit(finalizers)) return undefined
  const fiber = Detached.startHere(finalizers)
  return fiber.pollUnsafe() === undefined ? Effect.map(wait(fiber), Option.isSome) : undefined
}
