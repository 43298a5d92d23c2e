/**
 * Owns opening a file so that what is read is below the root, even when the path is swapped between check and open.
 * Does not own what a path means (`Root.ts`) nor what is done with the bytes.
 *
 * On Linux the kernel is asked where the open descriptor is (`/proc/self/fd`), which no swap can fool. Elsewhere, or
 * without `/proc`, after the opening the path must still resolve below the root to the inode that was opened: that
 * catches a swap, but not a program that swaps back and forth at the right moments. A hard link counts as where it is.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Stats } from "node:fs"
import { constants } from "node:fs"
import { type FileHandle, lstat, open as openHandle, readlink, realpath, stat } from "node:fs/promises"
import * as FileError from "./FileError.ts"
import * as Root from "./Root.ts"

/** Runs after a path was checked and before it is opened; for tests that swap it. */
export const BetweenCheckAndOpen = Context.Reference<(path: string) => Effect.Effect<void>>(
  "fiberloop/cli/files/BetweenCheckAndOpen",
  { defaultValue: () => () => Effect.void }
)

/** Where an open descriptor is, according to the kernel; `undefined` where it cannot tell. */
export const DescriptorPath = Context.Reference<(descriptor: number) => Promise<string | undefined>>(
  "fiberloop/cli/files/DescriptorPath",
  {
    defaultValue: () => (descriptor) =>
      process.platform === "linux"
        ? readlink(`/proc/self/fd/${descriptor}`).catch(() => undefined)
        : Promise.resolve(undefined)
  }
)

/** A regular file below the root, open until its scope closes. */
export interface OpenFile {
  /** Size in bytes when it was opened. */
  readonly bytes: number
  /**
   * The next chunk from the start, at most 64 KiB; empty at the end. Stops at `bytes`, so that a growing file ends too. The
   * next read overwrites the array.
   */
  readonly read: Effect.Effect<Buffer, FileError.FileError>
}

/** Opens a path as a user gave it. Folders, FIFOs, sockets and devices are refused before they are opened. */
export const openPath = Effect.fnUntraced(function*(
  root: Root.Root,
  path: string
): Effect.fn.Return<{ readonly file: OpenFile; readonly path: string }, FileError.FileError, Scope.Scope> {
  const located = yield* Root.locate(root, path)
  yield* requireRegular(yield* FileError.attempt(path, () => lstat(located.real)), path)
  return { file: yield* open(root, located.real, path), path: located.path }
})

// A FIFO must not block and a link must not be followed; Windows has neither flag.
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Opens an absolute path without links that was found below the root; `path` is its name in errors. */
export const open = Effect.fnUntraced(function*(
  root: Root.Root,
  real: string,
  path: string
): Effect.fn.Return<OpenFile, FileError.FileError, Scope.Scope> {
  yield* (yield* BetweenCheckAndOpen)(path)
  const handle = yield* Effect.acquireRelease(
    FileError.attempt(path, () => openHandle(real, flags)),
    (handle) => Effect.ignore(FileError.attempt(path, () => handle.close()))
  )
  const status = yield* FileError.attempt(path, () => handle.stat())
  yield* requireBelow(root, handle, status, real, path)
  yield* requireRegular(status, path)
  return { bytes: status.size, read: reader(handle, status.size, path) }
})

const requireRegular = (status: Stats, path: string): Effect.Effect<void, FileError.FileError> =>
  status.isFile()
    ? Effect.void
    : Effect.fail(status.isDirectory() ? FileError.isFolder(path) : FileError.isSpecial(path))

const requireBelow = Effect.fnUntraced(function*(
  root: Root.Root,
  handle: FileHandle,
  status: Stats,
  real: string,
  path: string
): Effect.fn.Return<void, FileError.FileError> {
  const descriptorPath = yield* DescriptorPath
  const opened = yield* Effect.promise(() => descriptorPath(handle.fd))
  if (opened !== undefined) {
    return Root.contains(root, opened) ? undefined : yield* FileError.replaced(path)
  }
  const now = yield* FileError.attempt(path, () => realpath(real))
  const there = yield* FileError.attempt(path, () => stat(now))
  if (!Root.contains(root, now) || there.ino !== status.ino || there.dev !== status.dev) {
    return yield* FileError.replaced(path)
  }
})

const chunkBytes = 65_536

const reader = (handle: FileHandle, bytes: number, path: string): OpenFile["read"] => {
  // Files in /proc and the like have size 0 but content: those are read to their end.
  let left = bytes > 0 ? bytes : Infinity
  const buffer = Buffer.allocUnsafe(Math.min(left, chunkBytes))
  return Effect.suspend(() =>
    left === 0
      ? Effect.succeed(buffer.subarray(0, 0))
      : Effect.map(
        FileError.attempt(path, () => handle.read(buffer, 0, Math.min(left, buffer.length), null)),
        ({ bytesRead }) => {
          left -= bytesRead
          return buffer.subarray(0, bytesRead)
        }
      )
  )
}
