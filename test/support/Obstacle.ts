/** Something that a phase of a run waits for and that does, or does not, cooperate with an abort. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

/**
 * `finalizing`: its finalizer waits until it may finish. `slow`: cannot be interrupted, and ends while the abort is
 * under way. `stuck`: does not end before the test lets it go.
 */
export type Manner = "cooperative" | "finalizing" | "slow" | "stuck"

export interface Obstacle {
  readonly manner: Manner
  /** what the phase runs */
  readonly wait: Effect.Effect<void>
  /** the phase has been reached */
  readonly reached: Effect.Effect<void>
  /** its finalizer, if that waits, has begun */
  readonly finalizes: Effect.Effect<void>
  readonly finish: Effect.Effect<void>
  /** nothing holds it any more */
  readonly letGo: Effect.Effect<void>
  /** how many wait there, or finalize */
  readonly held: () => number
}

/** `reached` completes with the `all`-th that waits there. */
export const make = (manner: Manner, all = 1): Obstacle => {
  const reached = Deferred.makeUnsafe<void>()
  const released = Deferred.makeUnsafe<void>()
  const finalizing = Deferred.makeUnsafe<void>()
  const finished = Deferred.makeUnsafe<void>()
  let held = 0
  const come = Effect.sync(() => {
    if (++held === all) Deferred.doneUnsafe(reached, Effect.void)
  })
  const leave = Effect.sync(() => {
    held--
  })
  const finalize = Deferred.succeed(finalizing, undefined).pipe(
    Effect.andThen(Deferred.await(finished)),
    Effect.andThen(leave)
  )
  const wait = Effect.andThen(come, Deferred.await(released)).pipe(
    Effect.ensuring(manner === "finalizing" ? finalize : leave)
  )
  return {
    manner,
    wait: manner === "slow" || manner === "stuck" ? Effect.uninterruptible(wait) : wait,
    reached: Deferred.await(reached),
    finalizes: Deferred.await(finalizing),
    finish: Effect.asVoid(Deferred.succeed(finished, undefined)),
    letGo: Effect.andThen(Deferred.succeed(released, undefined), Effect.asVoid(Deferred.succeed(finished, undefined))),
    held: () => held
  }
}
