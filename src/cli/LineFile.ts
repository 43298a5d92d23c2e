/** Lines of text in files that the command was given by name, UTF-8. Does not own what the lines say. */
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Stream from "effect/Stream"
import { createReadStream } from "node:fs"
import { type FileHandle, open, rm } from "node:fs/promises"
import { badInput, type Ended, type Refusal } from "./Refusal.ts"

/** The lines of a file, of standard input for `-`, as they come. What is no UTF-8 is refused. */
export const read = (file: string): Stream.Stream<string, Refusal> =>
  Stream.suspend(() => {
    const decoder = new TextDecoder("utf-8", { fatal: true })
    const decode = (bytes?: Uint8Array) =>
      Effect.try({
        try: () => decoder.decode(bytes, { stream: bytes !== undefined }),
        catch: () => badInput(`${nameOf(file)} is no text in UTF-8`)
      })
    return NodeStream.fromReadable({
      evaluate: () => file === "-" ? process.stdin : createReadStream(file),
      onError: (cause) => badInput(`${nameOf(file)} cannot be read${because(cause)}`)
    }).pipe(
      Stream.mapEffect(decode),
      Stream.concat(Stream.fromEffect(Effect.suspend(() => decode()))),
      Stream.splitLines
    )
  })

/** All lines of it. */
export const readWhole = (file: string): Effect.Effect<string, Refusal> =>
  Effect.map(Stream.runCollect(read(file)), (lines) => lines.join("\n"))

/** How the command names what it reads. */
export const nameOf = (file: string): string => file === "-" ? "standard input" : `the file ${JSON.stringify(file)}`

/**
 * Makes a file for this user alone of what `fill` writes, page by page; none is left where it fails, and one that is there is
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
    attempt(() => open(file, "wx", 0o600)),
    (handle) => fill((text) => attempt(() => handle.appendFile(text))),
    close
  )
}

const unwritable = (file: string, cause: unknown): Refusal =>
  codeOf(cause) === "EEXIST"
    ? badInput(`there is a file ${JSON.stringify(file)} already: name another one, or remove it`)
    : badInput(
      `the file ${JSON.stringify(file)} cannot be written${
        codeOf(cause) === "ENOENT" ? " (its folder does not exist)" : because(cause)
      }`
    )

const codeOf = (cause: unknown): string | undefined => (cause as NodeJS.ErrnoException | undefined)?.code

const reasons: Record<string, string> = {
  ENOENT: "it does not exist",
  ENOTDIR: "its folder is a file",
  EISDIR: "it is a folder",
  EACCES: "this user may not",
  EPERM: "this user may not",
  ENOSPC: "the disk is full"
}

const because = (cause: unknown): string => {
  const code = codeOf(cause) ?? "unknown error"
  return ` (${reasons[code] ?? code})`
}
