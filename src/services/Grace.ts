/**
 * How long the end of a run waits for what does not let itself be interrupted, and the way to leave it behind.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"

/** Default: 5 seconds. */
export const Grace = Context.Reference<Duration.Duration>("fiberloop/services/Grace", {
  defaultValue: () => Duration.seconds(5)
})

/**
 * Runs `self` on a fiber of its own, so that interrupting it cannot take longer than the grace period (`times` that
 * period): a cooperative `self` is awaited with its finalizers, another one is left running and `onLeak` says so.
 */
export const severed = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  onLeak: Effect.Effect<void>,
  times = 1
): Effect.Effect<A, E, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const grace = Duration.times(yield* Grace, times)
      const fiber = yield* Effect.forkDetach(restore(self))
      return yield* restore(Fiber.join(fiber)).pipe(Effect.onInterrupt(() => release(fiber, grace, onLeak)))
    })
  )

/** Awaits `self` at most the grace period, also where it cannot be interrupted; `None` when it was left running. */
export const within = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<Option.Option<Exit.Exit<A, E>>, never, R> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(self, { startImmediately: true })
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return Option.some(exit)
    return yield* Effect.timeoutOption(Fiber.await(fiber), yield* Grace)
  })

const release = (fiber: Fiber.Fiber<unknown, unknown>, grace: Duration.Duration, onLeak: Effect.Effect<void>) =>
  Effect.suspend(() => {
    fiber.interruptUnsafe()
    return Fiber.await(fiber).pipe(
      Effect.timeoutOption(grace),
      Effect.flatMap((exit) => Option.isNone(exit) ? onLeak : Effect.void)
    )
  })
