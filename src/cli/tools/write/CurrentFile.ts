/** Owns the file that a change finds: that it is regular and writable, and whether it is still the same file. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { BigIntStats } from "node:fs"
import { constants } from "node:fs"
import { type FileHandle, lstat, open as openHandle } from "node:fs/promises"
import * as ChangeError from "./ChangeError.ts"
import type { OpenFolder } from "./OpenFolder.ts"

/** A regular file that this user may read and write, open until its scope closes. */
export interface CurrentFile {
  readonly status: BigIntStats
  readonly read: Effect.Effect<Buffer, ChangeError.Failure>
}

// A FIFO must not block and a link must not be followed; Windows has neither flag.
const flags = constants.O_RDWR | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Opens `name` in a folder; nothing when it does not exist. Refuses what is not a regular file before opening it. */
export const open = Effect.fnUntraced(function*(
  folder: OpenFolder,
  name: string,
  path: string
): Effect.fn.Return<CurrentFile | undefined, ChangeError.Failure, Scope.Scope> {
  const before = yield* statusOf(folder, name, path)
  if (before === undefined) return undefined
  yield* requireRegular(before, path)
  const handle: FileHandle = yield* Effect.acquireRelease(
    ChangeError.attempt(path, () => openHandle(folder.at(name), flags)),
    (handle) => Effect.ignore(ChangeError.attempt(path, () => handle.close()))
  )
  const status = yield* ChangeError.attempt(path, () => handle.stat({ bigint: true }))
  yield* requireRegular(status, path)
  return { status, read: ChangeError.attempt(path, () => handle.readFile()) }
})

const requireRegular = (status: BigIntStats, path: string): Effect.Effect<void, ChangeError.Failure> =>
  status.isFile()
    ? Effect.void
    : Effect.fail(
      status.isSymbolicLink()
        ? ChangeError.replaced(path)
        : status.isDirectory()
        ? ChangeError.isFolder(path)
        : ChangeError.isSpecial(path)
    )

/** Fails when `name` is not what was found there, or when something is there now and was not before. */
export const requireSame = Effect.fnUntraced(function*(
  folder: OpenFolder,
  name: string,
  current: CurrentFile | undefined,
  path: string
): Effect.fn.Return<void, ChangeError.Failure> {
  const now = yield* statusOf(folder, name, path)
  const isSame = now === undefined || current === undefined
    ? now === current
    : identity.every((field) => now[field] === current.status[field])
  if (!isSame) return yield* ChangeError.changedMeanwhile(path)
})

const identity = ["dev", "ino", "size", "mtimeNs", "ctimeNs"] as const

const statusOf = (folder: OpenFolder, name: string, path: string) =>
  ChangeError.attempt(path, () =>
    lstat(folder.at(name), { bigint: true }).catch((cause) => {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined
      throw cause
    }))
