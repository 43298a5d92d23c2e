/** Standard output and error that remember what was written, as one tape and apart. */
import { Effect, Layer } from "effect"
import { Output, OutputClosed } from "../../src/cli/terminal/Output.ts"

export interface Options {
  readonly isTerminal?: boolean
  readonly columns?: number
  /** standard output fails from this write on, counted from 0 */
  readonly closesAt?: number
  /** receives what is written on standard error, unchanged */
  readonly onError?: (text: string) => void
}

export class Recorder {
  /** what a terminal showing both would receive */
  tape = ""
  stdout = ""
  stderr = ""
  #writes = 0
  readonly #options: Options

  constructor(options: Options = {}) {
    this.#options = options
  }

  get layer(): Layer.Layer<Output> {
    const { closesAt = Infinity, columns = 80, isTerminal = false, onError } = this.#options
    const screen = { isTerminal, columns: () => columns }
    return Layer.succeed(Output, {
      stdout: {
        ...screen,
        write: (text) =>
          Effect.suspend(() => {
            if (text !== "" && this.#writes++ >= closesAt) {
              return Effect.fail(new OutputClosed({ code: "EPIPE", isReaderGone: true }))
            }
            this.tape += text
            this.stdout += text
            return Effect.void
          })
      },
      stderr: {
        ...screen,
        write: (text) =>
          Effect.sync(() => {
            this.tape += text
            this.stderr += text
            onError?.(text)
          })
      }
    })
  }
}

/** The lines that a terminal would show for all that was written: `\r` and "erase line" are obeyed. */
export const screenOf = (tape: string): ReadonlyArray<string> =>
  tape.split("\n").map((line) => line.split("\r\u001b[2K").at(-1) ?? "")
