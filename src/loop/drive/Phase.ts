/**
 * Parts of a drive that a stop can cut off, although the drive itself is not interrupted: it has an end to write.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Grace from "../../services/Grace.ts"
import * as Live from "./Live.ts"

export type Restore = <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

export type Phase = <A, E>(self: Effect.Effect<A, E>, grace?: number) => Effect.Effect<Exit.Exit<A, E>>

/**
 * Runs a part of the drive where `cutOff` can interrupt it, and gives its exit; what does not let itself be interrupted
 * is left behind after `grace` grace periods. Interrupting the drive itself is a shutdown.
 */
export const make = (
  live: Live.Live,
  restore: Restore
): Phase =>
  Effect.fnUntraced(function*(self, grace = 1) {
    const fiber = yield* Effect.forkChild(restore(Grace.severed(self, Effect.void, { times: grace })))
    live.interrupt = () => fiber.interruptUnsafe()
    if (live.stopped !== undefined) fiber.interruptUnsafe()
    const awaited = yield* Effect.exit(restore(Fiber.await(fiber)))
    if (Exit.isFailure(awaited)) Live.cutOff(live, { _tag: "Abort", reason: "shutdown" })
    const exit = Exit.isSuccess(awaited) ? awaited.value : yield* Fiber.await(fiber)
    live.interrupt = undefined
    return exit
  })

/** Awaits what goes on by itself, but only for the grace period once the run is, or was, cut off; else `late`. */
export const patiently = <A, E, E2>(
  live: Live.Live,
  fiber: Fiber.Fiber<A, E>,
  late: E2,
  restore: Restore
): Effect.Effect<Exit.Exit<A, E | E2>> =>
  Effect.gen(function*() {
    const grace = yield* Grace.Grace
    const cutOff = Effect.callback<void>((resume) => {
      live.interrupt = () => resume(Effect.void)
      if (live.stopped !== undefined) live.interrupt()
    })
    const stuck: Effect.Effect<Exit.Exit<A, E | E2>> = Effect.as(Effect.sleep(grace), Exit.fail(late))
    const answered = yield* Effect.exit(restore(Effect.raceFirst(Fiber.await(fiber), Effect.andThen(cutOff, stuck))))
    live.interrupt = undefined
    return Exit.isSuccess(answered) ? answered.value : yield* Effect.raceFirst(Fiber.await(fiber), stuck)
  })
