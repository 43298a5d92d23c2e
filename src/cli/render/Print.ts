/** Standard output for the commands that look at sessions: a reader that leaves ends them with its code. */
import * as Effect from "effect/Effect"
import * as FileReason from "../FileReason.ts"
import { badInput, codes, Ended, type Refusal } from "../Refusal.ts"
import { Output } from "../terminal/Output.ts"
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
