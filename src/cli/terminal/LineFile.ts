/** Lines of UTF-8 text in files that the user named. Does not own what the lines say. */
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import { constants, createReadStream, lstatSync, openSync, statSync } from "node:fs"
import { type FileHandle, open as openHandle, rm } from "node:fs/promises"
import { Socket } from "node:net"
import type { Readable } from "node:stream"
import * as FileReason from "../FileReason.ts"
import { badInput, type Ended, type Refusal } from "../Refusal.ts"
import { longestMessage } from "./Input.ts"

/** In UTF-16 units: four times what the largest event takes, since another tool may have escaped all of it. */
const longest = 64_000_000

/**
 * The lines of a file, or of standard input for `-`, as they come. Refuses what is not UTF-8, and a line without an end in sight.
 */
export const read = (file: string): Stream.Stream<string, Refusal> =>
  Stream.suspend(() => {
    const decoder = new TextDecoder("utf-8", { fatal: true })
    const isWithin = lengths()
    let isCompressed: boolean | undefined
    const decode = (bytes?: Uint8Array) => {
      isCompressed ??= bytes?.[0] === 0x1f && bytes[1] === 0x8b
      return Effect.try({
        try: () => decoder.decode(bytes, { stream: bytes !== undefined }),
        catch: () =>
          badInput(
            `${nameOf(file)} ${
              isCompressed ? "is compressed: unpack it first, with gunzip" : "is not UTF-8 text: convert it first"
            }`
          )
      }).pipe(
        Effect.filterOrFail(
          isWithin,
          () => badInput(`${nameOf(file)} has a line of more than 64 million characters: give one with shorter lines`)
        )
      )
    }
    return NodeStream.fromReadable({
      evaluate: () => file === "-" ? process.stdin : open(file),
      onError: (cause) => badInput(`${nameOf(file)} cannot be read${because(cause)}: name a file that you can read`)
    }).pipe(
      Stream.mapEffect(decode),
      Stream.concat(Stream.fromEffect(Effect.suspend(() => decode()))),
      Stream.splitLines
    )
  })

/**
 * Opens a file without waiting in the kernel for a FIFO's writer: a process cannot exit while one of its threads waits there.
 * An error comes from the stream.
 */
const open = (file: string): Readable => {
  try {
    if (statSync(file).isFIFO()) return new Socket({ fd: openSync(file, constants.O_RDONLY | constants.O_NONBLOCK) })
  } catch {
    // the file says why once more, when it is opened as others are
  }
  return createReadStream(file)
}

/** Whether the current line of a growing text is still short enough. */
const lengths = () => {
  let length = 0
  return (text: string): boolean => {
    const end = text.lastIndexOf("\n")
    length = end < 0 ? length + text.length : text.length - end - 1
    return length <= longest
  }
}

/** All lines of a file that is a task. Refuses one that no session could keep, without reading on. */
export const readWhole = (file: string): Effect.Effect<string, Refusal> =>
  Effect.suspend(() => {
    const lines: Array<string> = []
    let length = -1
    const add = (line: string) => {
      lines.push(line)
      length += line.length + 1
    }
    return read(file).pipe(
      Stream.runForEachArray((more) => {
        more.forEach(add)
        return length > longestMessage ? Effect.fail(badInput(`${nameOf(file)} ${tooLong}`)) : Effect.void
      }),
      Effect.map(() => lines.join("\n"))
    )
  })

const tooLong = "has more than 16 million characters, which no task may have: name a file in the task instead"

/** How the command names what it reads. */
export const nameOf = (file: string): string => file === "-" ? "standard input" : `the file ${JSON.stringify(file)}`

/**
 * Makes a file for this user only from what `fill` writes, page by page. If that fails, no file is left; an existing file is
 * not touched.
 */
export const writeNew = <R>(
  file: string,
  fill: (write: (text: string) => Effect.Effect<void, Refusal>) => Effect.Effect<void, Ended | Refusal, R>
): Effect.Effect<void, Ended | Refusal, R> => {
  const attempt = <A>(run: () => Promise<A>): Effect.Effect<A, Refusal> =>
    Effect.tryPromise({ try: run, catch: (cause) => unwritable(file, cause) })
  const close = (handle: FileHandle, exit: Exit.Exit<unknown, unknown>) =>
    Effect.andThen(
      attempt(() => handle.close()),
      Exit.isSuccess(exit) ? Effect.void : Effect.ignore(attempt(() => rm(file)))
    )
  return Effect.acquireUseRelease(
    attempt(() => openHandle(file, "wx", 0o600)),
    (handle) => fill((text) => attempt(() => handle.appendFile(text))),
    close
  )
}

const unwritable = (file: string, cause: unknown): Refusal =>
  codeOf(cause) === "EEXIST"
    ? badInput(
      lstatSync(file, { throwIfNoEntry: false })?.isDirectory()
        ? `${JSON.stringify(file)} is a folder: name a file in it`
        : `the file ${JSON.stringify(file)} already exists: name another one, or remove it`
    )
    : badInput(
      `the file ${JSON.stringify(file)} cannot be written${
        codeOf(cause) === "ENOENT" ? " (its folder does not exist)" : because(cause)
      }: name a file elsewhere`
    )

const codeOf = (cause: unknown): string | undefined => (cause as NodeJS.ErrnoException | undefined)?.code

const because = (cause: unknown): string => ` (${FileReason.of(codeOf(cause) ?? "unknown error")})`
