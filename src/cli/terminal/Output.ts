/** Where the command writes. Every write is awaited until it has left the process, so that none is lost at exit. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { fstatSync, writeSync } from "node:fs"

/** Nobody reads standard output any more (`isReaderGone`), or it cannot be written; `code` is Node's. */
export class OutputClosed extends Data.TaggedError("OutputClosed")<{
  readonly code: string
  readonly isReaderGone: boolean
}> {}

interface Screen {
  readonly isTerminal: boolean
  /** the width of the terminal, 80 where there is none */
  readonly columns: () => number
}

export class Output extends Context.Service<Output, {
  readonly stdout: Screen & { readonly write: (text: string) => Effect.Effect<void, OutputClosed> }
  /** What cannot be written there is lost, since nobody could be told. */
  readonly stderr: Screen & { readonly write: (text: string) => Effect.Effect<void> }
}>()("fiberloop/cli/Output") {}

const gone = new Set(["EPIPE", "EIO", "ECONNRESET", "ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"])

type Write = (text: string) => Effect.Effect<void, OutputClosed>

const closed = (error: unknown): OutputClosed => {
  const { code = "unknown error" } = error as NodeJS.ErrnoException
  return new OutputClosed({ code, isReaderGone: gone.has(code) })
}

const write = (stream: NodeJS.WriteStream & { readonly fd: number }): Write =>
  fstatSync(stream.fd).isFile() ?
    toFile(stream.fd) :
    (text) =>
      text === "" ? Effect.void : Effect.callback((resume) => {
        stream.write(text, (error) => resume(error ? Effect.fail(closed(error)) : Effect.void))
      })

/** A full disk takes a part of a text: Node's stream for files does not say so. */
const toFile = (file: number): Write => (text) =>
  Effect.try({
    try: () => {
      for (let rest = Buffer.from(text); rest.length > 0;) rest = rest.subarray(writeSync(file, rest))
    },
    catch: closed
  })

const screen = (stream: NodeJS.WriteStream): Screen => ({
  isTerminal: stream.isTTY === true,
  columns: () => stream.columns || 80
})

/** The standard output and error of this process. */
export const layer: Layer.Layer<Output> = Layer.sync(Output, () => {
  // Whoever wrote learns of a failed write; without a listener it would also end the process.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
  const toStderr = write(process.stderr)
  return {
    stdout: { ...screen(process.stdout), write: write(process.stdout) },
    stderr: { ...screen(process.stderr), write: (text) => Effect.ignore(toStderr(text)) }
  }
})
