/** Waits for a connection that was let go to be closed in fact, so that what is said afterwards is true of both ends. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
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

/** When the scope ends otherwise than well, it ends once what was acquired after this is closed. */
export const awaited: Effect.Effect<void, never, Scope.Scope> = Effect.addFinalizer((exit) =>
  Exit.isSuccess(exit) ? Effect.void : closed
)
