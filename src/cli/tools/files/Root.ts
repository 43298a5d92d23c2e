/**
 * Owns which paths are below the root folder, symbolic links included.
 * Does not open anything: a located path can change until it is opened, so `OpenFile.ts` checks again.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { constants } from "node:fs"
import { access, lstat, realpath, stat } from "node:fs/promises"
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path"
import * as FileError from "./FileError.ts"

/** The root folder cannot be used; `message` names it and says what to do. */
export class RootError extends Schema.TaggedError<RootError>()("RootError", {
  root: Schema.String,
  message: Schema.String
}) {}

/** A folder below which files can be read. */
export interface Root {
  /** Absolute, as it was given. */
  readonly given: string
  /** Absolute, with all symbolic links resolved once, when the root was made. */
  readonly real: string
}

/** A path that was below the root when it was located. */
export interface Located {
  /** Relative to the root, with "/" separators, links kept; "." is the root itself. */
  readonly path: string
  /** Absolute, all links resolved. */
  readonly real: string
}

/** The root at `folder`; fails when it does not exist, is not a folder or cannot be listed by this user. */
export const make = Effect.fnUntraced(function*(folder: string): Effect.fn.Return<Root, RootError> {
  const refuse = (what: string) =>
    new RootError({ root: folder, message: `The root folder ${FileError.quote(folder)} ${what}` })
  if (folder.includes("\0")) return yield* refuse("contains a NUL character: name an existing folder.")
  const attempt = <A>(call: () => Promise<A>) =>
    Effect.tryPromise({
      try: call,
      catch: (cause) => {
        const code = (cause as NodeJS.ErrnoException).code ?? "unknown error"
        return code === "ENOENT"
          ? refuse("does not exist: create it or name another.")
          : refuse(`cannot be used (${code}): name a folder that this user can read.`)
      }
    })
  // the current folder may have been removed
  const given = yield* attempt(async () => resolve(folder))
  const real = yield* attempt(() => realpath(given))
  if (!(yield* attempt(() => stat(real))).isDirectory()) {
    return yield* refuse("is not a folder: name the folder that holds it.")
  }
  yield* attempt(() => access(real, constants.R_OK | constants.X_OK))
  return { given, real }
})

const isWithin = (folder: string, path: string): boolean =>
  path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)

/** Whether an absolute path without links is the root or below it. */
export const contains = (root: Root, real: string): boolean => isWithin(root.real, real)

/** An absolute path below the root as the tools name it: from the root, with "/" separators; "." is the root. */
export const pathOf = (root: Root, absolute: string): string => {
  const path = relative(root.real, absolute) || "."
  return sep === "/" ? path : path.replaceAll(sep, "/")
}

/**
 * Locates a path that is relative to the root, or absolute and below it; fails when it does not exist. For a path that leads
 * out of the root, the error does not depend on what is there.
 */
export const locate = Effect.fnUntraced(function*(
  root: Root,
  path: string
): Effect.fn.Return<Located, FileError.FileError> {
  if (path === "" || path.includes("\0")) {
    return yield* new FileError.FileError({
      reason: "InvalidPath",
      message: `${FileError.quote(path)} is ${path === "" ? "empty" : "no path, it has a NUL character"}: ` +
        "give a path relative to the root folder."
    })
  }
  const absolute = belowRoot(root, path)
  if (absolute === undefined) return yield* FileError.outside(path)
  const real = yield* FileError.attempt(path, () => realpath(absolute)).pipe(
    Effect.catch((error) => Effect.flatMap(blame(root, absolute, path, error), Effect.fail))
  )
  if (!contains(root, real)) return yield* FileError.leadsOutside(path)
  return { path: pathOf(root, absolute), real }
})

const belowRoot = (root: Root, path: string): string | undefined => {
  const absolute = resolve(root.real, path)
  if (contains(root, absolute)) return absolute
  return isAbsolute(path) && isWithin(root.given, absolute)
    ? join(root.real, relative(root.given, absolute))
    : undefined
}

/** Why `absolute` has no real path: its deepest existing part tells whether a link led out of the root. */
const blame = Effect.fnUntraced(function*(root: Root, absolute: string, path: string, error: FileError.FileError) {
  if (!(yield* exists(root.real))) return FileError.rootGone(root.given)
  let part = absolute
  while (contains(root, part) && !(yield* exists(part))) part = dirname(part)
  const real = yield* FileError.attempt(path, () => realpath(part)).pipe(Effect.orElseSucceed(() => undefined))
  return real !== undefined && contains(root, real) ? error : FileError.leadsOutside(path)
})

const exists = (path: string): Effect.Effect<boolean> => Effect.promise(() => lstat(path).then(() => true, () => false))
