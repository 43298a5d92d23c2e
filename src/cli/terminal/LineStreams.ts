/** How lines are read from a stream, whether or not they are edited on a terminal. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Readline from "node:readline"
import type { Readable, Writable } from "node:stream"
import type { ReadStream } from "node:tty"

/** Where lines come from, and where the terminal shows them while they are edited. */
export interface Streams {
  readonly input: Readable
  readonly output: Writable
  readonly isTerminal: boolean
  /** the terminal knows no control codes; Node's line editor checks TERM for that by itself */
  readonly isDumb?: boolean
}

export const hasEnded = ({ input }: Streams) => input.readableEnded || input.destroyed

/** Reads lines until the scope closes; then the input is left alone again. An input that fails is one that ends. */
export const reader = (options: Readline.ReadLineOptions): Effect.Effect<Readline.Interface, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const lines = Readline.createInterface(options)
      // It passes on what the input fails with. Closing it may fail in turn, since a terminal that is gone takes no other mode.
      return lines.on("error", () => {}).once("error", () => lines.close())
    }),
    (lines) => Effect.sync(() => lines.close())
  )

/** Reads whatever comes until the scope closes; then the input is left alone again. */
export const reading = ({ input }: Streams, onData: (chunk: Buffer) => void): Effect.Effect<void, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => void input.on("data", onData).resume()),
    () => Effect.sync(() => void input.off("data", onData).pause())
  )

/** Completes once the available input was read: on a terminal, one line. */
export const whenRead = Effect.callback<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})

/** Runs `self` while a terminal gives every character at once, also those of a line that is not ended yet. */
export const whileRaw = ({ input }: Streams, self: Effect.Effect<void>): Effect.Effect<void> =>
  "setRawMode" in input && typeof input.setRawMode === "function"
    ? Effect.acquireUseRelease(
      setRaw(input as ReadStream, true),
      () => self,
      () => setRaw(input as ReadStream, false)
    )
    : Effect.void

const setRaw = (input: ReadStream, isRaw: boolean): Effect.Effect<void> =>
  Effect.sync(() => {
    // a terminal that is gone has nothing to drop
    if (!input.destroyed) input.setRawMode(isRaw)
  })
