/**
 * Cuts a run off when its time is over. Time spent waiting for people does not count.
 *
 * Does not own how that time is counted (`RunState`), nor what a cut-off drive does (`CutShort`).
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as RunState from "../../run/RunState.ts"
import * as Detached from "../../services/fibers/Detached.ts"
import type * as Journal from "../log/Journal.ts"
import type * as Live from "./Live.ts"
import * as Stop from "./Stop.ts"

/**
 * Interrupting the fiber lifts the limit; `undefined` where the run has none, or has reached it before: that is for the turns to see,
 * which then only ask what becomes of open calls. Called on a fiber of the drive.
 */
export const start = (journal: Journal.Journal, live: Live.Live): Fiber.Fiber<void> | undefined => {
  const { maxDuration } = journal.state.limits
  if (maxDuration === undefined || leftOf(journal, maxDuration) <= 0) return undefined
  return Detached.startHere(hold(journal, live, maxDuration))
}

const leftOf = (journal: Journal.Journal, maxDuration: number): number =>
  maxDuration - RunState.totalsAt(journal.state, journal.now()).duration

const hold = (journal: Journal.Journal, live: Live.Live, maxDuration: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    const left = leftOf(journal, maxDuration)
    if (left <= 0) return Effect.sync(() => Stop.cutOff(live, Stop.timeIsOver))
    // the time of a run that waits for people stands still
    const pause = journal.state.waitingSince === undefined ? Effect.sleep(Duration.millis(left)) : journal.goesOn
    return Effect.andThen(pause, hold(journal, live, maxDuration))
  })
