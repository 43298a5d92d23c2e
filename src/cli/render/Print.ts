/** Standard output for the commands that look at sessions: a signal, or a reader that leaves, ends them with its code. */
import * as Effect from "effect/Effect"
import * as FileReason from "../FileReason.ts"
import { badInput, codes, Ended, type Refusal } from "../Refusal.ts"
import { Output } from "../terminal/Output.ts"
import { Signals } from "../terminal/Signals.ts"
import * as Paint from "./Paint.ts"

export const print = (text: string): Effect.Effect<void, Ended | Refusal, Output> =>
  Output.use(({ stdout }) =>
    Effect.mapError(
      stdout.write(text),
      ({ code, isReaderGone }) =>
        isReaderGone
          ? new Ended({ code: codes.readerLeft })
          : badInput(`standard output cannot be written (${FileReason.of(code)}): send it elsewhere`)
    )
  )

/** Colours for standard output, where it is a terminal that may show them. */
export const paintOf = (isPlain: boolean): Effect.Effect<Paint.Paint, never, Output> =>
  Effect.map(Output, ({ stdout }) => Paint.of(stdout, isPlain))

/** How a table looks on standard output: cut to the terminal's width, uncut elsewhere. */
export const tableOf = (
  isPlain: boolean
): Effect.Effect<{ readonly paint: Paint.Paint; readonly columns: number }, never, Output> =>
  Effect.map(Output, ({ stdout }) => ({
    paint: Paint.of(stdout, isPlain),
    columns: stdout.isTerminal ? stdout.columns() : Infinity
  }))

/** The first signal stops the command at once. */
export const untilSignal = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Ended, R | Signals> =>
  Signals.use(({ first }) =>
    Effect.raceFirst(effect, Effect.flatMap(first, (signal) => Effect.fail(new Ended({ code: codes[signal] }))))
  )
