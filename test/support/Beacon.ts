/** A FIFO that child processes write lines to, so that a test can wait for what they do, and for their end. */
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { closeSync, constants, openSync, readFileSync } from "node:fs"
import { Socket } from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { temporaryFolder } from "./Processes.ts"

export interface Beacon {
  readonly path: string
  /** waits for the next line */
  readonly line: Effect.Effect<string>
  /** waits until no process holds it open */
  readonly released: Effect.Effect<void>
}

/** To be used with `echo ... > path`, or held open with `exec 3> path`. */
export const beacon = Effect.gen(function*() {
  const path = join(yield* temporaryFolder, "beacon")
  yield* Effect.sync(() => execFileSync("mkfifo", [path]))
  const { keeper, reader } = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
      const keeper = openSync(path, constants.O_WRONLY)
      return { reader: new Socket({ fd, readable: true, writable: false }), keeper: closing(keeper) }
    }),
    ({ keeper, reader }) =>
      Effect.sync(() => {
        keeper()
        reader.destroy()
      })
  )
  const closed = new Promise<void>((resolve) => reader.on("close", () => resolve()))
  const lines = createInterface({ input: reader })[Symbol.asyncIterator]()
  const self: Beacon = {
    path,
    line: Effect.promise(async () => (await lines.next()).value as string),
    released: Effect.promise(() => {
      keeper()
      reader.resume()
      return closed
    })
  }
  return self
})

const closing = (fd: number) => {
  let isOpen = true
  return () => {
    if (isOpen) closeSync(fd)
    isOpen = false
  }
}

/** Whether a process runs; one that has released its memory on its way out, or only waits to be reaped, does not. */
export const isAlive = (pid: number): boolean => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    const hasMemory = !readFileSync(`/proc/${pid}/statm`, "utf8").startsWith("0 ")
    return hasMemory && !/^[ZX]/.test(stat.slice(stat.lastIndexOf(")") + 2))
  } catch {
    return false
  }
}
