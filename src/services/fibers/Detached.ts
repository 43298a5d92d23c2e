/**
 * Fibers that nothing else ends, and the context that they begin in: for work that goes on by itself, a drive or a handler.
 *
 * Does not own who waits for them, and how long: `Grace`, or `Leavable` when they are to end with the waiter.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

/** The context of the fiber that runs this code; there must be one. */
export const contextHere = (): Context.Context<never> => Fiber.getCurrent()!.context

/** A fiber that nothing else ends; `self` has begun, and is over if it waits for nothing, unless the fiber yields first. */
export const start = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  context: Context.Context<R>,
  options?: { readonly uninterruptible: boolean }
): Fiber.Fiber<A, E> => Effect.runForkWith(context)(self, options)

/** The same in the context of the fiber that runs this code; there must be one. */
export const startHere = <A, E>(self: Effect.Effect<A, E>): Fiber.Fiber<A, E> => start(self, contextHere())
