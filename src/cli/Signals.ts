/**
 * The signals that ask the command to stop. The first is an event; at the second the process exits at once, unless that
 * signal says that the terminal closed.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { codes } from "./Refusal.ts"

export type Signal = "SIGINT" | "SIGTERM" | "SIGHUP"

export class Signals extends Context.Service<Signals, {
  /** Waits for the first signal, even one that came before. */
  readonly first: Effect.Effect<Signal>
  /** Makes the next signal the first again: a hangup that already came after another signal, or one to come. */
  readonly forget: Effect.Effect<void>
}>()("fiberloop/cli/Signals") {}

/** The signals of this process, while the layer lives. */
export const layer: Layer.Layer<Signals> = Layer.effect(
  Signals,
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const course = { first: Deferred.makeUnsafe<Signal>(), isHungUp: false }
        const onSignal = (signal: NodeJS.Signals) => {
          if (Deferred.doneUnsafe(course.first, Effect.succeed(signal as Signal))) return
          // a terminal that closes is reported twice: by itself, and by the program that it belongs to
          if (signal !== "SIGHUP") process.exit(codes[signal as Signal])
          course.isHungUp = true
        }
        for (const signal of signals) process.on(signal, onSignal)
        return { course, onSignal }
      }),
      ({ onSignal }) => Effect.sync(() => signals.forEach((signal) => process.off(signal, onSignal)))
    ),
    ({ course }) => ({
      first: Effect.suspend(() => Deferred.await(course.first)),
      forget: Effect.sync(() => {
        course.first = Deferred.makeUnsafe()
        if (course.isHungUp) Deferred.doneUnsafe(course.first, Effect.succeed("SIGHUP"))
      })
    })
  )
)

const signals: ReadonlyArray<Signal> = ["SIGINT", "SIGTERM", "SIGHUP"]
