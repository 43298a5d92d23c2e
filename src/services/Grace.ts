/**
 * How long the end of a run waits for what does not let itself be interrupted, and the way to leave it behind; the same for what
 * takes longer than its time limit.
 *
 * Does not own how time passes (`Alarm`), nor the names of what was left behind (`LeaveBehind`).
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Alarm from "./Alarm.ts"

/** Default: 5 seconds. */
export const Grace = Context.Reference<Duration.Duration>("fiberloop/services/Grace", {
  defaultValue: () => Duration.seconds(5)
})

/** How long a wait may take, and what comes of it where it takes longer; that may depend on how it ended. */
export interface Limit<B, E> {
  readonly millis: number
  /** asked once they are over: how many more there are by now, or what comes of it */
  readonly over: () => number | ((isLeftBehind: boolean) => Effect.Effect<B, E>)
}

/**
 * Runs `self` on a fiber of its own, so that neither interrupting it nor its time limit can take longer than the grace period:
 * a cooperative `self` is awaited with its finalizers, another one is left running and `onLeak` says so. What ends without
 * waiting for anything costs no more than that fiber.
 */
export const severed = <A, E, R, B = never, E2 = never>(
  self: Effect.Effect<A, E, R>,
  onLeak: Effect.Effect<void>,
  limit?: () => Limit<B, E2>
): Effect.Effect<A | B, E | E2, R> =>
  Effect.callback((resume) => {
    const fiber = start(self, contextHere() as Context.Context<R>)
    const exit = fiber.pollUnsafe()
    return exit !== undefined ? resume(exit) : awaiting(fiber, resume, resume, onLeak, limit)
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
 * Waits in an `Effect.callback` for a fiber that is not over, with its exit for `onExit`, or what comes of its time limit for
 * `onLate`; gives what an interruption does, which ends the fiber as `severed` does.
 */
export const awaiting = <A, E, B, E2>(
  fiber: Fiber.Fiber<A, E>,
  onExit: (exit: Exit.Exit<A, E>) => void,
  onLate: (late: Effect.Effect<B, E2>) => void,
  onLeak: Effect.Effect<void>,
  limit?: () => Limit<B, E2>
): Effect.Effect<unknown> => {
  const here = Fiber.getCurrent()!
  let alarm: Alarm.Armed | undefined
  const arm = (millis: number, over: Limit<B, E2>["over"]) => {
    alarm = Alarm.set(here, millis, () => {
      const late = over()
      if (typeof late === "number") arm(late, over)
      else onLate(Effect.flatMap(Effect.uninterruptible(ended), late))
    })
  }
  let isEnding = false
  const ended = Effect.suspend(() => {
    Alarm.callOff(alarm)
    // once, also where an interruption comes behind a limit
    if (isEnding) return stopped
    isEnding = true
    return release(fiber, onLeak)
  })
  if (limit !== undefined) {
    const { millis, over } = limit()
    arm(millis, over)
  }
  fiber.addObserver((exit) => {
    Alarm.callOff(alarm)
    onExit(exit)
  })
  return ended
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

/** Ends what has not; `true` where it was left behind. */
const release = (fiber: Fiber.Fiber<unknown, unknown>, onLeak: Effect.Effect<void>): Effect.Effect<boolean> => {
  fiber.interruptUnsafe()
  // what ends at once arms no timer
  if (fiber.pollUnsafe() !== undefined) return stopped
  return Effect.flatMap(Grace, (grace) =>
    Effect.flatMap(
      Effect.timeoutOption(Fiber.await(fiber), grace),
      (exit) => Option.isNone(exit) ? Effect.as(onLeak, true) : stopped
    ))
}

const stopped = Effect.succeed(false)
