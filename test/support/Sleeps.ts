/** A clock over the test's that counts its sleeps. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

interface Options {
  readonly onSleep?: () => void
  /** how much too early they end */
  readonly early?: Duration.Duration
}

export const make = Effect.fnUntraced(function*({ early = Duration.zero, onSleep = () => {} }: Options = {}) {
  const below = yield* Clock.Clock
  /** those still running, and all there were */
  const sleeps = { now: 0, ever: 0 }
  const clock: Clock.Clock = Object.assign(Object.create(below), {
    sleep: (duration: Duration.Duration) =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          sleeps.now++
          sleeps.ever++
          onSleep()
        }),
        () => below.sleep(Duration.subtract(duration, early)),
        () => Effect.sync(() => sleeps.now--)
      )
  })
  return { clock, sleeps }
})
