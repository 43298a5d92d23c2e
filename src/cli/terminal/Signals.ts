/**
 * The signals that ask the command to stop. The first is an event; at the second the process says its last words and exits, unless
 * that signal says that the terminal closed.
 */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { codes, Ended } from "../Refusal.ts"
import { Output } from "./Output.ts"

export type Signal = "SIGINT" | "SIGTERM" | "SIGHUP"

export class Signals extends Context.Service<Signals, {
  /** Waits for the first signal, even one that came before. */
  readonly first: Effect.Effect<Signal>
  /** Makes the next signal the first again: a hangup that already came after another signal, or one to come. */
  readonly forget: Effect.Effect<void>
  /** What standard error gets if a second signal ends the process before the scope closes; one at a time. */
  readonly leaving: (words: () => string) => Effect.Effect<void, never, Scope.Scope>
}>()("fiberloop/cli/Signals") {}

/** Interrupts `self` at the first signal, for what `onSignal` does instead. */
export const until = <A, E, R, B, E2, R2>(
  self: Effect.Effect<A, E, R>,
  onSignal: (signal: Signal) => Effect.Effect<B, E2, R2>
): Effect.Effect<A | B, E | E2, R | R2 | Signals> =>
  Signals.use(({ first }) => Effect.raceFirst(self, Effect.flatMap(first, onSignal)))

/** The first signal ends the command at once, with its code. */
export const untilSignal = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | Ended, R | Signals> =>
  until(self, (signal) => Effect.fail(new Ended({ code: codes[signal] })))

/** The signals of this process, while the layer lives. */
export const layer: Layer.Layer<Signals, never, Output> = Layer.effect(
  Signals,
  Effect.map(
    Effect.acquireRelease(
      Effect.map(Output, ({ stderr }) => {
        const course = { first: Deferred.makeUnsafe<Signal>(), isHungUp: false, words: noWords }
        const onSignal = (signal: NodeJS.Signals) => {
          if (Deferred.doneUnsafe(course.first, Effect.succeed(signal as Signal))) return
          // a terminal that closes is reported twice: by itself, and by the program that it belongs to
          if (signal !== "SIGHUP") return leave(stderr.write(course.words()), signal as Signal)
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
      }),
      leaving: (words) =>
        Effect.acquireRelease(
          Effect.sync(() => void (course.words = words)),
          () => Effect.sync(() => void (course.words = noWords))
        )
    })
  )
)

const noWords = () => ""

/** Ends the process: a terminal or a pipe that nobody reads keeps it for a moment only. */
const leave = (saying: Effect.Effect<void>, signal: Signal): void => {
  const exit = Effect.sync(() => process.exit(codes[signal]))
  Effect.runFork(Effect.ensuring(Effect.timeoutOption(saying, "100 millis"), exit))
}

const signals: ReadonlyArray<Signal> = ["SIGINT", "SIGTERM", "SIGHUP"]
