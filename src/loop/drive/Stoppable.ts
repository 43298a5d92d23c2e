/**
 * Parts of a drive that a stop can cut off, although the drive itself is not interrupted: it has an end to write. The waits for
 * them can be interrupted, whatever fiber the drive is on.
 *
 * Does not own why a run is cut off (`Stop`), nor what follows then (`CutShort`).
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Detached from "../../services/fibers/Detached.ts"
import * as Grace from "../../services/Grace.ts"
import * as Stop from "./Stop.ts"

/**
 * Runs a part of the drive where `cutOff` can interrupt it, and returns its exit; a part that cannot be interrupted is left behind
 * after `grace` grace periods, and none begins once the run is cut off. Interrupting the drive itself is a shutdown. Called by
 * code that the drive's fiber runs; the part begins with the call.
 */
export const run = <A, E>(
  live: Stop.Interruptible,
  self: Effect.Effect<A, E>,
  grace: () => number = once
): Effect.Effect<Exit.Exit<A, E>> =>
  live.stopped !== undefined
    ? Effect.succeed(interrupted)
    : settled(live, Detached.startHere(self), interrupted, grace, true)

const once = () => 1
const interrupted = Exit.interrupt()

/** Awaits a fiber that goes on by itself, but once the run is cut off only for the grace period; then its exit is `late`. */
export const patiently = <A, E, E2>(
  live: Stop.Interruptible,
  fiber: Fiber.Fiber<A, E>,
  late: E2
): Effect.Effect<Exit.Exit<A, E | E2>> => settled<A, E | E2>(live, fiber, Exit.fail(late), once, false)

/**
 * The exit of `fiber`. Once the run is cut off, the fiber is awaited for `grace()` grace periods; then the exit is `late`. `isCut`:
 * cutting the run off interrupts the fiber.
 */
const settled = <A, E>(
  live: Stop.Interruptible,
  fiber: Fiber.Fiber<A, E>,
  late: Exit.Exit<A, E>,
  grace: () => number,
  isCut: boolean
): Effect.Effect<Exit.Exit<A, E>> => {
  const exit = fiber.pollUnsafe()
  if (exit !== undefined) return Effect.succeed(exit)
  const onCutOff = () => {
    if (isCut) fiber.interruptUnsafe()
  }
  // a drive that is already interrupted does not begin to wait
  live.interrupt = onCutOff
  const endedOrCutOff = Effect.callback<void>((resume) => {
    const wake = () => resume(Effect.void)
    // a name first: a function that is written where it is assigned to a property outlives the run (`loop/README.md`)
    const interrupt = () => {
      onCutOff()
      wake()
    }
    live.interrupt = interrupt
    fiber.addObserver(wake)
    if (live.stopped !== undefined) live.interrupt()
  })
  const goOn = () => {
    live.interrupt = undefined
    const exit = fiber.pollUnsafe()
    return exit === undefined
      ? Effect.map(Grace.wait(fiber, grace()), Option.getOrElse(() => late))
      : Effect.succeed(exit)
  }
  return Effect.matchCauseEffect(Effect.interruptible(endedOrCutOff), {
    onFailure: () => {
      Stop.cutOff(live, Stop.shutdown)
      return goOn()
    },
    onSuccess: goOn
  })
}
