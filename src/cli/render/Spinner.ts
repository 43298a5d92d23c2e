/** What a terminal shows while a run waits: one line that is redrawn in place and leaves no trace. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Output } from "../terminal/Output.ts"
import * as TerminalText from "./TerminalText.ts"
import { duration } from "./Time.ts"

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
const restart = "\r\u001b[2K"

/** Takes the spinner off the screen. */
export const clear = restart

/** The spinner's line; always narrower than the terminal, so that it never wraps. `waited` in milliseconds. */
export const draw = (frame: number, label: string, waited: number, columns: number): string => {
  const time = waited < 1_000 ? "" : `  ${duration(Math.floor(waited / 1_000) * 1_000).replace(".0 s", " s")}`
  return restart + TerminalText.cut(`${frames[frame % frames.length]} ${TerminalText.line(label)}${time}`, columns - 1)
}

/** Turns for ever. The first frame comes late, so that quick work shows none. */
export const turning = (turn: (frame: number) => Effect.Effect<void>): Effect.Effect<never> => {
  let frame = 0
  return Effect.suspend(() => turn(frame++)).pipe(Effect.delay("100 millis"), Effect.forever)
}

/** Runs `self` while a spinner turns on standard error, if that is a terminal for people; it is gone when `self` has ended. */
export const during =
  ({ isPlain, json }: { readonly isPlain: boolean; readonly json: boolean }, label: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | Output> =>
    Effect.gen(function*() {
      const { stderr } = yield* Output
      if (!stderr.isTerminal || isPlain || json) return yield* self
      const since = yield* Clock.currentTimeMillis
      let isDrawn = false
      const turn = (frame: number) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          isDrawn = true
          return stderr.write(draw(frame, label, now - since, stderr.columns()))
        })
      const stop = Effect.suspend(() => stderr.write(isDrawn ? clear : ""))
      return yield* Effect.ensuring(Effect.raceFirst(self, turning(turn)), stop)
    })
