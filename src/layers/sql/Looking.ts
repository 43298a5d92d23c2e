/**
 * When a store looks into its database for what was said elsewhere to the owners of its sessions: every half second, for as long as
 * somebody listens.
 *
 * Does not own what is said: `SessionAborts`, `SessionSent`.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type * as SqlError from "effect/sql/SqlError"
import * as Detached from "../../services/fibers/Detached.ts"
import type * as Answered from "./Answered.ts"

interface Looking {
  /** Looks until the scope closes. */
  readonly hold: Effect.Effect<void, never, Scope.Scope>
}

/** How often a store looks, for all of its sessions at once. */
const lookEvery = "500 millis"

/** Milliseconds after which what was said to an owner is removed that did not look, or is of no use any more. */
export const forgottenAfter = 600_000

/** Looks in a context of its own, not in that of the first holder. */
export const make = Effect.fnUntraced(function*(
  look: Effect.Effect<void, SqlError.SqlError>,
  answered: Answered.Answered
): Effect.fn.Return<Looking, never, Scope.Scope> {
  const context = yield* Effect.context<never>()
  let holders = 0
  let looking: Fiber.Fiber<void> | undefined
  yield* Effect.addFinalizer(() => looking === undefined ? Effect.void : Fiber.interrupt(looking))

  const lookOn = Effect.gen(function*() {
    // the next look makes up for one that fails
    while (holders > 0) yield* Effect.exit(Effect.delay(answered(look), lookEvery))
    looking = undefined
  })

  return {
    hold: Effect.acquireRelease(
      Effect.sync(() => {
        holders++
        looking ??= Detached.start(Effect.withTracerEnabled(lookOn, false), context)
      }),
      () =>
        Effect.sync(() => {
          holders--
        })
    )
  }
})
