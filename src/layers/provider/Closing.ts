/**
 * Waits until an abandoned connection is really closed, so that what is reported afterwards is true of both ends; and for a
 * connection that is about to reach its end.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Pull from "effect/Pull"
import type * as Scope from "effect/Scope"

/**
 * Aborting a request only asks for the close: the event loop carries it out, and a server in the same process learns of it,
 * two turns later. Twice as many, for other HTTP clients.
 */
const turns = 4

const closed = Effect.callback<void>((resume) => {
  let left = turns
  const turn = () => left-- === 0 ? resume(Effect.void) : setImmediate(turn)
  turn()
})

/** When the scope ends with a failure or interruption, waits until what was acquired after this is closed. */
export const awaited: Effect.Effect<void, never, Scope.Scope> = Effect.addFinalizer((exit) =>
  Exit.isSuccess(exit) ? Effect.void : closed
)

/** Real time, whatever the clock: the wait is for a socket, not a policy. */
export const wait = (millis: number): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const timer = setTimeout(() => resume(Effect.void), millis)
    return Effect.sync(() => clearTimeout(timer))
  })

const moment = wait(50)

/**
 * Reads on for a moment: a connection can carry the next call once its response has reached its end and the event loop has
 * taken it back. Done before the last parts are handed out, because their reader leaves after them.
 */
export const drain = <A, E>(pull: Pull.Pull<A, E>): Effect.Effect<void> =>
  Effect.andThen(Effect.raceFirst(Effect.exit(Effect.forever(pull)), moment), Effect.yieldNow)
