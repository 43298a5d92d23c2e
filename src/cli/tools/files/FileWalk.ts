/**
 * Owns which files are below a folder. Symbolic links to folders are not followed (their files are found at their own
 * place, and there are no cycles); links to files are found under their own path when their target is below the root.
 * Does not open files: what is found can change, so `OpenFile.ts` checks again.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Dirent } from "node:fs"
import { lstat, readdir, realpath } from "node:fs/promises"
import { join } from "node:path"
import * as FileError from "./FileError.ts"
import * as FilePattern from "./FilePattern.ts"
import { BetweenCheckAndOpen } from "./OpenFile.ts"
import * as Root from "./Root.ts"

/** Files and folders with these names are skipped, unless `folder` names them; `.gitignore` is not read. */
export const skipped: ReadonlySet<string> = new Set([".git", "node_modules", ".fiberloop"])

/** The `folder` parameter of the tools. */
export const Folder = Schema.String.annotate({
  description: "Folder to look below, relative to the root; default the root"
})

/** How many entries a walk looks at before it gives up, files and folders. Default 100,000. */
export const MaxEntries = Context.Reference<number>("fiberloop/cli/files/MaxEntries", { defaultValue: () => 100_000 })

/** How many files or folders are looked at together. */
export const concurrency = 16

/** A regular file, or a link to one, below the root. */
export interface WalkedFile {
  /** Relative to the root, with "/" separators. */
  readonly path: string
  /** Absolute, without links. */
  readonly real: string
}

/** What a walk found. */
interface Walk {
  /** Sorted by path, by code units. */
  readonly files: ReadonlyArray<WalkedFile>
  /** Folders that could not be listed. */
  readonly unreadable: number
  /** Files whose names are not UTF-8, so that no path leads to them. */
  readonly unnamed: number
}

interface Place {
  readonly real: string
  readonly fromRoot: string
  readonly fromFolder: string
}

/** The files below `folder` (the root when absent) that `pattern` selects. */
export const walk = Effect.fnUntraced(function*(
  root: Root.Root,
  options: { readonly folder?: string | undefined; readonly pattern?: string | undefined }
): Effect.fn.Return<Walk, FileError.FileError> {
  const isSelected = FilePattern.make(options.pattern)
  const maxEntries = yield* MaxEntries
  const start = yield* startOf(root, options.folder || ".")
  const files: Array<WalkedFile> = []
  const links: Array<string> = []
  let unreadable = 0
  let seen = 0
  const queue: Array<Place> = [start]
  while (queue.length > 0) {
    const batch = queue.splice(0, concurrency)
    const listed = yield* Effect.forEach(batch, (folder) => list(folder, folder === start), { concurrency })
    for (const [index, entries] of listed.entries()) {
      if (entries === undefined) unreadable++
      seen += entries?.length ?? 0
      for (const entry of entries ?? []) {
        if (skipped.has(entry.name)) continue
        const found = below(batch[index]!, entry.name)
        if (entry.isDirectory()) queue.push(found)
        else if (!isSelected(found.fromRoot, found.fromFolder)) continue
        else if (entry.isSymbolicLink()) links.push(found.fromRoot)
        else if (entry.isFile()) files.push({ path: found.fromRoot, real: found.real })
      }
    }
    if (seen > maxEntries) return yield* tooMany(options.folder, maxEntries)
  }
  const linked = yield* Effect.forEach(links, (path) => follow(root, path), { concurrency })
  files.push(...linked.filter((file) => file !== undefined))
  const doubtful = files.filter(({ path }) => path.includes("\uFFFD"))
  const unnamed = new Set(yield* Effect.filter(doubtful, isUnnamed, { concurrency }))
  return {
    files: (unnamed.size === 0 ? files : files.filter((file) => !unnamed.has(file)))
      .sort((a, b) => a.path < b.path ? -1 : 1),
    unreadable,
    unnamed: unnamed.size
  }
})

/** Node returns a name that is not UTF-8 with replacement characters; no file has that name. */
const isUnnamed = ({ path, real }: WalkedFile): Effect.Effect<boolean> =>
  FileError.attempt(path, () => lstat(real)).pipe(Effect.as(false), Effect.orElseSucceed(() => true))

const startOf = Effect.fnUntraced(function*(root: Root.Root, folder: string) {
  const { real } = yield* Root.locate(root, folder)
  if (!(yield* FileError.attempt(folder, () => lstat(real))).isDirectory()) return yield* FileError.isNoFolder(folder)
  yield* (yield* BetweenCheckAndOpen)(folder)
  return { real, fromRoot: Root.pathOf(root, real), fromFolder: "." }
})

const below = (folder: Place, name: string): Place => ({
  real: join(folder.real, name),
  fromRoot: folder.fromRoot === "." ? name : `${folder.fromRoot}/${name}`,
  fromFolder: folder.fromFolder === "." ? name : `${folder.fromFolder}/${name}`
})

/** A folder that was replaced by a link during the listing counts as one that cannot be listed. */
const list = (
  folder: Place,
  isStart: boolean
): Effect.Effect<ReadonlyArray<Dirent> | undefined, FileError.FileError> =>
  Effect.gen(function*() {
    const entries = yield* FileError.attempt(folder.fromRoot, () => readdir(folder.real, { withFileTypes: true }))
    const now = yield* FileError.attempt(folder.fromRoot, () => realpath(folder.real))
    return now === folder.real ? entries : yield* FileError.replaced(folder.fromRoot)
  }).pipe(Effect.catch((error) => isStart ? Effect.fail(error) : Effect.succeed(undefined)))

const follow = (root: Root.Root, path: string): Effect.Effect<WalkedFile | undefined> =>
  Effect.gen(function*() {
    const { real } = yield* Root.locate(root, path)
    const status = yield* FileError.attempt(path, () => lstat(real))
    return status.isFile() ? { path, real } : undefined
  }).pipe(Effect.orElseSucceed(() => undefined))

const tooMany = (folder: string | undefined, maxEntries: number) =>
  new FileError.FileError({
    reason: "TooManyFiles",
    message: `There are more than ${maxEntries} files and folders below ${FileError.quote(folder ?? ".")}: ` +
      "name a smaller folder."
  })
