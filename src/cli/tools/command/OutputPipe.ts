/**
 * Owns the one pipe for both outputs of a command, so that they come in the order in which they were written.
 *
 * It is a FIFO, because Node makes a socket for each output of a child: two of them come in any order, and a script cannot
 * open /dev/stderr when that is a socket.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { execFile } from "node:child_process"
import { closeSync, constants, openSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { Socket } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import * as CommandError from "./CommandError.ts"

/** Both ends, until the scope closes. */
interface OutputPipe {
  /** The descriptor to give to the command. */
  readonly writeEnd: number
  /** Closes the write end here: after that, only the command and what it started hold the pipe open. */
  readonly handOver: Effect.Effect<void>
  /** For when no process of the command should be left: reads what is in the pipe. Whether somebody still has it open. */
  readonly isHeld: Effect.Effect<boolean>
}

/** A pipe whose content goes to `onData` as it comes: a writer never waits for longer than that takes. */
export const make = Effect.fnUntraced(function*(
  onData: (chunk: Uint8Array) => void
): Effect.fn.Return<OutputPipe, CommandError.CommandError, Scope.Scope> {
  const { reader, writeEnd } = yield* Effect.acquireRelease(
    Effect.scoped(open),
    ({ reader, writeEnd }) =>
      Effect.promise(async () => {
        writeEnd.close()
        if (!reader.closed) await new Promise((resolve) => reader.once("close", resolve).destroy())
      })
  )
  let hasEnded = false
  reader.on("data", onData).on("close", () => hasEnded = true)
  return {
    writeEnd: writeEnd.descriptor,
    handOver: Effect.sync(writeEnd.close),
    isHeld: Effect.promise(async () => {
      // A pipe holds less than Node reads in one turn of its loop; Node reports the end in the next turn.
      for (let turn = 0; turn < 10 && !hasEnded; turn++) await new Promise((resolve) => setImmediate(resolve))
      // A killed process gives up its environment, by which it is found, before its descriptors.
      for (let look = 0; look < mostLooks && !hasEnded; look++) await new Promise((resolve) => setTimeout(resolve, 10))
      return !hasEnded
    })
  }
})

/** How often, 10 ms apart, to check a pipe whose holder cannot be found: on a busy machine, a process takes a while to end. */
const mostLooks = 25

/** For a program of the system, wherever that has it: the first folder of the PATH may be of the project that is worked on. No keys. */
const systemFirst = () => ({
  PATH: ["/usr/bin", "/bin", process.env["PATH"]].filter((folders) => folders).join(delimiter)
})

/** The name is removed once both ends are open. */
const open = Effect.gen(function*() {
  const folder = yield* Effect.acquireRelease(
    attempt(() => mkdtemp(join(tmpdir(), "fiberloop-"))),
    (folder) => Effect.promise(() => rm(folder, { recursive: true, force: true }).catch(() => {}))
  )
  const path = join(folder, "output")
  yield* attempt(() =>
    new Promise<void>((resolve, reject) => {
      execFile("mkfifo", ["-m", "600", path], { env: systemFirst(), timeout: 5_000 }, (error) =>
        error === null ? resolve() : reject(error))
    })
  )
  return yield* attempt(async () => {
    // The write end can only be opened when there is a reader, and the reader must not look before there is a writer.
    const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const descriptor = openSync(path, constants.O_WRONLY)
    const reader = new Socket({ fd: readEnd, readable: true, writable: false }).on("error", () => {})
    return { reader, writeEnd: { descriptor, close: once(() => closeSync(descriptor)) } }
  })
})

const once = (run: () => void): () => void => {
  let isDone = false
  return () => {
    if (!isDone) run()
    isDone = true
  }
}

const attempt = <A>(call: () => Promise<A>): Effect.Effect<A, CommandError.CommandError> =>
  Effect.tryPromise({
    try: call,
    catch: (cause) =>
      new CommandError.CommandError({
        reason: "NotStarted",
        message:
          `No pipe could be made for the command's output (${(cause as NodeJS.ErrnoException).code ?? "unknown"}): ` +
          "nothing was started."
      })
  })
