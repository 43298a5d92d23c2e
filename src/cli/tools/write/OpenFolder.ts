/**
 * Owns holding a folder below the root open, so that changes are made in that folder, wherever its path leads meanwhile.
 * Does not own what a path means (`Root.ts`, `Target.ts`).
 *
 * The folder that is opened is the one that was found, not another below the root. On Linux, names are looked up in the open
 * folder itself (`/proc/self/fd/<descriptor>/<name>`, as openat does), and the kernel is asked where that folder is: no swap can
 * fool either. Elsewhere, or without `/proc`, the path must resolve to the folder that was opened, before the change and after
 * it: that catches a swap, but not one back and forth at the right moments.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { constants } from "node:fs"
import { type FileHandle, mkdir, open as openHandle, realpath, stat } from "node:fs/promises"
import { join } from "node:path"
import type * as FileError from "../files/FileError.ts"
import { DescriptorPath } from "../files/OpenFile.ts"
import * as Root from "../files/Root.ts"
import * as ChangeError from "./ChangeError.ts"

/** A folder below the root, open until its scope closes. */
export interface OpenFolder {
  /** The path of a name in this folder; valid while the folder is open. */
  readonly at: (name: string) => string
  /** Absolute, without links, when it was opened. */
  readonly real: string
  /** Fails when the folder is no longer below the root, or, without `/proc`, no longer at its path. */
  readonly check: Effect.Effect<void, FileError.FileError>
}

// A link must not be followed; Windows has neither flag.
const flags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0)

/** Opens an absolute path without links that was found below the root; `path` is the name in errors. */
export const open = (
  root: Root.Root,
  real: string,
  path: string
): Effect.Effect<OpenFolder, ChangeError.Failure, Scope.Scope> => openThrough(root, real, real, path)

/** Opens the folder `name` in an open folder and makes it first where it is missing; never through a link. */
export const child = Effect.fnUntraced(function*(root: Root.Root, parent: OpenFolder, name: string, path: string) {
  const through = parent.at(name)
  yield* Effect.uninterruptible(ChangeError.attempt(path, () => mkdir(through).catch(unlessThere)))
  return yield* openThrough(root, join(parent.real, name), through, path)
})

const unlessThere = (cause: unknown): void => {
  if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw cause
}

const openThrough = Effect.fnUntraced(function*(
  root: Root.Root,
  real: string,
  through: string,
  path: string
): Effect.fn.Return<OpenFolder, ChangeError.Failure, Scope.Scope> {
  const descriptorPath = yield* DescriptorPath
  const handle = yield* Effect.acquireRelease(
    ChangeError.attempt(path, () => openHandle(through, flags)),
    (handle) => Effect.ignore(ChangeError.attempt(path, () => handle.close()))
  )
  const isBelow = async () => {
    const opened = await descriptorPath(handle.fd)
    return opened === undefined ? await isAt(root, real, handle) : Root.contains(root, opened)
  }
  const require = (isSo: () => Promise<boolean>) =>
    Effect.flatMap(Effect.promise(isSo), (isSo) => isSo ? Effect.void : Effect.fail(ChangeError.replaced(path)))
  const check = require(isBelow)
  const opened = yield* Effect.promise(() => descriptorPath(handle.fd))
  const hasDescriptors = opened !== undefined
  yield* check
  // a folder may be moved while it is open, and the kernel may report another name where case does not count
  if (hasDescriptors && opened !== real) yield* require(() => isAt(root, real, handle))
  return {
    at: (name) => hasDescriptors ? `/proc/self/fd/${handle.fd}/${name}` : join(real, name),
    real,
    check
  }
})

/** Whether the path still leads, without links, to the folder that is open. */
const isAt = async (root: Root.Root, real: string, handle: FileHandle): Promise<boolean> => {
  const now = await realpath(real).catch(() => undefined)
  if (now !== real || !Root.contains(root, now)) return false
  const [there, opened] = await Promise.all([stat(now).catch(() => undefined), handle.stat()])
  return there?.ino === opened.ino && there.dev === opened.dev
}
