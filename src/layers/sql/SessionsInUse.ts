/** Counts the sessions that are open, so that a store is not closed under its writers. */
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import * as Grace from "../../services/Grace.ts"

interface SessionsInUse {
  /** Counts as one until the scope closes. */
  readonly hold: Effect.Effect<void, never, Scope.Scope>
}

/** Closing the scope waits until none is held, at most the grace period. */
export const make: Effect.Effect<SessionsInUse, never, Scope.Scope> = Effect.gen(function*() {
  const idle = Latch.makeUnsafe(true)
  let count = 0
  const take = Effect.sync(() => {
    count++
    idle.closeUnsafe()
  })
  const give = Effect.sync(() => {
    count--
    if (count === 0) idle.openUnsafe()
  })
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => count === 0 ? Effect.void : Effect.asVoid(Grace.within(idle.await)))
  )
  return { hold: Effect.acquireRelease(take, () => give) }
})
