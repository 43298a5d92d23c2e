/** What a test says of something that must come to an end: on the real clock, so that a hang fails instead of hanging. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"

/** True when `self` ends, however it does, within five real seconds; it is left running where it does not. */
export const ends = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<boolean, never, R> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(Effect.exit(self))
    const waiting = Effect.callback<void>((resume) => {
      fiber.addObserver(() => resume(Effect.void))
    })
    const outcome = yield* Effect.timeoutOption(waiting, "5 seconds").pipe(TestClock.withLive)
    return Option.isSome(outcome)
  })
