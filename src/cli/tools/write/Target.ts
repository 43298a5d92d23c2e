/**
 * Owns which file a path to be written names: one that exists, or one that can be made below the root.
 * Neither makes nor opens anything before `openFolder`, which makes the missing folders.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { lstat } from "node:fs/promises"
import { basename, dirname, join, normalize } from "node:path"
import type * as FileError from "../files/FileError.ts"
import { BetweenCheckAndOpen } from "../files/OpenFile.ts"
import * as Root from "../files/Root.ts"
import * as ChangeError from "./ChangeError.ts"
import * as OpenFolder from "./OpenFolder.ts"

/** Where a file is or will be. */
export interface Target {
  /** Relative to the root, with "/" separators, links kept. */
  readonly path: string
  /** Absolute, without links. */
  readonly real: string
  /** The deepest folder on the way that exists: absolute, without links. */
  readonly folder: string
  /** Names of the folders below it that are missing. */
  readonly missing: ReadonlyArray<string>
  readonly name: string
  /** Whether the file was there when it was located. */
  readonly exists: boolean
}

/** Locates the file at `path`; a link to a file below the root means that file. Refuses what is not a regular file. */
export const locate = Effect.fnUntraced(function*(
  root: Root.Root,
  path: string
): Effect.fn.Return<Target, ChangeError.Failure> {
  const found = yield* locateExisting(root, path)
  if (found !== undefined) {
    const status = yield* ChangeError.attempt(path, () => lstat(found.real))
    if (status.isDirectory()) return yield* ChangeError.isFolder(path)
    if (!status.isFile()) return yield* ChangeError.isSpecial(path)
    const { path: named, real } = found
    return { path: named, real, folder: dirname(real), missing: [], name: basename(real), exists: true }
  }
  if (path.endsWith("/")) return yield* ChangeError.isFolder(path)
  const names = [basename(normalize(path))]
  for (let above = dirname(normalize(path));; above = dirname(above)) {
    const folder = yield* locateExisting(root, above)
    if (folder === undefined) {
      names.unshift(basename(above))
      continue
    }
    if (!(yield* ChangeError.attempt(path, () => lstat(folder.real))).isDirectory()) {
      return yield* ChangeError.isNoFolder(above)
    }
    return {
      path: folder.path === "." ? names.join("/") : `${folder.path}/${names.join("/")}`,
      real: join(folder.real, ...names),
      folder: folder.real,
      missing: names.slice(0, -1),
      name: names.at(-1)!,
      exists: false
    }
  }
})

/** Nothing where nothing exists; the search upwards stops at the root, above which every path is outside. */
const locateExisting = (
  root: Root.Root,
  path: string
): Effect.Effect<Root.Located | undefined, ChangeError.Failure> =>
  Root.locate(root, path).pipe(
    Effect.catchIf((error: FileError.FileError) => error.reason === "NotFound", () => Effect.succeed(undefined)),
    Effect.mapError(ChangeError.fromLooking(path))
  )

/** Opens the folder of a target, and makes the missing ones. */
export const openFolder = Effect.fnUntraced(function*(
  root: Root.Root,
  target: Target
): Effect.fn.Return<OpenFolder.OpenFolder, ChangeError.Failure, Scope.Scope> {
  yield* (yield* BetweenCheckAndOpen)(target.path)
  let folder = yield* OpenFolder.open(root, target.folder, target.path)
  for (const name of target.missing) folder = yield* OpenFolder.child(root, folder, name, target.path)
  return folder
})
