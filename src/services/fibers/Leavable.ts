/**
 * A wait for work that may not let itself be interrupted: ending it, by an interruption or a time limit, takes at most the
 * grace period; after that the work is left running.
 *
 * Does not own how long that is (`Grace`), how time passes (`Alarm`), nor the names of what was left behind (`LeaveBehind`).
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Grace from "../Grace.ts"
import * as Alarm from "./Alarm.ts"
import * as Detached from "./Detached.ts"

/** How long a wait may take, and what comes of it if it takes longer; that may depend on how the work ended. */
export interface Limit<B, E> {
  readonly millis: number
  /** asked once they have passed: how many more there are by now, or what comes of it */
  readonly over: () => number | ((isLeftBehind: boolean) => Effect.Effect<B, E>)
}

/**
 * Runs `self` on a fiber of its own, so that neither interrupting it nor its time limit can take longer than the grace period:
 * a cooperative `self` is awaited with its finalizers, any other is left running and `onLeftBehind` reports it. If `self` ends
 * without waiting for anything, this costs no more than that fiber.
 */
export const run = <A, E, R, B = never, E2 = never>(
  self: Effect.Effect<A, E, R>,
  onLeftBehind: Effect.Effect<void>,
  limit?: () => Limit<B, E2>
): Effect.Effect<A | B, E | E2, R> =>
  Effect.callback((resume) => {
    const fiber = Detached.start(self, Detached.contextHere() as Context.Context<R>)
    const exit = fiber.pollUnsafe()
    return exit !== undefined ? resume(exit) : awaiting(fiber, resume, resume, onLeftBehind, limit)
  })

/**
 * Waits in an `Effect.callback` for a fiber that is not over: passes its exit to `onExit`, or what comes of its time limit to
 * `onLate`. Returns what an interruption does, which ends the fiber as `run` does.
 */
export const awaiting = <A, E, B, E2>(
  fiber: Fiber.Fiber<A, E>,
  onExit: (exit: Exit.Exit<A, E>) => void,
  onLate: (late: Effect.Effect<B, E2>) => void,
  onLeftBehind: Effect.Effect<void>,
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
    // only once, even if an interruption comes after a limit
    if (isEnding) return stopped
    isEnding = true
    return release(fiber, onLeftBehind)
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

/** Ends the fiber if it has not ended; `true` if it was left behind. */
const release = (fiber: Fiber.Fiber<unknown, unknown>, onLeftBehind: Effect.Effect<void>): Effect.Effect<boolean> => {
  fiber.interruptUnsafe()
  // what ends at once arms no timer
  return fiber.pollUnsafe() === undefined
    ? Effect.flatMap(Grace.wait(fiber), (exit) => Option.isNone(exit) ? Effect.as(onLeftBehind, true) : stopped)
    : stopped
}

const stopped = Effect.succeed(false)
