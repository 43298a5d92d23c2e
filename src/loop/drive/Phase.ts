/**
 * Parts of a drive that a stop can cut off, although the drive itself is not interrupted: it has an end to write.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Grace from "../../services/Grace.ts"
import * as Live from "./Live.ts"

export type Restore = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export type Phase = <A, E>(self: Effect.Effect<A, E>, grace?: () => number) => Effect.Effect<Exit.Exit<A, E>>

type Stoppable = Pick<Live.Live, "stopped" | "interrupt">

/**
 * Runs a part of the drive where `cutOff` can interrupt it, and gives its exit; what does not let itself be interrupted
 * is left behind after `grace` grace periods, and nothing is begun once the run is cut off. Interrupting the drive itself is
 * a shutdown.
 */
export const make = (live: Stoppable, restore: Restore): Phase => (self, grace = once) =>
  Effect.suspend(() =>
    live.stopped !== undefined
      ? Effect.succeed(Exit.interrupt())
      : Effect.flatMap(
        Effect.forkDetach(self, { startImmediately: true }),
        (fiber) => settled(live, fiber, Exit.interrupt(), restore, grace, true)
      )
  )

const once = () => 1

/** Awaits what goes on by itself, but only for the grace period once the run is, or was, cut off; else `late`. */
export const patiently = <A, E, E2>(
  live: Stoppable,
  fiber: Fiber.Fiber<A, E>,
  late: E2,
  restore: Restore
): Effect.Effect<Exit.Exit<A, E | E2>> => settled<A, E | E2>(live, fiber, Exit.fail(late), restore, once, false)

/** The exit of a fiber, or `late` where it has none so long after the run was cut off, which interrupts it where it `isCut`. */
const settled = <A, E>(
  live: Stoppable,
  fiber: Fiber.Fiber<A, E>,
  late: Exit.Exit<A, E>,
  restore: Restore,
  grace: () => number,
  isCut: boolean
): Effect.Effect<Exit.Exit<A, E>> => {
  const exit = fiber.pollUnsafe()
  if (exit !== undefined) return Effect.succeed(exit)
  const onCutOff = () => {
    if (isCut) fiber.interruptUnsafe()
  }
  // a drive that is interrupted by now does not begin to wait
  live.interrupt = onCutOff
  const endedOrCutOff = Effect.callback<void>((resume) => {
    const goOn = () => resume(Effect.void)
    live.interrupt = () => {
      onCutOff()
      goOn()
    }
    fiber.addObserver(goOn)
    if (live.stopped !== undefined) live.interrupt()
  })
  return Effect.flatMap(Effect.exit(restore(endedOrCutOff)), (awaited) => {
    if (Exit.isFailure(awaited)) Live.cutOff(live, { _tag: "Abort", reason: "shutdown" })
    live.interrupt = undefined
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return Effect.succeed(exit)
    return Effect.flatMap(Grace.Grace, (period) =>
      Effect.map(
        Effect.timeoutOption(Fiber.await(fiber), Duration.times(period, grace())),
        Option.getOrElse(() => late)
      ))
  })
}
