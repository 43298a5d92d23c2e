/**
 * The observers of a drive: each reads the feed on a fiber of its own, in its own time.
 *
 * Does not own what is buffered for a slow one (`FeedReader`).
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Json } from "effect/Schema"
import * as Foreign from "../../run/Foreign.ts"
import * as Detached from "../../services/fibers/Detached.ts"
import * as Grace from "../../services/Grace.ts"
import type * as Observers from "../../services/Observers.ts"
import * as Warning from "../../services/Warning.ts"
import type * as Feed from "../log/Feed.ts"
import type * as FeedReader from "../log/FeedReader.ts"

export interface Watching {
  /** Shows the observers all that the feed publishes from now on, in the context of the calling fiber; `data` is the run's. */
  readonly start: (data: Json | undefined) => void
  /** Waits until they have seen all of it; once interrupted, for no longer than the grace period. */
  readonly seen: Effect.Effect<void>
}

export const make = (
  feed: Pick<Feed.Feed, "watch">,
  drive: Pick<Observers.Batch, "agent" | "sessionId" | "runId">,
  observers: ReadonlyArray<Observers.Observer>
): Watching => {
  if (observers.length === 0) return nobody
  let fibers: ReadonlyArray<Fiber.Fiber<void>> = []
  return {
    start: (data) => {
      const of = { ...drive, data }
      fibers = observers.map((observer) => Detached.startHere(show(observer, feed.watch(), of)))
    },
    seen: Effect.suspend(() =>
      Effect.ignoreCause(Effect.onInterrupt(Effect.interruptible(Fiber.awaitAll(fibers)), () => giveUp(fibers)))
    )
  }
}

const nobody: Watching = { start: () => {}, seen: Effect.void }

const show = (
  observer: Observers.Observer,
  watcher: FeedReader.Watcher,
  of: Omit<Observers.Batch, "events" | "missed">
): Effect.Effect<void> => {
  let isBroken = false
  const warn = (why: string) =>
    Warning.warn(`the observer "${observer.name}" ${why}; it keeps observing (run "${of.runId}")`)
  const one = Effect.flatMap(
    watcher.pull,
    (events) =>
      Effect.suspend(() => {
        // its own array: readers and other observers have this one too
        const observed = observer.observe({ ...of, events: Arr.copy(events), missed: watcher.takeMissed() })
        return Foreign.isEffect(observed) ? observed : noEffect
      }).pipe(
        Effect.catchCause((cause) => {
          if (isBroken) return Effect.void
          isBroken = true
          return warn(Warning.howOf(cause))
        })
      )
  )
  const all: Effect.Effect<void> = Effect.catchCause(Effect.forever(one, { disableYield: true }), (cause) => {
    if (Cause.hasInterruptsOnly(cause) || !watcher.skip()) return Effect.void
    return Effect.andThen(warn("missed events that the store could not read"), all)
  })
  return all
}

const noEffect = Effect.die("it returned no Effect")

/** The process is ending: what an observer has not seen within the grace period it never will. */
const giveUp = (fibers: ReadonlyArray<Fiber.Fiber<void>>) =>
  Effect.map(Grace.within(Fiber.awaitAll(fibers)), () => {
    for (const fiber of fibers) fiber.interruptUnsafe()
  })
