/** What a test says about something that must end: on the real clock, so that a hang fails instead of hanging. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/testing/TestClock"

/** True if `self` ends, in any way, within five real seconds; it is left running if it does not. */
export const ends = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<boolean, never, R> =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkDetach(Effect.exit(self))
    const waiting = Effect.callback<void>((resume) => {
      fiber.addObserver(() => resume(Effect.void))
    })
    const outcome = yield* Effect.timeoutOption(waiting, "5 seconds").pipe(TestClock.withLive)
    return Option.isSome(outcome)
  })
